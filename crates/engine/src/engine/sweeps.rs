//! The sweep steps of a run. They depend on the journal and not on the template, so plans do not contain them.

use std::{collections::HashSet, time::Duration};

use api::{RunKind, Workflow};
use planner::workflow::{Step, StepKind};

/// Seconds for the removal of strays, beyond the horizon.
const REMOVAL_SECONDS: u32 = 900;

/// Adds a sweep that runs on every ending, after all other steps. An undeployment with `pending` creations of unknown
/// outcome gets a second sweep, which all other steps wait for. A run without changes gets none, unless creations are
/// pending.
pub(super) fn add(workflow: &mut Workflow, kind: RunKind, pending: usize, horizon: Duration) {
    if workflow.steps.is_empty() && pending == 0 && kind != RunKind::Undeploy {
        return;
    }
    let seconds = u32::try_from(horizon.as_secs()).unwrap_or(u32::MAX);
    let sweep = |id: &str, after: Vec<String>| Step {
        id: id.to_owned(),
        kind: StepKind::Sweep,
        resource: None,
        after,
        always_run: false,
        timeout_seconds: seconds.saturating_add(REMOVAL_SECONDS),
        replaces: None,
        if_changed: false,
        changed: Vec::new(),
        repairs: false,
        takes_from: Vec::new(),
        outdates: Vec::new(),
        pause_seconds: 0,
        server_id: None,
        snapshot_id: None,
    };
    if kind == RunKind::Undeploy && pending > 0 {
        let first = sweep("sweep:first", Vec::new());
        for step in workflow
            .steps
            .iter_mut()
            .filter(|step| step.after.is_empty())
        {
            step.after.push(first.id.clone());
        }
        workflow.steps.insert(0, first);
    }
    // The machine makes it wait for all steps; in a graph of the workflow it follows the last ones.
    let waited_for = workflow.steps.iter().flat_map(|step| &step.after);
    let waited_for: HashSet<&String> = waited_for.collect();
    let ids = workflow.steps.iter().map(|step| &step.id);
    let lasts = ids.filter(|id| !waited_for.contains(id));
    let after = lasts.cloned().collect();
    workflow.steps.push(Step {
        always_run: true,
        ..sweep("sweep", after)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{step, workflow};

    fn ids_and_after(workflow: &Workflow) -> Vec<(&str, Vec<&str>)> {
        let steps = workflow.steps.iter();
        steps
            .map(|step| {
                let after = step.after.iter().map(String::as_str).collect();
                (step.id.as_str(), after)
            })
            .collect()
    }

    #[test]
    fn a_sweep_comes_last() {
        let mut deploy = workflow([
            step("net:create", StepKind::Create, &[]),
            step("sub:create", StepKind::Create, &["net:create"]),
            step("disk:create", StepKind::Create, &[]),
        ]);
        add(&mut deploy, RunKind::Deploy, 1, Duration::from_secs(120));
        assert_eq!(
            ids_and_after(&deploy)[2..],
            [
                ("disk:create", vec![]),
                ("sweep", vec!["sub:create", "disk:create"])
            ]
        );
        let last = deploy.steps.last().unwrap();
        assert!(last.always_run && last.timeout_seconds == 1020);
    }

    #[test]
    fn an_undeployment_waits_first_where_something_is_pending() {
        let undeploy = || {
            workflow([
                step("sub:delete", StepKind::Delete, &[]),
                step("net:delete", StepKind::Delete, &["sub:delete"]),
            ])
        };
        let (mut calm, mut pending) = (undeploy(), undeploy());
        let horizon = Duration::from_secs(120);
        add(&mut calm, RunKind::Undeploy, 0, horizon);
        assert_eq!(ids_and_after(&calm)[0], ("sub:delete", vec![]));
        add(&mut pending, RunKind::Undeploy, 2, horizon);
        assert_eq!(
            ids_and_after(&pending),
            [
                ("sweep:first", vec![]),
                ("sub:delete", vec!["sweep:first"]),
                ("net:delete", vec!["sub:delete"]),
                ("sweep", vec!["net:delete"])
            ]
        );
    }

    #[test]
    fn a_plan_without_changes_has_a_sweep_only_if_a_request_is_pending() {
        let horizon = Duration::from_secs(120);
        for (kind, pending, steps) in [
            (RunKind::Update, 0, 0),
            (RunKind::Update, 1, 1),
            (RunKind::Undeploy, 0, 1),
        ] {
            let mut empty = Workflow::default();
            add(&mut empty, kind, pending, horizon);
            assert_eq!(empty.steps.len(), steps, "{kind:?}");
        }
    }
}
