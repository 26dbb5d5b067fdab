//! `OS::Neutron::Port`: a plug of a network, which a server is attached by.
//!
//! It waits for the subnets of its network, which no property names: Neutron would give it no
//! address. Source: Networking API v2.0, "Ports".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: PORT.to_owned(),
        title: "Port".to_owned(),
        summary: "A plug of a network with an address of its own.".to_owned(),
        category: Category::Network,
        shape: Shape::Part,
        properties: vec![
            name(),
            string("network")
                .required()
                .nests(&[NET])
                .choices(Choices::Network)
                .summary("The network that it belongs to."),
            list(
                "fixed_ips",
                map(
                    "address",
                    vec![
                        string("subnet")
                            .connects(&[SUBNET])
                            .summary("The subnet that the address comes from."),
                        string("ip_address")
                            .custom("ip_addr")
                            .summary("The address."),
                    ],
                ),
            )
            .updates()
            .summary("Addresses that it shall have."),
            list(
                "security_groups",
                string("security_group").connects(&[SECURITY_GROUP]),
            )
            .updates()
            .summary("Who may talk to it."),
            string("mac_address")
                .updates()
                .custom("mac_addr")
                .summary("Its MAC address."),
            list(
                "allowed_address_pairs",
                map(
                    "pair",
                    vec![
                        string("mac_address")
                            .custom("mac_addr")
                            .summary("The MAC address."),
                        string("ip_address")
                            .required()
                            .custom("ip_or_cidr")
                            .summary("The address or range."),
                    ],
                ),
            )
            .updates()
            .summary("Further addresses that it may send from."),
            boolean("port_security_enabled")
                .updates()
                .summary("Off: no packet filter."),
            string("device_id")
                .updates()
                .summary("What it is plugged into."),
            string("device_owner")
                .updates()
                .summary("Kind of what it is plugged into."),
            string("binding:vnic_type")
                .updates()
                .default("normal")
                .one_of(&[
                    "normal",
                    "direct",
                    "macvtap",
                    "direct-physical",
                    "baremetal",
                    "virtio-forwarder",
                    "smart-nic",
                ])
                .summary("How it is made on the host."),
            string("dns_name").updates().summary("Its name in DNS."),
            string("qos_policy")
                .updates()
                .summary("A quality of service policy."),
            boolean("no_fixed_ips")
                .updates()
                .default(false)
                .summary("Have no address."),
            boolean("propagate_uplink_status")
                .updates()
                .summary("Whether it follows the uplink's state."),
            admin_state_up(),
            tags(),
            value_specs(),
        ],
        attributes: vec![
            attribute("fixed_ips", "Its addresses: `[{subnet_id, ip_address}]`."),
            attribute("mac_address", "Its MAC address."),
            attribute("name", "Its name in the cloud."),
            attribute("network_id", "Id of its network."),
            attribute("network", "Its network, whole."),
            attribute("subnets", "Its subnets, whole."),
            attribute("security_groups", "Ids of its security groups."),
            attribute("status", "What it is in."),
            attribute("device_id", "What it is plugged into."),
            attribute("device_owner", "Kind of what it is plugged into."),
            attribute("admin_state_up", "Whether it carries traffic."),
            attribute(
                "allowed_address_pairs",
                "Further addresses that it may send from.",
            ),
            attribute("port_security_enabled", "Whether it is filtered."),
            attribute("qos_policy_id", "Its quality of service policy."),
            attribute("dns_assignment", "Its names in DNS."),
            attribute("tenant_id", "Whose it is."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
