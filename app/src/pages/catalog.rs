//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn CatalogPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
