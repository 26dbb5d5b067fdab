//! Designate, Swift, and Heat's own types.

use super::{Mapping, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Designate::Zone",
        "openstack_dns_zone_v2",
        &[
            ("name", As("name")),
            ("email", As("email")),
            ("ttl", As("ttl")),
            ("description", As("description")),
            ("type", As("type")),
            ("masters", As("masters")),
            ("primaries", As("masters")),
            ("attributes", As("attributes")),
        ],
    ),
    Mapping::of(
        "OS::Designate::RecordSet",
        "openstack_dns_recordset_v2",
        &[
            ("zone", As("zone_id")),
            ("name", As("name")),
            ("type", As("type")),
            ("ttl", As("ttl")),
            ("records", As("records")),
            ("description", As("description")),
        ],
    ),
    Mapping::of(
        "OS::Swift::Container",
        "openstack_objectstorage_container_v1",
        &[
            ("name", As("name")),
            ("X-Container-Read", As("container_read")),
            ("X-Container-Write", As("container_write")),
            ("X-Container-Meta", As("metadata")),
            ("PurgeOnDelete", As("force_destroy")),
        ],
    )
    .reference("name"),
    Mapping::of(
        "OS::Heat::RandomString",
        "random_password",
        &[
            ("length", As("length")),
            ("salt", Nothing),
            ("character_classes", ByHand),
            ("character_sequences", ByHand),
        ],
    )
    .attributes(&[("value", "result")])
    .reference("result"),
];
