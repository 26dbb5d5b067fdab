//! Barbican: named secrets of a project.
//!
//! The payload lies in the lab's memory and, with a state directory, in its state file (mode 0600): a lab protects nothing that
//! matters.

use serde::{Deserialize, Serialize};

use super::table::keyed_by_id;

/// A secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Secret {
    /// Id with dashes; references are URLs that end in it.
    pub id: String,
    /// Need not be unique.
    pub name: Option<String>,
    /// Project that owns it.
    pub project_id: String,
    /// User who made it.
    pub creator_id: String,
    /// `opaque`, `private`, `passphrase`, ...
    pub secret_type: String,
    /// Algorithm, if told.
    pub algorithm: Option<String>,
    /// Bits, if told.
    pub bit_length: Option<u32>,
    /// Mode, if told.
    pub mode: Option<String>,
    /// When it ends, if ever.
    pub expiration: Option<String>,
    /// MIME type of the payload.
    pub content_type: Option<String>,
    /// The payload, base64.
    pub payload: Option<String>,
    /// A person's own key-value pairs.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// When it was made.
    pub created: String,
    /// When it was changed.
    pub updated: String,
}

keyed_by_id!(Secret);
