//! What happens to volumes over time: each change is a task that asks the substrate and then tells the model.

use std::sync::Arc;

use crate::kit::faults::VolumeTrouble;
use crate::services::block_storage::volume::VolumeStatus;
use crate::services::cloud::Cloud;
use crate::substrate::VolumeSpec;

impl Cloud {
    /// Carry a volume from `creating` to `available`.
    pub fn spawn_volume_create(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move { cloud.volume_create(&id).await });
    }

    /// Make a volume; whether it became usable.
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

    /// Make the volumes that a new server was promised. Whether it may go on: if not, it is in ERROR now.
    pub(crate) async fn build_volumes(&self, server: &str) -> bool {
        let promised: Vec<String> = self.read(|model| {
            let all = model.volumes_of_server(server).into_iter();
            all.filter(|(volume, _)| volume.status == VolumeStatus::Creating)
                .map(|(volume, _)| volume.id.clone())
                .collect()
        });
        for id in promised {
            if self.volume_create(&id).await {
                self.change(|model| model.volume_is(&id, VolumeStatus::Attaching));
                continue;
            }
            self.change(|model| {
                model.server_is_broken(
                    server,
                    &format!(
                        "Build of instance {server} aborted: Volume {id} did not finish being created even after we waited 0 \
                         seconds or 1 attempts. And its status is error."
                    ),
                );
            });
            return false;
        }
        true
    }

    /// Plug in what a server was made with.
    pub(crate) async fn plug_built_volumes(&self, server: &str) {
        let waiting: Vec<(String, String)> = self.read(|model| {
            let all = model.volumes_of_server(server).into_iter();
            all.filter(|(volume, _)| volume.status == VolumeStatus::Attaching)
                .map(|(volume, one)| (volume.id.clone(), one.device.clone()))
                .collect()
        });
        for (volume, device) in waiting {
            let plugged = self.substrate.volume_plug(server, &volume, &device).await;
            if let Err(error) = plugged {
                tracing::error!(%server, %volume, %error, "a volume could not be plugged in");
            }
            self.change(|model| model.volume_is(&volume, VolumeStatus::InUse));
        }
    }

    /// Unplug everything from a server that goes.
    pub(crate) async fn unplug_all(&self, server: &str) {
        let plugged: Vec<(String, String)> = self.read(|model| {
            let all = model.volumes_of_server(server).into_iter();
            all.map(|(volume, one)| (volume.id.clone(), one.device.clone()))
                .collect()
        });
        for (volume, device) in plugged {
            let unplugged = self.substrate.volume_unplug(server, &volume, &device);
            if let Err(error) = unplugged.await {
                tracing::error!(%server, %volume, %error, "a volume could not be unplugged");
            }
        }
    }

    /// Let a volume grow.
    pub fn spawn_volume_extend(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let Some(spec) = cloud.volume_spec(&id) else {
                return;
            };
            // Making is idempotent, and makes a disk as large as it should be.
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

    /// Take a volume away, after these snapshots of it.
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

    /// Plug a volume into a server.
    pub fn spawn_volume_plug(self: &Arc<Self>, server: String, volume: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&server).await;
            let Some(device) = cloud.device(&server, &volume) else {
                return;
            };
            let action = "attach_volume";
            let done = match cloud.action_fails(&server, action) {
                Some(message) => Err(message),
                None => {
                    let done = cloud.substrate.volume_plug(&server, &volume, &device).await;
                    done.map_err(|error| error.to_string())
                }
            };
            match done {
                Ok(()) => cloud.change(|model| {
                    model.volume_is(&volume, VolumeStatus::InUse);
                    model.action_ends(&server, action, None);
                }),
                Err(error) => {
                    tracing::error!(%server, %volume, %error, "a volume could not be plugged in");
                    cloud.change(|model| {
                        model.volume_is_out(&server, &volume);
                        model.action_ends(&server, action, Some(&error));
                    });
                }
            }
        });
    }

    /// Unplug a volume.
    pub fn spawn_volume_unplug(self: &Arc<Self>, server: String, volume: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&server).await;
            let Some(device) = cloud.device(&server, &volume) else {
                return;
            };
            let action = "detach_volume";
            let done = match cloud.action_fails(&server, action) {
                Some(message) => Err(message),
                None => {
                    let done = cloud.substrate.volume_unplug(&server, &volume, &device);
                    done.await.map_err(|error| error.to_string())
                }
            };
            match done {
                Ok(()) => cloud.change(|model| {
                    model.volume_is_out(&server, &volume);
                    model.action_ends(&server, action, None);
                }),
                Err(error) => {
                    tracing::error!(%server, %volume, %error, "a volume could not be unplugged");
                    cloud.change(|model| {
                        model.volume_is(&volume, VolumeStatus::InUse);
                        model.action_ends(&server, action, Some(&error));
                    });
                }
            }
        });
    }

    fn device(&self, server: &str, volume: &str) -> Option<String> {
        self.read(|model| {
            let one = model.attachment_of(server, volume).ok()?;
            Some(one.device.clone())
        })
    }

    /// Carry a snapshot from `creating` to `available`.
    pub fn spawn_snapshot_create(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let volume = cloud.read(|model| {
                let row = model.block_storage.snapshots.get(&id)?;
                Some(row.volume_id.clone())
            });
            let Some(volume) = volume else { return };
            let made = cloud.substrate.snapshot_create(&id, &volume).await;
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

    /// Take a snapshot away.
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
                content_of: row.snapshot_id.clone().or_else(|| row.source_volid.clone()),
            })
        })
    }

    /// After a start: volumes that were on their way when the lab stopped.
    pub(crate) fn take_up_volumes(self: &Arc<Self>) {
        let (volumes, snapshots) = self.read(|model| {
            let volumes: Vec<_> = model
                .block_storage
                .volumes
                .iter()
                .map(|row| {
                    let server = row.attachments.first().map(|one| one.server_id.clone());
                    (row.id.clone(), row.status, server)
                })
                .collect();
            let snapshots: Vec<_> = model
                .block_storage
                .snapshots
                .iter()
                .map(|row| (row.id.clone(), row.status))
                .collect();
            (volumes, snapshots)
        });
        for (id, status, server) in volumes {
            match (status, server) {
                (VolumeStatus::Creating, None) => self.spawn_volume_create(id),
                (VolumeStatus::Extending, _) => self.spawn_volume_extend(id),
                (VolumeStatus::Deleting, _) => self.spawn_volume_delete(id, Vec::new()),
                (VolumeStatus::Attaching | VolumeStatus::InUse, Some(server)) => {
                    self.spawn_volume_plug(server, id);
                }
                (VolumeStatus::Detaching, Some(server)) => self.spawn_volume_unplug(server, id),
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
