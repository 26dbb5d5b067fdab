//! Checks of a deployment, and repairs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The recorded resources of a deployment compared with the cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Check {
    /// Id.
    pub id: String,
    /// Time, in RFC 3339.
    pub time: String,
    /// User who asked for it.
    pub author: String,
    /// The deployment's last change at that time. After another change, the check is outdated, and after a restoration, when
    /// this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Number of compared resources, and of components whose health was asked for.
    pub checked: u32,
    /// Number of resources that were left out, because a run worked on them or on their server.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// Resources that differ, or that could not be compared, by name.
    pub findings: Vec<Finding>,
    /// Components that a command configures without servers that are gone, begun by this check or an earlier one since the last
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub following: Option<Following>,
}

/// Components that a command configures without servers that are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Following {
    /// Id of the last such command.
    pub run: String,
    /// Names of the providers that each component is without.
    pub without: BTreeMap<String, BTreeSet<String>>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Check {
    /// True if there is something to repair.
    pub fn has_damage(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.is_damage())
    }
}

/// A check, in a list of deployments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckSummary {
    /// Time, in RFC 3339.
    pub time: String,
    /// Number of findings.
    pub findings: u32,
    /// The worst kind of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<FindingKind>,
}

impl CheckSummary {
    /// The summary of a check.
    pub fn of(check: &Check) -> CheckSummary {
        CheckSummary {
            time: check.time.clone(),
            findings: u32::try_from(check.findings.len()).unwrap_or(u32::MAX),
            worst: check.findings.iter().map(|finding| finding.kind).min(),
        }
    }
}

/// A resource that differs from its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Finding {
    /// Name of the resource.
    pub resource: String,
    /// Resource type.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The kind of difference.
    pub kind: FindingKind,
    /// The reason, for users. Empty if the kind says all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Changed properties. Only for [`FindingKind::Changed`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<ChangedProperty>,
}

/// The kind of difference between a resource and its record, from the worst on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// It is gone from the cloud.
    Gone,
    /// It exists, and cannot be used.
    Broken,
    /// Properties were changed in the cloud.
    Changed,
    /// It is software whose health check fails.
    Unhealthy,
    /// The cloud is working on it. A later check tells more.
    #[serde(alias = "transition")] // in the database
    InTransition,
    /// It could not be compared.
    #[serde(alias = "unknown")] // in the database
    NotCompared,
}

impl FindingKind {
    /// True if a repair mends it.
    pub fn is_damage(self) -> bool {
        matches!(
            self,
            FindingKind::Gone | FindingKind::Broken | FindingKind::Changed | FindingKind::Unhealthy
        )
    }
}

/// A property that was changed in the cloud.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedProperty {
    /// The property, or `status` for the power state of a server.
    pub property: String,
    /// Value after the last run. Absent for secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// Value in the cloud. Absent for secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

/// `POST /api/v1/deployments/{id}/repair`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RepairRequest {
    /// Id of the check that the user has seen. Refused if there is a newer one, or a newer run.
    pub check: String,
    /// The `digest` of the plan that the user has reviewed. Refused with `plan-changed` if the plan has other changes now.
    /// Without it, nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// Starts even if a quota is too small. Without this, the request is refused with `quota-exceeded`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_quota: bool,
}
