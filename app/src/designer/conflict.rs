//! The notice above the canvas: what two people changed in the same place, or why the server refuses a save.

use leptos::prelude::*;

use super::{
    later::Decision,
    save_state::{SaveState, Saving},
    store::Workspace,
};
use crate::ui::Icon;

/// The notice. Nothing is shown while there is nothing to decide.
#[component]
pub fn ConflictNotice(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let saving = workspace.saving;
    move || {
        match saving.state.get() {
        SaveState::Conflict(clash) => view! { <Decision workspace clash=*clash /> }.into_any(),
        SaveState::Refused(problem) if problem.status == 401 => view! {
            <div class="conflict" role="alert">
                <Icon name="triangle-alert" />
                <p>
                    <strong>"Your session has ended"</strong>
                    ": log in again, and you are back here. "{draft_location_text(saving)}
                </p>
                <a class="button" data-size="small" data-look="primary" rel="external" href=login_and_back()>"Log in"</a>
            </div>
        }
        .into_any(),
        SaveState::Refused(problem) => view! {
            <div class="conflict" role="alert">
                <Icon name="circle-alert" />
                <p>
                    <strong>{problem.title}</strong>
                    {format!(": {} {} ", problem.detail, problem.hint.unwrap_or_default())}
                    {draft_location_text(saving)}
                </p>
            </div>
        }
        .into_any(),
        _ => ().into_any(),
    }
    }
}

/// Text about the location of the unsaved changes.
fn draft_location_text(saving: Saving) -> &'static str {
    if saving.draft_kept.get() {
        "Your work is stored in this browser."
    } else {
        "Your work is on this page only: it is too large for this browser's storage, so copy it before you leave."
    }
}

fn login_and_back() -> String {
    let here = crate::browser::encode(&crate::browser::current_address());
    format!("/login?next={here}")
}
