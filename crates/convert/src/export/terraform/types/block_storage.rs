//! Cinder.

use super::{IMAGE, Mapping, To::*, VOLUME};

pub(super) static TYPES: &[Mapping] = &[
    Mapping::of(
        "OS::Cinder::Volume",
        "openstack_blockstorage_volume_v3",
        &[
            ("name", As("name")),
            ("size", As("size")),
            ("description", As("description")),
            ("availability_zone", As("availability_zone")),
            ("volume_type", As("volume_type")),
            ("image", Id("image_id", &IMAGE)),
            ("snapshot_id", As("snapshot_id")),
            ("source_volid", Id("source_vol_id", &VOLUME)),
            ("backup_id", As("backup_id")),
            ("metadata", As("metadata")),
        ],
    )
    .attributes(&[
        ("name", "name"),
        ("display_name", "name"),
        ("size", "size"),
        ("volume_type", "volume_type"),
        ("availability_zone", "availability_zone"),
        ("metadata", "metadata"),
    ]),
    Mapping::of(
        "OS::Cinder::VolumeAttachment",
        "openstack_compute_volume_attach_v2",
        &[
            ("instance_uuid", As("instance_id")),
            ("volume_id", Id("volume_id", &VOLUME)),
            ("mountpoint", As("device")),
        ],
    ),
    Mapping::of(
        "OS::Cinder::VolumeType",
        "openstack_blockstorage_volume_type_v3",
        &[
            ("name", As("name")),
            ("description", As("description")),
            ("is_public", As("is_public")),
            ("metadata", As("extra_specs")),
        ],
    ),
    Mapping::of(
        "OS::Cinder::QoSSpecs",
        "openstack_blockstorage_qos_v3",
        &[("name", As("name")), ("specs", As("specs"))],
    ),
];
