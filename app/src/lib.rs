//! The pages.
//!
//! The server renders each page's frame and a skeleton. The browser hydrates them and only then fetches data from
//! `/api/v1`. The first render is therefore the same on both sides for any data, there is no hydration mismatch, and
//! the pages use the same API as scripts.
//!
//! Views are compiled with erased types (`.cargo/config.toml`). Server and wasm must be compiled with the same flag, or
//! hydration panics. The flag reduces the debug server to a fifth of its size and the wasm by a third.
//!
//! Location of state: page, run and filter are in the address; the logged-in user is in [`session::Session`]; data of
//! the server is in [`load::Load`]. All other state is local to its component.

// The types of views are deeply nested.
#![recursion_limit = "512"]

pub mod browser;
pub mod client;
pub mod connection;
pub mod consequences;
pub mod designer;
pub mod export;
pub mod frame;
pub mod graph;
pub mod import;
pub mod lazy;
pub mod links;
pub mod load;
pub mod markdown;
mod opening;
pub mod operations;
pub mod pages;
pub mod program;
pub mod run;
pub mod script;
pub mod session;
pub mod starters;
pub mod time;
pub mod ui;
mod worker;

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::{
    Lazy,
    components::{ParentRoute, Redirect, Route, Router, Routes},
    path,
};

use crate::{
    frame::Shell,
    pages::{designs::DesignsPage, login::LoginPage, not_found::NotFoundPage},
};

/// The content of `<body>`.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    session::provide_session();
    connection::provide_connection();
    ui::toast::provide_toasts();
    ui::confirm::provide_confirm();
    ui::leaving::provide_leaving();
    ui::palette::provide_palette();
    time::provide_clock();

    view! {
        <Title text="Stackloom" formatter=|text: String| page_title(&text) />
        <Router>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/login") view=LoginPage />
                <ParentRoute path=path!("") view=Shell>
                    <Route path=path!("/") view=|| view! { <Redirect path="/designs" /> } />
                    <Route path=path!("/designs") view=|| { lazy::warm_up(); view! { <DesignsPage /> } } />
                    <Route path=path!("/designs/:id") view={Lazy::<lazy::Design>::new()} />
                    <Route path=path!("/designs/:id/plan") view={Lazy::<lazy::Plan>::new()} />
                    <Route path=path!("/deployments") view={Lazy::<lazy::Deployments>::new()} />
                    <Route path=path!("/deployments/:id") view={Lazy::<lazy::Deployment>::new()} />
                    <Route path=path!("/deployments/:id/plan") view={Lazy::<lazy::RollBackPlan>::new()} />
                    <Route path=path!("/deployments/:id/compare") view={Lazy::<lazy::Compare>::new()} />
                    <Route path=path!("/deployments/:id/terminal/:server") view={Lazy::<lazy::Terminal>::new()} />
                    <Route path=path!("/runs/:id") view={Lazy::<lazy::Run>::new()} />
                    <Route path=path!("/catalog") view={Lazy::<lazy::Catalog>::new()} />
                    <Route path=path!("/items/new") view={Lazy::<lazy::NewItem>::new()} />
                    <Route path=path!("/sessions") view={Lazy::<lazy::Sessions>::new()} />
                    <Route path=path!("/audit") view={Lazy::<lazy::Audit>::new()} />
                    <Route path=path!("/catalog/:item") view={Lazy::<lazy::CatalogItem>::new()} />
                </ParentRoute>
            </Routes>
        </Router>
        <ui::toast::Toasts />
        <ui::confirm::ConfirmDialog />
    }
}

fn page_title(page: &str) -> String {
    if page == "Stackloom" {
        page.to_owned()
    } else {
        format!("{page} · Stackloom")
    }
}

/// Sets the selected theme before the first paint. The default is the system's theme.
#[cfg(feature = "ssr")]
const THEME_SCRIPT: &str = r#"try{var t=localStorage.getItem("stackloom.theme");if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}"#;

/// The logo as the tab's icon. Inline, so that it needs no file.
#[cfg(feature = "ssr")]
const TAB_ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%236e6ade' d='M12 2.5 21 7l-9 4.5L3 7z'/%3E%3Cpath fill='none' stroke='%236e6ade' stroke-width='2' stroke-linecap='round' stroke-linejoin='round' d='m3 12 9 4.5 9-4.5M3 17l9 4.5 9-4.5'/%3E%3C/svg%3E";

/// The HTML document around the app. Server side only.
#[cfg(feature = "ssr")]
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <link rel="icon" href=TAB_ICON />
                <link rel="preload" href="/pkg/fonts/inter.woff2" r#as="font" r#type="font/woff2" crossorigin="anonymous" />
                <link rel="stylesheet" href="/pkg/stackloom.css" />
                <script nonce=leptos::nonce::use_nonce()>{THEME_SCRIPT}</script>
                <program::Recovery />
                <AutoReload options=options.clone() />
                <HydrationScripts options />
                <leptos_meta::MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}
