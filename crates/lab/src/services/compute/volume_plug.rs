//! Volumes in servers.
//!
//! The volume's row lists its attachments, so Nova and Cinder cannot disagree: Nova's view of a server's volumes is computed from
//! the volumes.

use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::block_storage::volume::{Attachment, Volume, VolumeStatus, volume_not_found};
use crate::services::compute::server::Status;

/// The options of an attachment.
#[derive(Debug, Clone, Default)]
pub struct Plug {
    /// `/dev/vdX`. Defaults to the next free one.
    pub device: Option<String>,
    pub tag: Option<String>,
    pub delete_on_termination: bool,
}

/// The device of the disk that a server boots from.
pub const ROOT_DEVICE: &str = "/dev/vda";

/// Whether Nova takes this for a device's path: small letters after `/dev/`, then digits or none.
fn is_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    !letters.is_empty() && letters.chars().all(|c| c.is_ascii_lowercase())
}

impl Model {
    /// The volumes of a server, in the order of their devices.
    pub fn volumes_of_server(&self, server_id: &str) -> Vec<(&Volume, &Attachment)> {
        let Some(server) = self.servers.get(server_id) else {
            return Vec::new();
        };
        let mut found: Vec<(&Volume, &Attachment)> = server
            .volumes
            .iter()
            .filter_map(|id| self.block_storage.volumes.get(id))
            .filter_map(|volume| {
                let mut attachments = volume.attachments.iter();
                Some((volume, attachments.find(|row| row.server_id == server_id)?))
            })
            .collect();
        found.sort_by(|(_, a), (_, b)| {
            (a.device.len(), &a.device).cmp(&(b.device.len(), &b.device))
        });
        found
    }

    /// Promise a volume to a running or stopped server; it is in `attaching` then.
    pub fn plug_volume(
        &mut self,
        project_id: &str,
        server_id: &str,
        volume_id: &str,
        plug: Plug,
    ) -> Result<Attachment, Refusal> {
        let volume = self.volume_of(project_id, volume_id)?;
        if volume.status != VolumeStatus::Available {
            return Err(Refusal::bad_request(format!(
                "Invalid volume: volume {volume_id} is not available: its status must be 'available' to reserve, but the current \
                 status is {}.",
                volume.status.as_str()
            )));
        }
        let Some(server) = self.servers.get(server_id) else {
            return Err(volume_not_found(volume_id));
        };
        if !matches!(server.status, Status::Active | Status::Shutoff) {
            return Err(Refusal::conflict(
                "InstanceInvalidState",
                format!(
                    "Cannot 'attach_volume' instance {server_id} while it is in vm_state {}",
                    server.status.vm_state()
                ),
            ));
        }
        let device = self.free_device(server_id, plug.device.as_deref())?;
        Ok(self.put_in(server_id, volume_id, device, plug, VolumeStatus::Attaching))
    }

    /// Write down that a volume is, or is about to be, in a server.
    pub fn put_in(
        &mut self,
        server_id: &str,
        volume_id: &str,
        device: String,
        plug: Plug,
        status: VolumeStatus,
    ) -> Attachment {
        let attachment = Attachment {
            id: new_id(),
            bdm_id: new_id(),
            server_id: server_id.into(),
            device,
            tag: plug.tag,
            delete_on_termination: plug.delete_on_termination,
            attached_at: now(),
        };
        if let Some(volume) = self.block_storage.volumes.get_mut(volume_id) {
            volume.attachments.push(attachment.clone());
            volume.status = status;
            volume.updated_at = Some(now());
        }
        if let Some(server) = self.servers.get_mut(server_id) {
            server.volumes.push(volume_id.into());
        }
        attachment
    }

    /// The requested device, or the next free one.
    pub fn free_device(&self, server_id: &str, wanted: Option<&str>) -> Result<String, Refusal> {
        let taken: Vec<String> = self
            .volumes_of_server(server_id)
            .into_iter()
            .map(|(_, row)| row.device.clone())
            .collect();
        if let Some(wanted) = wanted {
            if !is_device(wanted) {
                return Err(Refusal::bad_request(format!(
                    "The supplied device path ({wanted}) is invalid."
                )));
            }
            if wanted == ROOT_DEVICE || taken.iter().any(|device| device == wanted) {
                return Err(Refusal::conflict(
                    "DevicePathInUse",
                    format!("The supplied device path ({wanted}) is in use."),
                ));
            }
            return Ok(wanted.into());
        }
        let free = ('b'..='z')
            .map(|letter| format!("/dev/vd{letter}"))
            .find(|device| !taken.contains(device));
        free.ok_or_else(|| {
            Refusal::forbidden("The maximum allowed number of disk devices (25) to attach to a single instance has been exceeded.")
        })
    }

    /// Mark a server's volume as going.
    pub fn unplug_volume(
        &mut self,
        project_id: &str,
        server_id: &str,
        volume_id: &str,
    ) -> Result<(), Refusal> {
        self.volume_of(project_id, volume_id)?;
        let attachment = self.attachment_of(server_id, volume_id)?;
        if attachment.device == ROOT_DEVICE {
            return Err(Refusal::forbidden("Cannot detach a root device volume"));
        }
        let status = self.volume_of(project_id, volume_id)?.status;
        if status != VolumeStatus::InUse {
            return Err(Refusal::bad_request(format!(
                "Invalid volume: Invalid input received: Invalid volume: Unable to detach volume. Volume status must be 'in-use' and \
                 attach_status must be 'attached' to detach. Status is '{}'.",
                status.as_str()
            )));
        }
        self.volume_is(volume_id, VolumeStatus::Detaching);
        Ok(())
    }

    /// A volume's attachment to a server.
    pub fn attachment_of(&self, server_id: &str, volume_id: &str) -> Result<&Attachment, Refusal> {
        let volume = self.block_storage.volumes.get(volume_id);
        let mut attachments = volume.into_iter().flat_map(|volume| &volume.attachments);
        attachments
            .find(|row| row.server_id == server_id)
            .ok_or_else(|| {
                Refusal::not_found(
                    "VolumeBDMNotFound",
                    format!("No volume Block Device Mapping with id {volume_id}."),
                )
            })
    }

    /// A volume is out of a server; it is free again if it was in no other.
    pub fn volume_is_out(&mut self, server_id: &str, volume_id: &str) {
        if let Some(server) = self.servers.get_mut(server_id) {
            server.volumes.retain(|id| id != volume_id);
        }
        if let Some(volume) = self.block_storage.volumes.get_mut(volume_id) {
            volume.attachments.retain(|row| row.server_id != server_id);
            if volume.attachments.is_empty() {
                volume.status = VolumeStatus::Available;
            }
            volume.updated_at = Some(now());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::services::compute::volume_plug::is_device;

    #[test]
    fn devices_are_named_as_nova_wants_them() {
        for right in ["/dev/vdb", "/dev/xvdc", "/dev/sda1", "/dev/b"] {
            assert!(is_device(right), "{right}");
        }
        for wrong in [
            "vdb",
            "/dev/",
            "/dev/1",
            "/dev/vd-b",
            "/dev/../etc",
            "/dev/vd1b",
        ] {
            assert!(!is_device(wrong), "{wrong}");
        }
    }
}
