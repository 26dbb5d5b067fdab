//! Neutron: networks, subnets, ports, routers, floating IPs, security groups and their rules.
//!
//! All resource types have the same API, so [`Entity`] contains their names and the calls are written once:
//! `session.network().list::<Port>(...)`.

mod entity;
pub mod nested;
pub mod qos;

use reqwest::Method;
use serde_json::{Value, json};

use super::lookups::{LONG, SHORT, only};
use crate::wire::call::Call;
use crate::wire::id::looks_like_id;
use crate::{Error, Service, Session};

pub use entity::{
    AddressGroup, AddressScope, Entity, FixedIp, FloatingIp, MeteringLabel, MeteringRule, Network,
    Port, QosPolicy, RbacPolicy, Router, SecurityGroup, SecurityGroupRule, Segment, Subnet,
    SubnetPool, Trunk,
};

impl Session {
    /// Neutron.
    pub fn network(&self) -> NetworkService<'_> {
        NetworkService(self)
    }
}

/// Calls to Neutron.
pub struct NetworkService<'a>(pub(crate) &'a Session);

impl NetworkService<'_> {
    /// A call to the collection, or to the path `rest` below it.
    fn of<E: Entity>(&self, method: Method, rest: &[&str]) -> Call<'_> {
        let path: Vec<&str> = E::PATH.split('/').chain(rest.iter().copied()).collect();
        self.0.call(Service::Network, method, &path)
    }

    /// All matching resources; `query` contains Neutron's filters.
    pub async fn list<E: Entity>(&self, query: &[(&str, &str)]) -> Result<Vec<E>, Error> {
        let call = self.of::<E>(Method::GET, &[]).query(query.iter().copied());
        call.list(E::MANY).await
    }

    /// The resource with this id.
    pub async fn get<E: Entity>(&self, id: &str) -> Result<E, Error> {
        self.of::<E>(Method::GET, &[id]).fetch(E::ONE).await
    }

    /// Creates a resource. `fields` is the object without its outer key.
    pub async fn create<E: Entity>(&self, fields: &Value) -> Result<E, Error> {
        let call = self.of::<E>(Method::POST, &[]);
        call.json(&json!({E::ONE: fields})).fetch(E::ONE).await
    }

    /// Updates a resource. `fields` is the object without its outer key.
    pub async fn update<E: Entity>(&self, id: &str, fields: &Value) -> Result<E, Error> {
        let call = self.of::<E>(Method::PUT, &[id]);
        call.json(&json!({E::ONE: fields})).fetch(E::ONE).await
    }

    /// Deletes a resource. A missing resource is an error of status 404.
    pub async fn delete<E: Entity>(&self, id: &str) -> Result<(), Error> {
        self.of::<E>(Method::DELETE, &[id]).send().await.map(drop)
    }

    /// A resource by its id, or by a unique name. Of several with the name, the one in the session's own project wins,
    /// as administrators see all projects. External networks are cached for 30 s.
    pub async fn find<E: Entity>(&self, name_or_id: &str) -> Result<E, Error> {
        let lookups = self.0.lookups();
        let fetch = || self.find_now(name_or_id);
        let cache_lifetime = |found: &E| if found.is_cloud_owned() { LONG } else { SHORT };
        lookups
            .find(E::PATH, name_or_id, cache_lifetime, fetch)
            .await
    }

    async fn find_now<E: Entity>(&self, name_or_id: &str) -> Result<E, Error> {
        if looks_like_id(name_or_id) {
            match self.get(name_or_id).await {
                Err(error) if error.is_not_found() => {}
                other => return other,
            }
        }
        let mut named: Vec<E> = self.list(&[("name", name_or_id)]).await?;
        named.retain(|entity| entity.name() == Some(name_or_id));
        let project = self.0.project().map(|project| project.id.as_str());
        let is_own = |entity: &E| project.is_some() && entity.project_id() == project;
        if named.len() > 1 && named.iter().any(is_own) {
            named.retain(is_own);
        }
        only(named, E::TITLE, name_or_id, |entity| entity.id())
    }

    /// Replaces all tags of a resource.
    pub async fn set_tags<E: Entity>(&self, id: &str, tags: &[String]) -> Result<(), Error> {
        let call = self.of::<E>(Method::PUT, &[id, "tags"]);
        call.json(&json!({"tags": tags})).send().await.map(drop)
    }

    /// Runs an action of a resource: `add_extraroutes`, `add_subports` ... Returns the whole response.
    pub async fn act<E: Entity>(
        &self,
        id: &str,
        action: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let call = self.of::<E>(Method::PUT, &[id, action]);
        call.json(body).send().await?.json()
    }

    /// Networks for floating IPs.
    pub async fn external_networks(&self) -> Result<Vec<Network>, Error> {
        self.list(&[("router:external", "true")]).await
    }

    /// Connects a router to a subnet, with the subnet's gateway address.
    pub async fn router_add_subnet(&self, router: &str, subnet: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "add_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"subnet_id": subnet}))
            .send()
            .await
            .map(drop)
    }

    /// Connects a router to an existing port.
    pub async fn router_add_port(&self, router: &str, port: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "add_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"port_id": port})).send().await.map(drop)
    }

    /// Disconnects a router from a subnet.
    pub async fn router_remove_subnet(&self, router: &str, subnet: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "remove_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"subnet_id": subnet}))
            .send()
            .await
            .map(drop)
    }

    /// Disconnects a router from a port.
    pub async fn router_remove_port(&self, router: &str, port: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "remove_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"port_id": port})).send().await.map(drop)
    }
}
