//! The buttons at the lower edge of the canvas.

use leptos::prelude::*;

use super::store::Workspace;
use crate::ui::{Icon, plain_text};

/// Buttons for undo, zoom, fit and the arrangement.
#[component]
pub fn Controls(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let percent = move || format!("{:.0}%", workspace.view.get().zoom * 100.0);
    let undo = move || {
        workspace
            .editor
            .with(|editor| editor.undo_label().map(plain_text))
    };
    let redo = move || {
        workspace
            .editor
            .with(|editor| editor.redo_label().map(plain_text))
    };
    view! {
        <div class="canvas-controls" on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()>
            <button
                type="button" class="button" data-look="ghost" data-size="icon" aria-label="Undo"
                title=move || undo().map_or("Nothing to undo".to_owned(), |label| format!("Undo: {label} (Ctrl+Z)"))
                disabled=move || undo().is_none() on:click=move |_| workspace.undo()
            >
                <Icon name="undo-2" />
            </button>
            <button
                type="button" class="button" data-look="ghost" data-size="icon" aria-label="Redo"
                title=move || redo().map_or("Nothing to redo".to_owned(), |label| format!("Redo: {label} (Ctrl+Shift+Z)"))
                disabled=move || redo().is_none() on:click=move |_| workspace.redo()
            >
                <Icon name="redo-2" />
            </button>
            <span class="canvas-controls-rule"></span>
            <button type="button" class="button" data-look="ghost" data-size="icon" aria-label="Zoom out" title="Zoom out (-)" on:click=move |_| workspace.zoom(1.0 / 1.25)>
                <Icon name="minus" />
            </button>
            <button
                type="button" class="button canvas-zoom" data-look="ghost" title="Zoom to 100% (0)"
                aria-label=move || format!("Zoom to 100%, now {}", percent()) on:click=move |_| workspace.zoom_to_full()
            >
                {percent}
            </button>
            <button type="button" class="button" data-look="ghost" data-size="icon" aria-label="Zoom in" title="Zoom in (+)" on:click=move |_| workspace.zoom(1.25)>
                <Icon name="plus" />
            </button>
            <button
                type="button" class="button" data-look="ghost" data-size="icon" aria-label="Tidy up"
                title="Tidy up the selection, or the whole drawing (T)" on:click=move |_| workspace.tidy()
            >
                <Icon name="layout-template" />
            </button>
            <button
                type="button" class="button" data-look="ghost" data-size="icon" aria-label="Fade the unrelated"
                title="Fade what is unrelated to the selection" aria-pressed=move || workspace.fades.get().to_string()
                on:click=move |_| workspace.toggle_fades()
            >
                <Icon name="eye" />
            </button>
            <button type="button" class="button" data-look="ghost" data-size="icon" aria-label="Fit to screen" title="Fit to screen (F)" on:click=move |_| workspace.fit()>
                <Icon name="maximize" />
            </button>
        </div>
    }
}
