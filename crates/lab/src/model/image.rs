//! Glance: the images there are. Those with a container image behind them boot; the rest only exists.

use serde::{Deserialize, Serialize};

use super::ids::{now, stable_id};
use super::table::keyed_by_id;

/// An image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Image {
    /// Id with dashes.
    pub id: String,
    /// Not unique, as in Glance.
    pub name: String,
    /// Bytes that Glance would hold.
    pub size: u64,
    /// Smallest memory, MiB.
    pub min_ram: u32,
    /// Smallest disk, GiB.
    pub min_disk: u32,
    /// Who the image's first user is (`os_admin_user`).
    pub os_admin_user: String,
    /// `os_distro`.
    pub os_distro: String,
    /// `os_version`.
    pub os_version: String,
    /// Project that owns it.
    pub owner: String,
    /// When it was made.
    pub created_at: String,
}

keyed_by_id!(Image);

impl Image {
    /// The Debian image that every lab has.
    pub fn debian_12(owner: &str) -> Self {
        Self {
            id: stable_id("image/debian-12"),
            name: "debian-12".into(),
            size: 344_457_216,
            min_ram: 0,
            min_disk: 2,
            os_admin_user: "debian".into(),
            os_distro: "debian".into(),
            os_version: "12".into(),
            owner: owner.into(),
            created_at: now(),
        }
    }
}
