//! Resources of a deployment, as the cloud has them now.

use serde::{Deserialize, Serialize};

/// A floating IP, load balancer or volume of a deployment, read from the cloud. Servers have their own type,
/// [`crate::LiveServer`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveResource {
    /// Name of its resource.
    pub name: String,
    /// Status in the words of its service, such as `ACTIVE` or `in-use`; of a load balancer the provisioning status.
    /// Absent if it is gone from the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Operating status of a load balancer, such as `ONLINE` or `DEGRADED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_status: Option<String>,
    /// The address of a floating IP, or the virtual one of a load balancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Attachments: names of resources of the deployment, or the cloud's names of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_to: Vec<String>,
}
