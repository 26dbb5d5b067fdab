//! Keystone.

use super::{Mapping, PROJECT, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Keystone::Project",
        "openstack_identity_project_v3",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
            ("enabled", As("enabled")),
            ("parent", Id("parent_id", &PROJECT)),
            ("tags", As("tags")),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("domain_id", "domain_id"),
        ("enabled", "enabled"),
    ]),
    Mapping::of(
        "OS::Keystone::User",
        "openstack_identity_user_v3",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
            ("enabled", As("enabled")),
            ("password", As("password")),
            ("default_project", Id("default_project_id", &PROJECT)),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("domain_id", "domain_id"),
        ("enabled", "enabled"),
    ]),
    Mapping::of(
        "OS::Keystone::Group",
        "openstack_identity_group_v3",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
        ],
    )
    .attributes(&[("name", "name"), ("domain_id", "domain_id")]),
    Mapping::of(
        "OS::Keystone::Role",
        "openstack_identity_role_v3",
        &[("name", As("name")), ("domain", As("domain_id"))],
    ),
    Mapping::of(
        "OS::Keystone::Service",
        "openstack_identity_service_v3",
        &[
            ("name", As("name")),
            ("type", As("type")),
            ("description", As("description")),
            ("enabled", As("enabled")),
        ],
    ),
    Mapping::of(
        "OS::Keystone::Endpoint",
        "openstack_identity_endpoint_v3",
        &[
            ("name", As("name")),
            ("service", As("service_id")),
            ("interface", As("interface")),
            ("url", As("url")),
            ("region", As("endpoint_region")),
        ],
    ),
];
