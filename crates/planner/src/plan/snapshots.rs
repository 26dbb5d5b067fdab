//! The workflows that take a snapshot of a deployment, and restore its data from one. No resource changes its description,
//! so the workflows describe none.

use std::collections::BTreeMap;

use super::time_limits::SNAPSHOT_SECONDS;
use crate::workflow::{Step, StepKind, Workflow};

/// A resource that is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restoration<'a> {
    /// Name of the resource.
    pub name: &'a str,
    /// Id of the resource in the cloud.
    pub id: &'a str,
    /// Id of the snapshot in the cloud.
    pub snapshot: &'a str,
    /// Id in the cloud of the server that has the volume. `None` for other resources.
    pub server: Option<&'a str>,
}

/// A workflow that takes a snapshot of each of these resources, given by name and id in the cloud.
pub fn take<'a>(resources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Workflow {
    let steps = resources.into_iter();
    let steps = steps.map(|(name, id)| step(StepKind::Snapshot, "snapshot", name, id));
    of(steps.collect())
}

/// A workflow that restores each of these resources. A volume leaves its server for its restoration. So the volumes of a
/// server come one after the other, by which they keep their device names, and the server starts with them at the end.
pub fn restore(parts: &[Restoration<'_>]) -> Workflow {
    let mut steps: Vec<Step> = Vec::new();
    // The last step so far of the volumes of each server.
    let mut last: BTreeMap<&str, String> = BTreeMap::new();
    let (volumes, others): (Vec<&Restoration<'_>>, Vec<&Restoration<'_>>) =
        parts.iter().partition(|part| part.server.is_some());
    for part in volumes.into_iter().chain(others) {
        let server = part.server.unwrap_or(part.id);
        let step = Step {
            snapshot_id: Some(part.snapshot.to_owned()),
            after: last.get(server).cloned().into_iter().collect(),
            ..step(StepKind::Restore, "restore", part.name, part.id)
        };
        last.insert(server, step.id.clone());
        steps.push(step);
    }
    of(steps)
}

fn step(kind: StepKind, verb: &str, name: &str, id: &str) -> Step {
    let step_id = format!("{name}:{verb}");
    Step {
        server_id: Some(id.to_owned()),
        ..Step::new(step_id, kind, Some(name), Vec::new(), SNAPSHOT_SECONDS)
    }
}

fn of(steps: Vec<Step>) -> Workflow {
    Workflow {
        steps,
        ..Workflow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of the steps, each with those that it waits for.
    fn order(workflow: &Workflow) -> Vec<String> {
        let steps = workflow.steps.iter();
        steps
            .map(|step| match step.after.join(" ") {
                after if after.is_empty() => step.id.clone(),
                after => format!("{} after {after}", step.id),
            })
            .collect()
    }

    #[test]
    fn a_snapshot_is_taken_of_all_resources_at_once() {
        let taken = take([("db", "1"), ("web", "2")]);
        assert_eq!(order(&taken), ["db:snapshot", "web:snapshot"]);
    }

    #[test]
    fn a_server_is_restored_after_its_volumes_one_by_one() {
        let part = |name, id, server| Restoration {
            name,
            id,
            snapshot: "s",
            server,
        };
        let restored = restore(&[
            part("apart", "4", None),
            part("data", "5", Some("1")),
            part("db", "1", None),
            part("log", "6", Some("1")),
            part("web", "2", None),
            part("www", "7", Some("2")),
        ]);
        assert_eq!(
            order(&restored),
            [
                "data:restore",
                "log:restore after data:restore",
                "www:restore",
                "apart:restore",
                "db:restore after log:restore",
                "web:restore after www:restore",
            ]
        );
        assert_eq!(restored.steps[0].snapshot_id.as_deref(), Some("s"));
    }
}
