//! Octavia: load balancers and their child resources, in one table.
//!
//! All resources have attributes, listed in [`fields`], and a parent. They are changed under the lock of their load
//! balancer: while any of its resources is `PENDING_...`, other changes are refused. The differences between types are
//! tables in [`fields`]; the transitions are shared, in [`change`].
//!
//! ```text
//! load balancer <- listener <- L7 policy <- L7 rule
//!               <- pool     <- member, health monitor
//! ```
//!
//! A listener also references its default pool, and an L7 policy its target pool.

pub(crate) mod calls;
pub(crate) mod change;
pub(crate) mod checks;
pub(crate) mod fields;
pub(crate) mod flavors;
pub(crate) mod haproxy;
pub(crate) mod quotas;
pub(crate) mod settle;
pub(crate) mod show;

use serde::{Deserialize, Serialize};

use crate::kit::record::{Attributes, Fields};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;

/// Path prefixes. The version in the path is `v2` or `v2.0`.
pub const PREFIXES: &[&str] = &["/load-balancer/v2/lbaas", "/load-balancer/v2.0/lbaas"];

/// The type of a resource of Octavia.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceType {
    /// The VIP of a service.
    LoadBalancer,
    /// A port of a load balancer.
    Listener,
    /// A group of members.
    Pool,
    /// A backend server of a pool.
    Member,
    /// The health check of a pool.
    HealthMonitor,
    /// An action for matching requests.
    L7Policy,
    /// A condition of a policy.
    L7Rule,
}

impl ResourceType {
    /// The type of a collection in a path.
    pub fn of_collection(name: &str) -> Option<Self> {
        Some(match name {
            "loadbalancers" => ResourceType::LoadBalancer,
            "listeners" => ResourceType::Listener,
            "pools" => ResourceType::Pool,
            "members" => ResourceType::Member,
            "healthmonitors" => ResourceType::HealthMonitor,
            "l7policies" => ResourceType::L7Policy,
            "rules" => ResourceType::L7Rule,
            _ => return None,
        })
    }

    /// The singular and plural names in bodies.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            ResourceType::LoadBalancer => ("loadbalancer", "loadbalancers"),
            ResourceType::Listener => ("listener", "listeners"),
            ResourceType::Pool => ("pool", "pools"),
            ResourceType::Member => ("member", "members"),
            ResourceType::HealthMonitor => ("healthmonitor", "healthmonitors"),
            ResourceType::L7Policy => ("l7policy", "l7policies"),
            ResourceType::L7Rule => ("rule", "rules"),
        }
    }

    /// The name of the type's quota.
    pub fn limit(self) -> &'static str {
        match self {
            ResourceType::LoadBalancer => "load_balancer",
            ResourceType::HealthMonitor => "health_monitor",
            ResourceType::L7Rule => "l7rule",
            other => other.names().0,
        }
    }

    /// The name in refusals.
    pub fn title(self) -> &'static str {
        match self {
            ResourceType::LoadBalancer => "Load Balancer",
            ResourceType::Listener => "Listener",
            ResourceType::Pool => "Pool",
            ResourceType::Member => "Member",
            ResourceType::HealthMonitor => "Health Monitor",
            ResourceType::L7Policy => "L7 Policy",
            ResourceType::L7Rule => "L7 Rule",
        }
    }

    pub fn not_found(self, id: &str) -> Refusal {
        Refusal::not_found("NotFound", format!("{} {id} not found.", self.title()))
    }
}

/// The provisioning status of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProvisioningStatus {
    /// No pending changes.
    Active,
    /// In creation.
    PendingCreate,
    /// In change, or a child is.
    PendingUpdate,
    /// In deletion.
    PendingDelete,
    /// A change failed.
    Error,
}

/// A resource of Octavia: a load balancer, or a child of one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resource {
    pub id: String,
    /// The type.
    pub part: ResourceType,
    pub project_id: String,
    /// The parent's id. Empty for a load balancer.
    pub parent: String,
    /// The provisioning status.
    pub status: ProvisioningStatus,
    /// The attributes, as they are shown.
    pub fields: Fields,
    pub created_at: String,
    /// The time of the last change. `None` if never changed.
    pub updated_at: Option<String>,
}

keyed_by_id!(Resource);

impl Attributes for Resource {
    fn fields(&self) -> &Fields {
        &self.fields
    }
}

impl Model {
    /// The resource of this type with this id.
    pub fn resource(&self, part: ResourceType, id: &str) -> Result<&Resource, Refusal> {
        let resource = self
            .balancing
            .get(id)
            .filter(|resource| resource.part == part);
        resource.ok_or_else(|| part.not_found(id))
    }

    /// The children of a type, in order of creation.
    pub fn children_of<'a>(
        &'a self,
        parent: &'a str,
        part: ResourceType,
    ) -> impl Iterator<Item = &'a Resource> + use<'a> {
        let all = self.balancing.iter();
        all.filter(move |resource| resource.part == part && resource.parent == parent)
    }

    /// A resource and its ancestors, up to its load balancer.
    pub fn ancestors_of(&self, id: &str) -> Vec<&Resource> {
        let mut up = Vec::new();
        let mut next = self.balancing.get(id);
        while let Some(resource) = next {
            up.push(resource);
            next = self.balancing.get(&resource.parent);
        }
        up
    }

    /// The id of a resource's load balancer.
    pub fn balancer_of(&self, id: &str) -> Option<String> {
        self.ancestors_of(id)
            .last()
            .map(|resource| resource.id.clone())
    }

    /// The ids of a resource and all its descendants.
    pub fn descendants_of(&self, id: &str) -> Vec<String> {
        let mut down = vec![id.to_owned()];
        let mut at = 0;
        while at < down.len() {
            let on = self
                .balancing
                .iter()
                .filter(|resource| resource.parent == down[at]);
            let more: Vec<String> = on.map(|resource| resource.id.clone()).collect();
            down.extend(more);
            at += 1;
        }
        down
    }
}
