//! State changes of servers that take time: builds, power changes, resizes and deletions, each in a separate task.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::kit::faults::ServerTrouble;
use crate::kit::ids::now;
use crate::services::block_storage::volume::VolumeStatus;
use crate::services::cloud::Cloud;
use crate::services::compute::server::Status;
use crate::services::image::record::ImageStatus;
use crate::substrate::{Power, ServerSpec, Ssh};
use crate::wiring::ServerWiring;

impl Cloud {
    /// Builds a server: BUILD to ACTIVE.
    pub fn spawn_build(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&id).await;
            let Some(mut spec) = cloud.spec(&id) else {
                return;
            };
            let trouble = cloud.faults.on_server(&spec.name);
            match trouble {
                Some(ServerTrouble::NeverActive) => return,
                Some(ServerTrouble::Error) => {
                    cloud.change(|model| {
                        model.server_is_broken(
                            &id,
                            "No valid host was found. There are not enough hosts available.",
                        )
                    });
                    return;
                }
                Some(ServerTrouble::NoSsh) => spec.ssh = Ssh::Missing,
                Some(ServerTrouble::Dies(_)) | None => {}
            }
            if !cloud.build_volumes(&id).await {
                return;
            }
            match cloud.substrate.server_start(&spec).await {
                Ok(()) => {
                    cloud.change(|model| model.server_is_active(&id));
                    cloud.open_metadata(&id).await;
                    cloud.plug_built_volumes(&id).await;
                    // Rules may have changed while it started.
                    cloud.apply_wiring().await;
                }
                Err(error) => {
                    tracing::error!(server = %id, %error, "a server could not be started");
                    cloud.change(|model| {
                        model.server_is_broken(
                            &id,
                            &format!("Build of instance {id} aborted: {error}"),
                        )
                    });
                }
            }
            if let Some(ServerTrouble::Dies(after_ms)) = trouble {
                cloud.spawn_death(id.clone(), Duration::from_millis(after_ms));
            }
        });
    }

    pub(crate) fn spawn_death(self: &Arc<Self>, id: String, after: Duration) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            cloud.power(&id, Power::Stop).await;
        });
    }

    /// Deletes a server. Its row is removed last.
    pub fn spawn_delete(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            {
                let _turn = cloud.server_turn(&id).await;
                if let Some(message) = cloud.state_action_fails(&id) {
                    cloud.change(|model| model.server_is_broken(&id, &message));
                    return;
                }
                cloud.close_metadata(&id);
                cloud.unplug_all(&id).await;
                match cloud.substrate.server_remove(&id).await {
                    Ok(()) => {
                        let volumes = cloud.change(|model| model.server_is_gone(&id));
                        for volume in volumes {
                            cloud.spawn_volume_delete(volume, Vec::new());
                        }
                    }
                    Err(error) => {
                        tracing::error!(server = %id, %error, "a server could not be removed");
                        cloud.change(|model| model.server_is_broken(&id, &error.to_string()));
                    }
                }
            }
            cloud.server_locks.remove(&id);
            cloud.apply_wiring().await;
        });
    }

    /// Changes the power state of a server.
    pub fn spawn_power(self: &Arc<Self>, id: String, power: Power) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move { cloud.power(&id, power).await });
    }

    pub(crate) async fn power(self: &Arc<Self>, id: &str, power: Power) {
        let _turn = self.server_turn(id).await;
        let Some(spec) = self.spec(id) else { return };
        if let Some(message) = self.state_action_fails(id) {
            self.change(|model| model.server_stays(id, Some(&message)));
            return;
        }
        self.close_metadata(id);
        match self.substrate.server_power(&spec, power).await {
            Ok(()) => match Status::after(power) {
                Status::Active => {
                    self.change(|model| model.server_is_active(id));
                    self.open_metadata(id).await;
                    self.apply_wiring().await;
                }
                rest => self.change(|model| model.server_rests(id, rest)),
            },
            Err(error) => {
                tracing::error!(server = %id, %error, "a server could not be switched");
                self.change(|model| model.server_is_broken(id, &error.to_string()));
            }
        }
    }

    /// Saves a server's disk as an image.
    pub fn spawn_snapshot(self: &Arc<Self>, id: String, image: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&id).await;
            let made = match cloud.state_action_fails(&id) {
                Some(message) => Err(message),
                None => {
                    let made = cloud.substrate.image_create(&image, &id).await;
                    made.map_err(|error| error.to_string())
                }
            };
            if let Err(error) = &made {
                tracing::error!(server = %id, %image, %error, "an image could not be made of a server");
            }
            cloud.change(|model| {
                model.server_stays(&id, made.as_ref().err().map(String::as_str));
                match (made, model.images.get_mut(&image)) {
                    (Ok(()), Some(row)) => {
                        row.status = ImageStatus::Active;
                        row.size = Some(0);
                        row.updated_at = now();
                    }
                    // As Nova does: an image that came to nothing goes.
                    (Err(_), _) => {
                        model.images.remove(&image);
                    }
                    (Ok(()), None) => {}
                }
            });
        });
    }

    /// Removes the container image behind a server's image.
    pub fn spawn_image_remove(self: &Arc<Self>, image: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = cloud.substrate.image_remove(&image).await {
                tracing::error!(%image, %error, "an image could not be removed");
            }
        });
    }

    /// Gives a server the size of its new flavor, or of its old one again. A new flavor then awaits confirmation.
    pub fn spawn_resize(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&id).await;
            let Some(spec) = cloud.spec(&id) else { return };
            let has_new_flavor = cloud.read(|model| {
                let server = model.servers.get(&id);
                server.is_some_and(|server| server.new_flavor_id.is_some())
            });
            if let Some(message) = cloud.state_action_fails(&id) {
                cloud.change(|model| {
                    if has_new_flavor {
                        model.server_stays(&id, Some(&message))
                    } else {
                        model.server_is_broken(&id, &message)
                    }
                });
                return;
            }
            let done = cloud.substrate.server_resize(&spec).await;
            cloud.change(|model| match done {
                Ok(()) if has_new_flavor => model.server_is_resized(&id),
                Ok(()) => model.server_is_active(&id),
                Err(error) => {
                    tracing::error!(server = %id, %error, "a server could not be resized");
                    model.server_is_broken(&id, &error.to_string());
                }
            });
        });
    }

    /// Rebuilds a server, with the same ports and volumes.
    pub fn spawn_rebuild(self: &Arc<Self>, id: String) {
        let cloud = Arc::clone(self);
        tokio::spawn(async move {
            let _turn = cloud.server_turn(&id).await;
            let Some(spec) = cloud.spec(&id) else { return };
            if let Some(message) = cloud.state_action_fails(&id) {
                cloud.change(|model| model.server_is_broken(&id, &message));
                return;
            }
            cloud.close_metadata(&id);
            let mut done = cloud.substrate.server_remove(&id).await;
            if done.is_ok() {
                done = cloud.substrate.server_start(&spec).await;
            }
            match done {
                Ok(()) => {
                    cloud.change(|model| model.server_is_active(&id));
                    cloud.open_metadata(&id).await;
                    cloud.apply_wiring().await;
                }
                Err(error) => {
                    tracing::error!(server = %id, %error, "a server could not be rebuilt");
                    cloud.change(|model| model.server_is_broken(&id, &error.to_string()));
                }
            }
        });
    }

    /// Updates a running server's interfaces to its ports.
    pub async fn rewire_server(&self, id: &str) {
        if !self.substrate.has_wiring() {
            return;
        }
        {
            let _turn = self.server_turn(id).await;
            if let Some(spec) = self.spec(id)
                && let Err(error) = self.substrate.server_update_interfaces(&spec).await
            {
                tracing::error!(server = %id, %error, "a server's interfaces do not agree with its ports");
            }
        }
        self.apply_wiring().await;
    }

    /// The message of the failure, if the action that changes a server's state is to fail.
    pub(crate) fn state_action_fails(&self, id: &str) -> Option<String> {
        let action = self.read(|model| model.open_action(id).map(str::to_owned))?;
        self.action_fails(id, &action)
    }

    /// The message of the failure, if an action on a server is to fail.
    pub fn action_fails(&self, id: &str, action: &str) -> Option<String> {
        let name = self.read(|model| model.servers.get(id).map(|server| server.name.clone()))?;
        let message = match action {
            "resize" => "No valid host was found. No valid host found for resize",
            "rebuild" => "No valid host was found. There are not enough hosts available.",
            "attach_interface" => &format!("Failed to attach network adapter device to {id}"),
            "detach_interface" => &format!("Failed to detach network adapter device from {id}"),
            _ => "The lab was told to fail here.",
        };
        self.faults.fails(&name, action).then(|| message.to_owned())
    }

    /// The console output of a server.
    pub async fn console(&self, id: &str) -> String {
        match self.substrate.console(id).await {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(server = %id, %error, "no console log");
                String::new()
            }
        }
    }

    pub(crate) async fn server_turn(&self, id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        self.server_locks.lock(id).await
    }

    pub(crate) fn spec(&self, id: &str) -> Option<ServerSpec> {
        let has_wiring = self.substrate.has_wiring();
        let wiring = if has_wiring {
            self.wiring().servers.remove(id)?
        } else {
            ServerWiring::default()
        };
        self.read(|model| {
            let server = model.servers.get(id)?;
            let compact = server
                .user_data
                .as_ref()
                .map(|data| data.split_whitespace().collect::<String>());
            Some(ServerSpec {
                id: id.into(),
                name: server.name.clone(),
                image: server.image_id.clone(),
                ram_mib: model
                    .flavors
                    .get(server.new_flavor_id.as_ref().unwrap_or(&server.flavor_id))
                    .map_or(512, |flavor| flavor.ram),
                user_data: compact.and_then(|data| STANDARD.decode(data).ok()),
                public_key: server.public_key.clone(),
                wiring,
                volumes: model
                    .volumes_of_server(id)
                    .into_iter()
                    .filter(|(volume, _)| volume.status == VolumeStatus::InUse)
                    .map(|(volume, one)| (volume.id.clone(), one.device.clone()))
                    .collect(),
                ssh: Ssh::Works,
            })
        })
    }
}
