//! Groups that scale.

use serde::{Deserialize, Serialize};

/// A scaling group of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScalingGroup {
    /// Name; `parent/name` in a nested template.
    pub name: String,
    /// Number of members.
    pub size: u64,
    /// Smallest size.
    pub min_size: u64,
    /// Largest size.
    pub max_size: u64,
    /// End of the cooldown after the last scaling, in RFC 3339. Until then, policies are applied with `force` only.
    /// `None` if there is no cooldown now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_until: Option<String>,
    /// Its policies, by name.
    pub policies: Vec<ScalingPolicy>,
}

/// A scaling policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScalingPolicy {
    /// Name.
    pub name: String,
    /// Size of the group after the policy is applied.
    pub new_size: u64,
}

/// `POST /api/v1/deployments/{id}/groups/{name}/scale`: a size, or a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScaleRequest {
    /// The size that the group is to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Name of the policy to apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Applies a policy during a cooldown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The `base_run` of the plan that the user has seen. Refused with `deployment-changed` if the deployment has a
    /// newer run. Without it, nothing is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_run: Option<String>,
    /// The `digest` of the plan that the user has reviewed. Refused with `plan-changed` if the plan has other changes now.
    /// Without it, nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// Starts even if a quota is too small. Without this, the request is refused with `quota-exceeded`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_quota: bool,
}

/// The scaling that a run carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scaling {
    /// Name of the group.
    pub group: String,
    /// Size before.
    pub from: u64,
    /// Size after.
    pub to: u64,
    /// The policy that was applied. `None` if a user chose the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Seconds after the run in which policies of the group are applied with `force` only.
    #[serde(default)]
    pub cooldown_seconds: u64,
}
