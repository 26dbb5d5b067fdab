//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn CatalogItemPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
