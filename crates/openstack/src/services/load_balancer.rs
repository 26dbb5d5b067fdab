//! Octavia: load balancers and what hangs on them.
//!
//! All kinds work alike, so the kind is a value and the calls are written once. A change of any part
//! locks the whole load balancer (`PENDING_UPDATE`) for a moment, in which Octavia refuses every
//! other change with a conflict.

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

/// A kind of thing that Octavia keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The address where clients arrive.
    LoadBalancer,
    /// A port of it that listens.
    Listener,
    /// Servers that share work.
    Pool,
    /// A server of the pool with this id.
    Member(&'a str),
    /// How the servers of a pool are watched.
    HealthMonitor,
    /// What an administrator lets load balancers be like.
    Flavor,
    /// Where requests go that are special.
    L7Policy,
    /// What makes them special; of the policy with this id.
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

    /// The words for one and for many in bodies.
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

    /// For people.
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

/// One of Octavia's things.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Balanced {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: Option<String>,
    /// Free text; we keep our marker in it. Members, monitors and rules have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `ACTIVE`, `PENDING_CREATE`, `PENDING_UPDATE`, `PENDING_DELETE`, `ERROR`, `DELETED`.
    pub provisioning_status: String,
    /// Tags; we keep our marker in them where there is no description.
    pub tags: Vec<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl LoadBalancing<'_> {
    fn call(&self, method: Method, part: Part<'_>, rest: &[&str]) -> Call<'_> {
        let mut path = part.path();
        path.extend(rest);
        self.0.call(Service::LoadBalancer, method, &path)
    }

    /// All that match; filters as Octavia names them.
    pub async fn list(
        &self,
        part: Part<'_>,
        query: &[(&str, &str)],
    ) -> Result<Vec<Balanced>, Error> {
        let call = self.call(Method::GET, part, &[]);
        call.query(query.iter().copied()).list(part.words().1).await
    }

    /// One.
    pub async fn get(&self, part: Part<'_>, id: &str) -> Result<Balanced, Error> {
        self.call(Method::GET, part, &[id])
            .fetch(part.words().0)
            .await
    }

    /// Order one; `fields` without the word around them.
    pub async fn create(&self, part: Part<'_>, fields: &Value) -> Result<Balanced, Error> {
        let (one, _) = part.words();
        let call = self.call(Method::POST, part, &[]);
        call.json(&json!({one: fields})).fetch(one).await
    }

    /// Change one; `fields` without the word around them.
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

    /// Remove a load balancer with all that hangs on it.
    pub async fn delete_whole(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, Part::LoadBalancer, &[id])
            .query([("cascade", "true")])
            .send()
            .await
            .map(drop)
    }

    /// Remove one; a load balancer must be empty. Not there is an error of status 404.
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
