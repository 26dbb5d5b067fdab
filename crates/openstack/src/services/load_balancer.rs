//! Octavia: load balancers and their parts.
//!
//! All resource types have the same API, so the type is a value and the calls are written once. A change of any part
//! locks the whole load balancer (`PENDING_UPDATE`) for a moment. Octavia refuses every other change with a conflict
//! meanwhile.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::wire::call::Call;
use crate::{Error, Service, Session};

impl Session {
    /// Octavia.
    pub fn load_balancer(&self) -> LoadBalancing<'_> {
        LoadBalancing(self)
    }
}

/// Calls to Octavia.
pub struct LoadBalancing<'a>(pub(crate) &'a Session);

/// A resource type of Octavia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A load balancer with its virtual IP address.
    LoadBalancer,
    /// A listening port of a load balancer.
    Listener,
    /// A group of backend servers.
    Pool,
    /// A backend server in the pool with this id.
    Member(&'a str),
    /// Health checks of the members of a pool.
    HealthMonitor,
    /// Options of load balancers, defined by an administrator.
    Flavor,
    /// A redirect or rejection of matching HTTP requests.
    L7Policy,
    /// A condition of the L7 policy with this id.
    L7Rule(&'a str),
}

impl<'a> Part<'a> {
    fn path(self) -> Vec<&'a str> {
        match self {
            Part::LoadBalancer => vec!["lbaas", "loadbalancers"],
            Part::Listener => vec!["lbaas", "listeners"],
            Part::Pool => vec!["lbaas", "pools"],
            Part::Member(pool) => vec!["lbaas", "pools", pool, "members"],
            Part::HealthMonitor => vec!["lbaas", "healthmonitors"],
            Part::Flavor => vec!["lbaas", "flavors"],
            Part::L7Policy => vec!["lbaas", "l7policies"],
            Part::L7Rule(policy) => vec!["lbaas", "l7policies", policy, "rules"],
        }
    }

    /// Keys of one and of several in bodies.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Part::LoadBalancer => ("loadbalancer", "loadbalancers"),
            Part::Listener => ("listener", "listeners"),
            Part::Pool => ("pool", "pools"),
            Part::Member(_) => ("member", "members"),
            Part::HealthMonitor => ("healthmonitor", "healthmonitors"),
            Part::Flavor => ("flavor", "flavors"),
            Part::L7Policy => ("l7policy", "l7policies"),
            Part::L7Rule(_) => ("rule", "rules"),
        }
    }

    /// Display name of the resource type.
    pub fn title(self) -> &'static str {
        match self {
            Part::LoadBalancer => "load balancer",
            Part::Listener => "listener",
            Part::Pool => "pool",
            Part::Member(_) => "pool member",
            Part::HealthMonitor => "health monitor",
            Part::Flavor => "load balancer flavor",
            Part::L7Policy => "L7 policy",
            Part::L7Rule(_) => "L7 rule",
        }
    }
}

/// A resource of Octavia.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Balanced {
    /// Id assigned by Octavia.
    pub id: String,
    /// Display name, not unique.
    pub name: Option<String>,
    /// Free text with Stackloom's marker. Members, monitors and rules have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `ACTIVE`, `PENDING_CREATE`, `PENDING_UPDATE`, `PENDING_DELETE`, `ERROR`, `DELETED`.
    pub provisioning_status: String,
    /// Tags, with Stackloom's marker for resources without a description.
    pub tags: Vec<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl LoadBalancing<'_> {
    fn call(&self, method: Method, part: Part<'_>, rest: &[&str]) -> Call<'_> {
        let mut path = part.path();
        path.extend(rest);
        self.0.call(Service::LoadBalancer, method, &path)
    }

    /// All matching resources; `query` contains Octavia's filters.
    pub async fn list(
        &self,
        part: Part<'_>,
        query: &[(&str, &str)],
    ) -> Result<Vec<Balanced>, Error> {
        let call = self.call(Method::GET, part, &[]);
        call.query(query.iter().copied()).list(part.words().1).await
    }

    /// The resource with this id.
    pub async fn get(&self, part: Part<'_>, id: &str) -> Result<Balanced, Error> {
        self.call(Method::GET, part, &[id])
            .fetch(part.words().0)
            .await
    }

    /// Creates a resource. `fields` is the object without its outer key.
    pub async fn create(&self, part: Part<'_>, fields: &Value) -> Result<Balanced, Error> {
        let (one, _) = part.words();
        let call = self.call(Method::POST, part, &[]);
        call.json(&json!({one: fields})).fetch(one).await
    }

    /// Updates a resource. `fields` is the object without its outer key.
    pub async fn update(
        &self,
        part: Part<'_>,
        id: &str,
        fields: &Value,
    ) -> Result<Balanced, Error> {
        let (one, _) = part.words();
        let call = self.call(Method::PUT, part, &[id]);
        call.json(&json!({one: fields})).fetch(one).await
    }

    /// Deletes a load balancer with all its parts (cascade).
    pub async fn delete_whole(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, Part::LoadBalancer, &[id])
            .query([("cascade", "true")])
            .send()
            .await
            .map(drop)
    }

    /// Deletes a resource; a load balancer must be empty. A missing resource is an error of status 404.
    pub async fn delete(&self, part: Part<'_>, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, part, &[id])
            .send()
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_live_in_their_pool() {
        assert_eq!(Part::Member("p").path(), ["lbaas", "pools", "p", "members"]);
        assert_eq!(Part::Member("p").words(), ("member", "members"));
    }
}
