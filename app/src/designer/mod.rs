//! The designer: palette, canvas, inspector and code view over one document.

pub mod board;

use leptos::prelude::*;

/// One design, on the canvas.
#[component]
pub fn DesignPage() -> impl IntoView {
    view! { <div class="page"></div> }
}
