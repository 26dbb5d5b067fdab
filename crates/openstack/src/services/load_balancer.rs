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
pub enum OctaviaType<'a> {
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

impl<'a> OctaviaType<'a> {
    fn path(self) -> Vec<&'a str> {
        match self {
            OctaviaType::LoadBalancer => vec!["lbaas", "loadbalancers"],
            OctaviaType::Listener => vec!["lbaas", "listeners"],
            OctaviaType::Pool => vec!["lbaas", "pools"],
            OctaviaType::Member(pool) => vec!["lbaas", "pools", pool, "members"],
            OctaviaType::HealthMonitor => vec!["lbaas", "healthmonitors"],
            OctaviaType::Flavor => vec!["lbaas", "flavors"],
            OctaviaType::L7Policy => vec!["lbaas", "l7policies"],
            OctaviaType::L7Rule(policy) => vec!["lbaas", "l7policies", policy, "rules"],
        }
    }

    /// Keys of one and of several in bodies.
    fn body_keys(self) -> (&'static str, &'static str) {
        match self {
            OctaviaType::LoadBalancer => ("loadbalancer", "loadbalancers"),
            OctaviaType::Listener => ("listener", "listeners"),
            OctaviaType::Pool => ("pool", "pools"),
            OctaviaType::Member(_) => ("member", "members"),
            OctaviaType::HealthMonitor => ("healthmonitor", "healthmonitors"),
            OctaviaType::Flavor => ("flavor", "flavors"),
            OctaviaType::L7Policy => ("l7policy", "l7policies"),
            OctaviaType::L7Rule(_) => ("rule", "rules"),
        }
    }

    /// Display name of the resource type.
    pub fn title(self) -> &'static str {
        match self {
            OctaviaType::LoadBalancer => "load balancer",
            OctaviaType::Listener => "listener",
            OctaviaType::Pool => "pool",
            OctaviaType::Member(_) => "pool member",
            OctaviaType::HealthMonitor => "health monitor",
            OctaviaType::Flavor => "load balancer flavor",
            OctaviaType::L7Policy => "L7 policy",
            OctaviaType::L7Rule(_) => "L7 rule",
        }
    }
}

/// A resource of Octavia.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OctaviaResource {
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
    fn call(&self, method: Method, kind: OctaviaType<'_>, rest: &[&str]) -> Call<'_> {
        let mut path = kind.path();
        path.extend(rest);
        self.0.call(Service::LoadBalancer, method, &path)
    }

    /// All matching resources; `query` contains Octavia's filters.
    pub async fn list(
        &self,
        kind: OctaviaType<'_>,
        query: &[(&str, &str)],
    ) -> Result<Vec<OctaviaResource>, Error> {
        let call = self.call(Method::GET, kind, &[]);
        call.query(query.iter().copied())
            .list(kind.body_keys().1)
            .await
    }

    /// The resource with this id.
    pub async fn get(&self, kind: OctaviaType<'_>, id: &str) -> Result<OctaviaResource, Error> {
        self.call(Method::GET, kind, &[id])
            .fetch(kind.body_keys().0)
            .await
    }

    /// Creates a resource. `fields` is the object without its outer key.
    pub async fn create(
        &self,
        kind: OctaviaType<'_>,
        fields: &Value,
    ) -> Result<OctaviaResource, Error> {
        let (key, _) = kind.body_keys();
        let call = self.call(Method::POST, kind, &[]);
        call.json(&json!({key: fields})).fetch(key).await
    }

    /// Updates a resource. `fields` is the object without its outer key.
    pub async fn update(
        &self,
        kind: OctaviaType<'_>,
        id: &str,
        fields: &Value,
    ) -> Result<OctaviaResource, Error> {
        let (key, _) = kind.body_keys();
        let call = self.call(Method::PUT, kind, &[id]);
        call.json(&json!({key: fields})).fetch(key).await
    }

    /// Deletes a load balancer with all its parts (cascade).
    pub async fn delete_cascade(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, OctaviaType::LoadBalancer, &[id])
            .query([("cascade", "true")])
            .send()
            .await
            .map(drop)
    }

    /// Deletes a resource; a load balancer must be empty. A missing resource is an error of status 404.
    pub async fn delete(&self, kind: OctaviaType<'_>, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, kind, &[id])
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
        assert_eq!(
            OctaviaType::Member("p").path(),
            ["lbaas", "pools", "p", "members"]
        );
        assert_eq!(OctaviaType::Member("p").body_keys(), ("member", "members"));
    }
}
