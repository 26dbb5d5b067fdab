//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn DesignsPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
