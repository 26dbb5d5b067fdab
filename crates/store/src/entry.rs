//! Entries of the journal: each is an event for the viewers and a change of a row.

use std::collections::BTreeMap;

use api::{DeploymentState, EventBody, LogLine, ResourceState, RunState, StepState};
use planner::workflow::ResourceSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Namesakes;

/// An entry of a run's journal.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A line of a step's log.
    Log(LogLine),
    /// A new state of a step.
    Step {
        /// Id of the step.
        step: String,
        /// The new state.
        state: StepState,
        /// Number of starts so far.
        attempt: u32,
        /// Message of the failure.
        error: Option<String>,
        /// Time of the next attempt, in RFC 3339, for the event of a step that is retrying.
        retry_at: Option<String>,
    },
    /// A new state of the run, and of its deployment.
    Run {
        /// The new state.
        state: RunState,
        /// The bad ending that the run will have, if any.
        ending: Option<Ending>,
        /// Reason of the state.
        reason: Option<String>,
        /// The new state of the deployment. `None` if the run does not change it.
        deployment: Option<DeploymentState>,
    },
    /// The reason why the roll-back of a failed run does not start. Not written if the run is not failed any more, or
    /// its roll-back is no longer requested.
    RollBack {
        /// The new reason of the run's end.
        reason: String,
        /// Whether the roll-back is tried again.
        wanted: Wanted,
    },
    /// A change of a resource of the run's deployment.
    Resource {
        /// Name of the resource.
        name: String,
        /// The change.
        change: ResourceChange,
    },
}

/// A bad ending of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// A step failed.
    Failed,
    /// A user cancelled the run.
    Cancelled,
}

/// Whether a delayed roll-back is still requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The roll-back is tried again.
    Still,
    /// A user decides. The token for the roll-back is deleted.
    NoMore,
}

/// The results of a component's health checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// All of them succeeded.
    Healthy,
    /// One of them failed.
    Unhealthy,
}

/// A change of a resource.
#[derive(Clone, Debug)]
pub enum ResourceChange {
    /// The resource is about to be created, created again, or updated.
    Begin {
        /// Description of the resource.
        spec: Box<ResourceSpec>,
        /// Creating or updating.
        state: ResourceState,
        /// Number of the resource among all that had the name, from 0.
        incarnation: u32,
    },
    /// The cloud has given it an id.
    Known {
        /// The cloud's id.
        physical_id: String,
    },
    /// The resource is ready.
    Ready {
        /// Value of `get_resource`.
        reference: Value,
        /// Values of `get_attr`.
        attributes: Map<String, Value>,
        /// The cloud's id, if it has one.
        physical_id: Option<String>,
        /// Values of the properties that refer to other resources; never secret.
        made_from: BTreeMap<String, Value>,
        /// Keyed digests of the hidden parameters' values, by parameter.
        made_with: BTreeMap<String, String>,
        /// Result of the health checks. `None` for resources without health checks.
        health: Option<Health>,
    },
    /// Attributes of a resource that is there have changed.
    Attributes {
        /// Values of `get_attr`.
        attributes: Map<String, Value>,
        /// The unchanged state of the resource, for the event.
        state: ResourceState,
        /// The cloud's id, for the event.
        physical_id: Option<String>,
    },
    /// An update is about to begin.
    Tries {
        /// Entries that this update and unfinished earlier ones may have added, by property; never secret.
        tried: Map<String, Value>,
    },
    /// A successor takes its name. It stays as an older copy until it is deleted.
    PutAside {
        /// The copy's name.
        copy: String,
        /// State of the copy.
        state: ResourceState,
        /// The cloud's id, for the event.
        physical_id: Option<String>,
    },
    /// The state of the resource has changed.
    To {
        /// The new state.
        state: ResourceState,
        /// The cloud's id, for the event.
        physical_id: Option<String>,
    },
    /// The failed resource is deleted, and is created again.
    Forgotten,
    /// The cloud refused to create it: no request is in flight any more.
    Refused,
    /// Objects with its name in the cloud before the first request, for types whose name is their only marker.
    Namesakes(Namesakes),
    /// The resource stays in the cloud, and is removed from its deployment.
    Retained,
}

impl Entry {
    /// The event for the viewers.
    pub(crate) fn event(&self) -> EventBody {
        match self {
            Entry::Log(line) => EventBody::Log(line.clone()),
            Entry::Step {
                step,
                state,
                attempt,
                error,
                retry_at,
            } => EventBody::Step {
                step: step.clone(),
                state: *state,
                attempt: *attempt,
                error: error.clone(),
                retry_at: retry_at.clone(),
            },
            Entry::Run { state, reason, .. } => EventBody::Run {
                state: *state,
                reason: reason.clone(),
            },
            Entry::RollBack { reason, .. } => EventBody::Run {
                state: RunState::Failed,
                reason: Some(reason.clone()),
            },
            Entry::Resource { name, change } => {
                let (state, physical_id) = match change {
                    ResourceChange::Begin { state, .. } => (*state, None),
                    ResourceChange::Tries { .. } => (ResourceState::Updating, None),
                    ResourceChange::Forgotten
                    | ResourceChange::Refused
                    | ResourceChange::Namesakes(_) => (ResourceState::Creating, None),
                    ResourceChange::Retained => (ResourceState::Removed, None),
                    ResourceChange::Known { physical_id } => {
                        (ResourceState::Creating, Some(physical_id.clone()))
                    }
                    ResourceChange::Ready { physical_id, .. } => {
                        (ResourceState::Ready, physical_id.clone())
                    }
                    ResourceChange::To { state, physical_id }
                    | ResourceChange::Attributes {
                        state, physical_id, ..
                    }
                    | ResourceChange::PutAside {
                        state, physical_id, ..
                    } => (*state, physical_id.clone()),
                };
                let name = match change {
                    ResourceChange::PutAside { copy, .. } => copy,
                    _ => name,
                };
                EventBody::Resource {
                    name: name.clone(),
                    state,
                    physical_id,
                }
            }
        }
    }

    /// The event's `type`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Entry::Log(_) => "log",
            Entry::Step { .. } => "step",
            Entry::Run { .. } | Entry::RollBack { .. } => "run",
            Entry::Resource { .. } => "resource",
        }
    }

    /// True if it must be on the disk before an effect starts.
    pub(crate) fn is_move(&self) -> bool {
        !matches!(self, Entry::Log(_))
    }
}
