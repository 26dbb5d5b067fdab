//! Nova.

use super::{Mapping, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Nova::Server",
        "openstack_compute_instance_v2",
        &[
            ("name", As("name")),
            ("image", ByHand),
            ("flavor", ByHand),
            ("networks", ByHand),
            ("security_groups", ByHand),
            ("block_device_mapping_v2", ByHand),
            ("user_data", As("user_data")),
            ("user_data_format", Nothing),
            ("user_data_update_policy", Nothing),
            ("flavor_update_policy", Nothing),
            ("image_update_policy", Nothing),
            ("software_config_transport", Nothing),
            ("key_name", As("key_pair")),
            ("availability_zone", As("availability_zone")),
            ("metadata", As("metadata")),
            ("config_drive", As("config_drive")),
            ("admin_pass", As("admin_pass")),
            ("tags", As("tags")),
            (
                "scheduler_hints",
                Block(
                    "scheduler_hints",
                    &[
                        ("group", As("group")),
                        ("different_host", As("different_host")),
                        ("same_host", As("same_host")),
                        ("query", As("query")),
                    ],
                ),
            ),
        ],
    )
    .attributes(&[
        ("first_address", "access_ip_v4"),
        ("accessIPv4", "access_ip_v4"),
        ("accessIPv6", "access_ip_v6"),
        ("name", "name"),
        ("tags", "tags"),
    ]),
    Mapping::of(
        "OS::Nova::KeyPair",
        "openstack_compute_keypair_v2",
        &[
            ("name", As("name")),
            ("public_key", As("public_key")),
            ("save_private_key", Nothing),
            ("user", As("user_id")),
        ],
    )
    .attributes(&[("public_key", "public_key"), ("private_key", "private_key")])
    .reference("name"),
    Mapping::of(
        "OS::Nova::ServerGroup",
        "openstack_compute_servergroup_v2",
        &[
            ("name", As("name")),
            ("policies", As("policies")),
            (
                "rules",
                Block(
                    "rules",
                    &[("max_server_per_host", As("max_server_per_host"))],
                ),
            ),
        ],
    ),
    Mapping::of(
        "OS::Nova::Flavor",
        "openstack_compute_flavor_v2",
        &[
            ("name", As("name")),
            ("flavorid", As("flavor_id")),
            ("ram", As("ram")),
            ("vcpus", As("vcpus")),
            ("disk", As("disk")),
            ("swap", As("swap")),
            ("ephemeral", As("ephemeral")),
            ("rxtx_factor", As("rx_tx_factor")),
            ("is_public", As("is_public")),
            ("extra_specs", As("extra_specs")),
        ],
    )
    .attributes(&[("is_public", "is_public"), ("extra_specs", "extra_specs")]),
    Mapping::of(
        "OS::Nova::HostAggregate",
        "openstack_compute_aggregate_v2",
        &[
            ("name", As("name")),
            ("availability_zone", As("zone")),
            ("hosts", As("hosts")),
            ("metadata", As("metadata")),
        ],
    ),
];
