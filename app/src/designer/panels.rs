//! The buttons that fold the panels beside the canvas.

use leptos::prelude::*;

use super::{overlay::Panels, store::Workspace};
use crate::ui::Icon;

/// The buttons that fold the panels, in the upper corners of the canvas.
#[component]
pub fn FoldButtons(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let Panels { palette, inspector } = workspace.panels;
    view! {
        <button
            type="button" class="button canvas-fold" data-look="ghost" data-size="icon" data-side="left"
            aria-label="Palette" aria-expanded=move || palette.get().to_string() title="Fold or unfold the palette ([)"
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:click=move |_| workspace.panels.toggle_palette()
        >
            <Icon name="panel-left" />
        </button>
        <button
            type="button" class="button canvas-fold" data-look="ghost" data-size="icon" data-side="right"
            aria-label="Form" aria-expanded=move || inspector.get().to_string() title="Fold or unfold the form (])"
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:click=move |_| workspace.panels.toggle_inspector()
        >
            <Icon name="panel-right" />
        </button>
    }
}
