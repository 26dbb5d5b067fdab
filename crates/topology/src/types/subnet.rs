//! `OS::Neutron::Subnet`: addresses of a network. Source: Networking API v2.0, "Subnets".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: SUBNET.to_owned(),
        title: "Subnet".to_owned(),
        summary: "A range of addresses in a network.".to_owned(),
        category: Category::Network,
        shape: Shape::Part,
        properties: vec![
            name(),
            string("network")
                .required()
                .nests(&[NET])
                .choices(Choices::Network)
                .summary("The network that it belongs to."),
            string("cidr")
                .custom("net_cidr")
                .summary("Its range, such as `10.0.0.0/24`."),
            integer("ip_version")
                .default(4)
                .check(Constraint::AllowedValues(vec![4.into(), 6.into()]))
                .summary("4 or 6."),
            string("gateway_ip")
                .updates()
                .summary("The router's address in it; the first one where absent; empty for none."),
            boolean("enable_dhcp")
                .updates()
                .default(true)
                .summary("Hand addresses out by DHCP."),
            list("dns_nameservers", string("address").custom("ip_addr"))
                .updates()
                .default(serde_json::json!([]))
                .summary("DNS servers for its servers."),
            list(
                "allocation_pools",
                map(
                    "pool",
                    vec![
                        string("start")
                            .required()
                            .custom("ip_addr")
                            .summary("First address."),
                        string("end")
                            .required()
                            .custom("ip_addr")
                            .summary("Last address."),
                    ],
                ),
            )
            .updates()
            .summary("The addresses to give out; all where absent."),
            list(
                "host_routes",
                map(
                    "route",
                    vec![
                        string("destination")
                            .required()
                            .custom("net_cidr")
                            .summary("Where to."),
                        string("nexthop")
                            .required()
                            .custom("ip_addr")
                            .summary("Through which address."),
                    ],
                ),
            )
            .updates()
            .summary("Routes that servers learn by DHCP."),
            string("subnetpool").summary("A pool that the range is taken from."),
            integer("prefixlen")
                .range(0.0, 128.0)
                .summary("How large a range to take from the pool."),
            string("ipv6_ra_mode")
                .one_of(&["dhcpv6-stateful", "dhcpv6-stateless", "slaac"])
                .summary("IPv6 router advertisement."),
            string("ipv6_address_mode")
                .one_of(&["dhcpv6-stateful", "dhcpv6-stateless", "slaac"])
                .summary("IPv6 addressing."),
            string("segment").updates().summary("The network segment."),
            string("tenant_id").summary("Whose it is; administrators only."),
            tags(),
            value_specs(),
        ],
        attributes: vec![
            attribute("cidr", "Its range."),
            attribute("gateway_ip", "The router's address in it."),
            attribute("name", "Its name in the cloud."),
            attribute("network_id", "Id of its network."),
            attribute("allocation_pools", "The addresses that are given out."),
            attribute("host_routes", "Routes that servers learn."),
            attribute("ip_version", "4 or 6."),
            attribute("dns_nameservers", "DNS servers."),
            attribute("enable_dhcp", "Whether addresses come by DHCP."),
            attribute("tenant_id", "Whose it is."),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}
