//! Copy, cut and paste of resources with the browser's own clipboard events.
//!
//! The events need no permission. The copied text can be pasted into other designs and into text editors.

use leptos::{ev, prelude::*};

use super::store::Workspace;
use crate::browser;

const TYPE: &str = "text/plain";

/// Handles the clipboard events of the page.
pub fn listen(workspace: Workspace) {
    Effect::new(move |_| {
        let copied = window_event_listener(ev::copy, move |event| {
            put(workspace, &event);
        });
        let cut = window_event_listener(ev::cut, move |event| {
            if put(workspace, &event) {
                workspace.delete_selected();
            }
        });
        let pasted = window_event_listener(ev::paste, move |event| {
            if !is_ours(workspace, &event) {
                return;
            }
            let text = event
                .clipboard_data()
                .and_then(|data| data.get_data(TYPE).ok());
            if let Some(text) = text {
                event.prevent_default();
                paste_text(workspace, &text);
            }
        });
        on_cleanup(move || {
            copied.remove();
            cut.remove();
            pasted.remove();
        });
    });
}

/// Copies the selection, for menus.
pub fn copy(workspace: Workspace) {
    if let Some(text) = selected(workspace) {
        leptos::task::spawn_local(async move {
            if browser::copy(&text).await {
                announce_copy(workspace);
            }
        });
    }
}

/// Pastes, for menus. Browsers require the user's permission to read the clipboard.
pub fn paste(workspace: Workspace) {
    leptos::task::spawn_local(async move {
        match browser::pasted().await {
            Some(text) => paste_text(workspace, &text),
            None => workspace
                .refuse_drop("The browser does not let the page read the clipboard. Press Ctrl+V."),
        }
    });
}

/// True if the event is for the canvas: no text field has the focus, no text is selected and no dialog is open.
fn is_ours(workspace: Workspace, event: &web_sys::Event) -> bool {
    workspace.drawer.try_get_untracked().is_some()
        && !event.default_prevented()
        && !browser::is_typing(event)
        && !browser::has_selected_text()
        && !browser::dialog_is_open()
}

fn put(workspace: Workspace, event: &web_sys::ClipboardEvent) -> bool {
    if !is_ours(workspace, event) {
        return false;
    }
    let (Some(text), Some(data)) = (selected(workspace), event.clipboard_data()) else {
        return false;
    };
    if data.set_data(TYPE, &text).is_err() {
        return false;
    }
    event.prevent_default();
    announce_copy(workspace);
    true
}

fn selected(workspace: Workspace) -> Option<String> {
    let names = workspace.selected_names();
    workspace.with_input(|input| canvas::commands::copy(input, &names))?
}

fn announce_copy(workspace: Workspace) {
    workspace.announce("Copied");
    workspace.show_toast("Copied. Paste it here, or in another design.");
}

fn paste_text(workspace: Workspace, text: &str) {
    if workspace.is_broken() {
        return;
    }
    match workspace.with_input(|input| canvas::commands::paste(input, text)) {
        Some(Ok(proposal)) => {
            workspace.apply(&proposal);
        }
        Some(Err(refusal)) => workspace.refuse_drop(&refusal.0),
        None => {}
    }
}
