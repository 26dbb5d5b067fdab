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
        /// Time of the next attempt, in RFC 3339. Only for a step that is retrying.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<String>,
    },
    /// A log line of a step.
    Log(LogLine),
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

/// A log line of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Id of the step.
    pub step: String,
    /// Server of the task, by resource name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of Ansible's play.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub play: Option<String>,
    /// Name of Ansible's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Source of the line.
    pub stream: LogStream,
    /// Log level.
    pub level: LogLevel,
    /// One line with secrets masked, as the program wrote it, at most 16 KiB. A carriage return at its end means that the
    /// program has not ended the line, such as that of a progress bar: the next line of the step, server and stream takes its
    /// place.
    pub text: String,
    /// End of the stored output of a program on a server, at the last of the lines that were stored together. An
    /// interrupted read of the output continues there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<LogPosition>,
}

impl LogLine {
    /// True if the program had not ended the line. The next line of the step, server and stream takes its place.
    pub fn is_unfinished(&self) -> bool {
        self.text.ends_with('\r')
    }
}

/// Position in the output of a program on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPosition {
    /// Id of the program's execution.
    pub job: String,
    /// Number of bytes of the line's stream up to here.
    pub bytes: u64,
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
    /// Standard output of a program on a server, or a package manager's log.
    Stdout,
    /// Standard error of a program on a server.
    Stderr,
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
    /// A warning for users.
    Warning,
    /// A failure.
    Error,
}

/// Log lines that contain a text, and how far the search came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogHits {
    /// The lines, in order.
    pub lines: Vec<Event>,
    /// All lines from this number on, up to where the search began, were searched. 1 if none is left.
    pub from: u64,
}
