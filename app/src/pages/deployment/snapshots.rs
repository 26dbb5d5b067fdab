//! Snapshots of a deployment: the list, a form for another one, restoration and deletion.

use api::{
    Deployment, DeploymentState, LeftAlone, Run, RunState, SNAPSHOT_NAME_CHARS_MAX, Snapshot,
    SnapshotRequest, SnapshotScope,
};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_router::hooks::use_navigate;

use crate::{
    client,
    load::Load,
    pages::terminal,
    session::use_session,
    time::{Ago, moment},
    ui::{ACTIONS, Icon, Question, data_table, skeleton, state::badge, use_confirm, use_toasts},
};

/// Types of resources with data that snapshots can contain.
const WITH_DATA: [&str; 2] = [terminal::SERVER, "OS::Cinder::Volume"];

/// The section of snapshots. Nothing for a deployment without servers, volumes and snapshots.
#[component]
pub fn Snapshots(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Runs of the deployment.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    let id = Memo::new(move |_| deployment.with(|it| it.map(|it| it.id.clone())));
    let list = Load::new(move || {
        let id = id.get();
        async move {
            match id {
                Some(id) => client::snapshots(&id).await,
                None => Ok(Vec::new()),
            }
        }
    });
    let scope = Load::new(move || {
        let id = id.get();
        async move {
            match id {
                Some(id) => client::snapshot_scope(&id).await,
                None => Ok(SnapshotScope::default()),
            }
        }
    });
    // Runs take snapshots, restore them, and delete them with their servers.
    let states = Memo::new(move |_| runs.with(states_of));
    Effect::new(move |before: Option<Vec<(String, RunState)>>| {
        let now = states.get();
        if before.is_some_and(|before| before != now) {
            list.reload();
            scope.reload();
        }
        now
    });
    let state = Memo::new(move |_| deployment.with(|it| it.map(|it| it.state)));
    let has_data = Memo::new(move |_| {
        deployment.with(|it| {
            it.is_some_and(|it| {
                let mut resources = it.resources.iter().filter(|one| one.physical_id.is_some());
                resources.any(|one| WITH_DATA.contains(&one.resource_type.as_str()))
            })
        })
    });
    let is_busy = Signal::derive(move || {
        !matches!(
            state.get(),
            Some(DeploymentState::Deployed | DeploymentState::Failed)
        )
    });
    let restore = restorer(deployment);
    let remove = remover(deployment, list);
    let snapshots = Memo::new(move |_| list.get().unwrap_or_default());
    let is_shown = Memo::new(move |_| has_data.get() || !snapshots.with(Vec::is_empty));
    let table = move || {
        let rows = snapshots
            .get()
            .into_iter()
            .map(|snapshot| view! { <SnapshotLine snapshot is_busy restore remove /> })
            .collect_view();
        (!snapshots.with(Vec::is_empty)).then(|| {
            data_table(
                ["Name", "Taken", "State", "Contains", "Size", ACTIONS],
                rows,
            )
        })
    };
    let contents = move || {
        has_data.get().then(|| {
            let text = |scope: SnapshotScope| view! { <p class="quiet">{scope_text(&scope)}</p> };
            scope.view(|| skeleton::rows(1), text)
        })
    };
    move || {
        is_shown.get().then(|| {
            view! {
                <section class="section" aria-label="Snapshots">
                    <div class="section-head"><h2>"Snapshots"</h2><span class="meta">{move || snapshots.with(Vec::len)}</span></div>
                    <p class="quiet">
                        "A snapshot contains the root disks of servers, and volumes. When a server or volume is removed or replaced, its part of all snapshots is deleted."
                    </p>
                    {contents}
                    {list.failure()}
                    {table}
                    <TakeForm deployment is_busy />
                </section>
            }
        })
    }
}

/// The contents of a new snapshot, in sentences.
fn scope_text(scope: &SnapshotScope) -> String {
    let mut text = match &scope.kept[..] {
        [] => String::from("There is nothing that a new snapshot could contain."),
        kept => format!("A new snapshot contains {}.", kept.join(", ")),
    };
    if !scope.left_alone.is_empty() {
        text.push_str(&format!(" Left alone: {}.", reasons(&scope.left_alone)));
    }
    text
}

/// Resources that are left alone, each with its reason.
fn reasons(left: &[LeftAlone]) -> String {
    let left = left.iter();
    let left: Vec<String> = left
        .map(|one| format!("{} ({})", one.resource, one.why))
        .collect();
    left.join(", ")
}

/// The runs with their states, for comparison.
fn states_of(runs: Option<&Vec<Run>>) -> Vec<(String, RunState)> {
    let runs = runs.into_iter().flatten();
    runs.map(|run| (run.id.clone(), run.state)).collect()
}

#[component]
fn SnapshotLine(
    /// The snapshot.
    snapshot: Snapshot,
    /// True while the deployment cannot be changed.
    #[prop(into)]
    is_busy: Signal<bool>,
    /// Restores it after a confirmation.
    restore: Callback<Snapshot>,
    /// Deletes it after a confirmation.
    remove: Callback<Snapshot>,
) -> impl IntoView {
    let session = use_session();
    let is_being_taken = snapshot.is_being_taken;
    let locked = move || is_being_taken || is_busy.get() || !session.can_change();
    // What is left of an undeployed deployment's snapshots can still be deleted.
    let cannot_delete = move || is_being_taken || !session.can_change();
    let is_useless = snapshot.restored().next().is_none();
    let state = state_badge(&snapshot);
    let parts: Vec<&str> = snapshot
        .parts
        .iter()
        .map(|part| part.resource.as_str())
        .collect();
    let parts = parts.join(", ");
    let size = size(&snapshot);
    let (name, author, created) = (
        snapshot.name.clone(),
        snapshot.author.clone(),
        snapshot.created.clone(),
    );
    let run = format!("/runs/{}", snapshot.id);
    let (restore_label, delete_label) = (
        format!("Restore {name}"),
        format!("Delete the snapshot {name}"),
    );
    let snapshot = StoredValue::new(snapshot);
    view! {
        <tr data-snapshot=name.clone()>
            <td><a class="link" href=run title="Show the run that took it">{name.clone()}</a></td>
            <td class="fit"><Ago time=created /><span class="meta">{format!(" by {author}")}</span></td>
            <td class="fit">{state}</td>
            <td class="mono">{parts}</td>
            <td class="fit">{size}</td>
            <td class="fit">
                <div class="row-actions">
                    <button
                        type="button" class="button" data-size="small" aria-label=restore_label
                        disabled=move || locked() || is_useless on:click=move |_| restore.run(snapshot.get_value())
                    >
                        <Icon name="undo-2" />
                        "Restore…"
                    </button>
                    <button
                        type="button" class="button" data-look="danger-quiet" data-size="small" aria-label=delete_label
                        disabled=cannot_delete on:click=move |_| remove.run(snapshot.get_value())
                    >
                        <Icon name="trash-2" />
                        "Delete"
                    </button>
                </div>
            </td>
        </tr>
    }
}

fn state_badge(snapshot: &Snapshot) -> AnyView {
    if snapshot.is_being_taken {
        badge("running", "Being taken")
    } else if snapshot.is_incomplete() {
        badge("failed", "Incomplete")
    } else {
        badge("succeeded", "Complete")
    }
}

/// The size of all its images and volumes, as far as the cloud knows it.
fn size(snapshot: &Snapshot) -> Option<String> {
    const MIB: u64 = 1 << 20;
    let bytes: u64 = snapshot.parts.iter().filter_map(|part| part.bytes).sum();
    let mib = bytes.div_ceil(MIB);
    match mib {
        0 => None,
        1..1024 => Some(format!("{mib} MiB")),
        _ => Some(format!("{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024)),
    }
}

/// The form that takes a snapshot, and opens the page of its run.
#[component]
fn TakeForm(
    /// The deployment.
    deployment: Load<Deployment>,
    /// True while the deployment cannot be changed.
    #[prop(into)]
    is_busy: Signal<bool>,
) -> impl IntoView {
    let (session, toasts) = (use_session(), use_toasts());
    let navigate = StoredValue::new_local(use_navigate());
    let name = RwSignal::new(String::new());
    let is_sent = RwSignal::new(false);
    let locked = move || is_sent.get() || is_busy.get() || !session.can_change();
    let take = move |event: SubmitEvent| {
        event.prevent_default();
        let Some(it) = deployment.peek() else { return };
        let request = SnapshotRequest {
            name: name.get_untracked().trim().to_owned(),
        };
        if let Some(problem) = request.problem() {
            return toasts.warn(format!("Not taken: {problem}."));
        }
        is_sent.set(true);
        leptos::task::spawn_local(async move {
            let taken = client::snapshot_take(&it.id, &request).await;
            let _gone = is_sent.try_set(false);
            match taken {
                Ok(started) => {
                    navigate.try_with_value(|navigate| {
                        navigate(&format!("/runs/{}", started.run), Default::default())
                    });
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    view! {
        <form class="snapshot-form" on:submit=take>
            <input
                class="input" required=true maxlength=SNAPSHOT_NAME_CHARS_MAX.to_string() placeholder="before the upgrade"
                aria-label="Name of the snapshot" prop:value=name disabled=locked
                on:input=move |event| name.set(event_target_value(&event))
            />
            <button type="submit" class="button" data-size="small" disabled=locked>
                <Icon name="camera" />
                "Take a snapshot"
            </button>
        </form>
    }
}

/// Function that restores a snapshot after a confirmation, and opens the page of the run.
fn restorer(deployment: Load<Deployment>) -> Callback<Snapshot> {
    let (confirm, toasts) = (use_confirm(), use_toasts());
    let navigate = StoredValue::new_local(use_navigate());
    Callback::new(move |snapshot: Snapshot| {
        let Some(it) = deployment.peek() else { return };
        let question = restore_question(&it.name, &snapshot, &moment(&snapshot.created));
        confirm.ask(question, move || {
            let (id, snapshot) = (it.id.clone(), snapshot.id.clone());
            leptos::task::spawn_local(async move {
                match client::snapshot_restore(&id, &snapshot).await {
                    Ok(started) => {
                        navigate.try_with_value(|navigate| {
                            navigate(&format!("/runs/{}", started.run), Default::default())
                        });
                    }
                    Err(problem) => toasts.problem(&problem),
                }
            });
        });
    })
}

/// The confirmation. `time` is the snapshot's, in words.
fn restore_question(deployment: &str, snapshot: &Snapshot, time: &str) -> Question {
    let mut body = vec![
        format!(
            "The root disks of the servers below, and the volumes, return to their state at {time}. All data written to them since then is lost. Servers restart, and attached volumes are detached until they are back."
        ),
        String::from(
            "A server that is not in the list does not restart: mount its restored volumes there again. A volume returns to its newest snapshot only.",
        ),
        String::from(
            "Ids, addresses, networks and the template stay, and so do the records of software. Check the deployment afterwards: a repair sets up unhealthy software again. An update sets up other software again only if its properties change.",
        ),
    ];
    if !snapshot.left_alone.is_empty() {
        body.push(format!("Not restored: {}.", reasons(&snapshot.left_alone)));
    }
    Question {
        title: format!("Restore {deployment} from {}?", snapshot.name),
        body,
        items: snapshot.restored().map(str::to_owned).collect(),
        action: String::from("Restore"),
        danger: true,
    }
}

/// Function that deletes a snapshot after a confirmation.
fn remover(deployment: Load<Deployment>, list: Load<Vec<Snapshot>>) -> Callback<Snapshot> {
    let (confirm, toasts) = (use_confirm(), use_toasts());
    Callback::new(move |snapshot: Snapshot| {
        let Some(it) = deployment.peek() else { return };
        let question = Question {
            title: format!("Delete the snapshot {}?", snapshot.name),
            body: vec![String::from(
                "Its images and volume snapshots are deleted from the cloud. The servers and volumes stay as they are.",
            )],
            items: Vec::new(),
            action: String::from("Delete"),
            danger: true,
        };
        confirm.ask(question, move || {
            let (id, snapshot) = (it.id.clone(), snapshot.id.clone());
            leptos::task::spawn_local(async move {
                if let Err(problem) = client::snapshot_delete(&id, &snapshot).await {
                    toasts.problem(&problem);
                }
                list.reload();
            });
        });
    })
}

#[cfg(test)]
mod tests {
    use api::SnapshotPart;

    use super::*;

    fn snapshot(bytes: u64) -> Snapshot {
        let part = |resource: &str, is_restorable| SnapshotPart {
            resource: resource.to_owned(),
            physical_id: String::from("1"),
            snapshot_id: Some(String::from("2")),
            bytes: Some(bytes),
            is_restorable,
        };
        Snapshot {
            id: String::from("r"),
            name: String::from("before"),
            author: String::from("demo"),
            created: String::from("2026-01-02T03:04:05.000Z"),
            is_being_taken: false,
            parts: vec![part("db", true), part("web", false)],
            left_alone: vec![LeftAlone {
                resource: String::from("web"),
                why: String::from("it was replaced since"),
            }],
        }
    }

    #[test]
    fn the_confirmation_names_what_is_lost_and_what_is_left_alone() {
        let question = restore_question("shop", &snapshot(0), "03:04:00");
        assert_eq!(question.title, "Restore shop from before?");
        assert_eq!(question.items, ["db"]);
        assert!(question.body[0].contains("at 03:04:00"));
        assert!(question.body[1].contains("mount its restored volumes there again"));
        assert!(question.body[2].contains("Check the deployment afterwards"));
        assert_eq!(
            question.body.last().map(String::as_str),
            Some("Not restored: web (it was replaced since).")
        );
    }

    #[test]
    fn a_new_snapshot_names_what_it_contains_and_what_not() {
        let mut scope = SnapshotScope {
            kept: vec![String::from("disk"), String::from("web")],
            left_alone: Vec::new(),
        };
        assert_eq!(scope_text(&scope), "A new snapshot contains disk, web.");
        scope = SnapshotScope {
            kept: Vec::new(),
            left_alone: vec![LeftAlone {
                resource: String::from("db"),
                why: String::from("it boots from a volume"),
            }],
        };
        assert_eq!(
            scope_text(&scope),
            "There is nothing that a new snapshot could contain. Left alone: db (it boots from a volume)."
        );
    }

    #[test]
    fn sizes_are_those_of_all_parts() {
        assert_eq!(size(&snapshot(0)), None);
        assert_eq!(size(&snapshot(1 << 20)).as_deref(), Some("2 MiB"));
        assert_eq!(size(&snapshot(3 << 29)).as_deref(), Some("3.0 GiB"));
    }
}
