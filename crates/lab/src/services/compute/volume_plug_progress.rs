//! Attaching and detaching of volumes: each is a task that calls the substrate and then changes the model.

use std::sync::Arc;

use crate::services::block_storage::volume::VolumeStatus;
use crate::services::cloud::Cloud;

impl Cloud {
    /// Creates the volumes of a new server. If that fails, returns false, and the server is in ERROR.
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

    /// Attaches the volumes of a new server.
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

    /// Resumes the work on attachments that was interrupted when the lab stopped.
    pub(crate) fn resume_attachments(self: &Arc<Self>) {
        let attached: Vec<_> = self.read(|model| {
            let volumes = model.block_storage.volumes.iter();
            let first = volumes.filter_map(|row| {
                let server = row.attachments.first()?.server_id.clone();
                Some((row.id.clone(), row.status, server))
            });
            first.collect()
        });
        for (id, status, server) in attached {
            match status {
                VolumeStatus::Attaching | VolumeStatus::InUse => self.spawn_volume_plug(server, id),
                VolumeStatus::Detaching => self.spawn_volume_unplug(server, id),
                _ => {}
            }
        }
    }
}
