//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn DeploymentsPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
