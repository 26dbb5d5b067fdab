//! Cinder.

use super::{IMAGE, Mapping, To::*, VOLUME};

pub(super) static TYPES: &[Mapping] = &[
    Mapping {
        hot: "OS::Cinder::Volume",
        terraform: "openstack_blockstorage_volume_v3",
        arguments: &[
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
        fixed: &[],
        attributes: &[
            ("name", "name"),
            ("display_name", "name"),
            ("size", "size"),
            ("volume_type", "volume_type"),
            ("availability_zone", "availability_zone"),
            ("metadata", "metadata"),
        ],
        reference: "id",
    },
    Mapping {
        hot: "OS::Cinder::VolumeAttachment",
        terraform: "openstack_compute_volume_attach_v2",
        arguments: &[
            ("instance_uuid", As("instance_id")),
            ("volume_id", Id("volume_id", &VOLUME)),
            ("mountpoint", As("device")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Cinder::VolumeType",
        terraform: "openstack_blockstorage_volume_type_v3",
        arguments: &[
            ("name", As("name")),
            ("description", As("description")),
            ("is_public", As("is_public")),
            ("metadata", As("extra_specs")),
        ],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
    Mapping {
        hot: "OS::Cinder::QoSSpecs",
        terraform: "openstack_blockstorage_qos_v3",
        arguments: &[("name", As("name")), ("specs", As("specs"))],
        fixed: &[],
        attributes: &[],
        reference: "id",
    },
];
