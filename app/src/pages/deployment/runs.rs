//! The runs of a deployment, with ways to compare two of them and to roll back to one.

use api::{Deployment, DeploymentState, Run, RunKind, RunState};
use leptos::prelude::*;

use crate::{
    load::{Load, Loaded},
    session::use_session,
    time::{self, Ago},
    ui::{
        ACTIONS, Icon, MoreRows, ProblemCard, ROWS, StateBadge, data_table, prose, skeleton,
        state::{RunLook, run_title},
    },
};

/// Address of the plan that rolls a deployment back to what it was after a run.
pub fn roll_back_href(run: &Run) -> String {
    format!("/deployments/{}/plan?run={}", run.deployment, run.id)
}

/// True if the run makes a deployment what its content says.
fn made(run: &Run) -> bool {
    matches!(run.kind, RunKind::Deploy | RunKind::Update)
}

/// True if a deployment can be rolled back to what a run made: the run changed it and succeeded, and a newer one changed it
/// since. `runs` are all runs of the deployment.
pub fn can_roll_back_to(run: &Run, runs: &[Run]) -> bool {
    let is_older = runs
        .iter()
        .any(|other| made(other) && other.created > run.created);
    made(run) && run.state == RunState::Succeeded && is_older
}

/// The last run that changed a deployment and succeeded. `runs` are all runs of the deployment.
pub fn last_good(runs: &[Run]) -> Option<&Run> {
    let good = runs
        .iter()
        .filter(|run| made(run) && run.state == RunState::Succeeded);
    good.max_by(|one, other| one.created.cmp(&other.created))
}

/// The two newest runs with a content, as earlier and later one, for a comparison.
fn newest_pair(runs: &[Run]) -> Option<(&str, &str)> {
    let mut changes = runs.iter().filter(|run| run.kind.changes_resources());
    let later = changes.next()?;
    let earlier = changes.next()?;
    Some((&earlier.id, &later.id))
}

/// The section of runs, newest first.
#[component]
pub fn Runs(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Runs of the deployment.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    let session = use_session();
    // A deployment that is busy or gone cannot be updated.
    let is_changeable = Memo::new(move |_| {
        let state = deployment.with(|it| it.map(|it| it.state));
        matches!(
            state,
            Some(DeploymentState::Deployed | DeploymentState::Failed)
        ) && session.can_change()
    });
    let sorted = move || {
        let mut runs = match runs.state() {
            Loaded::Ready(runs) => runs,
            _ => Vec::new(),
        };
        runs.sort_by(|one, other| other.created.cmp(&one.created));
        runs
    };
    let compare = move || {
        let runs = sorted();
        let (earlier, later) = newest_pair(&runs)?;
        let id = &runs.first()?.deployment;
        let href = format!("/deployments/{id}/compare?from={earlier}&to={later}");
        Some(
            view! { <a class="button" data-size="small" href=href><Icon name="equal" />"Compare runs"</a> },
        )
    };
    let rows = RwSignal::new(ROWS);
    let count = Memo::new(move |_| runs.with(|runs| runs.map_or(0, Vec::len)));
    let table = move || match runs.state() {
        Loaded::Ready(_) => {
            let runs = sorted();
            let rows = runs
                .iter()
                .take(rows.get())
                .map(|run| row(run, is_changeable.get() && can_roll_back_to(run, &runs)))
                .collect_view();
            data_table(
                ["Run", "State", "Started", "Took", "By", "Reason", ACTIONS],
                rows,
            )
            .into_any()
        }
        Loaded::Loading => skeleton::rows(2),
        Loaded::Failed(problem) => {
            view! { <ProblemCard problem retry=Callback::new(move |()| runs.reload()) /> }
                .into_any()
        }
    };
    view! {
        <section class="section" aria-label="Runs">
            <div class="section-head"><h2>"Runs"</h2>{compare}</div>
            {table}
            <MoreRows rows count />
        </section>
    }
}

fn row(run: &Run, offers_roll_back: bool) -> impl IntoView {
    let took = time::span(run.started.as_deref(), run.ended.as_deref(), None);
    let back = offers_roll_back.then(|| {
        view! {
            <a class="button" data-size="small" href=roll_back_href(run) title="Plan a roll-back to the content of this run">
                <Icon name="undo-2" />
                "Roll back to this"
            </a>
        }
    });
    view! {
        <tr data-link data-run=run.id.clone()>
            <td><a class="row-link" href=format!("/runs/{}", run.id)>{run_title(run)}</a></td>
            <td class="fit"><StateBadge state=RunLook::from(run) /></td>
            <td class="fit quiet"><Ago time=run.created.clone() /></td>
            <td class="fit quiet">{took}</td>
            <td class="fit quiet">{run.author.clone()}</td>
            <td class="quiet">{run.reason.as_ref().map(|reason| prose(reason))}</td>
            <td class="fit"><div class="row-actions">{back}</div></td>
        </tr>
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(kind: &str, state: &str, created: u32) -> Run {
        serde_json::from_value(json!({
            "id": created.to_string(), "deployment": "d", "kind": kind, "state": state, "author": "demo",
            "created": format!("2026-01-01T00:00:{created:02}Z"), "started": null, "ended": null,
        }))
        .unwrap()
    }

    #[test]
    fn earlier_successful_changes_can_be_rolled_back_to() {
        let runs = [
            run("command", "succeeded", 5),
            run("update", "succeeded", 4),
            run("update", "failed", 3),
            run("update", "succeeded", 2),
            run("deploy", "succeeded", 1),
        ];
        let offered: Vec<&str> = runs
            .iter()
            .filter(|run| can_roll_back_to(run, &runs))
            .map(|run| run.id.as_str())
            .collect();
        assert_eq!(offered, ["2", "1"]);
        let last = |runs: &[Run]| last_good(runs).map(|run| run.id.clone());
        assert_eq!(last(&runs).as_deref(), Some("4"));
        assert_eq!(last(&runs[2..]).as_deref(), Some("2"));
        assert_eq!(newest_pair(&runs), Some(("3", "4")));
        assert_eq!(newest_pair(&runs[4..]), None);
    }
}
