//! Parts of the designer that are not needed to draw: the code editor, the list of versions, and the choice between two
//! texts. Their code is the piece `code` (see [`lazy`](crate::lazy)), which the browser loads when one of them is first
//! shown.

use api::Problem;
use leptos::prelude::*;

use super::{
    code_editor::{self, Source},
    decision, history,
    save_state::Clash,
    store::Workspace,
};
use crate::{client::page_missing, opening::Missing, ui::ProblemCard};

/// The views of the piece.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    code_editor: fn(Workspace, Source) -> AnyView,
    history: fn(Workspace) -> AnyView,
    decision: fn(Workspace, Clash) -> AnyView,
}

#[leptos::wasm_split::wasm_split(code, wasm_split_path = ::leptos::wasm_split, preload(fetch), fallible)]
pub(crate) fn code_piece() -> Result<Parts, Missing> {
    Ok(Parts {
        code_editor: |workspace, source| {
            view! { <code_editor::CodeEditor workspace source /> }.into_any()
        },
        history: |workspace| view! { <history::History workspace /> }.into_any(),
        decision: |workspace, clash| view! { <decision::Decision workspace clash /> }.into_any(),
    })
}

/// A code editor.
#[component]
pub fn CodeEditor(
    /// The page's state.
    workspace: Workspace,
    /// The text.
    source: Source,
) -> impl IntoView {
    let show = Callback::new(move |parts: Parts| (parts.code_editor)(workspace, source.clone()));
    view! { <Later show /> }
}

/// The list of versions beside the chosen one.
#[component]
pub fn History(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let show = Callback::new(move |parts: Parts| (parts.history)(workspace));
    view! { <Later show /> }
}

/// The choice between the texts of two people.
#[component]
pub fn Decision(
    /// The page's state.
    workspace: Workspace,
    /// The other save, and the conflicts.
    clash: Clash,
) -> impl IntoView {
    let show = Callback::new(move |parts: Parts| (parts.decision)(workspace, clash.clone()));
    view! { <Later show /> }
}

/// A part, or the reason why its code is missing.
#[component]
fn Later(show: Callback<Parts, AnyView>) -> impl IntoView {
    let parts = RwSignal::new(None::<Parts>);
    let problem = RwSignal::new(None::<Problem>);
    let load = move || {
        problem.set(None);
        leptos::task::spawn_local(async move {
            match code_piece().await {
                Ok(loaded) => {
                    parts.try_set(Some(loaded));
                }
                Err(Missing) => {
                    problem.try_set(Some(page_missing()));
                }
            }
        });
    };
    Effect::new(move |_| load());
    move || match (parts.get(), problem.get()) {
        (Some(parts), _) => show.run(parts),
        (None, Some(problem)) => {
            let retry = Callback::new(move |()| load());
            view! { <ProblemCard problem retry /> }.into_any()
        }
        (None, None) => {
            view! { <p class="panel-none" role="status" aria-busy="true">"Loading"</p> }.into_any()
        }
    }
}
