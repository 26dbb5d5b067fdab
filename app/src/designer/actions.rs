//! The actions of the Design page, in one list for the keyboard, the command palette and the shortcut sheet.

use leptos::{ev, prelude::*};

use super::{
    clipboard,
    store::{Drawer, Workspace},
};
use crate::{
    browser,
    ui::{Command, use_palette},
};

/// Registers the page's commands and handles their keys.
pub fn provide(workspace: Workspace) {
    use_palette().register(vec![
        Command::new("Design", "undo-2", "Undo", move || workspace.undo()).own_keys("Ctrl+Z"),
        Command::new("Design", "redo-2", "Redo", move || workspace.redo()).own_keys("Ctrl+Shift+Z"),
        Command::new(
            "Design",
            "copy-plus",
            "Duplicate the selection",
            move || workspace.duplicate_selected(),
        )
        .own_keys("Ctrl+D"),
        Command::new("Design", "copy", "Copy the selection", move || {
            clipboard::copy(workspace)
        })
        .own_keys("Ctrl+C"),
        Command::new("Design", "file-up", "Paste resources", move || {
            clipboard::paste(workspace)
        })
        .own_keys("Ctrl+V"),
        Command::new("Design", "check", "Save now", move || save(workspace)).own_keys("Ctrl+S"),
        Command::new("Design", "trash-2", "Delete the selection", move || {
            workspace.delete_selected()
        })
        .own_keys("Delete"),
        Command::new("Design", "plus", "Add something", move || {
            workspace.pick_item(None, "")
        })
        .own_keys("A"),
        Command::new("Design", "cable", "Connect the selection with", move || {
            workspace.pick_end()
        })
        .own_keys("C"),
        Command::new(
            "Design",
            "plus",
            "Add something and connect the selection with it",
            move || workspace.pick_connected_to_selected(),
        )
        .own_keys("Shift+C"),
        Command::new("Design", "search", "Find a resource", move || {
            workspace.find()
        })
        .own_keys("Ctrl+F"),
        Command::new("Design", "maximize", "Fit to screen", move || {
            workspace.fit()
        })
        .own_keys("F"),
        Command::new("Design", "scan", "Zoom to the selection", move || {
            workspace.fit_selected()
        })
        .own_keys("Shift+F"),
        Command::new("Design", "plus", "Zoom in", move || workspace.zoom(1.25)).own_keys("+"),
        Command::new("Design", "minus", "Zoom out", move || {
            workspace.zoom(1.0 / 1.25)
        })
        .own_keys("-"),
        Command::new("Design", "search", "Zoom to 100%", move || {
            workspace.zoom_to_full()
        })
        .own_keys("0"),
        Command::new("Design", "layout-template", "Tidy up", move || {
            workspace.tidy()
        })
        .own_keys("T"),
        Command::new("Design", "layers", "Select the same type", move || {
            workspace.select_same_type()
        }),
        Command::new(
            "Design",
            "eye",
            "Fade the unrelated, or show all",
            move || workspace.toggle_fades(),
        ),
        Command::new(
            "Design",
            "fold-vertical",
            "Fold or unfold the network",
            move || workspace.fold_selected(),
        )
        .own_keys("O"),
        Command::new(
            "Design",
            "panel-left",
            "Fold or unfold the palette",
            move || workspace.panels.toggle_palette(),
        )
        .own_keys("["),
        Command::new(
            "Design",
            "panel-right",
            "Fold or unfold the form",
            move || workspace.panels.toggle_inspector(),
        )
        .own_keys("]"),
        Command::new("Design", "code", "Show or hide the code", move || {
            toggle(workspace, Drawer::Code)
        })
        .own_keys("Ctrl+E"),
        Command::new("Design", "code", "Leave the code editor", move || {
            if let Some(canvas) = workspace.root.get_untracked() {
                // Without the canvas there is nothing to go to.
                let _ = canvas.focus();
            }
        })
        .own_keys("Escape Tab"),
        Command::new(
            "Design",
            "panel-bottom",
            "Move the drawer beside or below the canvas",
            move || workspace.panels.move_drawer(),
        ),
        Command::new(
            "Design",
            "circle-alert",
            "Show or hide problems",
            move || toggle(workspace, Drawer::Problems),
        ),
    ]);
    Effect::new(move |_| {
        let handle = window_event_listener(ev::keydown, move |event| on_key(workspace, &event));
        on_cleanup(move || handle.remove());
    });
    clipboard::listen(workspace);
}

/// Saves now, and informs the user that changes are saved automatically.
fn save(workspace: Workspace) {
    leptos::task::spawn_local(async move {
        if workspace.saving.flush(workspace).await {
            workspace.announce("Saved");
            workspace.show_toast("Saved. Designs are saved as you go.");
        }
    });
}

fn toggle(workspace: Workspace, which: Drawer) {
    workspace
        .drawer
        .try_update(|now| *now = if *now == which { Drawer::Closed } else { which });
}

fn on_key(workspace: Workspace, event: &ev::KeyboardEvent) {
    // The page can be disposed before the key event arrives.
    if workspace.drawer.try_get_untracked().is_none() || event.default_prevented() {
        return;
    }
    let control = event.ctrl_key() || event.meta_key();
    let key = event.key().to_lowercase();
    if control && key == "e" {
        event.prevent_default();
        toggle(workspace, Drawer::Code);
        return;
    }
    if control && key == "s" && !event.shift_key() {
        event.prevent_default();
        save(workspace);
        return;
    }
    // In a text field the browser handles these keys. They are also disabled while a dialog is open.
    if browser::is_typing(event) || browser::dialog_is_open() {
        return;
    }
    match (control, event.shift_key(), key.as_str()) {
        (true, false, "z") => workspace.undo(),
        (true, true, "z") | (true, false, "y") => workspace.redo(),
        (true, false, "d") => workspace.duplicate_selected(),
        (true, false, "a") => workspace.select_all(),
        (true, false, "f") => workspace.find(),
        (false, _, "delete" | "backspace") => workspace.delete_selected(),
        (false, false, "f") => workspace.fit(),
        (false, true, "f") => workspace.fit_selected(),
        (false, _, "+" | "=") => workspace.zoom(1.25),
        (false, _, "-") => workspace.zoom(1.0 / 1.25),
        (false, false, "0") => workspace.zoom_to_full(),
        (false, false, "a") => workspace.pick_item(None, ""),
        (false, false, "c") => workspace.pick_end(),
        (false, true, "c") => workspace.pick_connected_to_selected(),
        (false, false, "t") => workspace.tidy(),
        (false, false, "o") => workspace.fold_selected(),
        (false, _, "[") => workspace.panels.toggle_palette(),
        (false, _, "]") => workspace.panels.toggle_inspector(),
        _ => return,
    }
    event.prevent_default();
}
