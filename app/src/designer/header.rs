//! The design's part of the top bar: version, save state, problems, export and plan.

use api::Severity;
use leptos::{ev, prelude::*};
use leptos_router::hooks::{use_navigate, use_query_map};

use super::{
    deployed,
    others::Others,
    save_state::SaveState,
    store::{Drawer, Workspace},
};
use crate::{
    client,
    export::ExportItems,
    links::SharedParameters,
    ui::{Icon, Menu, menu, use_confirm, use_toasts},
};

/// Actions at the right end of the top bar.
#[component]
pub fn HeaderActions(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let saving = workspace.saving;
    let counts = Memo::new(move |_| {
        workspace.problems.with(|problems| {
            let count = |severity| {
                problems
                    .iter()
                    .filter(|problem| problem.severity == severity)
                    .count()
            };
            (count(Severity::Error), count(Severity::Warning))
        })
    });
    let navigate = StoredValue::new_local(use_navigate());
    // The plan must use the current text, so it is saved first.
    let go = move |event: ev::MouseEvent, address: String| {
        if event.ctrl_key() || event.meta_key() || event.shift_key() || event.button() != 0 {
            return;
        }
        if saving.is_dirty() {
            event.prevent_default();
            leptos::task::spawn_local(async move {
                if saving.flush(workspace).await {
                    navigate.try_with_value(|navigate| navigate(&address, Default::default()));
                }
            });
        }
    };
    // The export must contain the current text, so it is saved first.
    let (toasts, confirm) = (use_toasts(), use_confirm());
    let export_as = move |kind| {
        menu::close("design-export");
        let id = saving.id();
        leptos::task::spawn_local(async move {
            if !saving.is_dirty() || saving.flush(workspace).await {
                crate::export::save(&id, kind, toasts, confirm).await;
            }
        });
    };
    // A user who opened the design from a deployment plans changes of that deployment. One who came from a plan goes back to
    // it with the parameters.
    let (target, query) = (deployed::target(), use_query_map());
    let to_plan = move |flag: Option<&'static str>| {
        let against = target.with(|id| {
            let id = id.as_ref()?;
            Some(format!("deployment={}", crate::browser::encode(id)))
        });
        let parameters = query.with(|query| SharedParameters::of_query(query).fields());
        let flag = flag.map(str::to_owned);
        let words: Vec<String> = flag.into_iter().chain(against).chain(parameters).collect();
        let query = if words.is_empty() {
            String::new()
        } else {
            format!("?{}", words.join("&"))
        };
        format!("/designs/{}/plan{query}", saving.id())
    };
    let plan = move || to_plan(None);
    let deploy = move || to_plan(Some("deploy"));
    let updates = move || target.with(Option::is_some);
    view! {
        <Others workspace />
        <button
            type="button" class="button meta design-version" data-look="ghost" data-size="small" title="Versions"
            on:click=move |_| workspace.drawer.update(|now| *now = if *now == Drawer::History { Drawer::Closed } else { Drawer::History })
        >
            {move || format!("v{}", saving.version.get())}
        </button>
        <SaveMark workspace />
        <button
            type="button" class="button" data-look="ghost" title="Problems"
            aria-label=move || match counts.get() {
                (errors, warnings) if errors + warnings == 1 => "1 problem".to_owned(),
                (errors, warnings) => format!("{} problems", errors + warnings),
            }
            data-severe=move || (counts.get().0 > 0).then_some("true")
            on:click=move |_| workspace.drawer.update(|now| *now = if *now == Drawer::Problems { Drawer::Closed } else { Drawer::Problems })
        >
            {move || {
                let (errors, warnings) = counts.get();
                let (icon, look) = if errors > 0 { ("circle-alert", "error") } else if warnings > 0 { ("triangle-alert", "warning") } else { ("circle-check", "none") };
                view! { <span class="problem-count" data-severity=look><Icon name=icon />{errors + warnings}</span> }
            }}
        </button>
        <Menu
            id="design-export" label="Export"
            button=view! { <Icon name="download" /> }.into_any()
        >
            <ExportItems on_pick=export_as />
        </Menu>
        <a class="button" href=plan on:click=move |event| go(event, untrack(plan))>
            <Icon name="workflow" />{move || if updates() { "Plan update" } else { "Plan" }}
        </a>
        <a class="button" data-look="primary" href=deploy on:click=move |event| go(event, untrack(deploy))>
            <Icon name="rocket" />{move || if updates() { "Update" } else { "Deploy" }}
        </a>
    }
}

/// Save state as one word.
#[component]
fn SaveMark(workspace: Workspace) -> impl IntoView {
    let state = workspace.saving.state;
    move || {
        let (word, icon, title, look) = match state.get() {
            SaveState::Saved => ("Saved", "check", String::new(), "saved"),
            SaveState::Waiting | SaveState::Saving => ("Saving…", "refresh-cw", String::new(), "saving"),
            SaveState::Later(problem) if problem.code == client::OFFLINE => ("Offline, will save", "wifi-off", "The server does not answer. Your work is stored in this browser and saved as soon as it does.".to_owned(), "offline"),
            SaveState::Later(problem) => ("Not saved yet", "circle-alert", format!("{} Your work is stored in this browser and saved as soon as the server can save it.", problem.detail), "offline"),
            SaveState::Conflict(_) => ("Conflict", "triangle-alert", "Someone else has saved this design in the meantime.".to_owned(), "refused"),
            SaveState::Refused(problem) => ("Not saved", "circle-alert", format!("{} {}", problem.detail, problem.hint.unwrap_or_default()), "refused"),
        };
        view! { <span class="save-mark" role="status" data-look=look title=title><Icon name=icon />{word}</span> }
    }
}
