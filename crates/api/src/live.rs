//! Resources of a deployment, as the cloud has them now.

use serde::{Deserialize, Serialize};

/// The resources of a deployment that have a status or an address in the cloud, without those of failed services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveResources {
    /// The resources, sorted by name.
    pub resources: Vec<LiveResource>,
    /// Services that did not list all of their resources, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedService>,
}

/// A service of the cloud that did not list its resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedService {
    /// Name of the service, such as `load-balancer`.
    pub service: String,
    /// Reason, in one sentence.
    pub reason: String,
}

/// A resource of a deployment with a status or an address, read from the cloud. Servers have their own type,
/// [`crate::LiveServer`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiveResource {
    /// Name of its resource.
    pub name: String,
    /// True if it is gone from the cloud. Then all other fields but the name are absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// Status in the words of its service, such as `ACTIVE` or `in-use`; of a load balancer and its parts the provisioning
    /// status. Absent if its service has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Operating status of a load balancer and its parts, such as `ONLINE` or `DEGRADED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_status: Option<String>,
    /// Its addresses; of a subnet the range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Attachments: names of resources of the deployment; of others an address or the id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_to: Vec<String>,
}
