//! Octavia: load balancers and the pieces that hang on them, as one table.
//!
//! All pieces work alike: they have attributes that [`fields`] lists, hang on another piece, and are changed under the lock of
//! their load balancer: while anything of it is `PENDING_...`, every other change is refused. So what is special of a kind is a
//! table there, and the moves are written once in [`change`].
//!
//! ```text
//! load balancer <- listener <- L7 policy <- L7 rule
//!               <- pool     <- member, health monitor      (a listener names its default pool, a policy the one it leads to)
//! ```

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

/// Clients write the version as `v2` or `v2.0`.
pub const PREFIXES: &[&str] = &["/load-balancer/v2/lbaas", "/load-balancer/v2.0/lbaas"];

/// The type of a resource of Octavia.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceType {
    /// The address where clients arrive.
    LoadBalancer,
    /// A port of it that listens.
    Listener,
    /// Servers that share work.
    Pool,
    /// One of them.
    Member,
    /// How they are watched.
    HealthMonitor,
    /// An action for some requests.
    L7Policy,
    /// A condition of a policy.
    L7Rule,
}

impl ResourceType {
    /// The kind of a collection's name in a path.
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

    /// The words for one and for many in bodies.
    pub fn words(self) -> (&'static str, &'static str) {
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

    /// The name of the limit on how many a project may have.
    pub fn limit(self) -> &'static str {
        match self {
            ResourceType::LoadBalancer => "load_balancer",
            ResourceType::HealthMonitor => "health_monitor",
            ResourceType::L7Rule => "l7rule",
            other => other.words().0,
        }
    }

    /// As Octavia says it in refusals.
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
pub enum Provisioning {
    /// Nothing.
    Active,
    /// It is being made.
    PendingCreate,
    /// It is being changed, or what hangs on it is.
    PendingUpdate,
    /// It is going.
    PendingDelete,
    /// It could not be made or changed.
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
    pub status: Provisioning,
    /// Its attributes, as they are shown.
    pub fields: Fields,
    pub created_at: String,
    /// When it was changed, if ever.
    pub updated_at: Option<String>,
}

keyed_by_id!(Resource);

impl Attributes for Resource {
    fn fields(&self) -> &Fields {
        &self.fields
    }
}

impl Model {
    /// A piece of this kind.
    pub fn piece(&self, part: ResourceType, id: &str) -> Result<&Resource, Refusal> {
        let piece = self.balancing.get(id).filter(|piece| piece.part == part);
        piece.ok_or_else(|| part.not_found(id))
    }

    /// The pieces of a kind that hang on one, in the order in which they were made.
    pub fn hanging_on<'a>(
        &'a self,
        parent: &'a str,
        part: ResourceType,
    ) -> impl Iterator<Item = &'a Resource> + use<'a> {
        let all = self.balancing.iter();
        all.filter(move |piece| piece.part == part && piece.parent == parent)
    }

    /// A piece and all that it hangs on, up to its load balancer.
    pub fn up_from(&self, id: &str) -> Vec<&Resource> {
        let mut up = Vec::new();
        let mut next = self.balancing.get(id);
        while let Some(piece) = next {
            up.push(piece);
            next = self.balancing.get(&piece.parent);
        }
        up
    }

    /// The id of the load balancer that a piece belongs to.
    pub fn balancer_of(&self, id: &str) -> Option<String> {
        self.up_from(id).last().map(|piece| piece.id.clone())
    }

    /// All that hangs on a piece, at any distance, the piece itself included.
    pub fn down_from(&self, id: &str) -> Vec<String> {
        let mut down = vec![id.to_owned()];
        let mut at = 0;
        while at < down.len() {
            let on = self
                .balancing
                .iter()
                .filter(|piece| piece.parent == down[at]);
            let more: Vec<String> = on.map(|piece| piece.id.clone()).collect();
            down.extend(more);
            at += 1;
        }
        down
    }
}
