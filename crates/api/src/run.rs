//! Runs: one execution of a workflow, and its steps.

use planner::workflow::StepKind;
use serde::{Deserialize, Serialize};

/// `GET /api/v1/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Id of its deployment.
    pub deployment: String,
    /// What it is for.
    pub kind: RunKind,
    /// It leads back to what worked before a change that failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolls_back: bool,
    /// Where it stands.
    pub state: RunState,
    /// One sentence, where it did not succeed.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who started it.
    pub author: String,
    /// RFC 3339.
    pub created: String,
    /// RFC 3339.
    pub started: Option<String>,
    /// RFC 3339.
    pub ended: Option<String>,
    /// In the workflow's order; in lists empty.
    #[serde(default)]
    pub steps: Vec<RunStep>,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Make it.
    Deploy,
    /// Change it.
    Update,
    /// Remove it.
    Undeploy,
}

/// A step as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunStep {
    /// As in the workflow.
    pub id: String,
    /// As in the workflow.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: StepKind,
    /// As in the workflow.
    pub resource: Option<String>,
    /// Where it stands.
    pub state: StepState,
    /// As in the workflow.
    pub after: Vec<String>,
    /// Starts so far.
    pub attempts: u32,
    /// RFC 3339.
    pub started: Option<String>,
    /// RFC 3339.
    pub ended: Option<String>,
    /// What went wrong last, and what to do.
    pub error: Option<String>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Accepted.
    Queued,
    /// Steps run.
    Running,
    /// A step failed; running ones may end, nothing new starts, always-run steps follow.
    Failing,
    /// A person cancelled; always-run steps follow.
    Cancelling,
    /// The token ended; logging in again continues it.
    Paused,
    /// Every step succeeded.
    Succeeded,
    /// A step failed.
    Failed,
    /// A person cancelled.
    Cancelled,
}

impl RunState {
    /// No more moves.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// For others.
    Waiting,
    /// Next.
    Ready,
    /// At work.
    Running,
    /// Failed, and will be tried again.
    Retrying,
    /// Done.
    Succeeded,
    /// Given up.
    Failed,
    /// Stopped by a cancel.
    Cancelled,
    /// Never started.
    Skipped,
}

impl StepState {
    /// No more moves.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Skipped
        )
    }
}
