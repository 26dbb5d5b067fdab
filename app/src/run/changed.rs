//! The changes that a run has made, by what happened to each resource. Pure.

use std::collections::BTreeMap;

use api::{Run, StepKind, StepState};
use planner::workflow::copy_of;

/// Change of a resource in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The resource was created.
    Created,
    /// The resource was updated in place.
    Updated,
    /// A new one took its place.
    Replaced,
    /// Software was installed or configured.
    Configured,
    /// The resource was removed.
    Removed,
}

impl Outcome {
    /// Name for users.
    pub fn title(self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Updated => "Updated",
            Self::Replaced => "Replaced",
            Self::Configured => "Configured",
            Self::Removed => "Removed",
        }
    }

    /// The outcome of two steps on the same resource.
    fn with(self, other: Outcome) -> Outcome {
        match (self.min(other), self.max(other)) {
            (Self::Created, Self::Removed) => Self::Replaced,
            (Self::Replaced, _) | (_, Self::Replaced) => Self::Replaced,
            // A copy from before an update is removed after it.
            (first, _) => first,
        }
    }
}

/// Names of the resources that the succeeded steps of a run have changed.
pub fn changed(run: &Run) -> BTreeMap<Outcome, Vec<String>> {
    let mut outcomes: BTreeMap<&str, Outcome> = BTreeMap::new();
    for step in &run.steps {
        let outcome = match step.kind {
            StepKind::Create => Outcome::Created,
            StepKind::Update => Outcome::Updated,
            StepKind::Configure => Outcome::Configured,
            StepKind::Delete => Outcome::Removed,
            _ => continue,
        };
        let resource = step.resource.as_deref();
        if let Some(resource) = resource.filter(|_| step.state == StepState::Succeeded) {
            let name = copy_of(resource).unwrap_or(resource);
            let entry = outcomes.entry(name).or_insert(outcome);
            *entry = entry.with(outcome);
        }
    }
    let mut changed: BTreeMap<Outcome, Vec<String>> = BTreeMap::new();
    for (name, outcome) in outcomes {
        changed.entry(outcome).or_default().push(name.to_owned());
    }
    changed
}

/// Counts of the changes: `2 created, 1 removed`.
pub fn summary(changed: &BTreeMap<Outcome, Vec<String>>) -> String {
    let counts = changed.iter().map(|(outcome, names)| {
        let word = outcome.title().to_lowercase();
        format!("{} {word}", names.len())
    });
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn summary_of(steps: &[(&str, &str, &str)]) -> String {
        let steps: Vec<Value> = steps
            .iter()
            .map(|(resource, kind, state)| {
                json!({"id": format!("{resource}:{kind}"), "kind": kind, "resource": resource, "state": state, "after": [],
                    "attempts": 1, "started": null, "ended": null, "error": null})
            })
            .collect();
        let run = json!({
            "id": "r", "deployment": "d", "kind": "update", "state": "succeeded", "author": "demo",
            "created": "2026-01-01T00:00:00Z", "started": null, "ended": null, "steps": steps,
        });
        summary(&changed(&serde_json::from_value(run).unwrap()))
    }

    #[test]
    fn each_resource_counts_once_by_what_happened_to_it() {
        let done = [
            ("net", "create", "succeeded"),
            ("web", "create", "succeeded"),
            ("web", "delete", "succeeded"),
            ("disk", "update", "succeeded"),
            ("nginx", "configure", "succeeded"),
            ("old", "delete", "succeeded"),
            ("late", "create", "skipped"),
            ("web", "wait_for_ssh", "succeeded"),
        ];
        assert_eq!(
            summary_of(&done),
            "1 created, 1 updated, 1 replaced, 1 configured, 1 removed"
        );
        assert_eq!(summary_of(&done[6..]), "");
    }
}
