//! Barbican.

use super::{Mapping, To::*};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Barbican::Secret",
        "openstack_keymanager_secret_v1",
        &[
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
    )
    .attributes(&[("status", "status"), ("decrypted_payload", "payload")])
    .reference("secret_ref"),
    Mapping::of(
        "OS::Barbican::Order",
        "openstack_keymanager_order_v1",
        &[
            ("type", As("type")),
            ("name", Within("meta", "name")),
            (
                "payload_content_type",
                Within("meta", "payload_content_type"),
            ),
            ("expiration", Within("meta", "expiration")),
            ("algorithm", Within("meta", "algorithm")),
            ("bit_length", Within("meta", "bit_length")),
            ("mode", Within("meta", "mode")),
        ],
    )
    .attributes(&[
        ("status", "status"),
        ("order_ref", "order_ref"),
        ("secret_ref", "secret_ref"),
        ("container_ref", "container_ref"),
    ])
    .reference("order_ref"),
    Mapping::of(
        "OS::Barbican::GenericContainer",
        "openstack_keymanager_container_v1",
        &[
            ("name", As("name")),
            (
                "secrets",
                Block(
                    "secret_refs",
                    &[("name", As("name")), ("ref", As("secret_ref"))],
                ),
            ),
        ],
    )
    .fixed(&[("type", "generic")])
    .attributes(&[("status", "status"), ("container_ref", "container_ref")])
    .reference("container_ref"),
    Mapping::of(
        "OS::Barbican::RSAContainer",
        "openstack_keymanager_container_v1",
        &[
            ("name", As("name")),
            ("private_key_ref", Entry("secret_refs", "private_key")),
            (
                "private_key_passphrase_ref",
                Entry("secret_refs", "private_key_passphrase"),
            ),
            ("public_key_ref", Entry("secret_refs", "public_key")),
        ],
    )
    .fixed(&[("type", "rsa")])
    .attributes(&[("status", "status"), ("container_ref", "container_ref")])
    .reference("container_ref"),
    Mapping::of(
        "OS::Barbican::CertificateContainer",
        "openstack_keymanager_container_v1",
        &[
            ("name", As("name")),
            ("certificate_ref", Entry("secret_refs", "certificate")),
            ("private_key_ref", Entry("secret_refs", "private_key")),
            (
                "private_key_passphrase_ref",
                Entry("secret_refs", "private_key_passphrase"),
            ),
            ("intermediates_ref", Entry("secret_refs", "intermediates")),
        ],
    )
    .fixed(&[("type", "certificate")])
    .attributes(&[("status", "status"), ("container_ref", "container_ref")])
    .reference("container_ref"),
];
