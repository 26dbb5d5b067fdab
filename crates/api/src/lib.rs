//! The words that server and browser exchange: requests, answers, events, states.
//!
//! The REST API's own OpenAPI document describes the same shapes for everybody else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use topology::{
    cloud::CloudFacts,
    diagnostic::{Diagnostic, Severity},
    plan::{Action, Change, Plan},
    workflow::{StepKind, Workflow},
};

/// RFC 9457 problem details.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// `/errors/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable, kebab-case.
    pub code: String,
    /// What was tried, on what, what came back.
    pub detail: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The field or template path at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// 1-based line in the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All problems of a template, where it was refused for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

/// `POST /api/v1/login`: one of three ways.
#[derive(Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum LoginRequest {
    /// User name and password.
    Password {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// User name.
        user: String,
        /// Password.
        password: String,
        /// Domain of user and project; `Default` where empty.
        #[serde(default)]
        domain: String,
        /// Project name or id.
        project: String,
    },
    /// Application credential.
    ApplicationCredential {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// Id.
        application_credential_id: String,
        /// Secret.
        application_credential_secret: String,
    },
    /// A Keystone token that is scoped to a project.
    Token {
        /// Name in the server's `clouds.yaml`.
        cloud: String,
        /// The token.
        token: String,
    },
}

/// One of `GET /api/v1/clouds`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudInfo {
    /// Name in the server's `clouds.yaml`.
    pub name: String,
    /// Region, if the configuration names one.
    pub region: Option<String>,
    /// `password`, `application_credential`, `token`.
    pub methods: Vec<String>,
    /// What the configuration proposes for the form.
    #[serde(default)]
    pub domain: Option<String>,
    /// What the configuration proposes for the form.
    #[serde(default)]
    pub project: Option<String>,
}

/// `GET /api/v1/me`, and the answer to a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// Name in the server's `clouds.yaml`.
    pub cloud: String,
    /// User name.
    pub user: String,
    /// Project name.
    pub project: String,
    /// Project id.
    pub project_id: String,
    /// Role names.
    pub roles: Vec<String>,
    /// May change things (`member` or `admin`), not just look.
    pub can_change: bool,
    /// RFC 3339; when the token ends.
    pub expires: String,
    /// Quota name (`cores`, `instances`, `ram` ...) to limits; empty where the cloud did not tell.
    #[serde(default)]
    pub quotas: BTreeMap<String, Quota>,
}

/// How much may be used and how much is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// -1: no limit.
    pub limit: i64,
    /// Now.
    pub used: i64,
}

/// Where nodes stand, beside the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// Resource name to place.
    pub nodes: BTreeMap<String, Place>,
}

/// A node's place and, for frames, size; in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width, where a person chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Height, where a person chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
}

/// `POST /api/v1/designs` and `PUT /api/v1/designs/{id}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DesignRequest {
    /// For people; not unique.
    pub name: String,
    /// HOT.
    pub template: String,
    /// Where nodes stand.
    #[serde(default)]
    pub layout: Layout,
    /// On `PUT`: the version that was edited. Another one in the store is a conflict (409); without
    /// it the last writer wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<u32>,
}

/// A design, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Its id.
    pub id: String,
    /// For people.
    pub name: String,
    /// HOT.
    pub template: String,
    /// Where nodes stand.
    pub layout: Layout,
    /// Counts up from 1 with every save.
    pub version: u32,
    /// RFC 3339.
    pub created: String,
    /// RFC 3339.
    pub updated: String,
    /// Who saved it last.
    pub author: String,
}

/// One of `GET /api/v1/designs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignSummary {
    /// Its id.
    pub id: String,
    /// For people.
    pub name: String,
    /// The newest version.
    pub version: u32,
    /// RFC 3339.
    pub updated: String,
    /// Who saved it last.
    pub author: String,
    /// How many resources are drawn.
    pub resources: u32,
}

/// One of `GET /api/v1/designs/{id}/versions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignVersion {
    /// Counts up from 1.
    pub version: u32,
    /// RFC 3339.
    pub saved: String,
    /// Who saved it.
    pub author: String,
    /// HOT.
    pub template: String,
}

/// `POST /api/v1/validate`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValidateRequest {
    /// HOT.
    pub template: String,
    /// Parameter values.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
}

/// The answer to a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidateResponse {
    /// All problems.
    pub diagnostics: Vec<Diagnostic>,
}

/// `POST /api/v1/plan`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRequest {
    /// HOT.
    pub template: String,
    /// Parameter values.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Id of a deployment to compare with.
    #[serde(default)]
    pub deployment: Option<String>,
}

/// `POST /api/v1/deployments`: a template, or a design's id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeployRequest {
    /// Unique among the project's live deployments; letters, digits, `-` and `_`.
    pub name: String,
    /// HOT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Id of a design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<String>,
    /// Parameter values.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
}

/// The answer to a deploy, an update and an undeploy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// Id of the deployment.
    pub deployment: String,
    /// Id of the run.
    pub run: String,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is in now.
    pub state: DeploymentState,
    /// RFC 3339.
    pub created: String,
    /// RFC 3339.
    pub updated: String,
    /// Who started it.
    pub author: String,
    /// Id of the design that it was made from.
    #[serde(default)]
    pub design: Option<String>,
    /// That design's version.
    #[serde(default)]
    pub design_version: Option<u32>,
    /// Id of the newest run.
    pub last_run: Option<String>,
    /// HOT as deployed; in lists empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Where nodes stood.
    #[serde(default)]
    pub layout: Layout,
    /// What exists in the cloud; in lists empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<DeployedResource>,
    /// Resolved outputs; in lists empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, OutputValue>,
}

/// What a deployment is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentState {
    /// A run works on it.
    Busy,
    /// The last run ended well, and resources exist.
    Deployed,
    /// The last run failed or was cancelled; resume or undeploy.
    Failed,
    /// Nothing is left of it in the cloud.
    Undeployed,
}

/// A resource of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeployedResource {
    /// Name in the template, or the name that a pass gave.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The cloud's id, once there is one.
    pub physical_id: Option<String>,
    /// What it is in.
    pub state: ResourceState,
    /// A pass added it.
    pub derived: bool,
}

/// What a deployed resource is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceState {
    /// Being made.
    Creating,
    /// There.
    Ready,
    /// Being changed.
    Updating,
    /// Being removed.
    Deleting,
    /// Gone.
    Deleted,
    /// The last step on it failed.
    Failed,
}

/// A resolved output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputValue {
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
    /// The value, if it could be resolved.
    #[serde(default)]
    pub value: Option<Value>,
    /// Why not.
    #[serde(default)]
    pub error: Option<String>,
}

/// `GET /api/v1/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Id of its deployment.
    pub deployment: String,
    /// What it is for.
    pub kind: RunKind,
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
pub struct RunStep {
    /// As in the workflow.
    pub id: String,
    /// As in the workflow.
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
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Skipped)
    }
}

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
