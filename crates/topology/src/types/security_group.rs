//! `OS::Neutron::SecurityGroup`: who may talk to the ports that carry it. What is not allowed is
//! dropped; answers to what was allowed pass. Source: Networking API v2.0, "Security groups".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: SECURITY_GROUP.to_owned(),
        title: "Security group".to_owned(),
        summary: "Who may talk to the ports that carry it.".to_owned(),
        category: Category::Security,
        shape: Shape::Part,
        properties: vec![
            string("name")
                .updates()
                .summary("Its name in the cloud; made from the deployment's name where absent."),
            string("description").updates().summary("For people."),
            list("rules", map("rule", rule_keys()))
                .updates()
                .default(serde_json::json!([]))
                .summary("What is allowed."),
            tags(),
        ],
        attributes: vec![attribute("show", "All that the cloud tells about it.")],
        component: None,
    }
}

fn rule_keys() -> Vec<Property> {
    vec![
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
        string("remote_mode")
            .default("remote_ip_prefix")
            .one_of(&["remote_ip_prefix", "remote_group_id"])
            .summary("By address or by group."),
        string("remote_ip_prefix")
            .custom("net_cidr")
            .summary("From which addresses; any where absent."),
        string("remote_group_id")
            .connects(&[SECURITY_GROUP])
            .summary("From ports of which group; its own where absent."),
        string("ethertype")
            .default("IPv4")
            .one_of(&["IPv4", "IPv6"])
            .summary("IPv4 or IPv6."),
    ]
}
