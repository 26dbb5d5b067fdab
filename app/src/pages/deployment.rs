//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn DeploymentPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
