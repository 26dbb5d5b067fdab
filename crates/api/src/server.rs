//! Servers of a deployment, as the cloud has them now.

use serde::{Deserialize, Serialize};

/// A server of a deployment, read from the cloud.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveServer {
    /// Name of its resource.
    pub name: String,
    /// Nova's status, such as `ACTIVE` or `SHUTOFF`. Absent if the server is gone from the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Nova's task at work, such as `powering-off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its addresses, fixed ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Nova's reason for the status `ERROR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Reason why no terminal can be opened, in one sentence: the server has no login, or no route. Absent if one can be
    /// opened while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_terminal: Option<String>,
}

/// `POST /api/v1/deployments/{id}/servers/{name}/power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PowerRequest {
    /// The change of the server's power state.
    pub power: PowerAction,
}

/// A change of a server's power state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PowerAction {
    /// Switches a stopped server on.
    Start,
    /// Shuts a running server down.
    Stop,
    /// Shuts a running server down and switches it on again.
    Reboot,
}
