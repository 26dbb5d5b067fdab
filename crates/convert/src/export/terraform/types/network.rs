//! Neutron.

use super::{GROUP, Mapping, NETWORK, PORT, QOS, ROUTER, SUBNET, SUBNET_POOL, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Neutron::Net",
        "openstack_networking_network_v2",
        &[
            ("name", As("name")),
            ("admin_state_up", As("admin_state_up")),
            ("shared", As("shared")),
            ("port_security_enabled", As("port_security_enabled")),
            ("dns_domain", As("dns_domain")),
            ("qos_policy", Id("qos_policy_id", &QOS)),
            ("tags", As("tags")),
            ("value_specs", As("value_specs")),
            ("availability_zone_hints", As("availability_zone_hints")),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("mtu", "mtu"),
        ("tenant_id", "tenant_id"),
        ("admin_state_up", "admin_state_up"),
    ]),
    Mapping::of(
        "OS::Neutron::Subnet",
        "openstack_networking_subnet_v2",
        &[
            ("name", As("name")),
            ("network", Id("network_id", &NETWORK)),
            ("cidr", As("cidr")),
            ("ip_version", As("ip_version")),
            ("gateway_ip", ByHand),
            ("enable_dhcp", As("enable_dhcp")),
            ("dns_nameservers", As("dns_nameservers")),
            (
                "allocation_pools",
                Block(
                    "allocation_pool",
                    &[("start", As("start")), ("end", As("end"))],
                ),
            ),
            ("host_routes", ByHand),
            ("ipv6_address_mode", As("ipv6_address_mode")),
            ("ipv6_ra_mode", As("ipv6_ra_mode")),
            ("subnetpool", Id("subnetpool_id", &SUBNET_POOL)),
            ("prefixlen", As("prefix_length")),
            ("tags", As("tags")),
            ("value_specs", As("value_specs")),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("cidr", "cidr"),
        ("gateway_ip", "gateway_ip"),
        ("network_id", "network_id"),
        ("ip_version", "ip_version"),
        ("dns_nameservers", "dns_nameservers"),
        ("enable_dhcp", "enable_dhcp"),
        ("tenant_id", "tenant_id"),
    ]),
    Mapping::of(
        "OS::Neutron::Port",
        "openstack_networking_port_v2",
        &[
            ("name", As("name")),
            ("network", Id("network_id", &NETWORK)),
            ("admin_state_up", As("admin_state_up")),
            ("mac_address", As("mac_address")),
            ("device_id", As("device_id")),
            ("device_owner", As("device_owner")),
            ("security_groups", Ids("security_group_ids", &GROUP)),
            (
                "fixed_ips",
                Block(
                    "fixed_ip",
                    &[
                        ("subnet", Id("subnet_id", &SUBNET)),
                        ("ip_address", As("ip_address")),
                    ],
                ),
            ),
            ("no_fixed_ips", As("no_fixed_ip")),
            (
                "allowed_address_pairs",
                Block(
                    "allowed_address_pairs",
                    &[
                        ("ip_address", As("ip_address")),
                        ("mac_address", As("mac_address")),
                    ],
                ),
            ),
            ("port_security_enabled", As("port_security_enabled")),
            ("binding:vnic_type", ByHand),
            ("dns_name", As("dns_name")),
            ("qos_policy", Id("qos_policy_id", &QOS)),
            ("tags", As("tags")),
            ("value_specs", As("value_specs")),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("mac_address", "mac_address"),
        ("network_id", "network_id"),
        ("device_id", "device_id"),
        ("security_groups", "all_security_group_ids"),
        ("dns_assignment", "dns_assignment"),
        ("tenant_id", "tenant_id"),
    ]),
    Mapping::of(
        "OS::Neutron::Router",
        "openstack_networking_router_v2",
        &[
            ("name", As("name")),
            ("admin_state_up", As("admin_state_up")),
            ("external_gateway_info", ByHand),
            ("distributed", As("distributed")),
            ("availability_zone_hints", As("availability_zone_hints")),
            ("tags", As("tags")),
            ("value_specs", As("value_specs")),
        ],
    )
    .attributes(&[("name", "name"), ("tenant_id", "tenant_id")]),
    Mapping::of(
        "OS::Neutron::RouterInterface",
        "openstack_networking_router_interface_v2",
        &[
            ("router", Id("router_id", &ROUTER)),
            ("subnet", Id("subnet_id", &SUBNET)),
            ("port", Id("port_id", &PORT)),
        ],
    ),
    Mapping::of(
        "OS::Neutron::FloatingIP",
        "openstack_networking_floatingip_v2",
        &[
            ("floating_network", ByHand),
            ("floating_subnet", Id("subnet_id", &SUBNET)),
            ("port_id", Id("port_id", &PORT)),
            ("fixed_ip_address", As("fixed_ip")),
            ("floating_ip_address", As("address")),
            ("dns_name", As("dns_name")),
            ("dns_domain", As("dns_domain")),
            ("tags", As("tags")),
            ("value_specs", As("value_specs")),
        ],
    )
    .attributes(&[
        ("floating_ip_address", "address"),
        ("fixed_ip_address", "fixed_ip"),
        ("port_id", "port_id"),
        ("tenant_id", "tenant_id"),
    ]),
    Mapping::of(
        "OS::Neutron::FloatingIPAssociation",
        "openstack_networking_floatingip_associate_v2",
        &[
            ("floatingip_id", ByHand),
            ("port_id", Id("port_id", &PORT)),
            ("fixed_ip_address", As("fixed_ip")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::SecurityGroup",
        "openstack_networking_secgroup_v2",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("rules", ByHand),
        ],
    )
    .attributes(&[("name", "name")]),
    Mapping::of(
        "OS::Neutron::SecurityGroupRule",
        "openstack_networking_secgroup_rule_v2",
        &[
            ("security_group", Id("security_group_id", &GROUP)),
            ("remote_group", Id("remote_group_id", &GROUP)),
            ("description", As("description")),
            ("direction", As("direction")),
            ("ethertype", As("ethertype")),
            ("protocol", As("protocol")),
            ("port_range_min", As("port_range_min")),
            ("port_range_max", As("port_range_max")),
            ("remote_ip_prefix", As("remote_ip_prefix")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::Trunk",
        "openstack_networking_trunk_v2",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("admin_state_up", As("admin_state_up")),
            ("port", Id("port_id", &PORT)),
            ("tags", As("tags")),
            (
                "sub_ports",
                Block(
                    "sub_port",
                    &[
                        ("port", Id("port_id", &PORT)),
                        ("segmentation_id", As("segmentation_id")),
                        ("segmentation_type", As("segmentation_type")),
                    ],
                ),
            ),
        ],
    ),
    Mapping::of(
        "OS::Neutron::QoSPolicy",
        "openstack_networking_qos_policy_v2",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("shared", As("shared")),
        ],
    ),
];
