//! The design's versions: who saved when, what has changed since, labels, and the way back.

use std::sync::Arc;

use api::{DesignVersion, DesignVersionSummary};
use canvas::compare::{self, Difference, Kind};
use hot::document::Document;
use leptos::{ev, prelude::*};
use leptos_router::hooks::use_query_map;

use super::{board, store::Workspace};
use crate::{
    client,
    load::Load,
    session::use_session,
    time::Ago,
    ui::{Icon, ProblemNote, line_diff, use_toasts},
};

/// Differences that are unfolded at first, if there are no more.
const UNFOLDED_MAX: usize = 4;

/// The version of the page's address, if the design had a newer one when the page was opened.
pub fn asked_version(workspace: Workspace) -> Memo<Option<u32>> {
    let query = use_query_map();
    Memo::new(move |_| {
        let asked = query.with(|query| query.get("version"))?;
        let newest = workspace.saving.version.get_untracked();
        asked.parse().ok().filter(|asked| *asked < newest)
    })
}

/// The list of versions beside the chosen one.
#[component]
pub fn History(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let saving = workspace.saving;
    let versions = Load::new(move || {
        let id = saving.id();
        saving.version.track();
        async move { client::design_versions(&id).await }
    });
    let chosen = RwSignal::new(None::<Arc<DesignVersion>>);
    let problem = RwSignal::new(None::<api::Problem>);
    let last_choice = StoredValue::new(None::<u32>);
    let choose = move |number: u32| {
        last_choice.set_value(Some(number));
        leptos::task::spawn_local(async move {
            let answer = client::design_version(&saving.id(), number).await;
            // The user can have chosen another version since, or closed the list.
            if last_choice.try_get_value() != Some(Some(number)) {
                return;
            }
            match answer {
                Ok(version) => {
                    workspace.against.try_set(Some(Arc::new(compare::Version {
                        document: Document::parse(&*version.template),
                        bundle: version.beside.bundle(),
                        places: board::places_of(&version.layout),
                    })));
                    chosen.try_set(Some(Arc::new(version)));
                    problem.try_set(None);
                }
                Err(error) => {
                    problem.try_set(Some(error));
                }
            }
        });
    };
    on_cleanup(move || {
        workspace.against.try_set(None);
    });
    let asked = asked_version(workspace);
    Effect::new(move |_| {
        if let Some(number) = asked.get() {
            choose(number);
        }
    });
    let is_chosen = move |number| {
        chosen.with(|chosen| {
            chosen
                .as_ref()
                .is_some_and(|one| one.summary.version == number)
        })
    };
    view! {
        <div class="history">
            {versions.view(|| view! { <p class="panel-none" aria-busy="true">"Loading the versions"</p> }.into_any(), move |list| view! {
                <ol class="history-list" aria-label="Versions">
                    {list.into_iter().map(|version| view! { <Row version is_chosen choose workspace /> }).collect_view()}
                </ol>
            })}
            <div class="history-detail">
                <ProblemNote problem />
                {move || match chosen.get() {
                    Some(version) => view! { <Detail workspace version versions /> }.into_any(),
                    None => view! {
                        <p class="panel-none">
                            <Icon name="history" />"Choose a version to see what has changed since, on the canvas and here."
                        </p>
                    }.into_any(),
                }}
            </div>
        </div>
    }
}

#[component]
fn Row(
    version: DesignVersionSummary,
    is_chosen: impl Fn(u32) -> bool + Copy + Send + Sync + 'static,
    choose: impl Fn(u32) + Copy + Send + Sync + 'static,
    workspace: Workspace,
) -> impl IntoView {
    let number = version.version;
    view! {
        <li>
            <button
                type="button" aria-pressed=move || is_chosen(number).to_string()
                on:click=move |_| choose(number)
            >
                <span class="history-number mono">{format!("v{number}")}</span>
                " "
                <span class="history-label">
                    {version.label.unwrap_or_default()}
                    {move || (workspace.saving.version.get() == number).then_some(" (now)")}
                </span>
                " "
                <span class="meta">{version.author}", "<Ago time=version.saved /></span>
            </button>
        </li>
    }
}

/// A version: its label, the way back to it, and what has changed since.
#[component]
fn Detail(
    workspace: Workspace,
    version: Arc<DesignVersion>,
    versions: Load<Vec<DesignVersionSummary>>,
) -> impl IntoView {
    let (session, toasts) = (use_session(), use_toasts());
    let number = version.summary.version;
    let label = RwSignal::new(version.summary.label.clone().unwrap_or_default());
    let name = move |event: ev::SubmitEvent| {
        event.prevent_default();
        leptos::task::spawn_local(async move {
            let text = label.get_untracked();
            match client::design_version_label(&workspace.saving.id(), number, &text).await {
                Ok(()) => {
                    versions.reload();
                    toasts.done(if text.trim().is_empty() {
                        format!("Version {number} has no label.")
                    } else {
                        format!(
                            "Version {number} has the label `{}`, so it is not deleted.",
                            text.trim()
                        )
                    });
                }
                Err(problem) => toasts.warn(problem.detail),
            }
        });
    };
    let restored = version.clone();
    let restore = move |_| {
        let text = format!("Restore version {number}");
        let beside = restored.beside.bundle();
        workspace.replace(&restored.template, &restored.layout, beside, &text);
        workspace.show_toast(&format!(
            "The design is as in version {number}. Undo takes it back."
        ));
    };
    let (differences, moved) = (workspace.differences, workspace.moved);
    let is_same = move || differences.with(|all| all.is_empty()) && moved.get() == 0;
    view! {
        <div class="history-head">
            <h3>{format!("Version {number}")}</h3>
            {move || session.can_change().then(|| view! {
                <form class="history-form" on:submit=name>
                    <input
                        class="input" aria-label="Label of the version" placeholder="Label: before the release" maxlength="100"
                        prop:value=move || label.get() on:input=move |event| label.set(event_target_value(&event))
                    />
                    <button type="submit" class="button" data-size="small">"Set label"</button>
                </form>
            })}
            <button
                type="button" class="button" data-size="small" data-look="primary"
                disabled=move || !session.can_change() || is_same() on:click=restore
            >
                <Icon name="undo-2" />"Restore"
            </button>
        </div>
        {move || {
            let all = differences.get();
            if is_same() {
                return view! { <p class="panel-none"><Icon name="circle-check" />"The design is the same now."</p> }.into_any();
            }
            let is_open = all.len() <= UNFOLDED_MAX;
            view! {
                <ul class="history-changes" aria-label=format!("Changes since version {number}")>
                    {all.iter().cloned().map(|one| view! { <Change workspace one is_open /> }).collect_view()}
                    {move || (moved.get() > 0).then(|| view! { <li class="history-moved"><Icon name="layout-template" />{moved_words(moved.get())}</li> })}
                </ul>
            }.into_any()
        }}
    }
}

fn moved_words(count: usize) -> String {
    match count {
        1 => "Moved: 1 node".to_owned(),
        count => format!("Moved: {count} nodes"),
    }
}

#[component]
fn Change(workspace: Workspace, one: Difference, is_open: bool) -> impl IntoView {
    let (icon, word, look) = match one.kind {
        Kind::Added => ("plus", "Added since", "create"),
        Kind::Changed => ("pencil", "Changed since", "update"),
        Kind::Removed => ("minus", "Removed since", "delete"),
    };
    let name = match &one.name {
        Some(name) if one.section == compare::FILES => name.clone(),
        Some(name) => format!("{}.{name}", one.section),
        None if one.section.is_empty() => "The whole text".to_owned(),
        None => one.section.clone(),
    };
    let drawn = one.resource().filter(|_| one.kind != Kind::Removed);
    let show = drawn.map(str::to_owned).map(|resource| {
        view! {
            <button
                type="button" class="button" data-look="ghost" data-size="icon-small" title="Show on the canvas"
                aria-label=format!("Show {resource} on the canvas")
                on:click=move |_| { workspace.show(&resource, None); }
            >
                <Icon name="eye" />
            </button>
        }
    });
    view! {
        <li data-action=look>
            <details open=is_open>
                <summary><Icon name=icon /><span class="sr-only">{word}" "</span><code>{name}</code></summary>
                {line_diff(&one.old, &one.new)}
            </details>
            {show}
        </li>
    }
}
