//! Parts of the designer that few visits need: the code editor, the list of versions, the merge with somebody else's
//! save, and the choice between two texts. Their code is the piece `code` (see [`lazy`](crate::lazy)), which the browser
//! loads when one of them is first needed.

use leptos::prelude::*;

use super::{
    code_editor::{self, Source},
    decision, history,
    merge::{MergeFn, merge},
    save_state::Clash,
    store::Workspace,
};
use crate::{browser, client::page_missing, load::Load, opening::Missing};

/// The views and functions of the piece.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(super) merge: MergeFn,
    code_editor: fn(Workspace, Source) -> AnyView,
    history: fn(Workspace) -> AnyView,
    decision: fn(Workspace, Clash) -> AnyView,
}

/// The parts are the same after each load.
impl PartialEq for Parts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[leptos::wasm_split::wasm_split(code, wasm_split_path = ::leptos::wasm_split, preload(fetch), fallible)]
pub(crate) fn code_piece() -> Result<Parts, Missing> {
    Ok(Parts {
        merge,
        code_editor: |workspace, source| {
            view! { <code_editor::CodeEditor workspace source /> }.into_any()
        },
        history: |workspace| view! { <history::History workspace /> }.into_any(),
        decision: |workspace, clash| view! { <decision::Decision workspace clash /> }.into_any(),
    })
}

fn parts() -> Load<Parts> {
    Load::new(|| async {
        let parts = browser::with_retries(code_piece).await;
        parts.map_err(|Missing| page_missing())
    })
}

/// The placeholder of a part while its piece loads.
fn loading() -> AnyView {
    view! { <p class="panel-none" role="status" aria-busy="true">"Loading"</p> }.into_any()
}

/// A code editor.
#[component]
pub fn CodeEditor(
    /// The page's state.
    workspace: Workspace,
    /// The text.
    source: Source,
) -> impl IntoView {
    parts().view(loading, move |parts| {
        (parts.code_editor)(workspace, source.clone())
    })
}

/// The list of versions beside the chosen one.
#[component]
pub fn History(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    parts().view(loading, move |parts| (parts.history)(workspace))
}

/// The choice between the texts of two people.
#[component]
pub fn Decision(
    /// The page's state.
    workspace: Workspace,
    /// The other save, and the conflicts.
    clash: Clash,
) -> impl IntoView {
    parts().view(loading, move |parts| {
        (parts.decision)(workspace, clash.clone())
    })
}
