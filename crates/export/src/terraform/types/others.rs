//! Designate, Swift, Barbican, and what Heat brings itself.

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
        attributes: &[],
        reference: "name",
    },
    Mapping {
        hot: "OS::Barbican::Secret",
        terraform: "openstack_keymanager_secret_v1",
        arguments: &[
            ("name", As("name")),
            ("payload", As("payload")),
            ("payload_content_type", As("payload_content_type")),
            ("payload_content_encoding", As("payload_content_encoding")),
            ("algorithm", As("algorithm")),
            ("bit_length", As("bit_length")),
            ("mode", As("mode")),
            ("expiration", As("expiration")),
            ("secret_type", As("secret_type")),
        ],
        attributes: &[("status", "status"), ("decrypted_payload", "payload")],
        reference: "secret_ref",
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
        attributes: &[("value", "result")],
        reference: "result",
    },
];
