//! Nested resources of Neutron: the rules of a QoS policy, the port forwardings of a floating IP. They have an id, but
//! mostly neither a name nor an owner of their own.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::NetworkService;
use crate::wire::call::Call;
use crate::{Error, Service, Session};

/// A nested resource as returned by Neutron. The id is the field `id`.
pub type NestedRecord = Map<String, Value>;

/// Calls to the nested resources of one type in one parent.
pub struct NestedCollection<'a> {
    session: &'a Session,
    /// Path segments of the collection: `qos`, `policies`, the policy's id, `dscp_marking_rules`.
    path: Vec<String>,
    key: &'static str,
    list_key: &'static str,
}

impl<'a> NestedCollection<'a> {
    /// `key` and `list_key` are the keys in bodies; the path ends with `list_key`.
    pub(super) fn of(
        session: &'a Session,
        owner: &[&str],
        key: &'static str,
        list_key: &'static str,
    ) -> NestedCollection<'a> {
        let path = owner.iter().copied().chain([list_key]);
        NestedCollection {
            session,
            path: path.map(str::to_owned).collect(),
            key,
            list_key,
        }
    }

    fn call(&self, method: Method, rest: &[&str]) -> Call<'_> {
        let path = self.path.iter().map(String::as_str);
        let path: Vec<&str> = path.chain(rest.iter().copied()).collect();
        self.session.call(Service::Network, method, &path)
    }

    /// All resources in the parent.
    pub async fn list(&self) -> Result<Vec<NestedRecord>, Error> {
        self.call(Method::GET, &[]).list(self.list_key).await
    }

    /// The resource with this id.
    pub async fn get(&self, id: &str) -> Result<NestedRecord, Error> {
        self.call(Method::GET, &[id]).fetch(self.key).await
    }

    /// Creates a resource.
    pub async fn create(&self, fields: &Value) -> Result<NestedRecord, Error> {
        let call = self.call(Method::POST, &[]);
        call.json(&json!({self.key: fields})).fetch(self.key).await
    }

    /// Updates a resource.
    pub async fn update(&self, id: &str, fields: &Value) -> Result<NestedRecord, Error> {
        let call = self.call(Method::PUT, &[id]);
        call.json(&json!({self.key: fields})).fetch(self.key).await
    }

    /// Deletes a resource. A missing resource is an error of status 404.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &[id]).send().await.map(drop)
    }
}

impl<'a> NetworkService<'a> {
    /// The port forwardings of a floating IP. Source: Networking API v2.0, "Floating IPs port forwarding".
    pub fn port_forwardings(&self, floating_ip: &str) -> NestedCollection<'a> {
        let owner = ["floatingips", floating_ip];
        NestedCollection::of(self.0, &owner, "port_forwarding", "port_forwardings")
    }
}
