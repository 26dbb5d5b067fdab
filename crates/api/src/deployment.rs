//! Deployments: templates made real.

use std::collections::BTreeMap;

use crate::{Beside, Layout};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `POST /api/v1/deployments`: a template, or a design's id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeployRequest {
    /// Unique among the project's live deployments; letters, digits, `-` and `_`.
    pub name: String,
    /// HOT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// Id of a design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<String>,
    /// Parameter values. As in Heat, a value under `parameters` of an environment wins over one that is given here.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// For an update: what happens when it fails.
    #[serde(default, skip_serializing_if = "OnFailure::is_stop")]
    pub on_failure: OnFailure,
    /// Start although a quota is too small. Otherwise that is refused as `quota-exceeded`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_quota: bool,
}

/// What happens when an update fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// It stays as it is; a person chooses to go on, to change it again, or to roll it back.
    #[default]
    Stop,
    /// It is rolled back at once, in a run of its own.
    Rollback,
}

impl OnFailure {
    fn is_stop(&self) -> bool {
        *self == OnFailure::Stop
    }
}

/// The answer to a deploy, an update and an undeploy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Started {
    /// Id of the deployment.
    pub deployment: String,
    /// Id of the run.
    pub run: String,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// The last change failed, and what was there before it is known: it can be rolled back.
    #[serde(default)]
    pub can_roll_back: bool,
    /// HOT as deployed; in lists empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// A thing in the cloud that carries a deployment's mark and belongs to none of its resources: from a request that the
/// cloud carried out after its answer was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stray {
    /// Type of the resource that it was requested for.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The cloud's id.
    pub physical_id: String,
    /// Its name in the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the resource that it was requested for.
    pub resource: String,
    /// Why it is not removed; absent where undeploying removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_kept: Option<String>,
}

/// What a deployed resource is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// A resolved output. Attributes in it are read from the cloud when the deployment is asked for, unless a run is at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// When its attributes were read from the cloud, RFC 3339; of several the earliest time. `None` where it mentions no
    /// resource, or the time is not known.
    #[serde(default)]
    pub read_at: Option<String>,
    /// Whether all its attributes were read for this answer. Otherwise the last run stored some of them, at `read_at`.
    #[serde(default)]
    pub live: bool,
}
