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
    let Panels {
        palette, inspector, ..
    } = workspace.panels;
    view! {
        <FoldButton
            side="left" label="Palette" title="Fold or unfold the palette ([)" icon="panel-left" open=palette
            toggle=move || workspace.panels.toggle_palette()
        />
        <FoldButton
            side="right" label="Form" title="Fold or unfold the form (])" icon="panel-right" open=inspector
            toggle=move || workspace.panels.toggle_inspector()
        />
    }
}

#[component]
fn FoldButton(
    side: &'static str,
    label: &'static str,
    title: &'static str,
    icon: &'static str,
    open: RwSignal<bool>,
    toggle: impl Fn() + 'static,
) -> impl IntoView {
    view! {
        <button
            type="button" class="button canvas-fold" data-look="ghost" data-size="icon" data-side=side
            aria-label=label aria-expanded=move || open.get().to_string() title=title
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:click=move |_| toggle()
        >
            <Icon name=icon />
        </button>
    }
}
