//! `OS::Neutron::FloatingIP`: a public address and the port that it leads to.
//!
//! It waits for the router interface of the port's subnet and for the router's gateway, which no
//! property names: Neutron refuses the association otherwise. Another port updates in place; another
//! network replaces. Source: Networking API v2.0, "Floating IPs".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: FLOATING_IP.to_owned(),
        title: "Floating IP".to_owned(),
        summary: "A public address.".to_owned(),
        category: Category::Network,
        shape: Shape::Part,
        properties: vec![
            string("floating_network")
                .required()
                .connects(&[NET])
                .choices(Choices::ExternalNetwork)
                .summary("The network to the outside that it comes from."),
            string("port_id")
                .updates()
                .connects(&[PORT])
                .summary("The port that it leads to."),
            string("fixed_ip_address")
                .updates()
                .custom("ip_addr")
                .summary("Which of the port's addresses."),
            string("floating_subnet").summary("The subnet that it comes from."),
            string("floating_ip_address")
                .custom("ip_addr")
                .summary("The address that it shall have."),
            string("dns_name").summary("Its name in DNS."),
            string("dns_domain").summary("Its domain in DNS."),
            tags(),
            map("value_specs", vec![])
                .default(serde_json::json!({}))
                .summary("Further keys for the cloud's own extensions."),
        ],
        attributes: vec![
            attribute("floating_ip_address", "The public address."),
            attribute("fixed_ip_address", "The private address that it leads to."),
            attribute("port_id", "Id of the port that it leads to."),
            attribute("router_id", "Id of the router that carries it."),
            attribute(
                "floating_network_id",
                "Id of the network that it comes from.",
            ),
            attribute("tenant_id", "Whose it is."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
