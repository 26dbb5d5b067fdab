//! Glance.

use super::{Mapping, To::*};

pub(super) static TYPES: &[Mapping] = &[Mapping {
    hot: "OS::Glance::WebImage",
    terraform: "openstack_images_image_v2",
    arguments: &[
        ("name", As("name")),
        ("id", As("image_id")),
        ("min_disk", As("min_disk_gb")),
        ("min_ram", As("min_ram_mb")),
        ("protected", As("protected")),
        ("disk_format", As("disk_format")),
        ("container_format", As("container_format")),
        ("location", As("image_source_url")),
        ("tags", As("tags")),
        ("visibility", As("visibility")),
        ("extra_properties", As("properties")),
    ],
    fixed: &[("web_download", "true")],
    attributes: &[("name", "name")],
    reference: "id",
}];
