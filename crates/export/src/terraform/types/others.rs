//! Designate, Swift, and what Heat brings itself.

use super::{Mapping, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping {
        hot: "OS::Designate::Zone",
        terraform: "openstack_dns_zone_v2",
        arguments: &[
            ("name", As("name")),
            ("email", As("email")),
            ("ttl", As("ttl")),
            ("description", As("description")),
            ("type", As("type")),
            ("masters", As("masters")),
            ("primaries", As("masters")),
            ("attributes", As("attributes")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Designate::RecordSet",
        terraform: "openstack_dns_recordset_v2",
        arguments: &[
            ("zone", As("zone_id")),
            ("name", As("name")),
            ("type", As("type")),
            ("ttl", As("ttl")),
            ("records", As("records")),
            ("description", As("description")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Swift::Container",
        terraform: "openstack_objectstorage_container_v1",
        arguments: &[
            ("name", As("name")),
            ("X-Container-Read", As("container_read")),
            ("X-Container-Write", As("container_write")),
            ("X-Container-Meta", As("metadata")),
            ("PurgeOnDelete", As("force_destroy")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "name",
    },
    Mapping {
        hot: "OS::Heat::RandomString",
        terraform: "random_password",
        arguments: &[
            ("length", As("length")),
            ("salt", Nothing),
            ("character_classes", ByHand),
            ("character_sequences", ByHand),
        ],
        fixed: &[],
        attributes: &[("value", "result")],
        reference: "result",
    },
];
