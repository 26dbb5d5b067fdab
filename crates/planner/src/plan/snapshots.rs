//! The workflows that take a snapshot of a deployment, and restore its data from one. The resources do not wait for each
//! other, and none changes its description, so the workflows describe none.

use super::time_limits::SNAPSHOT_SECONDS;
use crate::workflow::{Step, StepKind, Workflow};

/// A workflow that takes a snapshot of each of these resources, given by name and id in the cloud.
pub fn take<'a>(resources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Workflow {
    let steps = resources.into_iter();
    of(steps.map(|(name, id)| step(StepKind::Snapshot, "snapshot", name, id)))
}

/// A workflow that restores each of these resources, given by name, id in the cloud and id of the snapshot.
pub fn restore<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Workflow {
    let steps = parts.into_iter();
    of(steps.map(|(name, id, snapshot)| Step {
        snapshot_id: Some(snapshot.to_owned()),
        ..step(StepKind::Restore, "restore", name, id)
    }))
}

fn step(kind: StepKind, verb: &str, name: &str, id: &str) -> Step {
    let step_id = format!("{name}:{verb}");
    Step {
        server_id: Some(id.to_owned()),
        ..Step::new(step_id, kind, Some(name), Vec::new(), SNAPSHOT_SECONDS)
    }
}

fn of(steps: impl Iterator<Item = Step>) -> Workflow {
    Workflow {
        steps: steps.collect(),
        ..Workflow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_has_a_step_that_waits_for_none() {
        let taken = take([("db", "1"), ("web", "2")]);
        let restored = restore([("db", "1", "i")]);
        let ids = |workflow: &Workflow| -> Vec<String> {
            let steps = workflow.steps.iter();
            assert!(steps.clone().all(|step| step.after.is_empty()));
            steps.map(|step| step.id.clone()).collect()
        };
        assert_eq!(ids(&taken), ["db:snapshot", "web:snapshot"]);
        assert_eq!(ids(&restored), ["db:restore"]);
        assert_eq!(restored.steps[0].snapshot_id.as_deref(), Some("i"));
    }
}
