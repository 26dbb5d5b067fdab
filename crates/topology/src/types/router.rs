//! `OS::Neutron::Router`: joins subnets, and with a gateway leads outside.
//! Source: Networking API v2.0, "Routers".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: ROUTER.to_owned(),
        title: "Router".to_owned(),
        summary: "Joins networks, and leads outside.".to_owned(),
        category: Category::Network,
        shape: Shape::Node,
        properties: vec![
            name(),
            map(
                "external_gateway_info",
                vec![
                    string("network")
                        .required()
                        .connects(&[NET])
                        .choices(Choices::ExternalNetwork)
                        .summary("The network to the outside."),
                    boolean("enable_snat").summary("Let servers without a floating IP out."),
                    list(
                        "external_fixed_ips",
                        map(
                            "address",
                            vec![
                                string("ip_address")
                                    .custom("ip_addr")
                                    .summary("The address."),
                                string("subnet")
                                    .connects(&[SUBNET])
                                    .summary("The subnet that the address comes from."),
                            ],
                        ),
                    )
                    .summary("Its addresses outside."),
                ],
            )
            .updates()
            .summary("Where it leads outside."),
            admin_state_up(),
            boolean("distributed").summary("Spread over the hosts; administrators only."),
            boolean("ha").summary("Doubled for failures; administrators only."),
            list("availability_zone_hints", string("zone"))
                .summary("Where it shall be served from."),
            list("l3_agent_ids", string("agent"))
                .updates()
                .summary("Which agents serve it; administrators only."),
            tags(),
            value_specs(),
        ],
        attributes: vec![
            attribute("name", "Its name in the cloud."),
            attribute("status", "What it is in."),
            attribute("external_gateway_info", "Where it leads outside."),
            attribute("admin_state_up", "Whether it carries traffic."),
            attribute("tenant_id", "Whose it is."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
