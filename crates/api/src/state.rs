//! States and their names, the same in the API, in lists and on the canvas.
//!
//! A name on the pages is the API's word with a capital letter: `in_transition` is "In transition". A word means one thing: a
//! step or run succeeds, a resource is ready or removed, and a deployment is deployed or undeployed.
//!
//! Some states have another name on the pages. The API has a field for each:
//!
//! | state | name | field |
//! | --- | --- | --- |
//! | `running` of a run that waits at a hook | Waits for a user | `waits_for_user` of the run |
//! | `running` of a deployment | the name of its active run's state | `last_run` of the deployment, `summary.run` in lists |
//! | `running` and `succeeded` of a step that deletes its resource | Removing, Removed | `shown_as` of the step |
//! | `cancelling` and `cancelled` of a run that an update replaces | Being replaced, Replaced | `replaced_by` of the run |
//!
//! The database has older words for some states. They are aliases of the variants, and `store` writes them where the
//! constraint of a column contains them.

use planner::workflow::StepKind;
use serde::{Deserialize, Serialize};

use crate::{FindingKind, ServiceState};

/// State of a run.
///
/// A run that an update replaces is `cancelling` and then `cancelled`, and has a `replaced_by`. The pages then say "Being
/// replaced" and "Replaced".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Accepted, not yet started.
    Queued,
    /// Steps are running.
    Running,
    /// A step failed. Running steps may end, no new ones start, always-run steps follow.
    Failing,
    /// A user cancelled the run. Always-run steps follow.
    Cancelling,
    /// The token expired. A login continues the run.
    Paused,
    /// Every step succeeded.
    Succeeded,
    /// A step failed.
    Failed,
    /// A user cancelled the run.
    Cancelled,
}

impl RunState {
    /// True if the state cannot change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// State of a step.
///
/// A step of kind `delete` that runs or has succeeded is named by the state of its resource, see `shown_as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Waits for other steps.
    Waiting,
    /// Ready to start: none of the steps that it waits for is left, but as many steps run as may run at a time.
    #[serde(alias = "ready")] // in the database
    Queued,
    /// Running.
    Running,
    /// Failed, will be retried.
    Retrying,
    /// Succeeded.
    Succeeded,
    /// Failed for good.
    Failed,
    /// Stopped by a cancel.
    Cancelled,
    /// Not started.
    Skipped,
}

impl StepState {
    /// True if the state cannot change any more.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Skipped
        )
    }

    /// State of its resource that names the state of a step of this kind. `None` if the step's own state is its name.
    pub fn shown_as(self, kind: StepKind) -> Option<ResourceState> {
        match (kind, self) {
            (StepKind::Delete, Self::Running) => Some(ResourceState::Removing),
            (StepKind::Delete, Self::Succeeded) => Some(ResourceState::Removed),
            _ => None,
        }
    }
}

/// State of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeploymentState {
    /// A run is active.
    #[serde(alias = "busy")] // in the database
    Running,
    /// The last run succeeded, and resources exist.
    Deployed,
    /// All servers are suspended. Until it is resumed it can only be undeployed.
    Suspended,
    /// The last run failed or was cancelled. It can be resumed or undeployed.
    Failed,
    /// No resources are left in the cloud.
    Undeployed,
}

/// State of a deployed resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ResourceState {
    /// Being created.
    Creating,
    /// Exists.
    Ready,
    /// Exists, and is suspended with its deployment, or was about to be.
    Suspended,
    /// Being updated.
    Updating,
    /// Being removed.
    #[serde(alias = "deleting")] // in the database
    Removing,
    /// Removed.
    #[serde(alias = "deleted")] // in the database
    Removed,
    /// The last step on it failed.
    Failed,
}

/// A state with a name.
pub trait Named: Copy {
    /// Word of the API.
    fn word(self) -> &'static str;
    /// Name on the pages.
    fn title(self) -> &'static str;
}

/// Gives the variants of a type their words and titles.
macro_rules! names {
    ($type:ident { $($variant:ident: $word:literal, $title:literal;)+ }) => {
        impl $type {
            /// All values.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];
        }

        impl Named for $type {
            fn word(self) -> &'static str {
                match self {
                    $($type::$variant => $word),+
                }
            }

            fn title(self) -> &'static str {
                match self {
                    $($type::$variant => $title),+
                }
            }
        }
    };
}

names!(RunState {
    Queued: "queued", "Queued";
    Running: "running", "Running";
    Failing: "failing", "Failing";
    Cancelling: "cancelling", "Cancelling";
    Paused: "paused", "Paused";
    Succeeded: "succeeded", "Succeeded";
    Failed: "failed", "Failed";
    Cancelled: "cancelled", "Cancelled";
});

names!(StepState {
    Waiting: "waiting", "Waiting";
    Queued: "queued", "Queued";
    Running: "running", "Running";
    Retrying: "retrying", "Retrying";
    Succeeded: "succeeded", "Succeeded";
    Failed: "failed", "Failed";
    Cancelled: "cancelled", "Cancelled";
    Skipped: "skipped", "Skipped";
});

names!(DeploymentState {
    Running: "running", "Running";
    Deployed: "deployed", "Deployed";
    Suspended: "suspended", "Suspended";
    Failed: "failed", "Failed";
    Undeployed: "undeployed", "Undeployed";
});

names!(ResourceState {
    Creating: "creating", "Creating";
    Ready: "ready", "Ready";
    Suspended: "suspended", "Suspended";
    Updating: "updating", "Updating";
    Removing: "removing", "Removing";
    Removed: "removed", "Removed";
    Failed: "failed", "Failed";
});

names!(FindingKind {
    Gone: "gone", "Gone";
    Broken: "broken", "Broken";
    Changed: "changed", "Changed";
    Unhealthy: "unhealthy", "Unhealthy";
    InTransition: "in_transition", "In transition";
    NotCompared: "not_compared", "Not compared";
});

names!(ServiceState {
    Starting: "starting", "Starting";
    Healthy: "healthy", "Healthy";
    Unchecked: "unchecked", "Unchecked";
    Installed: "installed", "Installed";
    Unhealthy: "unhealthy", "Unhealthy";
    Unknown: "unknown", "Unknown";
    Failed: "failed", "Failed";
    Removing: "removing", "Removing";
});

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::{EventBody, RunStep};

    fn assert_one_name<S>(states: &[S])
    where
        S: Named + Serialize + DeserializeOwned + PartialEq + Debug,
    {
        for state in states {
            let word = state.word();
            assert_eq!(serde_json::to_value(state).unwrap(), Value::from(word));
            assert_eq!(serde_json::from_value::<S>(word.into()).unwrap(), *state);
            let (first, others) = word.split_at(1);
            let capital = first.to_uppercase() + &others.replace('_', " ");
            assert_eq!(state.title(), capital);
        }
    }

    #[test]
    fn a_state_has_one_name_in_the_api_and_on_the_pages() {
        assert_one_name(RunState::ALL);
        assert_one_name(StepState::ALL);
        assert_one_name(DeploymentState::ALL);
        assert_one_name(ResourceState::ALL);
        assert_one_name(FindingKind::ALL);
        assert_one_name(ServiceState::ALL);
    }

    #[test]
    fn a_step_that_deletes_its_resource_is_named_by_the_resource() {
        let step = json!({"id": "web:delete", "kind": "delete", "state": "waiting", "after": [], "attempts": 0});
        let mut step: RunStep = serde_json::from_value(step).unwrap();
        let mut shown_as = |kind, state| {
            step.kind = kind;
            step.set_state(state);
            serde_json::to_value(&step).unwrap()["shown_as"].clone()
        };
        assert_eq!(shown_as(StepKind::Delete, StepState::Running), "removing");
        assert_eq!(shown_as(StepKind::Delete, StepState::Succeeded), "removed");
        assert!(shown_as(StepKind::Delete, StepState::Failed).is_null());
        assert!(shown_as(StepKind::Create, StepState::Succeeded).is_null());
    }

    #[test]
    fn stored_events_and_checks_with_former_words_are_shown_with_the_present_ones() {
        for (former, present) in [
            (
                json!({"type": "resource", "name": "web", "state": "deleting"}),
                "removing",
            ),
            (
                json!({"type": "resource", "name": "web", "state": "deleted"}),
                "removed",
            ),
            (
                json!({"type": "step", "step": "web:create", "state": "ready", "attempt": 0}),
                "queued",
            ),
        ] {
            let event: EventBody = serde_json::from_value(former).unwrap();
            assert_eq!(serde_json::to_value(&event).unwrap()["state"], present);
        }
        let check = json!(["transition", "unknown"]);
        let kinds: Vec<FindingKind> = serde_json::from_value(check).unwrap();
        assert_eq!(kinds, [FindingKind::InTransition, FindingKind::NotCompared]);
    }
}
