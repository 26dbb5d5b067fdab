//! Snapshots of deployments.

use serde::{Deserialize, Serialize};

/// Maximum length of a snapshot's name in characters.
pub const SNAPSHOT_NAME_CHARS_MAX: usize = 80;

/// `POST /deployments/{id}/snapshots`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotRequest {
    /// Name for people, of at most 80 characters. Names need not differ.
    pub name: String,
}

impl SnapshotRequest {
    /// Problem of the name, as a sentence. `None` if the name is valid.
    pub fn problem(&self) -> Option<&'static str> {
        let name = self.name.trim();
        let is_long = name.chars().count() > SNAPSHOT_NAME_CHARS_MAX;
        let is_wrong = name.is_empty() || is_long || name.chars().any(char::is_control);
        is_wrong.then_some("the name of a snapshot has 1 to 80 characters, all in one line")
    }
}

/// Content of a snapshot that would be taken of a deployment now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotScope {
    /// Names of the servers and volumes whose data it would keep.
    pub kept: Vec<String>,
    /// Servers and volumes that it would leave alone.
    pub left_alone: Vec<LeftAlone>,
}

/// A snapshot of a deployment: the data of its servers and volumes at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snapshot {
    /// Id, which is that of the run that took it.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// User who took it.
    pub author: String,
    /// Time at which it was requested, in RFC 3339.
    pub created: String,
    /// True while the run that takes it is at work.
    pub is_being_taken: bool,
    /// The servers and volumes that it contains.
    pub parts: Vec<SnapshotPart>,
    /// Servers and volumes that a restoration leaves alone.
    pub left_alone: Vec<LeftAlone>,
}

impl Snapshot {
    /// Names of the servers and volumes that a restoration restores.
    pub fn restored(&self) -> impl Iterator<Item = &str> {
        let restored = self.parts.iter().filter(|part| part.is_restorable);
        restored.map(|part| part.resource.as_str())
    }

    /// True if a part of it is missing, although no run is at work on it.
    pub fn is_incomplete(&self) -> bool {
        !self.is_being_taken && self.parts.iter().any(|part| part.snapshot_id.is_none())
    }
}

/// The part of a snapshot with the data of one server or volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotPart {
    /// Name of the server or volume in the template.
    pub resource: String,
    /// Id of the server or volume in the cloud at that time.
    pub physical_id: String,
    /// Id of the server's image, or of the volume's snapshot, in the cloud. Absent until it is complete, and from the beginning of its deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// Size of the image or of the volume at that time, as far as the cloud knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if a restoration restores it: it is complete, and the resource is the same as then. A volume returns to its newest
    /// snapshot only.
    pub is_restorable: bool,
}

/// A resource with data that a snapshot or a restoration leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftAlone {
    /// Name of the resource in the template.
    pub resource: String,
    /// The reason, as in "it boots from a volume".
    pub why: String,
}
