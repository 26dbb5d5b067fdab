//! Neutron: QoS, routes, subnet pools and RBAC policies.

use super::{ADDRESS_SCOPE, Mapping, PORT, PROJECT, QOS, ROUTER, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Neutron::QoSBandwidthLimitRule",
        "openstack_networking_qos_bandwidth_limit_rule_v2",
        &[
            ("policy", Id("qos_policy_id", &QOS)),
            ("max_kbps", As("max_kbps")),
            ("max_burst_kbps", As("max_burst_kbps")),
            ("direction", As("direction")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::QoSDscpMarkingRule",
        "openstack_networking_qos_dscp_marking_rule_v2",
        &[
            ("policy", Id("qos_policy_id", &QOS)),
            ("dscp_mark", As("dscp_mark")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::QoSMinimumBandwidthRule",
        "openstack_networking_qos_minimum_bandwidth_rule_v2",
        &[
            ("policy", Id("qos_policy_id", &QOS)),
            ("min_kbps", As("min_kbps")),
            ("direction", As("direction")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::ExtraRoute",
        "openstack_networking_router_route_v2",
        &[
            ("router_id", Id("router_id", &ROUTER)),
            ("destination", As("destination_cidr")),
            ("nexthop", As("next_hop")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::AddressScope",
        "openstack_networking_addressscope_v2",
        &[
            ("name", As("name")),
            ("shared", As("shared")),
            ("ip_version", As("ip_version")),
            ("tenant_id", Id("project_id", &PROJECT)),
        ],
    ),
    Mapping::of(
        "OS::Neutron::SubnetPool",
        "openstack_networking_subnetpool_v2",
        &[
            ("name", As("name")),
            ("prefixes", As("prefixes")),
            ("default_quota", As("default_quota")),
            ("default_prefixlen", As("default_prefixlen")),
            ("min_prefixlen", As("min_prefixlen")),
            ("max_prefixlen", As("max_prefixlen")),
            ("is_default", As("is_default")),
            ("shared", As("shared")),
            ("tags", As("tags")),
            ("tenant_id", Id("project_id", &PROJECT)),
            ("address_scope", Id("address_scope_id", &ADDRESS_SCOPE)),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("prefixes", "prefixes"),
        ("default_quota", "default_quota"),
        ("default_prefixlen", "default_prefixlen"),
        ("min_prefixlen", "min_prefixlen"),
        ("max_prefixlen", "max_prefixlen"),
        ("is_default", "is_default"),
        ("shared", "shared"),
        ("ip_version", "ip_version"),
    ]),
    Mapping::of(
        "OS::Neutron::RBACPolicy",
        "openstack_networking_rbac_policy_v2",
        &[
            ("object_type", As("object_type")),
            ("target_tenant", As("target_tenant")),
            ("action", As("action")),
            ("object_id", As("object_id")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::FloatingIPPortForward",
        "openstack_networking_portforwarding_v2",
        &[
            ("floating_ip", As("floatingip_id")),
            ("internal_port", Id("internal_port_id", &PORT)),
            ("internal_ip_address", As("internal_ip_address")),
            ("internal_port_number", As("internal_port")),
            ("external_port", As("external_port")),
            ("protocol", As("protocol")),
        ],
    ),
    Mapping::of(
        "OS::Neutron::ProviderNet",
        "openstack_networking_network_v2",
        &[
            ("name", As("name")),
            ("admin_state_up", As("admin_state_up")),
            ("shared", As("shared")),
            ("port_security_enabled", As("port_security_enabled")),
            ("router_external", As("external")),
            ("tags", As("tags")),
            ("dns_domain", As("dns_domain")),
            ("availability_zone_hints", As("availability_zone_hints")),
            ("network_type", Within("segments", "network_type")),
            ("physical_network", Within("segments", "physical_network")),
            ("segmentation_id", Within("segments", "segmentation_id")),
        ],
    )
    .attributes(&[("name", "name")]),
];
