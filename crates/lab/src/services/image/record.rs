//! Glance: images.
//!
//! The lab's own image has a container image behind it and boots everywhere. Uploaded images can be downloaded again, and
//! boot only if the lab runs in memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::ids::{new_id, now, stable_id};
use crate::kit::table::keyed_by_id;

/// An image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Image {
    /// Id with dashes.
    pub id: String,
    /// Name of the image. Not unique, as in Glance.
    pub name: Option<String>,
    pub owner: String,
    pub status: ImageStatus,
    /// `public`, `private`, `shared`, `community`.
    pub visibility: String,
    /// Whether it may not be deleted.
    pub protected: bool,
    /// Whether lists leave it out.
    pub os_hidden: bool,
    /// `bare`, ...
    pub container_format: Option<String>,
    /// `qcow2`, `raw`, ...
    pub disk_format: Option<String>,
    /// Bytes; none before there is data.
    pub size: Option<u64>,
    /// SHA-512 of the data.
    pub os_hash_value: Option<String>,
    /// MD5 of the data.
    pub checksum: Option<String>,
    /// Smallest memory, MiB.
    pub min_ram: u32,
    /// Smallest disk, GiB.
    pub min_disk: u32,
    pub tags: Vec<String>,
    /// Everything else that people say about it: `os_distro`, `os_admin_user`, ...
    pub properties: BTreeMap<String, String>,
    /// The content of servers with this image.
    pub origin: Origin,
    pub created_at: String,
    pub updated_at: String,
}

/// The state of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageStatus {
    /// No data yet.
    Queued,
    /// Data are coming.
    Saving,
    /// Usable.
    Active,
}

impl ImageStatus {
    /// Name of the status in Glance.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Saving => "saving",
            Self::Active => "active",
        }
    }
}

/// The source of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The lab itself: there is a container image behind it.
    Lab,
    /// An upload.
    Upload,
    /// A snapshot of a server.
    Snapshot,
}

keyed_by_id!(Image);

impl Image {
    /// The Debian image that every lab has.
    pub fn debian_12(owner: &str) -> Self {
        let properties = [
            ("os_admin_user", "debian"),
            ("os_distro", "debian"),
            ("os_version", "12"),
        ];
        Self {
            id: stable_id("image/debian-12"),
            name: Some("debian-12".into()),
            status: ImageStatus::Active,
            visibility: "public".into(),
            container_format: Some("bare".into()),
            disk_format: Some("qcow2".into()),
            size: Some(344_457_216),
            min_disk: 2,
            properties: properties
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            origin: Origin::Lab,
            ..Self::new(owner)
        }
    }

    /// An image of which nothing is known yet.
    pub fn new(owner: &str) -> Self {
        Self {
            id: new_id(),
            name: None,
            owner: owner.into(),
            status: ImageStatus::Queued,
            visibility: "shared".into(),
            protected: false,
            os_hidden: false,
            container_format: None,
            disk_format: None,
            size: None,
            os_hash_value: None,
            checksum: None,
            min_ram: 0,
            min_disk: 0,
            tags: Vec::new(),
            properties: BTreeMap::new(),
            origin: Origin::Upload,
            created_at: now(),
            updated_at: now(),
        }
    }

    /// Whether a project may use it.
    pub fn visible_to(&self, project_id: &str) -> bool {
        self.owner == project_id || matches!(self.visibility.as_str(), "public" | "community")
    }

    /// The image metadata of a volume that is made from this image.
    pub fn volume_metadata(&self) -> BTreeMap<String, String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut all = self.properties.clone();
        all.extend([
            ("image_id".to_owned(), self.id.clone()),
            ("image_name".to_owned(), text(&self.name)),
            ("checksum".to_owned(), text(&self.checksum)),
            ("container_format".to_owned(), text(&self.container_format)),
            ("disk_format".to_owned(), text(&self.disk_format)),
            ("min_disk".to_owned(), self.min_disk.to_string()),
            ("min_ram".to_owned(), self.min_ram.to_string()),
            ("size".to_owned(), self.size.unwrap_or(0).to_string()),
        ]);
        all
    }
}
