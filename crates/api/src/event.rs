//! What happens in a run, one numbered event after the other.

use crate::{ResourceState, RunState, StepState};
use serde::{Deserialize, Serialize};

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Dense per run, from 1.
    pub seq: u64,
    /// RFC 3339 with milliseconds.
    pub time: String,
    /// What.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EventBody {
    /// The run moved.
    Run {
        /// Where it stands now.
        state: RunState,
        /// Why, where it did not succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A step moved.
    Step {
        /// Its id.
        step: String,
        /// Where it stands now.
        state: StepState,
        /// Counts from 1.
        attempt: u32,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A step said something.
    Log {
        /// Its id.
        step: String,
        /// Where the line came from.
        stream: LogStream,
        /// How much it matters.
        level: LogLevel,
        /// One line, secrets masked, at most 16 KiB.
        text: String,
    },
    /// A resource moved.
    Resource {
        /// Its name.
        name: String,
        /// What it is in now.
        state: ResourceState,
        /// The cloud's id, once there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        physical_id: Option<String>,
    },
}

/// Where a log line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Our engine.
    Engine,
    /// Ansible: plays, tasks, results.
    Ansible,
    /// A server's console.
    Console,
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details.
    Debug,
    /// What goes on.
    Info,
    /// A person should know.
    Warning,
    /// It went wrong.
    Error,
}
