//! Buttons that solve a problem with one change.

use canvas::{
    commands::Proposal,
    fixes::{FixInput, fixes},
};
use hot::diagnostic::Diagnostic;
use leptos::prelude::*;

use super::store::Workspace;
use crate::ui::{Icon, prose};

/// The quick fixes of a problem in the present text.
pub(super) fn of(workspace: Workspace, problem: &Diagnostic) -> Vec<Proposal> {
    let found = workspace.editor.try_with_untracked(|editor| {
        workspace.types.try_with_untracked(|types| {
            workspace.cloud.try_with_untracked(|cloud| {
                let input = FixInput {
                    document: editor.document(),
                    types,
                    cloud,
                };
                fixes(&input, problem)
            })
        })
    });
    found.flatten().flatten().unwrap_or_default()
}

/// Buttons for the quick fixes of a problem.
#[component]
pub(super) fn Fixes(workspace: Workspace, problem: Diagnostic) -> impl IntoView {
    // A fix is made for the text at the time of the click.
    let problem = StoredValue::new(problem);
    let found = move || problem.with_value(|problem| of(workspace, problem));
    let apply = move |label: &str| {
        if let Some(fix) = found().into_iter().find(|fix| fix.label == label) {
            workspace.apply(&fix);
        }
    };
    let labels: Vec<String> = found().into_iter().map(|fix| fix.label).collect();
    (!labels.is_empty()).then(|| {
        view! {
            <span class="fixes">
                {labels.into_iter().map(|label| {
                    let text = prose(&label);
                    view! {
                        <button type="button" class="button" data-size="small" on:click=move |_| apply(&label)>
                            <Icon name="wrench" />{text}
                        </button>
                    }
                }).collect_view()}
            </span>
        }
    })
}
