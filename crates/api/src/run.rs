//! Runs (executions of a workflow) and their steps.

use std::collections::BTreeMap;

use crate::{Layout, ResourceState, RunCommand, RunState, Scaling, StepState, TemplateFiles};
use planner::workflow::StepKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET /api/v1/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Run {
    /// Id.
    pub id: String,
    /// Id of the deployment.
    pub deployment: String,
    /// Purpose.
    pub kind: RunKind,
    /// True if the run returns the deployment to an earlier state: the one before a failed change, or that of an earlier run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolls_back: bool,
    /// The scaling that it carries out, if it was started for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// The command that it carries out, if it is one of [`RunKind::Command`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<RunCommand>,
    /// The user whose update replaces it. Then it begins no further step, and ends after its active steps: cancelled, or
    /// succeeded if no step was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// State.
    pub state: RunState,
    /// True if the run is `running` and waits for a user at a hook of an environment. Steps that do not depend on the hook
    /// continue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_user: bool,
    /// The reason in one sentence, if it did not succeed.
    #[serde(default)]
    pub reason: Option<String>,
    /// User who started it.
    pub author: String,
    /// Time of creation, in RFC 3339.
    pub created: String,
    /// Time of the first start, in RFC 3339.
    pub started: Option<String>,
    /// Time of the end, in RFC 3339.
    pub ended: Option<String>,
    /// Time at which the run's log lines were deleted, because it ended long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_deleted: Option<String>,
    /// Steps in the workflow's order. Empty in lists.
    #[serde(default)]
    pub steps: Vec<RunStep>,
}

/// `GET /api/v1/runs/{id}/content`: the content that the deployment was to have, as of the start of the run.
///
/// A later update of the deployment or of its design does not change it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunContent {
    /// The template, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    #[serde(default)]
    pub layout: Layout,
    /// Values of parameters that are not hidden and not left to their default. `None` for a run from before they were stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<BTreeMap<String, Value>>,
    /// Id of the design.
    #[serde(default)]
    pub design: Option<String>,
    /// Version of that design.
    #[serde(default)]
    pub design_version: Option<u32>,
}

/// Purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Creates the resources.
    Deploy,
    /// Changes the resources.
    Update,
    /// Deletes the resources.
    Undeploy,
    /// Runs a command on servers. The resources stay as they are.
    Command,
    /// Suspends the servers.
    Suspend,
    /// Resumes suspended servers.
    Resume,
    /// Takes a snapshot of the servers. The resources stay as they are.
    Snapshot,
    /// Restores the data of servers from a snapshot. The resources keep their descriptions.
    Restore,
}

impl RunKind {
    /// True if it creates, changes or deletes resources.
    pub fn changes_resources(self) -> bool {
        matches!(self, Self::Deploy | Self::Update | Self::Undeploy)
    }

    /// True if the deployment keeps its state, its content and its last change, however the run ends.
    pub fn keeps_deployment(self) -> bool {
        matches!(self, Self::Command | Self::Snapshot | Self::Restore)
    }

    /// True if it suspends or resumes the servers.
    pub fn is_suspension(self) -> bool {
        matches!(self, Self::Suspend | Self::Resume)
    }
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunStep {
    /// Id, as in the workflow.
    pub id: String,
    /// Kind, as in the workflow.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: StepKind,
    /// Resource, as in the workflow.
    pub resource: Option<String>,
    /// State.
    pub state: StepState,
    /// State of its resource, if the pages name the step's state by it: `removing` and `removed`. Otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_as: Option<ResourceState>,
    /// Ids of the steps it waits for, as in the workflow.
    pub after: Vec<String>,
    /// Number of starts so far.
    pub attempts: u32,
    /// Time of the first start, in RFC 3339. After a resume of the run, the first one since then.
    pub started: Option<String>,
    /// Time of the end, in RFC 3339.
    pub ended: Option<String>,
    /// The last error, with its remedy.
    pub error: Option<String>,
    /// Milliseconds that it will probably take, as earlier steps of its kind did. Absent after its end, or if there were
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_ms: Option<u64>,
}

impl RunStep {
    /// Moves it to a state.
    pub fn set_state(&mut self, state: StepState) {
        self.state = state;
        self.shown_as = state.shown_as(self.kind);
    }
}

/// `POST /runs/{id}/release`: the hook at which the run may go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HookRelease {
    /// Id of the step, such as `web:pre-create`.
    pub step: String,
}
