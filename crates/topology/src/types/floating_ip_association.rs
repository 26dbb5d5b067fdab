//! `OS::Neutron::FloatingIPAssociation`: leads a floating IP to a port, where both are drawn apart.
//! Source: Networking API v2.0, "Floating IPs".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: FLOATING_IP_ASSOCIATION.to_owned(),
        title: "Floating IP association".to_owned(),
        summary: "Leads a floating IP to a port.".to_owned(),
        category: Category::Network,
        shape: Shape::Part,
        properties: vec![
            string("floatingip_id")
                .required()
                .updates()
                .connects(&[FLOATING_IP])
                .summary("The floating IP."),
            string("port_id")
                .required()
                .updates()
                .connects(&[PORT])
                .summary("The port that it leads to."),
            string("fixed_ip_address")
                .updates()
                .custom("ip_addr")
                .summary("Which of the port's addresses."),
        ],
        attributes: vec![attribute("show", "All that the cloud tells about it.")],
        component: None,
    }
}
