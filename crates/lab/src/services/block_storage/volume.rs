//! Volumes.
//!
//! ```text
//! creating -> available -> attaching -> in-use -> detaching -> available -> deleting -> (removed)
//!      \-> error   |-> extending -> available
//!                  \-> reverting -> available
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::kit::token::Member;
use crate::services::Model;
use crate::services::block_storage::volume_type::DEFAULT_TYPE;

/// A volume.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Volume {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub project_id: String,
    pub user_id: String,
    /// In GiB.
    pub size: u32,
    pub status: VolumeStatus,
    pub volume_type: String,
    pub availability_zone: String,
    /// Whether a server can boot from it.
    pub bootable: bool,
    /// Always false: creation with this parameter is refused.
    pub multiattach: bool,
    /// The source snapshot.
    pub snapshot_id: Option<String>,
    /// The source volume.
    pub source_volid: Option<String>,
    /// The metadata of the source image: `volume_image_metadata`.
    pub image_metadata: BTreeMap<String, String>,
    pub metadata: BTreeMap<String, String>,
    /// The attachments to servers.
    pub attachments: Vec<Attachment>,
    pub created_at: String,
    pub updated_at: Option<String>,
}

keyed_by_id!(Volume);

/// An attachment of a volume to a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attachment {
    /// Cinder's id of the attachment.
    pub id: String,
    /// Nova's id of the attachment, shown since microversion 2.89.
    pub bdm_id: String,
    pub server_id: String,
    /// The device: `/dev/vdb` ...
    pub device: String,
    /// A tag that is shown in the server's metadata.
    pub tag: Option<String>,
    /// Whether the volume is deleted with the server.
    pub delete_on_termination: bool,
    pub attached_at: String,
}

/// The status of a volume or snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeStatus {
    /// In creation.
    Creating,
    /// Not attached.
    Available,
    /// Reserved for a server.
    Reserved,
    /// In attachment to a server.
    Attaching,
    /// Attached to a server.
    InUse,
    /// In detachment from a server.
    Detaching,
    /// In extension.
    Extending,
    /// A volume that returns to its newest snapshot.
    Reverting,
    /// A snapshot to which its volume returns.
    Restoring,
    /// In deletion.
    Deleting,
    /// Failed.
    Error,
}

impl VolumeStatus {
    /// The status in Cinder's notation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Available => "available",
            Self::Reserved => "reserved",
            Self::Attaching => "attaching",
            Self::InUse => "in-use",
            Self::Detaching => "detaching",
            Self::Extending => "extending",
            Self::Reverting => "reverting",
            Self::Restoring => "restoring",
            Self::Deleting => "deleting",
            Self::Error => "error",
        }
    }
}

/// The request of a creation.
#[derive(Debug, Clone, Default)]
pub struct CreateVolume {
    /// In GiB. `None` takes the size of the source.
    pub size: Option<u32>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub volume_type: Option<String>,
    pub availability_zone: Option<String>,
    /// The source snapshot.
    pub snapshot_id: Option<String>,
    /// The source volume.
    pub source_volid: Option<String>,
    /// The source image.
    pub image_id: Option<String>,
    pub metadata: BTreeMap<String, String>,
}

pub fn volume_not_found(id: &str) -> Refusal {
    Refusal::not_found("VolumeNotFound", format!("Volume {id} could not be found."))
}

fn invalid_input(reason: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("Invalid input received: {reason}"))
}

/// Refuses a value above a limit with 413, as in Cinder. Negative limits are unlimited.
pub fn limited(
    limit: i64,
    used: i64,
    more: i64,
    sentence: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    if limit >= 0 && used + more > limit {
        Err(Refusal::new(413, "OverQuota", sentence()))
    } else {
        Ok(())
    }
}

impl Model {
    /// A volume of a project.
    pub fn volume_of(&self, project_id: &str, id: &str) -> Result<&Volume, Refusal> {
        self.block_storage
            .volumes
            .get(id)
            .filter(|row| row.project_id == project_id)
            .ok_or_else(|| volume_not_found(id))
    }

    /// The number of a project's volumes, and their total size in GiB including snapshots.
    pub fn volume_usage(&self, project_id: &str) -> (i64, i64) {
        let volumes = self
            .block_storage
            .volumes
            .iter()
            .filter(|row| row.project_id == project_id);
        let (count, size) = volumes.fold((0, 0), |(count, size), row| {
            (count + 1, size + i64::from(row.size))
        });
        let snapshots = self
            .block_storage
            .snapshots
            .iter()
            .filter(|row| row.project_id == project_id);
        (
            count,
            size + snapshots.map(|row| i64::from(row.size)).sum::<i64>(),
        )
    }

    /// Inserts a row in `creating`. Returns its id.
    pub fn create_volume(
        &mut self,
        asker: &Member,
        wanted: CreateVolume,
    ) -> Result<String, Refusal> {
        let project_id = asker.project_id.as_str();
        let (source_size, image_metadata) = self.volume_source(project_id, &wanted)?;
        let size = wanted.size.or(source_size).filter(|size| *size > 0);
        let size = size.ok_or_else(|| {
            let given = wanted
                .size
                .map_or("None".to_owned(), |size| size.to_string());
            invalid_input(format!(
                "Volume size '{given}' must be an integer and greater than 0"
            ))
        })?;
        if let Some(least) = source_size.filter(|least| size < *least) {
            return Err(too_small(&wanted, size, least));
        }
        let volume_type = self.volume_type_named(asker, wanted.volume_type.as_deref())?;
        if let Some(zone) = wanted.availability_zone.filter(|zone| zone != "nova") {
            return Err(invalid_input(format!(
                "Availability zone '{zone}' is invalid."
            )));
        }
        self.check_volume_quota(project_id, size)?;
        let bootable = wanted.image_id.is_some()
            || wanted.source_volid.as_ref().is_some_and(|source| {
                let source = self.block_storage.volumes.get(source);
                source.is_some_and(|source| source.bootable)
            });
        let id = new_id();
        self.block_storage.volumes.insert(Volume {
            id: id.clone(),
            name: wanted.name,
            description: wanted.description,
            project_id: project_id.into(),
            user_id: asker.user_id.clone(),
            size,
            status: VolumeStatus::Creating,
            volume_type,
            availability_zone: "nova".into(),
            bootable,
            multiattach: false,
            snapshot_id: wanted.snapshot_id,
            source_volid: wanted.source_volid,
            image_metadata,
            metadata: wanted.metadata,
            attachments: Vec::new(),
            created_at: now(),
            updated_at: None,
        });
        Ok(id)
    }

    /// The minimum size in GiB given by the source of a creation, and the image metadata that it passes on.
    fn volume_source(
        &self,
        project_id: &str,
        wanted: &CreateVolume,
    ) -> Result<(Option<u32>, BTreeMap<String, String>), Refusal> {
        if let Some(id) = &wanted.snapshot_id {
            let snapshot = self.snapshot_of(project_id, id)?;
            if snapshot.status != VolumeStatus::Available {
                return Err(Refusal::bad_request(
                    "Invalid snapshot: Originating snapshot status must be one of 'available' values",
                ));
            }
            return Ok((Some(snapshot.size), BTreeMap::new()));
        }
        if let Some(id) = &wanted.source_volid {
            let source = self.volume_of(project_id, id)?;
            if !matches!(source.status, VolumeStatus::Available | VolumeStatus::InUse) {
                return Err(Refusal::bad_request(
                    "Invalid volume: Source volume status must be one of 'available, in-use' values",
                ));
            }
            return Ok((Some(source.size), source.image_metadata.clone()));
        }
        if let Some(id) = &wanted.image_id {
            let image = self
                .images
                .get(id)
                .filter(|image| image.visible_to(project_id));
            let image = image.ok_or_else(|| {
                invalid_input("Invalid image identifier or unable to access requested image.")
            })?;
            if let Some(size) = wanted.size.filter(|size| *size < image.min_disk) {
                return Err(invalid_input(format!(
                    "Volume size {size}GB cannot be smaller than the image minDisk size {}GB.",
                    image.min_disk
                )));
            }
            // An image does not determine the size of a volume.
            return Ok((None, image.volume_metadata()));
        }
        Ok((None, BTreeMap::new()))
    }

    fn volume_type_named(&self, asker: &Member, wanted: Option<&str>) -> Result<String, Refusal> {
        let Some(wanted) = wanted else {
            return Ok(DEFAULT_TYPE.into());
        };
        let mut types = self.volume_types_for(asker);
        let found = types.find(|row| row.id == wanted || row.name == wanted);
        found.map(|row| row.name.clone()).ok_or_else(|| {
            Refusal::not_found(
                "VolumeTypeNotFoundByName",
                format!("Volume type with name {wanted} could not be found."),
            )
        })
    }

    fn check_volume_quota(&self, project_id: &str, size: u32) -> Result<(), Refusal> {
        let limit = |name: &str| self.quotas.limit(project_id, name);
        if limit("volumes") < 0 && limit("gigabytes") < 0 {
            return Ok(());
        }
        let (count, used) = self.volume_usage(project_id);
        limited(limit("volumes"), count, 1, || {
            format!(
                "VolumeLimitExceeded: Maximum number of volumes allowed ({}) exceeded for quota 'volumes'.",
                limit("volumes")
            )
        })?;
        limited(limit("gigabytes"), used, size.into(), || {
            format!(
                "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested {size}G, \
                 quota is {}G and {used}G has been consumed.",
                limit("gigabytes")
            )
        })
    }

    /// Marks a volume for deletion, and with `cascade` its snapshots. Returns the ids of its snapshots.
    pub fn delete_volume(
        &mut self,
        project_id: &str,
        id: &str,
        cascade: bool,
    ) -> Result<Vec<String>, Refusal> {
        let volume = self.volume_of(project_id, id)?;
        let snapshots: Vec<String> = self
            .block_storage
            .snapshots
            .iter()
            .filter(|row| row.volume_id == id)
            .map(|row| row.id.clone())
            .collect();
        let removable = matches!(volume.status, VolumeStatus::Available | VolumeStatus::Error);
        if !removable || !volume.attachments.is_empty() || (!snapshots.is_empty() && !cascade) {
            return Err(Refusal::bad_request(
                "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing \
                 and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated \
                 from snapshots after volume transfer.",
            ));
        }
        self.volume_is(id, VolumeStatus::Deleting);
        for snapshot in &snapshots {
            self.snapshot_is(snapshot, VolumeStatus::Deleting);
        }
        Ok(snapshots)
    }

    /// Marks a volume as extending.
    pub fn extend_volume(
        &mut self,
        project_id: &str,
        id: &str,
        new_size: u32,
    ) -> Result<(), Refusal> {
        let volume = self.volume_of(project_id, id)?;
        if volume.status != VolumeStatus::Available {
            return Err(Refusal::bad_request(format!(
                "Invalid volume: Volume {id} status must be '('available',)' to extend, currently {}.",
                volume.status.as_str()
            )));
        }
        if new_size <= volume.size {
            return Err(invalid_input(format!(
                "New size for extend must be greater than current size. (current: {}, extended: {new_size}).",
                volume.size
            )));
        }
        self.check_volume_quota(project_id, new_size - volume.size)?;
        if let Some(row) = self.block_storage.volumes.get_mut(id) {
            row.status = VolumeStatus::Extending;
            row.size = new_size;
        }
        Ok(())
    }

    /// Sets a volume's status.
    pub fn volume_is(&mut self, id: &str, status: VolumeStatus) {
        if let Some(row) = self.block_storage.volumes.get_mut(id) {
            row.status = status;
            row.updated_at = Some(now());
        }
    }
}

fn too_small(wanted: &CreateVolume, size: u32, least: u32) -> Refusal {
    invalid_input(match wanted.snapshot_id {
        Some(_) => format!(
            "Volume size '{size}'GB cannot be smaller than the snapshot size {least}GB. They must be >= original snapshot size."
        ),
        None => format!(
            "Volume size '{size}'GB cannot be smaller than original volume size {least}GB. They must be >= original volume size."
        ),
    })
}
