//! Cinder: volumes, their snapshots, and where volumes are plugged in.
//!
//! Volumes take time, like servers: a call leaves `creating`, `attaching`, `extending` or `deleting` behind, and the running cloud
//! ([`crate::services::cloud`]) finishes it and tells the model by `volume_is_...`.

pub(crate) mod attach;
pub(crate) mod attachments;
pub(crate) mod backups;
pub(crate) mod calls;
pub(crate) mod pieces;
pub(crate) mod progress;
pub(crate) mod qos_spec;
pub(crate) mod qos_specs;
pub(crate) mod snapshot;
pub(crate) mod snapshots;
pub(crate) mod type_admin;
pub(crate) mod types;
pub(crate) mod view;
pub mod volume;
pub(crate) mod volume_actions;
pub(crate) mod volume_type;
pub(crate) mod volumes;

use serde::{Deserialize, Serialize};

use crate::kit::table::Table;
use crate::services::block_storage::qos_spec::QosSpecs;
use crate::services::block_storage::snapshot::Snapshot;
use crate::services::block_storage::volume::Volume;
use crate::services::block_storage::volume_type::{VolumeType, standard_types};

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
