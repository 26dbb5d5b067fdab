//! Disks that a server is made with: volumes that exist, and volumes that Nova makes for it.
//!
//! Like the rest of a creation it is checked whole before anything is made. A disk that is not a volume (`local`) has nothing
//! behind it in the lab; it only counts in the order of booting.

use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::Model;
use crate::services::block_storage::volume::{CreateVolume, VolumeStatus};
use crate::services::compute::volume_plug::{Plug, ROOT_DEVICE};

/// One entry of `block_device_mapping_v2`, already read.
#[derive(Debug, Clone)]
pub struct BlockDevice {
    /// The source of its content.
    pub source: Source,
    /// GiB.
    pub size: Option<u32>,
    /// Type of a volume that is made for it.
    pub volume_type: Option<String>,
    /// 0 for the disk to boot from.
    pub boot_index: Option<i64>,
    pub plug: Plug,
}

/// The source of a disk's content.
#[derive(Debug, Clone)]
pub enum Source {
    /// An existing volume.
    Volume(String),
    /// A new volume with this image.
    Image(String),
    /// A new volume with this snapshot.
    Snapshot(String),
    /// A new empty volume.
    Blank,
    /// No volume: the flavor's own disk, swap, or another disk that is deleted with the server.
    Local,
}

/// A disk that can be attached.
#[derive(Debug)]
pub struct Disk {
    volume: Volume,
    plug: Plug,
    root: bool,
}

#[derive(Debug)]
enum Volume {
    Existing(String),
    New(CreateVolume),
}

fn invalid(reason: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("Block Device Mapping is Invalid: {reason}"))
}

impl Model {
    /// Check disks. Those to boot from must be numbered 0, 1, 2 ...; without any disk the image counts as number 0.
    pub fn check_disks(
        &self,
        project_id: &str,
        devices: Vec<BlockDevice>,
        image: Option<&str>,
    ) -> Result<Vec<Disk>, Refusal> {
        let indexes = devices.iter().filter_map(|disk| disk.boot_index);
        let mut order: Vec<i64> = indexes.filter(|index| *index >= 0).collect();
        if devices.is_empty() && image.is_some() {
            order.push(0);
        }
        order.sort_unstable();
        if order.is_empty() || (0..).zip(&order).any(|(place, index)| place != *index) {
            return Err(invalid(
                "Boot sequence for the instance and image/block device mapping combination is not valid.",
            ));
        }
        let takes_the_root = |disk: &BlockDevice| {
            let is_volume = !matches!(disk.source, Source::Local);
            is_volume && disk.plug.device.as_deref() == Some(ROOT_DEVICE)
        };
        if image.is_some() && devices.iter().any(takes_the_root) {
            return Err(Refusal::bad_request(
                "The volume cannot be assigned the same device name as the root device vda",
            ));
        }
        let checked = devices.into_iter();
        checked
            .filter_map(|device| self.check_disk(project_id, device, image).transpose())
            .collect()
    }

    /// A disk that can be given; `None` for one that is no volume.
    fn check_disk(
        &self,
        project_id: &str,
        device: BlockDevice,
        image: Option<&str>,
    ) -> Result<Option<Disk>, Refusal> {
        let root = device.boot_index == Some(0);
        let sized = |what: &str| match device.size {
            Some(size) if size > 0 => Ok(Some(size)),
            _ => Err(invalid(format!(
                "{what} need to have a non-zero size specified"
            ))),
        };
        let new = CreateVolume {
            volume_type: device.volume_type.clone(),
            name: Some(String::new()),
            ..CreateVolume::default()
        };
        let volume = match device.source {
            Source::Volume(id) => {
                let volume = self
                    .volume_of(project_id, &id)
                    .map_err(|_| invalid(format!("failed to get volume {id}.")))?;
                if volume.status != VolumeStatus::Available {
                    return Err(Refusal::bad_request(format!(
                        "Invalid volume: volume {id} is not available: its status must be 'available', but the current status is {}.",
                        volume.status.as_str()
                    )));
                }
                if root && image.is_none() && !volume.bootable {
                    return Err(Refusal::bad_request(format!(
                        "Block Device {id} is not bootable."
                    )));
                }
                Volume::Existing(id)
            }
            Source::Image(id) => {
                let image = self
                    .images
                    .get(&id)
                    .filter(|image| image.visible_to(project_id))
                    .ok_or_else(|| invalid(format!("failed to get image {id}.")))?;
                Volume::New(CreateVolume {
                    size: sized("Images with destination_type 'volume'")?,
                    image_id: Some(image.id.clone()),
                    ..new
                })
            }
            Source::Snapshot(id) => {
                let snapshot = self
                    .snapshot_of(project_id, &id)
                    .map_err(|_| invalid(format!("failed to get snapshot {id}.")))?;
                Volume::New(CreateVolume {
                    size: device.size.or(Some(snapshot.size)),
                    snapshot_id: Some(id),
                    ..new
                })
            }
            Source::Local => return Ok(None),
            Source::Blank => Volume::New(CreateVolume {
                size: sized("Blank volumes (source: 'blank', dest: 'volume')")?,
                ..new
            }),
        };
        Ok(Some(Disk {
            volume,
            plug: device.plug,
            root,
        }))
    }

    /// Give a new server its disks.
    pub fn give_disks(
        &mut self,
        asker: &Member,
        server_id: &str,
        disks: Vec<Disk>,
    ) -> Result<(), Refusal> {
        for disk in disks {
            let (id, status) = match disk.volume {
                Volume::Existing(id) => (id, VolumeStatus::Attaching),
                Volume::New(wanted) => (self.create_volume(asker, wanted)?, VolumeStatus::Creating),
            };
            let device = if disk.root {
                ROOT_DEVICE.to_owned()
            } else {
                self.free_device(server_id, disk.plug.device.as_deref())?
            };
            self.put_in(server_id, &id, device, disk.plug, status);
        }
        Ok(())
    }
}
