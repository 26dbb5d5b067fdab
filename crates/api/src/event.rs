//! The events of a run, in numbered order.

use crate::{ResourceState, RunState, StepState};
use serde::{Deserialize, Serialize};

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Number within the run, from 1 without gaps.
    pub seq: u64,
    /// Time, in RFC 3339 with milliseconds.
    pub time: String,
    /// Content.
    #[serde(flatten)]
    pub body: EventBody,
}

/// Content of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EventBody {
    /// The run changed its state.
    Run {
        /// New state.
        state: RunState,
        /// The reason, if it did not succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A step changed its state.
    Step {
        /// Id of the step.
        step: String,
        /// New state.
        state: StepState,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// The error of a failed attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A log line of a step.
    Log {
        /// Id of the step.
        step: String,
        /// Source of the line.
        stream: LogStream,
        /// Log level.
        level: LogLevel,
        /// One line with secrets masked, at most 16 KiB.
        text: String,
    },
    /// A resource changed its state.
    Resource {
        /// Name of the resource.
        name: String,
        /// New state.
        state: ResourceState,
        /// Id in the cloud, once it exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        physical_id: Option<String>,
    },
}

/// Source of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// The engine.
    Engine,
    /// Ansible: plays, tasks, results.
    Ansible,
    /// A server's console.
    Console,
}

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details.
    Debug,
    /// Normal progress.
    Info,
    /// Something a user should know.
    Warning,
    /// A failure.
    Error,
}
