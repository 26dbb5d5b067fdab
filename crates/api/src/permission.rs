//! The standing permission of a deployment: what the server may do while nobody is logged in.

use serde::{Deserialize, Serialize};

/// Default interval of checks, in minutes.
pub const CHECK_MINUTES: u32 = 5;
/// Longest interval of checks, in minutes.
pub const CHECK_MINUTES_MAX: u32 = 1440;
/// Longest validity of a permission, in days.
pub const PERMISSION_DAYS_MAX: u32 = 365;

/// `POST /api/v1/deployments/{id}/permission`. It replaces an earlier permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionRequest {
    /// Validity in days, 1 to 365.
    pub days: u32,
    /// The permitted actions.
    #[serde(flatten)]
    pub may: PermittedActions,
}

impl PermissionRequest {
    /// The reason why it cannot be given. `None` if it can.
    pub fn problem(&self) -> Option<&'static str> {
        let PermittedActions {
            scale,
            check_minutes,
            repair,
        } = self.may;
        let minutes = check_minutes.unwrap_or(CHECK_MINUTES);
        if !(1..=PERMISSION_DAYS_MAX).contains(&self.days) {
            Some("a permission lasts 1 to 365 days")
        } else if !(1..=CHECK_MINUTES_MAX).contains(&minutes) {
            Some("the interval of checks is 1 to 1,440 minutes")
        } else if repair && check_minutes.is_none() {
            Some("a repair corrects the findings of a check, so it needs checks")
        } else if !scale && check_minutes.is_none() {
            Some("a permission permits scaling, checks, or both")
        } else {
            None
        }
    }
}

/// Actions of the server while nobody is logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermittedActions {
    /// True to scale a group when one of its policies is signalled.
    #[serde(default)]
    pub scale: bool,
    /// Interval of checks in minutes, 1 to 1,440. Without it, nothing is checked. A check also has the software that uses a server
    /// that is gone configured without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_minutes: Option<u32>,
    /// True to repair what such a check finds.
    #[serde(default)]
    pub repair: bool,
}

/// A standing permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permission {
    /// User who gave it.
    pub author: String,
    /// Time at which it was given, in RFC 3339.
    pub created: String,
    /// Time at which it ends, in RFC 3339.
    pub expires: String,
    /// The permitted actions.
    #[serde(flatten)]
    pub may: PermittedActions,
    /// True if the cloud restricts it to the services that are used.
    #[serde(default)]
    pub has_access_rules: bool,
    /// True if it also opens secrets of the deployment that only its author can open otherwise. This is so in clouds
    /// without a key manager.
    #[serde(default)]
    pub opens_secrets: bool,
    /// The reason why it could not be used last. Absent if it could, or if it was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
