//! Neutron: networks, subnets, ports, routers, floating IPs, security groups and their rules.
//!
//! They all work alike (a collection, a word for one, a word for many), so [`Entity`] says the words
//! and the calls are written once: `session.network().list::<Port>(...)`. The structs name the fields
//! that we read; the rest of an answer is kept in `other`, so that an entity serialises back to what
//! Neutron said.

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::lookups::{LONG, SHORT};
use crate::session::Call;
use crate::{Error, Service, Session, pages};

/// Calls to Neutron.
pub struct NetworkService<'a>(pub(crate) &'a Session);

/// A kind of thing that Neutron keeps.
pub trait Entity: DeserializeOwned + Serialize + Send {
    /// The path of the collection: `security-groups`.
    const PATH: &'static str;
    /// The word for one in bodies: `security_group`.
    const ONE: &'static str;
    /// The word for many in bodies: `security_groups`.
    const MANY: &'static str;
    /// For people: `security group`.
    const TITLE: &'static str;

    /// The cloud's id.
    fn id(&self) -> &str;
    /// For people; not unique.
    fn name(&self) -> Option<&str>;
    /// Free text; we keep our marker in it.
    fn description(&self) -> Option<&str>;
    /// Whose it is.
    fn project_id(&self) -> Option<&str>;
    /// Whether it is the cloud's rather than a project's: such things stay.
    fn is_the_clouds(&self) -> bool;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $path:literal, $one:literal, $many:literal, $title:literal,
     { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            /// The cloud's id.
            pub id: String,
            /// For people; not unique.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            /// Free text; we keep our marker in it.
            pub description: Option<String>,
            /// Whose it is.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub project_id: Option<String>,
            $($(#[$field_doc])* pub $field: $type,)*
            /// All else.
            #[serde(flatten)]
            pub other: Map<String, Value>,
        }

        impl Entity for $name {
            const PATH: &'static str = $path;
            const ONE: &'static str = $one;
            const MANY: &'static str = $many;
            const TITLE: &'static str = $title;

            fn id(&self) -> &str {
                &self.id
            }
            fn name(&self) -> Option<&str> {
                self.name.as_deref()
            }
            fn description(&self) -> Option<&str> {
                self.description.as_deref()
            }
            fn project_id(&self) -> Option<&str> {
                self.project_id.as_deref()
            }
            fn is_the_clouds(&self) -> bool {
                self.other.get("router:external") == Some(&Value::Bool(true))
            }
        }
    };
}

entity! {
    /// A network.
    Network, "networks", "network", "networks", "network", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `ERROR`.
        status: String,
        /// Ids of its subnets.
        subnets: Vec<String>,
        /// Whether other projects may use it.
        shared: Option<bool>,
    }
}

entity! {
    /// A range of addresses on a network.
    Subnet, "subnets", "subnet", "subnets", "subnet", {
        /// Its network.
        network_id: String,
        /// Such as `10.0.0.0/24`.
        cidr: String,
        /// The router's address on it.
        gateway_ip: Option<String>,
    }
}

entity! {
    /// A connection of a server or router to a network.
    Port, "ports", "port", "ports", "port", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `ERROR`.
        status: String,
        /// Its network.
        network_id: String,
        /// What is plugged in; empty if nothing.
        device_id: Option<String>,
        /// What kind of thing that is: `compute:nova`, `network:router_interface` ...
        device_owner: Option<String>,
        /// Its addresses.
        fixed_ips: Vec<FixedIp>,
        /// Ids of its security groups.
        security_groups: Vec<String>,
        /// Its hardware address.
        mac_address: String,
    }
}

entity! {
    /// What joins networks.
    Router, "routers", "router", "routers", "router", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `ERROR`.
        status: String,
        /// The way to the outside, if it has one.
        external_gateway_info: Option<Value>,
    }
}

entity! {
    /// A public address.
    FloatingIp, "floatingips", "floatingip", "floatingips", "floating IP", {
        /// `ACTIVE` when it leads somewhere, `DOWN`, `ERROR`.
        status: String,
        /// The address.
        floating_ip_address: String,
        /// The network that it is from.
        floating_network_id: String,
        /// The port that it leads to.
        port_id: Option<String>,
        /// The address of the port that it leads to.
        fixed_ip_address: Option<String>,
    }
}

entity! {
    /// A set of rules for ports.
    SecurityGroup, "security-groups", "security_group", "security_groups", "security group", {
        /// Its rules.
        security_group_rules: Vec<SecurityGroupRule>,
    }
}

entity! {
    /// What may pass.
    SecurityGroupRule, "security-group-rules", "security_group_rule", "security_group_rules", "security group rule", {
        /// The group that it belongs to.
        security_group_id: String,
        /// `ingress` or `egress`.
        direction: String,
        /// `IPv4` or `IPv6`.
        ethertype: Option<String>,
        /// `tcp`, `udp`, `icmp`, a number; any if absent.
        protocol: Option<String>,
        /// First port.
        port_range_min: Option<u32>,
        /// Last port.
        port_range_max: Option<u32>,
        /// From or to which addresses.
        remote_ip_prefix: Option<String>,
        /// From or to the members of which group.
        remote_group_id: Option<String>,
    }
}

entity! {
    /// A port that carries several networks, told apart by their tags.
    Trunk, "trunks", "trunk", "trunks", "trunk", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `DEGRADED`, `ERROR`.
        status: String,
        /// The port that a server is plugged into.
        port_id: String,
        /// The ports in it.
        sub_ports: Vec<Value>,
    }
}

entity! {
    /// What a port or network promises of its bandwidth.
    QosPolicy, "qos/policies", "policy", "policies", "QoS policy", {
        /// Its rules.
        rules: Vec<Value>,
    }
}

entity! {
    /// Addresses that subnets are cut from.
    SubnetPool, "subnetpools", "subnetpool", "subnetpools", "subnet pool", {
        /// Such as `10.0.0.0/8`.
        prefixes: Vec<String>,
    }
}

entity! {
    /// Addresses that security group rules refer to by one name.
    AddressGroup, "address-groups", "address_group", "address_groups", "address group", {
        /// Such as `10.0.0.0/24`.
        addresses: Vec<String>,
    }
}

entity! {
    /// What lets another project use a thing of this one.
    RbacPolicy, "rbac-policies", "rbac_policy", "rbac_policies", "RBAC policy", {
        /// Which thing.
        object_id: String,
        /// `network`, `qos_policy`, `security_group` ...
        object_type: String,
        /// Which project.
        target_tenant: String,
        /// `access_as_shared`, `access_as_external`.
        action: String,
    }
}

entity! {
    /// A space in which the addresses of subnet pools do not overlap. Neutron keeps no description of it.
    AddressScope, "address-scopes", "address_scope", "address_scopes", "address scope", {
        /// 4 or 6.
        ip_version: u8,
        /// Whether other projects may use it.
        shared: bool,
    }
}

entity! {
    /// A piece of a network that is one physical segment.
    Segment, "segments", "segment", "segments", "segment", {
        /// Its network.
        network_id: String,
        /// `vlan`, `flat` ...
        network_type: String,
    }
}

entity! {
    /// Traffic that is counted together.
    MeteringLabel, "metering/metering-labels", "metering_label", "metering_labels", "metering label", {
        /// Whether everybody's is counted.
        shared: bool,
    }
}

entity! {
    /// Which traffic a label counts. Neutron keeps neither name nor description of it.
    MeteringRule, "metering/metering-label-rules", "metering_label_rule", "metering_label_rules", "metering rule", {
        /// The label.
        metering_label_id: String,
        /// `ingress` or `egress`.
        direction: String,
    }
}

/// An address of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedIp {
    /// From which subnet.
    pub subnet_id: String,
    /// The address.
    pub ip_address: String,
}

impl NetworkService<'_> {
    /// A call on the collection, or on what `rest` names in it.
    fn of<E: Entity>(&self, method: Method, rest: &[&str]) -> Call<'_> {
        let path: Vec<&str> = E::PATH.split('/').chain(rest.iter().copied()).collect();
        self.0.call(Service::Network, method, &path)
    }

    /// All that match; filters as Neutron names them.
    pub async fn list<E: Entity>(&self, query: &[(&str, &str)]) -> Result<Vec<E>, Error> {
        let path: Vec<&str> = E::PATH.split('/').collect();
        pages::list(self.0, Service::Network, &path, E::MANY, query, None).await
    }

    /// One.
    pub async fn get<E: Entity>(&self, id: &str) -> Result<E, Error> {
        self.of::<E>(Method::GET, &[id]).fetch(E::ONE).await
    }

    /// Make one; `fields` without the word around them.
    pub async fn create<E: Entity>(&self, fields: &Value) -> Result<E, Error> {
        let call = self.of::<E>(Method::POST, &[]);
        call.json(&json!({E::ONE: fields})).fetch(E::ONE).await
    }

    /// Change one; `fields` without the word around them.
    pub async fn update<E: Entity>(&self, id: &str, fields: &Value) -> Result<E, Error> {
        let call = self.of::<E>(Method::PUT, &[id]);
        call.json(&json!({E::ONE: fields})).fetch(E::ONE).await
    }

    /// Remove one. Not there is an error of status 404.
    pub async fn delete<E: Entity>(&self, id: &str) -> Result<(), Error> {
        self.of::<E>(Method::DELETE, &[id]).send().await.map(drop)
    }

    /// By id, or by a name that only one has. Of several, the one of the session's own project is
    /// meant: administrators see everybody's. Networks outside are kept for half a minute.
    pub async fn find<E: Entity>(&self, name_or_id: &str) -> Result<E, Error> {
        let lookups = self.0.lookups();
        let fetch = || self.find_now(name_or_id);
        let keep = |found: &E| match found.is_the_clouds() {
            true => LONG,
            false => SHORT,
        };
        lookups.find(E::PATH, name_or_id, keep, fetch).await
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

    /// Set all tags of one, in place of those that it has.
    pub async fn set_tags<E: Entity>(&self, id: &str, tags: &[String]) -> Result<(), Error> {
        let call = self.of::<E>(Method::PUT, &[id, "tags"]);
        call.json(&json!({"tags": tags})).send().await.map(drop)
    }

    /// Do what the service offers on one thing: `add_extraroutes`, `add_subports` ... Returns the whole answer.
    pub async fn act<E: Entity>(
        &self,
        id: &str,
        action: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        let call = self.of::<E>(Method::PUT, &[id, action]);
        call.json(body).send().await?.json()
    }

    /// Networks that floating IPs can come from.
    pub async fn external_networks(&self) -> Result<Vec<Network>, Error> {
        self.list(&[("router:external", "true")]).await
    }

    /// Connect a router to a subnet, by its gateway address.
    pub async fn router_add_subnet(&self, router: &str, subnet: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "add_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"subnet_id": subnet}))
            .send()
            .await
            .map(drop)
    }

    /// Connect a router by a port that exists.
    pub async fn router_add_port(&self, router: &str, port: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "add_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"port_id": port})).send().await.map(drop)
    }

    /// Disconnect a router from a subnet.
    pub async fn router_remove_subnet(&self, router: &str, subnet: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "remove_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"subnet_id": subnet}))
            .send()
            .await
            .map(drop)
    }

    /// Disconnect a router from a port.
    pub async fn router_remove_port(&self, router: &str, port: &str) -> Result<(), Error> {
        let path = [Router::PATH, router, "remove_router_interface"];
        let call = self.0.call(Service::Network, Method::PUT, &path);
        call.json(&json!({"port_id": port})).send().await.map(drop)
    }
}

/// Whether it has the form of an id: then it is looked up as one first.
pub fn looks_like_id(text: &str) -> bool {
    let digits = text.chars().filter(|c| c.is_ascii_hexdigit()).count();
    digits == 32 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// The one thing of that name; a clear error when there is none or more than one.
pub(crate) fn only<T>(
    mut named: Vec<T>,
    what: &str,
    name: &str,
    id: impl Fn(&T) -> &str,
) -> Result<T, Error> {
    match named.len() {
        1 => Ok(named.remove(0)),
        0 => Err(Error::Unknown {
            what: what.into(),
            name: name.into(),
        }),
        _ => Err(Error::Ambiguous {
            what: what.into(),
            name: name.into(),
            ids: named.iter().map(|thing| id(thing).to_string()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_told_apart() {
        assert!(looks_like_id("3b0f4d1e-8a51-4b46-9a63-1f2f5c0f7a11"));
        assert!(looks_like_id("3b0f4d1e8a514b469a631f2f5c0f7a11"));
        assert!(!looks_like_id("public"));
        assert!(!looks_like_id(""));
    }

    #[test]
    fn a_name_must_mean_one_thing() {
        let none = only(Vec::<String>::new(), "image", "debian", |id| id).unwrap_err();
        assert_eq!(
            none.to_string(),
            "there is no image named `debian` in this project; check the name, or choose one that the cloud has"
        );
        let two = only(
            vec!["a".to_string(), "b".to_string()],
            "image",
            "debian",
            |id| id,
        )
        .unwrap_err();
        assert_eq!(
            two.to_string(),
            "2 images are named `debian` (a, b); give the id of the one you mean"
        );
    }

    #[test]
    fn an_entity_serialises_back_to_what_neutron_said() {
        let said = json!({"id": "1", "name": "n", "description": "", "status": "ACTIVE", "subnets": [],
            "router:external": false, "shared": false, "project_id": "p", "mtu": 1450});
        let network: Network = serde_json::from_value(said.clone()).unwrap();
        assert_eq!(serde_json::to_value(&network).unwrap(), said);
    }
}
