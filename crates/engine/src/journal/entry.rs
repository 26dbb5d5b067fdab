//! What can be written to the journal: an event for the viewers, and the row that it changes.

use api::{DeploymentState, EventBody, LogLevel, LogStream, ResourceState, RunState, StepState};
use std::collections::BTreeMap;

use planner::workflow::ResourceSpec;
use serde_json::{Map, Value};

use crate::{driver::Namesakes, machine::Ending};

/// One thing that happened, with what it changes.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A step said something.
    Log {
        /// Its id.
        step: String,
        /// Where the line came from.
        stream: LogStream,
        /// How much it matters.
        level: LogLevel,
        /// One line, secrets masked.
        text: String,
    },
    /// A step moved.
    Step {
        /// Its id.
        step: String,
        /// Where it stands now.
        state: StepState,
        /// Starts so far.
        attempt: u32,
        /// What went wrong.
        error: Option<String>,
    },
    /// The run moved, and with it perhaps its deployment.
    Run {
        /// Where it stands now.
        state: RunState,
        /// The bad end that it is bound for.
        ending: Option<Ending>,
        /// Why.
        reason: Option<String>,
        /// What its deployment is in now.
        deployment: DeploymentState,
    },
    /// A run that failed and is to be rolled back says why that does not begin. Nothing is written where that is
    /// not so any more.
    RollBack {
        /// All that the run says of its end now.
        reason: String,
        /// Whether it is tried again.
        wanted: Wanted,
    },
    /// A resource of the run's deployment moved.
    Resource {
        /// Its name.
        name: String,
        /// How.
        change: ResourceChange,
    },
}

/// Whether a roll-back that could not begin is still wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It is tried again.
    Still,
    /// A person decides; the token that was kept for it goes.
    NoMore,
}

/// How a resource moves.
#[derive(Clone, Debug)]
pub enum ResourceChange {
    /// It will be made, made again, or changed, by this description.
    Begin {
        /// The description.
        spec: Box<ResourceSpec>,
        /// Being made, or being changed.
        state: ResourceState,
        /// Which one it is of all that had the name.
        incarnation: u32,
    },
    /// The cloud gave it an id.
    Known {
        /// The cloud's id.
        physical_id: String,
    },
    /// It is there.
    Ready {
        /// What `get_resource` gives.
        reference: Value,
        /// What `get_attr` gives.
        attributes: Map<String, Value>,
        /// The cloud's id, where it has one.
        physical_id: Option<String>,
        /// Values of the properties that mention others; never secret.
        made_from: BTreeMap<String, Value>,
        /// Digests of the hidden parameters' values that it has, by parameter.
        made_with: BTreeMap<String, String>,
    },
    /// A change is about to be tried: all that it and those before it that did not end may put into it, by property.
    Tries {
        /// Never secret.
        tried: Map<String, Value>,
    },
    /// Another one shall have its name: it is kept as an older copy until it is removed.
    PutAside {
        /// The copy's name.
        copy: String,
        /// What it is in.
        state: ResourceState,
        /// The id that it has, for the event.
        physical_id: Option<String>,
    },
    /// It is in another state, with the same id.
    To {
        /// The state.
        state: ResourceState,
        /// The id that it has, for the event.
        physical_id: Option<String>,
    },
    /// What failed of it is gone, and it is made again.
    Forgotten,
    /// The cloud refused to create it: no request is in flight any more.
    Refused,
    /// Things that have its name in the cloud before the first request, for types whose name is their only mark.
    Namesakes(Namesakes),
    /// It stays in the cloud on purpose, and its deployment forgets it.
    Retained,
}

impl Entry {
    /// What the viewers are told.
    pub(super) fn event(&self) -> EventBody {
        match self {
            Entry::Log {
                step,
                stream,
                level,
                text,
            } => EventBody::Log {
                step: step.clone(),
                stream: *stream,
                level: *level,
                text: text.clone(),
            },
            Entry::Step {
                step,
                state,
                attempt,
                error,
            } => EventBody::Step {
                step: step.clone(),
                state: *state,
                attempt: *attempt,
                error: error.clone(),
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
                    ResourceChange::Retained => (ResourceState::Deleted, None),
                    ResourceChange::Known { physical_id } => {
                        (ResourceState::Creating, Some(physical_id.clone()))
                    }
                    ResourceChange::Ready { physical_id, .. } => {
                        (ResourceState::Ready, physical_id.clone())
                    }
                    ResourceChange::To { state, physical_id }
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
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Entry::Log { .. } => "log",
            Entry::Step { .. } => "step",
            Entry::Run { .. } | Entry::RollBack { .. } => "run",
            Entry::Resource { .. } => "resource",
        }
    }

    /// Whether the disk must have it before anything goes on.
    pub(super) fn is_move(&self) -> bool {
        !matches!(self, Entry::Log { .. })
    }
}
