//! The audit trail of a project.

use serde::{Deserialize, Serialize};

/// A login, a change, or a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEvent {
    /// Id. Later events have larger ids.
    pub id: String,
    /// Time in RFC 3339.
    pub time: String,
    /// The user's name. `(signed address)` for a signal that does not act with a user's permission.
    pub user: String,
    /// The client's address.
    #[serde(default)]
    pub address: Option<String>,
    /// Method and path pattern of the request, such as `DELETE /api/v1/deployments/{id}`, or the action in words, such as `login by X-Auth-Token`.
    pub action: String,
    /// Path of the object that was changed or created.
    pub target: String,
    /// Id of the deployment that it is about, also for events on its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// HTTP status of the answer. From 400 on, nothing was changed.
    pub status: u32,
    /// Code of the problem, if the request was refused or failed.
    #[serde(default)]
    pub code: Option<String>,
    /// Id of the request, which is also in the server's log.
    pub request_id: String,
}
