//! Barbican: secrets of a project, containers of secrets, and orders for secrets.
//!
//! The payload lies in the lab's memory and, with a state directory, in its state file (mode 0600): a lab protects nothing that
//! matters.

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// A secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Secret {
    pub id: String,
    pub name: Option<String>,
    /// The owner.
    #[serde(flatten)]
    pub owner: Owner,
    /// `opaque`, `private`, `passphrase`, ...
    pub secret_type: String,
    pub algorithm: Option<String>,
    pub bit_length: Option<u32>,
    pub mode: Option<String>,
    /// Time of the secret's expiry. `None` if it has none.
    pub expiration: Option<String>,
    /// MIME type of the payload.
    pub content_type: Option<String>,
    /// The payload, base64.
    pub payload: Option<String>,
    pub created: String,
    pub updated: String,
}

/// A container: secrets under names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecretContainer {
    pub id: String,
    pub name: Option<String>,
    /// The owner.
    #[serde(flatten)]
    pub owner: Owner,
    /// `generic`, `rsa` or `certificate`.
    #[serde(rename = "type")]
    pub kind: String,
    pub secrets: Vec<Held>,
    pub created: String,
    pub updated: String,
}

/// A secret in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The name in the container.
    pub name: Option<String>,
    /// The secret; it may be gone by now.
    pub secret_id: String,
}

/// An order: the service makes a secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    /// The owner.
    #[serde(flatten)]
    pub owner: Owner,
    /// `key`, `asymmetric` or `certificate`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The `meta` object of the order.
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// The outcome.
    pub outcome: Outcome,
    pub created: String,
}

/// The outcome of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A secret, which may have been deleted since.
    Made { secret_id: String },
    /// A container with a key pair, which may have been deleted since.
    Paired { container_id: String },
    /// The order waits for a certificate authority.
    Waiting,
    /// The service cannot create a secret of this type.
    Failed,
}

keyed_by_id!(Secret, SecretContainer, Order);

/// The owner of a resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Owner {
    pub project_id: String,
    pub creator_id: String,
}
