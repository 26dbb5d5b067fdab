//! Deployments of templates.

use std::collections::BTreeMap;

use crate::{
    Check, CheckSummary, DeployedItem, DeploymentState, Layout, Permission, PlanRequest,
    ResourceState, Run, ScalingGroup, Service, TemplateFiles,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `POST /api/v1/deployments`: a template, or a design's id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeployRequest {
    /// Unique among the project's live deployments; letters, digits, `-` and `_`.
    pub name: String,
    /// The template's text, in HOT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Id of a design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<String>,
    /// Version of that design. Without it, the newest. If `template` or the files differ from this version, or it is no
    /// longer stored, the run belongs to the design and to none of its versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design_version: Option<u32>,
    /// For an update: id of an earlier run whose content is deployed again, in place of a template or design. The update is
    /// a roll-back to that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Parameter values. As in Heat, a value under `parameters` of an environment takes precedence.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// For an update: the reaction to its failure.
    #[serde(default, skip_serializing_if = "OnFailure::is_stop")]
    pub on_failure: OnFailure,
    /// For an update: the `base_run` of the plan that the user has seen. Refused with `deployment-changed` if the
    /// deployment has a newer run. Without it, nothing is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_run: Option<String>,
    /// The `digest` of the plan that the user has reviewed. Refused with `plan-changed` if the plan has other changes now.
    /// Without it, nothing is compared. With `instead_of`, it is compared before the active run is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// For an update: id of the active run, which it replaces. That run begins no further step. When its active steps
    /// have ended, the update is planned from what exists then. If that takes more than some seconds, the response names
    /// this run, and the update begins by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Versions of catalogue items, by name, which can be drafts. Of the other items, a new deployment gets the newest
    /// version, and an update keeps the deployment's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// Starts even if a quota is too small. Without this, the request is refused with `quota-exceeded`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_quota: bool,
}

/// Reaction to a failed update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// Keeps the deployment as it is. The user resumes it, changes it again, or rolls it back.
    #[default]
    Stop,
    /// Rolls it back at once, in a separate run.
    Rollback,
}

impl OnFailure {
    fn is_stop(&self) -> bool {
        *self == OnFailure::Stop
    }
}

/// `POST /api/v1/deployments/{id}/upgrade`: sets components up with another version of their item.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpgradeRequest {
    /// Name of the item.
    pub item: String,
    /// The version, which can also be an older one.
    pub version: String,
    /// Number of components that are set up at the same time. The next ones begin when all of them are healthy. From 1,
    /// which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Reaction to a failure, such as a component that is not healthy with the version.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The `base_run` of the plan that the user has seen. Refused with `deployment-changed` if the deployment has a
    /// newer run. Without it, nothing is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_run: Option<String>,
    /// The `digest` of the plan that the user has reviewed. Refused with `plan-changed` if the plan has other changes now.
    /// Without it, nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
}

/// The response to a deploy, an update or an undeploy.
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
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Current state.
    pub state: DeploymentState,
    /// Time of creation, in RFC 3339.
    pub created: String,
    /// Time of the last change, in RFC 3339.
    pub updated: String,
    /// User who started it.
    pub author: String,
    /// Id of its design.
    #[serde(default)]
    pub design: Option<String>,
    /// Version of that design.
    #[serde(default)]
    pub design_version: Option<u32>,
    /// Id of the newest run.
    pub last_run: Option<String>,
    /// True if the last change failed and the state before it is known, so that it can be rolled back.
    #[serde(default)]
    pub can_roll_back: bool,
    /// Summary of resources and runs. Only in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<DeploymentSummary>,
    /// The deployed template, in HOT. Empty in lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    #[serde(default)]
    pub layout: Layout,
    /// Existing resources. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<DeployedResource>,
    /// Groups that scale. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ScalingGroup>,
    /// Services of its software. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Service>,
    /// Catalogue items that it uses. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<DeployedItem>,
    /// The last check. Absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// The standing permission. Absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// Resolved outputs. Empty in lists.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, OutputValue>,
}

impl Deployment {
    /// The request for the plan of an update that leaves template and parameters as they are.
    pub fn plan_request(&self) -> PlanRequest {
        PlanRequest {
            template: self.template.clone(),
            beside: self.beside.clone(),
            deployment: Some(self.id.clone()),
            ..PlanRequest::default()
        }
    }

    /// The last check, if neither a change nor a restoration has come after it.
    pub fn present_check(&self) -> Option<&Check> {
        let check = self.check.as_ref();
        check.filter(|check| check.run == self.last_run)
    }
}

/// Resources and newest run of a deployment in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeploymentSummary {
    /// Number of existing servers.
    pub servers: u32,
    /// Addresses of its floating IPs.
    pub addresses: Vec<String>,
    /// The newest run, without steps.
    pub run: Option<Run>,
    /// The last check, if no run has come after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckSummary>,
}

/// A resource of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeployedResource {
    /// Name in the template, or the name from a pass.
    pub name: String,
    /// Resource type.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Id in the cloud, once it exists.
    pub physical_id: Option<String>,
    /// State.
    pub state: ResourceState,
    /// True if a pass added it.
    pub derived: bool,
}

/// An object in the cloud with a deployment's marker that belongs to none of its resources. It comes from a
/// request that the cloud carried out after its response was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stray {
    /// Type of the resource that it was requested for.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Id in the cloud.
    pub physical_id: String,
    /// Name in the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the resource that it was requested for.
    pub resource: String,
    /// The reason why it is not removed. Absent if an undeploy removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_kept: Option<String>,
}

/// A resolved output. Unless a run is active, its attributes are read from the cloud for each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutputValue {
    /// Description for users.
    #[serde(default)]
    pub description: Option<String>,
    /// The value, if it could be resolved.
    #[serde(default)]
    pub value: Option<Value>,
    /// The reason why it could not be resolved.
    #[serde(default)]
    pub error: Option<String>,
    /// True if its value is a secret or can contain one: a hidden parameter, a generated password, a private key, or
    /// what is derived from these. Only members get the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Time at which its attributes were read from the cloud, in RFC 3339. Of several, the earliest. `None` if it has
    /// no attributes, or if the time is unknown.
    #[serde(default)]
    pub read_at: Option<String>,
    /// True if all its attributes were read for this response. Otherwise the last run stored some of them, at
    /// `read_at`.
    #[serde(default)]
    pub live: bool,
}

impl OutputValue {
    /// Leaves a secret value out, for users who may only look.
    pub fn without_secret(self) -> OutputValue {
        if !self.secret || self.value.is_none() {
            return self;
        }
        OutputValue {
            value: None,
            error: Some("it is a secret, which only members of the project get".to_owned()),
            ..self
        }
    }
}
