//! The pages.

use leptos::prelude::*;

/// Everything below `<body>`.
#[component]
pub fn App() -> impl IntoView {
    view! { <h1>"Stackloom"</h1> }
}

/// The document around the app; server side only.
#[cfg(feature = "ssr")]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <AutoReload options=options.clone() />
                <HydrationScripts options />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}
