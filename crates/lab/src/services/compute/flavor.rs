//! Nova's flavors: how big a server may be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;
use crate::kit::token::Member;
use crate::services::Model;

/// A flavor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flavor {
    /// Short id, as in a DevStack.
    pub id: String,
    /// `m1.small` ...
    pub name: String,
    pub vcpus: u32,
    /// Memory in MiB; the container gets this much and no more.
    pub ram: u32,
    /// Disk in GiB; not enforced by the lab.
    pub disk: u32,
    #[serde(default)]
    pub description: Option<String>,
    /// Words for schedulers and hypervisors; kept, without effect.
    #[serde(default)]
    pub extra_specs: BTreeMap<String, String>,
    /// Whether everybody may use it.
    #[serde(default = "yes")]
    pub is_public: bool,
    /// Projects that may use it where it is not public.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Swap in MiB; kept, without effect.
    #[serde(default)]
    pub swap_mib: u32,
    /// A second disk in GiB; kept, without effect.
    #[serde(default)]
    pub ephemeral_gib: u32,
}

fn yes() -> bool {
    true
}

impl Flavor {
    /// Whether a project may use it.
    pub fn is_for(&self, project_id: &str) -> bool {
        self.is_public || self.projects.iter().any(|one| one == project_id)
    }
}

keyed_by_id!(Flavor);

impl Model {
    /// The flavor with this id, if the member has access to it.
    pub fn flavor_for(&self, asker: &Member, id: &str) -> Option<&Flavor> {
        let found = self.flavors.get(id);
        found.filter(|row| asker.admin || row.is_for(&asker.project_id))
    }
}

/// The flavors of every lab.
pub fn standard_flavors() -> Vec<Flavor> {
    [
        ("1", "m1.tiny", 1, 512, 5),
        ("2", "m1.small", 1, 1024, 10),
        ("3", "m1.medium", 2, 2048, 20),
        ("4", "m1.large", 4, 4096, 40),
    ]
    .into_iter()
    .map(|(id, name, vcpus, ram, disk)| Flavor {
        id: id.into(),
        name: name.into(),
        vcpus,
        ram,
        disk,
        description: None,
        extra_specs: BTreeMap::new(),
        is_public: true,
        projects: Vec::new(),
        swap_mib: 0,
        ephemeral_gib: 0,
    })
    .collect()
}
