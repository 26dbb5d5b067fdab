//! `OS::Neutron::RouterInterface`: a router's foot in a subnet.
//!
//! Neutron has no such object: it is an action on the router, and its id is made of both. It takes a
//! subnet or a port, never both. Source: Networking API v2.0, "Add interface to router".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: ROUTER_INTERFACE.to_owned(),
        title: "Router interface".to_owned(),
        summary: "A router's foot in a subnet.".to_owned(),
        category: Category::Network,
        shape: Shape::Part,
        properties: vec![
            string("router")
                .required()
                .connects(&[ROUTER])
                .summary("The router."),
            string("subnet")
                .connects(&[SUBNET])
                .summary("The subnet that it serves."),
            string("port")
                .connects(&[PORT])
                .summary("A port to use in place of a subnet."),
        ],
        attributes: vec![attribute("show", "All that the cloud tells about it.")],
        component: None,
    }
}
