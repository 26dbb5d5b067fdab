//! Cinder: volumes, their snapshots, and where volumes are plugged in.
//!
//! Volumes take time, like servers: a call leaves `creating`, `attaching`, `extending` or `deleting` behind, and the running cloud
//! ([`crate::cloud`]) finishes it and tells the model by `volume_is_...`.

pub mod attach;
pub mod qos_specs;
pub mod snapshot;
pub mod volume;
pub mod volume_type;

use serde::{Deserialize, Serialize};

use super::table::Table;
use qos_specs::QosSpecs;
use snapshot::Snapshot;
use volume::Volume;
use volume_type::{VolumeType, standard_types};

/// Everything that Cinder knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockStorage {
    /// Volumes.
    pub volumes: Table<Volume>,
    /// Snapshots.
    pub snapshots: Table<Snapshot>,
    /// Kinds of volumes.
    pub types: Table<VolumeType>,
    /// What types promise.
    #[serde(default)]
    pub qos_specs: Table<QosSpecs>,
}

impl BlockStorage {
    /// Take a specification from all types.
    pub fn unbind(&mut self, qos_specs: &str) {
        for row in self.types.iter_mut() {
            row.qos_specs = row.qos_specs.take().filter(|one| one != qos_specs);
        }
    }
}

impl Default for BlockStorage {
    fn default() -> Self {
        let mut types = Table::default();
        for kind in standard_types() {
            types.insert(kind);
        }
        Self {
            volumes: Table::default(),
            snapshots: Table::default(),
            types,
            qos_specs: Table::default(),
        }
    }
}
