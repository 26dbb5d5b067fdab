//! The kinds of things of Neutron.
//!
//! The structs name the fields that we read. The rest of an answer is kept in `other`, so that an entity serialises back to
//! Neutron's answer.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entity_serialises_back_to_what_neutron_said() {
        let said = json!({"id": "1", "name": "n", "description": "", "status": "ACTIVE", "subnets": [],
            "router:external": false, "shared": false, "project_id": "p", "mtu": 1450});
        let network: Network = serde_json::from_value(said.clone()).unwrap();
        assert_eq!(serde_json::to_value(&network).unwrap(), said);
    }
}
