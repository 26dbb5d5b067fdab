//! `OS::Neutron::Net`: a network. Addresses come from its subnets, so one without a subnet serves no
//! server. Source: Networking API v2.0, "Networks".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: NET.to_owned(),
        title: "Network".to_owned(),
        summary: "A private network.".to_owned(),
        category: Category::Network,
        shape: Shape::Frame,
        properties: vec![
            name(),
            admin_state_up(),
            boolean("port_security_enabled")
                .updates()
                .summary("Off: no packet filter on its ports."),
            boolean("shared")
                .updates()
                .default(false)
                .summary("All projects see it; administrators only."),
            string("dns_domain")
                .updates()
                .summary("The domain of its ports' names."),
            string("qos_policy")
                .updates()
                .summary("A quality of service policy."),
            list("availability_zone_hints", string("zone"))
                .summary("Where it shall be served from."),
            list("dhcp_agent_ids", string("agent"))
                .updates()
                .summary("Which DHCP agents serve it; administrators only."),
            string("tenant_id").summary("Whose it is; administrators only."),
            tags(),
            value_specs(),
        ],
        attributes: vec![
            attribute("name", "Its name in the cloud."),
            attribute("status", "What it is in."),
            attribute("subnets", "Ids of its subnets."),
            attribute("mtu", "Largest packet in bytes."),
            attribute("admin_state_up", "Whether it carries traffic."),
            attribute("tenant_id", "Whose it is."),
            attribute("port_security_enabled", "Whether its ports are filtered."),
            attribute("qos_policy_id", "Its quality of service policy."),
            attribute("l2_adjacency", "Whether it is one broadcast domain."),
            attribute("segments", "Its segments."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
