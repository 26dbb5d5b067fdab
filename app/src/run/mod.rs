//! The run page.

use leptos::prelude::*;

/// To come.
#[component]
pub fn RunPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
