//! Other people on the design: who has it open, what they have selected, and what they save.
//!
//! A visible page asks the server every few seconds, and says with the same request that it is here and what is selected
//! on it. A page that is left says so. A page without unsaved changes takes over the versions of others; changes of both
//! are merged by a save.

use api::{DesignViewer, ViewerRequest};
use leptos::prelude::*;

use super::{save_state::Saving, store::Workspace};
use crate::{
    browser,
    client::{self, Page},
};

/// Pause between two requests, in milliseconds.
const PAUSE_MS: i32 = 5_000;

/// Names of selected resources that others see; the server takes no more.
const SELECTED_MAX: usize = 20;

/// Faces in the top bar. More are a number.
const FACES_MAX: usize = 4;

/// Follows other people's pages until this one is left.
pub fn follow(workspace: Workspace) {
    let page = format!("{:x}{:x}", browser::random_u32(), browser::random_u32());
    let own = page.clone();
    Effect::new(move |_| {
        let page = own.clone();
        let leaves = move || leave(workspace, page.clone());
        let goes = window_event_listener_untyped("pagehide", {
            let leaves = leaves.clone();
            move |_| leaves()
        });
        on_cleanup(move || {
            goes.remove();
            leaves();
        });
    });
    follow_as(workspace, page, 0);
}

/// Says that a page has the design open no more. Without this, it counts until the server has not heard of it for a while.
fn leave(workspace: Workspace, page: String) {
    let Some(id) = workspace.saving.id.try_get_value() else {
        return;
    };
    let request = ViewerRequest {
        page,
        selected: Vec::new(),
        leaves: true,
    };
    leptos::task::spawn_local(async move {
        let _ = client::design_watch(&id, &request, Page::Closes).await;
    });
}

fn follow_as(workspace: Workspace, page: String, pause_ms: i32) {
    browser::after_ms(pause_ms, move || {
        leptos::task::spawn_local(async move {
            let saving = workspace.saving;
            let Some(id) = saving.id.try_get_value() else {
                return;
            };
            if browser::is_visible() {
                let selected = workspace.selection.try_with_untracked(|selection| {
                    // Lines have ids of this drawing.
                    let names = selection.names().filter(|name| !workspace.is_line(name));
                    names.take(SELECTED_MAX).map(str::to_owned).collect()
                });
                let request = ViewerRequest {
                    page: page.clone(),
                    selected: selected.unwrap_or_default(),
                    leaves: false,
                };
                if let Ok(watch) = client::design_watch(&id, &request, Page::Stays).await {
                    if workspace
                        .others
                        .try_with_untracked(|now| *now != watch.others)
                        == Some(true)
                    {
                        workspace.others.try_set(watch.others);
                    }
                    take_over(saving, workspace, &id, watch.version).await;
                }
            }
            follow_as(workspace, page, PAUSE_MS);
        });
    });
}

/// Shows a newer version of the server, unless the page has changes of its own.
async fn take_over(saving: Saving, workspace: Workspace, id: &str, newest: u32) {
    let Some(version) = saving.version.try_get_untracked() else {
        return;
    };
    if newest <= version || saving.is_dirty() {
        return;
    }
    let Ok(theirs) = client::design_newest(id).await else {
        return;
    };
    if saving.is_dirty() || saving.version.try_get_untracked() != Some(version) {
        return;
    }
    let is_other = saving
        .stored
        .try_with_value(|(_, author)| *author != theirs.author);
    saving.version.try_set(theirs.version);
    saving.name.try_set(theirs.name.clone());
    saving.remember(&theirs);
    workspace.show_stored(
        &theirs.template,
        &theirs.layout,
        theirs.beside.bundle(),
        &format!("Changes of {}", theirs.author),
    );
    // Somebody who works on sends a version every few seconds.
    if is_other == Some(true) {
        let author = &theirs.author;
        workspace.show_toast(&format!("{author} works on this design too."));
    }
}

/// The faces of the others, in the top bar. A click shows what one of them has selected.
#[component]
pub fn Others(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let face = move |other: DesignViewer| {
        let who = match other.is_caller {
            true => format!("{} (you, on another page)", other.user),
            false => other.user.clone(),
        };
        let text = match other.selected.as_slice() {
            [] => format!("{who} has this design open"),
            [name] => format!("{who} has selected {name}"),
            [name, more @ ..] => format!("{who} has selected {name} and {} more", more.len()),
        };
        let initial = other
            .user
            .chars()
            .next()
            .unwrap_or('?')
            .to_uppercase()
            .to_string();
        let shown = other.selected.first().cloned();
        view! {
            <button
                type="button" class="face other-face" title=text.clone() aria-label=text
                on:click=move |_| if let Some(name) = &shown { workspace.show(name, None); }
            >
                {initial}
            </button>
        }
    };
    view! {
        <Show when=move || workspace.others.with(|others| !others.is_empty())>
            <div class="other-faces" role="group" aria-label="Also here">
                {move || {
                    let others = workspace.others.get();
                    let more = others.len().saturating_sub(FACES_MAX);
                    view! {
                        {others.into_iter().take(FACES_MAX).map(face).collect_view()}
                        {(more > 0).then(|| view! { <span class="meta">{format!("+{more}")}</span> })}
                    }
                }}
            </div>
        </Show>
    }
}
