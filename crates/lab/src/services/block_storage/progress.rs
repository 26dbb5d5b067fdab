//! Progress of volumes: each change is a task that calls the substrate and then updates the model.

use std::sync::Arc;

use crate::kit::faults::VolumeTrouble;
use crate::services::block_storage::volume::{Volume, VolumeStatus};
use crate::services::cloud::Cloud;
use crate::substrate::VolumeSpec;

impl Cloud {
    /// Starts the transition of a volume from `creating` to `available`.
    pub fn spawn_volume_create(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move { cloud.volume_create(&id).await });
    }

    /// Creates a volume. Returns whether it became usable.
    pub(crate) async fn volume_create(&self, id: &str) -> bool {
        let Some(spec) = self.volume_spec(id) else {
            return false;
        };
        match self.faults.on_volume(&spec.name) {
            Some(VolumeTrouble::NeverAvailable) => return false,
            Some(VolumeTrouble::Error) => {
                self.change(|model| model.volume_is(id, VolumeStatus::Error));
                return false;
            }
            None => {}
        }
        let made = self.substrate.volume_create(&spec).await;
        if let Err(error) = &made {
            tracing::error!(volume = %id, %error, "a volume could not be made");
        }
        self.change(|model| {
            let status = match made {
                Ok(()) => VolumeStatus::Available,
                Err(_) => VolumeStatus::Error,
            };
            model.volume_is(id, status);
        });
        made.is_ok()
    }

    /// Starts the extension of a volume.
    pub fn spawn_volume_extend(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let Some(spec) = cloud.volume_spec(&id) else {
                return;
            };
            // `volume_create` is idempotent and extends a disk that is too small.
            let grown = cloud.substrate.volume_create(&spec).await;
            if let Err(error) = &grown {
                tracing::error!(volume = %id, %error, "a volume could not grow");
            }
            cloud.change(|model| {
                let status = match grown {
                    Ok(()) => VolumeStatus::Available,
                    Err(_) => VolumeStatus::Error,
                };
                model.volume_is(&id, status);
            });
        });
    }

    /// Starts the return of a volume to the snapshot that is marked for it.
    pub fn spawn_volume_revert(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let snapshot = cloud.read(|model| {
                let mut rows = model.block_storage.snapshots.iter();
                let marked =
                    rows.find(|row| row.volume_id == id && row.status == VolumeStatus::Restoring)?;
                Some(marked.id.clone())
            });
            let Some(snapshot) = snapshot else { return };
            let reverted = cloud.substrate.volume_copy(&id, &snapshot).await;
            if let Err(error) = &reverted {
                tracing::error!(volume = %id, %error, "a volume could not return to its snapshot");
            }
            cloud.change(|model| {
                let status = match reverted {
                    Ok(()) => VolumeStatus::Available,
                    Err(_) => VolumeStatus::Error,
                };
                model.volume_is(&id, status);
                model.snapshot_is(&snapshot, VolumeStatus::Available);
            });
        });
    }

    /// Starts the deletion of these snapshots and then of the volume.
    pub fn spawn_volume_delete(self: &Arc<Self>, id: String, snapshots: Vec<String>) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            for snapshot in snapshots {
                cloud.snapshot_delete(&snapshot).await;
            }
            match cloud.substrate.volume_remove(&id).await {
                Ok(()) => cloud.change(|model| {
                    model.block_storage.volumes.remove(&id);
                }),
                Err(error) => {
                    tracing::error!(volume = %id, %error, "a volume could not be removed");
                    cloud.change(|model| model.volume_is(&id, VolumeStatus::Error));
                }
            }
        });
    }

    /// Starts the transition of a snapshot from `creating` to `available`.
    pub fn spawn_snapshot_create(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let volume = cloud.read(|model| {
                let row = model.block_storage.snapshots.get(&id)?;
                Some(row.volume_id.clone())
            });
            let Some(volume) = volume else { return };
            let made = cloud.substrate.volume_copy(&id, &volume).await;
            if let Err(error) = &made {
                tracing::error!(snapshot = %id, %error, "a snapshot could not be made");
            }
            cloud.change(|model| {
                let status = match made {
                    Ok(()) => VolumeStatus::Available,
                    Err(_) => VolumeStatus::Error,
                };
                model.snapshot_is(&id, status);
            });
        });
    }

    /// Starts the deletion of a snapshot.
    pub fn spawn_snapshot_delete(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move { cloud.snapshot_delete(&id).await });
    }

    async fn snapshot_delete(&self, id: &str) {
        match self.substrate.volume_remove(id).await {
            Ok(()) => self.change(|model| {
                model.block_storage.snapshots.remove(id);
            }),
            Err(error) => {
                tracing::error!(snapshot = %id, %error, "a snapshot could not be removed");
                self.change(|model| model.snapshot_is(id, VolumeStatus::Error));
            }
        }
    }

    fn volume_spec(&self, id: &str) -> Option<VolumeSpec> {
        self.read(|model| {
            let row = model.block_storage.volumes.get(id)?;
            Some(VolumeSpec {
                id: id.into(),
                name: row.name.clone().unwrap_or_default(),
                size_gib: row.size,
                source: row.snapshot_id.clone().or_else(|| row.source_volid.clone()),
            })
        })
    }

    /// Resumes the work on volumes and snapshots that was interrupted when the lab stopped.
    pub(crate) fn resume_volumes(self: &Arc<Self>) {
        let (volumes, snapshots) = self.read(|model| {
            let storage = &model.block_storage;
            let is_free = |row: &&Volume| row.attachments.is_empty();
            let volumes = storage.volumes.iter().filter(is_free);
            let volumes: Vec<_> = volumes.map(|row| (row.id.clone(), row.status)).collect();
            let snapshots = storage.snapshots.iter();
            let snapshots: Vec<_> = snapshots.map(|row| (row.id.clone(), row.status)).collect();
            (volumes, snapshots)
        });
        for (id, status) in volumes {
            match status {
                VolumeStatus::Creating => self.spawn_volume_create(id),
                VolumeStatus::Extending => self.spawn_volume_extend(id),
                VolumeStatus::Reverting => self.spawn_volume_revert(id),
                VolumeStatus::Deleting => self.spawn_volume_delete(id, Vec::new()),
                _ => {}
            }
        }
        for (id, status) in snapshots {
            match status {
                VolumeStatus::Creating => self.spawn_snapshot_create(id),
                VolumeStatus::Deleting => self.spawn_snapshot_delete(id),
                _ => {}
            }
        }
    }
}
