//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn LoginPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
