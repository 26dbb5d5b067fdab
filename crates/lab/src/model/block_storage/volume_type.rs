//! Cinder's volume types. They differ in name only: the lab has one kind of disk.

use serde::{Deserialize, Serialize};

use crate::model::ids::stable_id;
use crate::model::table::keyed_by_id;

/// A kind of volumes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VolumeType {
    /// Id, the same in every lab.
    pub id: String,
    /// Unique.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
}

keyed_by_id!(VolumeType);

/// The type of volumes that name none.
pub const DEFAULT_TYPE: &str = "standard";

/// The types of every lab.
pub fn standard_types() -> Vec<VolumeType> {
    [
        (DEFAULT_TYPE, "The default"),
        ("fast", "Another name for the same disk"),
    ]
    .into_iter()
    .map(|(name, description)| VolumeType {
        id: stable_id(&format!("volume-type/{name}")),
        name: name.into(),
        description: Some(description.into()),
    })
    .collect()
}
