//! Services of a deployment: what its software offers, and where.

use serde::{Deserialize, Serialize};

/// The service of a component. It follows from the deployment's resources, their catalogue items and the last check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Service {
    /// Name of the component.
    pub component: String,
    /// Title of its catalogue item.
    pub title: String,
    /// Name of its server.
    pub server: String,
    /// Address in the server's first network, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Address for access from outside, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_address: Option<String>,
    /// Listening ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ServicePort>,
    /// State.
    pub state: ServiceState,
    /// The reason of a state that is not in order, for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Time in RFC 3339: of a healthy one, of the first healthy answer without another one after it; of an installed
    /// one, of its last set-up. Absent in other states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Time of the last answer of its health checks, in RFC 3339. Absent if they never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
}

/// A listening port of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServicePort {
    /// Number.
    pub port: u16,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Capabilities at this port, for connections from other components.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provides: Vec<String>,
}

/// The state of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// Its role or its health checks are at work.
    Starting,
    /// Its health checks succeeded in the newest run, or in a check after it.
    Healthy,
    /// Its role succeeded. Nothing has tried its health checks since the newest run began.
    Unchecked,
    /// Its role succeeded. It has no health checks.
    Installed,
    /// The last check found it, or its server, damaged.
    Unhealthy,
    /// The last check could not ask it.
    Unknown,
    /// Its last step failed.
    Failed,
    /// It is being removed.
    Removing,
}
