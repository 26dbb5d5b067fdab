//! Cinder: volumes, their snapshots and attachments.
//!
//! Volumes take time, like servers: a call sets the status `creating`, `attaching`, `extending` or `deleting`. The
//! running cloud ([`crate::services::cloud`]) completes the operation and updates the model with `volume_is_...`.

pub(crate) mod backups;
pub(crate) mod body;
pub(crate) mod progress;
pub(crate) mod qos_spec;
pub(crate) mod qos_specs;
pub(crate) mod resources;
pub(crate) mod snapshot;
pub(crate) mod snapshots;
pub(crate) mod type_admin;
pub(crate) mod types;
pub(crate) mod view;
pub(crate) mod volume;
pub(crate) mod volume_actions;
pub(crate) mod volume_type;
pub(crate) mod volumes;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
use crate::kit::microversion::VOLUME;
use crate::kit::table::Table;
use crate::services::block_storage::qos_spec::QosSpecs;
use crate::services::block_storage::snapshot::Snapshot;
use crate::services::block_storage::volume::Volume;
use crate::services::block_storage::volume_type::{VolumeType, standard_types};
use crate::services::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::below("/volume")
        .get("", versions)
        .get("/", versions)
        .get("/v3", version)
        .get("/v3/", version)
        .and(volumes::routes())
        .and(volume_actions::routes())
        .and(snapshots::routes())
        .and(types::routes())
        .and(type_admin::routes())
        .and(qos_specs::routes())
        .and(backups::routes())
}

/// Path prefixes of the collections. Older clients put the project into the path.
pub const PREFIXES: &[&str] = &["/volume/v3", "/volume/v3/{tenant}"];

fn version_document(base: &str) -> Value {
    json!({
        "id": "v3.0",
        "status": "CURRENT",
        "version": VOLUME.newest.to_string(),
        "min_version": VOLUME.oldest.to_string(),
        "updated": "2022-03-30T00:00:00Z",
        "links": [
            {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
            {"rel": "self", "href": format!("{base}/volume/v3/")},
        ],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}],
    })
}

async fn versions(call: Call) -> Response {
    let all = json!({"versions": [version_document(&call.base)]});
    json_answer(300, all)
}

async fn version(call: Call) -> Response {
    let all = json!({"versions": [version_document(&call.base)]});
    json_answer(200, all)
}

/// Cinder's tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockStorage {
    pub volumes: Table<Volume>,
    pub snapshots: Table<Snapshot>,
    /// Volume types.
    pub types: Table<VolumeType>,
    /// QoS specs.
    #[serde(default)]
    pub qos_specs: Table<QosSpecs>,
}

impl BlockStorage {
    /// Removes a QoS spec from all volume types.
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
