//! Resource types of Neutron.
//!
//! The structs have the fields that Stackloom reads. `other` contains the rest of the response, so an entity serialises
//! back to Neutron's response.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resource type of Neutron.
pub trait Entity: DeserializeOwned + Serialize + Send {
    /// Path of the collection: `security-groups`.
    const PATH: &'static str;
    /// Key of one resource in bodies: `security_group`.
    const ONE: &'static str;
    /// Key of several resources in bodies: `security_groups`.
    const MANY: &'static str;
    /// Display name of the resource type: `security group`.
    const TITLE: &'static str;

    /// Id assigned by Neutron.
    fn id(&self) -> &str;
    /// Display name, not unique.
    fn name(&self) -> Option<&str>;
    /// Free text with Stackloom's marker.
    fn description(&self) -> Option<&str>;
    /// Id of the owning project.
    fn project_id(&self) -> Option<&str>;
    /// Whether it belongs to the cloud instead of a project. Such resources outlive runs.
    fn is_cloud_owned(&self) -> bool;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $path:literal, $one:literal, $many:literal, $title:literal,
     { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            /// Id assigned by Neutron.
            pub id: String,
            /// Display name, not unique.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            /// Free text with Stackloom's marker.
            pub description: Option<String>,
            /// Id of the owning project.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub project_id: Option<String>,
            $($(#[$field_doc])* pub $field: $type,)*
            /// All other fields.
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
            fn is_cloud_owned(&self) -> bool {
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
        /// Ids of the subnets.
        subnets: Vec<String>,
        /// Whether other projects can use the network.
        shared: Option<bool>,
    }
}

entity! {
    /// A range of addresses on a network.
    Subnet, "subnets", "subnet", "subnets", "subnet", {
        /// Id of the network.
        network_id: String,
        /// Address range, such as `10.0.0.0/24`.
        cidr: String,
        /// Gateway address.
        gateway_ip: Option<String>,
    }
}

entity! {
    /// A connection of a server or router to a network.
    Port, "ports", "port", "ports", "port", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `ERROR`.
        status: String,
        /// Id of the network.
        network_id: String,
        /// Id of the attached device; empty without one.
        device_id: Option<String>,
        /// Type of the attached device: `compute:nova`, `network:router_interface` ...
        device_owner: Option<String>,
        /// Fixed IPs.
        fixed_ips: Vec<FixedIp>,
        /// Ids of the security groups.
        security_groups: Vec<String>,
        /// MAC address.
        mac_address: String,
    }
}

entity! {
    /// A router between networks.
    Router, "routers", "router", "routers", "router", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `ERROR`.
        status: String,
        /// External gateway, if any.
        external_gateway_info: Option<Value>,
    }
}

entity! {
    /// A floating IP.
    FloatingIp, "floatingips", "floatingip", "floatingips", "floating IP", {
        /// `ACTIVE` when associated, `DOWN`, `ERROR`.
        status: String,
        /// The address.
        floating_ip_address: String,
        /// Id of the external network.
        floating_network_id: String,
        /// Id of the associated port.
        port_id: Option<String>,
        /// Fixed IP of the associated port.
        fixed_ip_address: Option<String>,
    }
}

entity! {
    /// A set of rules for ports.
    SecurityGroup, "security-groups", "security_group", "security_groups", "security group", {
        /// Rules of the group.
        security_group_rules: Vec<SecurityGroupRule>,
    }
}

entity! {
    /// A rule for allowed traffic.
    SecurityGroupRule, "security-group-rules", "security_group_rule", "security_group_rules", "security group rule", {
        /// Id of the security group.
        security_group_id: String,
        /// `ingress` or `egress`.
        direction: String,
        /// `IPv4` or `IPv6`.
        ethertype: Option<String>,
        /// `tcp`, `udp`, `icmp` or a number. `None` means any.
        protocol: Option<String>,
        /// First port of the range.
        port_range_min: Option<u32>,
        /// Last port of the range.
        port_range_max: Option<u32>,
        /// Remote addresses, in CIDR notation.
        remote_ip_prefix: Option<String>,
        /// Id of the remote security group.
        remote_group_id: Option<String>,
    }
}

entity! {
    /// A port with subports in several networks, separated by VLAN tags.
    Trunk, "trunks", "trunk", "trunks", "trunk", {
        /// `ACTIVE`, `BUILD`, `DOWN`, `DEGRADED`, `ERROR`.
        status: String,
        /// Id of the parent port, to which a server is attached.
        port_id: String,
        /// Subports.
        sub_ports: Vec<Value>,
    }
}

entity! {
    /// Bandwidth limits and guarantees of a port or network.
    QosPolicy, "qos/policies", "policy", "policies", "QoS policy", {
        /// Rules of the policy.
        rules: Vec<Value>,
    }
}

entity! {
    /// Address ranges from which subnets are allocated.
    SubnetPool, "subnetpools", "subnetpool", "subnetpools", "subnet pool", {
        /// Address ranges, such as `10.0.0.0/8`.
        prefixes: Vec<String>,
    }
}

entity! {
    /// Addresses for security group rules, under one name.
    AddressGroup, "address-groups", "address_group", "address_groups", "address group", {
        /// Address ranges, such as `10.0.0.0/24`.
        addresses: Vec<String>,
    }
}

entity! {
    /// Permission of another project to use a resource of this one.
    RbacPolicy, "rbac-policies", "rbac_policy", "rbac_policies", "RBAC policy", {
        /// Id of the resource.
        object_id: String,
        /// `network`, `qos_policy`, `security_group` ...
        object_type: String,
        /// Id of the other project.
        target_tenant: String,
        /// `access_as_shared`, `access_as_external`.
        action: String,
    }
}

entity! {
    /// A scope in which the addresses of subnet pools do not overlap. Has no description.
    AddressScope, "address-scopes", "address_scope", "address_scopes", "address scope", {
        /// IP version, 4 or 6.
        ip_version: u8,
        /// Whether other projects can use the scope.
        shared: bool,
    }
}

entity! {
    /// A physical segment of a network.
    Segment, "segments", "segment", "segments", "segment", {
        /// Id of the network.
        network_id: String,
        /// `vlan`, `flat` ...
        network_type: String,
    }
}

entity! {
    /// A label for counted traffic.
    MeteringLabel, "metering/metering-labels", "metering_label", "metering_labels", "metering label", {
        /// Whether the traffic of all projects is counted.
        shared: bool,
    }
}

entity! {
    /// A rule for the traffic that a label counts. Has neither name nor description.
    MeteringRule, "metering/metering-label-rules", "metering_label_rule", "metering_label_rules", "metering rule", {
        /// Id of the label.
        metering_label_id: String,
        /// `ingress` or `egress`.
        direction: String,
    }
}

/// A fixed IP of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixedIp {
    /// Id of the subnet.
    pub subnet_id: String,
    /// The IP address.
    pub ip_address: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entity_serialises_back_to_what_neutron_said() {
        let response = json!({"id": "1", "name": "n", "description": "", "status": "ACTIVE", "subnets": [],
            "router:external": false, "shared": false, "project_id": "p", "mtu": 1450});
        let network: Network = serde_json::from_value(response.clone()).unwrap();
        assert_eq!(serde_json::to_value(&network).unwrap(), response);
    }
}
