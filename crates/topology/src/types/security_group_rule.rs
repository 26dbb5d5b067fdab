//! `OS::Neutron::SecurityGroupRule`: one rule on its own. Two groups that let each other in need it:
//! inline rules would make a circle. A rule cannot be changed, so every change replaces.
//! Source: Networking API v2.0, "Security group rules".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: SECURITY_GROUP_RULE.to_owned(),
        title: "Security group rule".to_owned(),
        summary: "One thing that a security group allows.".to_owned(),
        category: Category::Security,
        shape: Shape::Part,
        properties: vec![
            string("security_group")
                .required()
                .nests(&[SECURITY_GROUP])
                .summary("The group that it belongs to."),
            string("direction")
                .default("ingress")
                .one_of(&["ingress", "egress"])
                .summary("Into the server or out of it."),
            string("protocol").summary("`tcp`, `udp`, `icmp`, a number; any where absent."),
            integer("port_range_min")
                .range(0.0, 65535.0)
                .summary("First port."),
            integer("port_range_max")
                .range(0.0, 65535.0)
                .summary("Last port."),
            string("remote_ip_prefix")
                .custom("net_cidr")
                .summary("From which addresses; any where absent."),
            string("remote_group")
                .connects(&[SECURITY_GROUP])
                .summary("From ports of which group."),
            string("ethertype")
                .default("IPv4")
                .one_of(&["IPv4", "IPv6"])
                .summary("IPv4 or IPv6."),
            string("description").summary("For people."),
        ],
        attributes: vec![attribute("show", "All that the cloud tells about it.")],
        component: None,
    }
}
