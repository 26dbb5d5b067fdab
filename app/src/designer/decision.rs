//! Conflicting changes of two people in the same place, and the choice between both.

use std::collections::HashMap;

use hot::document::{Conflict, Side};
use leptos::prelude::*;

use super::{merge::Choices, save_state::Clash, store::Workspace};
use crate::{
    session::use_session,
    ui::{Icon, line_diff, prose},
};

/// Both texts of each conflict, with a choice.
#[component]
pub fn Decision(
    /// The page's state.
    workspace: Workspace,
    /// The other save, and the conflicts.
    clash: Clash,
) -> impl IntoView {
    let saving = workspace.saving;
    let me = use_session()
        .me
        .with_untracked(|me| me.as_ref().map(|me| me.user.clone()));
    let (who, whose) = if me.as_ref() == Some(&clash.theirs.author) {
        (
            "You, in another tab or browser,".to_owned(),
            "The other tab's".to_owned(),
        )
    } else {
        let author = &clash.theirs.author;
        (author.clone(), format!("{author}'s"))
    };
    let choices = RwSignal::new(HashMap::<Vec<String>, Side>::new());
    let paths: Vec<_> = clash.conflicts.iter().map(|one| one.path.clone()).collect();
    let paths = StoredValue::new(paths);
    let decide = move |all: Option<Side>| {
        let chosen: Choices = match all {
            Some(all) => {
                paths.with_value(|paths| paths.iter().map(|path| (path.clone(), all)).collect())
            }
            None => choices.get_untracked().into_iter().collect(),
        };
        saving.decide(workspace, &chosen);
    };
    let count = clash.conflicts.len();
    let places = if count == 1 {
        "one place".to_owned()
    } else {
        format!("{count} places")
    };
    let version = clash.theirs.version;
    view! {
        <div class="conflict" role="alert" data-testid="conflict">
            <Icon name="triangle-alert" />
            <p>
                <strong>{who}</strong>
                {format!(" saved version {version} while you were editing, and both changed {places}. All other changes are merged. Nothing of yours is lost.")}
            </p>
            <button type="button" class="button" data-size="small" on:click=move |_| decide(Some(Side::Other))>"Take theirs"</button>
            <button type="button" class="button" data-size="small" on:click=move |_| decide(Some(Side::One))>"Keep mine"</button>
            <button
                type="button" class="button" data-size="small" data-look="primary"
                disabled=move || choices.with(|choices| choices.len() < count) title="Choose a side at each place"
                on:click=move |_| decide(None)
            >
                "Save as chosen"
            </button>
            <ul class="conflict-places">
                {clash.conflicts.into_iter().map(|one| view! { <Place one choices whose=whose.clone() /> }).collect_view()}
            </ul>
        </div>
    }
}

/// One conflict: the other side's text as changed to mine, and the choice.
#[component]
fn Place(
    one: Conflict,
    choices: RwSignal<HashMap<Vec<String>, Side>>,
    whose: String,
) -> impl IntoView {
    let path = one.path.join(".");
    let title = if path.is_empty() {
        "The whole template".to_owned()
    } else {
        format!("`{path}`")
    };
    let note = match (&one.one, &one.other) {
        (None, _) => "Removed here, used or changed there.",
        (_, None) => "Removed there, used or changed here.",
        _ => "",
    };
    let choice = |side: Side, text: String| {
        let key = one.path.clone();
        let chosen = key.clone();
        view! {
            <label class="check">
                <input
                    type="radio" name=format!("conflict-{path}")
                    prop:checked=move || choices.with(|choices| choices.get(&chosen) == Some(&side))
                    on:change=move |_| choices.update(|choices| { choices.insert(key.clone(), side); })
                />
                {text}
            </label>
        }
    };
    let diff = line_diff(
        one.other.as_deref().unwrap_or_default(),
        one.one.as_deref().unwrap_or_default(),
    );
    view! {
        <li>
            <fieldset>
                <legend>{prose(&title)}" "<span class="meta">{note}</span></legend>
                {diff}
                <div class="conflict-choice">
                    {choice(Side::Other, format!("{whose} (-)"))}
                    {choice(Side::One, "Mine (+)".to_owned())}
                </div>
            </fieldset>
        </li>
    }
}
