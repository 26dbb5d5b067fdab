//! Snapshots of volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::block_storage::volume::{VolumeStatus, limited};

/// A snapshot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub project_id: String,
    pub user_id: String,
    pub volume_id: String,
    /// The volume's size at the time of the snapshot, in GiB.
    pub size: u32,
    /// `creating`, `available`, `restoring`, `deleting`, `error`.
    pub status: VolumeStatus,
    pub metadata: BTreeMap<String, String>,
    pub created_at: String,
    pub updated_at: Option<String>,
}

keyed_by_id!(Snapshot);

/// The request of a creation.
#[derive(Debug, Clone, Default)]
pub struct CreateSnapshot {
    pub volume_id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// Whether the volume can be in use.
    pub while_in_use: bool,
}

pub fn snapshot_not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "SnapshotNotFound",
        format!("Snapshot {id} could not be found."),
    )
}

impl Model {
    /// A project's snapshot.
    pub fn snapshot_of(&self, project_id: &str, id: &str) -> Result<&Snapshot, Refusal> {
        self.block_storage
            .snapshots
            .get(id)
            .filter(|row| row.project_id == project_id)
            .ok_or_else(|| snapshot_not_found(id))
    }

    /// Inserts a row in `creating`. Returns its id.
    pub fn create_snapshot(
        &mut self,
        project_id: &str,
        user_id: &str,
        wanted: CreateSnapshot,
    ) -> Result<String, Refusal> {
        let volume = self.volume_of(project_id, &wanted.volume_id)?;
        let fits = volume.status == VolumeStatus::Available
            || (wanted.while_in_use && volume.status == VolumeStatus::InUse);
        if !fits {
            return Err(Refusal::bad_request(format!(
                "Invalid volume: Volume {} status must be available, but current status is: {}.",
                volume.id,
                volume.status.as_str()
            )));
        }
        let size = volume.size;
        let mine = || {
            self.block_storage
                .snapshots
                .iter()
                .filter(|row| row.project_id == project_id)
        };
        limited(
            self.quotas.limit(project_id, "snapshots"),
            mine().count() as i64,
            1,
            || {
                format!(
                    "SnapshotLimitExceeded: Maximum number of snapshots allowed ({}) exceeded",
                    self.quotas.limit(project_id, "snapshots")
                )
            },
        )?;
        let id = new_id();
        self.block_storage.snapshots.insert(Snapshot {
            id: id.clone(),
            name: wanted.name,
            description: wanted.description,
            project_id: project_id.into(),
            user_id: user_id.into(),
            volume_id: wanted.volume_id,
            size,
            status: VolumeStatus::Creating,
            metadata: wanted.metadata,
            created_at: now(),
            updated_at: None,
        });
        Ok(id)
    }

    /// Marks a snapshot for deletion.
    pub fn delete_snapshot(&mut self, project_id: &str, id: &str) -> Result<(), Refusal> {
        let status = self.snapshot_of(project_id, id)?.status;
        if !matches!(status, VolumeStatus::Available | VolumeStatus::Error) {
            return Err(Refusal::bad_request(
                "Invalid snapshot: Snapshot status must be available or error or error_deleting and must not be part of a group.",
            ));
        }
        if let Some(row) = self.block_storage.snapshots.get_mut(id) {
            row.status = VolumeStatus::Deleting;
        }
        Ok(())
    }

    /// Marks a volume as reverting to its newest snapshot, which must be the `wanted` one.
    pub fn revert_volume(
        &mut self,
        project_id: &str,
        id: &str,
        wanted: Option<&str>,
    ) -> Result<(), Refusal> {
        let volume = self.volume_of(project_id, id)?;
        let snapshots = &self.block_storage.snapshots;
        let newest = snapshots.iter().rfind(|row| row.volume_id == id);
        let newest = newest.ok_or_else(|| {
            Refusal::bad_request(format!("Volume {id} doesn't have any snapshots."))
        })?;
        let snapshot = newest.id.clone();
        if wanted != Some(snapshot.as_str()) {
            return Err(Refusal::bad_request(format!(
                "Specified snapshot {} is None or not the latest one of volume {id}.",
                wanted.unwrap_or("None")
            )));
        }
        let refused = format!("Can't revert volume {id} to its latest snapshot {snapshot}.");
        if volume.size != newest.size {
            return Err(Refusal::bad_request(format!(
                "{refused} The volume size must be equal to the snapshot size."
            )));
        }
        if volume.status != VolumeStatus::Available {
            return Err(Refusal::conflict(
                "InvalidVolume",
                format!("Invalid volume: {refused} Volume's status must be 'available'."),
            ));
        }
        if newest.status != VolumeStatus::Available {
            return Err(Refusal::conflict(
                "InvalidSnapshot",
                format!("Invalid snapshot: {refused} Snapshot's status must be 'available'."),
            ));
        }
        self.volume_is(id, VolumeStatus::Reverting);
        self.snapshot_is(&snapshot, VolumeStatus::Restoring);
        Ok(())
    }

    /// Sets a snapshot's status.
    pub fn snapshot_is(&mut self, id: &str, status: VolumeStatus) {
        if let Some(row) = self.block_storage.snapshots.get_mut(id) {
            row.status = status;
            row.updated_at = Some(now());
        }
    }
}
