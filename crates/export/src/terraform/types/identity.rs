//! Keystone.

use super::{Mapping, PROJECT, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping {
        hot: "OS::Keystone::Project",
        terraform: "openstack_identity_project_v3",
        arguments: &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
            ("enabled", As("enabled")),
            ("parent", Id("parent_id", &PROJECT)),
            ("tags", As("tags")),
        ],
        fixed: &[],
        attributes: &[
            ("name", "name"),
            ("domain_id", "domain_id"),
            ("enabled", "enabled"),
        ],
        reference: "id",
    },
    Mapping {
        hot: "OS::Keystone::User",
        terraform: "openstack_identity_user_v3",
        arguments: &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
            ("enabled", As("enabled")),
            ("password", As("password")),
            ("default_project", Id("default_project_id", &PROJECT)),
        ],
        fixed: &[],
        attributes: &[
            ("name", "name"),
            ("domain_id", "domain_id"),
            ("enabled", "enabled"),
        ],
        reference: "id",
    },
    Mapping {
        hot: "OS::Keystone::Group",
        terraform: "openstack_identity_group_v3",
        arguments: &[
            ("name", As("name")),
            ("description", As("description")),
            ("domain", As("domain_id")),
        ],
        fixed: &[],
        attributes: &[("name", "name"), ("domain_id", "domain_id")],
        reference: "id",
    },
    Mapping {
        hot: "OS::Keystone::Role",
        terraform: "openstack_identity_role_v3",
        arguments: &[("name", As("name")), ("domain", As("domain_id"))],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Keystone::Service",
        terraform: "openstack_identity_service_v3",
        arguments: &[
            ("name", As("name")),
            ("type", As("type")),
            ("description", As("description")),
            ("enabled", As("enabled")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Keystone::Endpoint",
        terraform: "openstack_identity_endpoint_v3",
        arguments: &[
            ("name", As("name")),
            ("service", As("service_id")),
            ("interface", As("interface")),
            ("url", As("url")),
            ("region", As("endpoint_region")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
];
