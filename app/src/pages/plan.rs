//! To come.

use leptos::prelude::*;

/// To come.
#[component]
pub fn PlanPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
