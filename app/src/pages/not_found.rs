//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
