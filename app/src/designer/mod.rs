//! The designer: palette, canvas, inspector and code view over one document.

use leptos::prelude::*;

/// One design, on the canvas.
#[component]
pub fn DesignPage() -> impl IntoView {
    view! { <main class="page" id="main"></main> }
}
