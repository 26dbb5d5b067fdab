//! Cinder's volume types. They differ in name only: the lab has one type of disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kit::ids::stable_id;
use crate::kit::table::keyed_by_id;
use crate::kit::token::Member;
use crate::services::Model;

/// A volume type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VolumeType {
    /// The id. The standard types have the same ids in every lab.
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// Whether all projects can use it.
    #[serde(default = "yes")]
    pub is_public: bool,
    /// The extra specs.
    #[serde(default)]
    pub extra_specs: BTreeMap<String, String>,
    /// The projects with access to a private type.
    #[serde(default)]
    pub projects: Vec<String>,
    /// The encryption specs. They have no effect.
    #[serde(default)]
    pub encryption: Option<Map<String, Value>>,
    /// The id of its QoS specs.
    #[serde(default)]
    pub qos_specs: Option<String>,
}

fn yes() -> bool {
    true
}

impl VolumeType {
    /// Whether a project can use it.
    pub fn is_for(&self, project_id: &str) -> bool {
        self.is_public || self.projects.iter().any(|one| one == project_id)
    }
}

keyed_by_id!(VolumeType);

impl Model {
    /// The volume types that the caller can use.
    pub fn volume_types_for(&self, asker: &Member) -> impl Iterator<Item = &VolumeType> {
        let all = self.block_storage.types.iter();
        all.filter(move |row| asker.admin || row.is_for(&asker.project_id))
    }
}

/// The default volume type.
pub const DEFAULT_TYPE: &str = "standard";

/// The volume types of a new lab.
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
        is_public: true,
        extra_specs: BTreeMap::new(),
        projects: Vec::new(),
        encryption: None,
        qos_specs: None,
    })
    .collect()
}
