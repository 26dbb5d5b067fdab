//! The host key that a server makes itself.

use russh::keys::{Algorithm, PublicKey};
use sha2::{Digest, Sha256};

use super::folder::{as_root, printed};
use crate::ssh::{Client, SshError};

const SCRIPT: &str = include_str!("host_key.sh");

/// The public half of the server's own key, which it makes if it is not there. `given` is the key from its user data: a server
/// from a snapshot of another one has another, and makes its own.
///
/// # Errors
/// If the server does not answer, or cannot make one.
pub async fn make(client: &Client, given: &str) -> Result<String, SshError> {
    let command = as_root(SCRIPT, &["make", &name(given)]);
    let execution = client.execute(&command).await?;
    let server = execution.server().to_owned();
    let own = printed(execution).await?.trim().to_owned();
    // A key that cannot be read would lock everybody out.
    match PublicKey::from_openssh(&own) {
        Ok(key) if key.algorithm() == Algorithm::Ed25519 => Ok(own),
        _ => Err(SshError::Broken {
            server,
            why: "it printed no ed25519 key".to_owned(),
        }),
    }
}

/// Configures sshd with the own key.
///
/// # Errors
/// If the server does not answer, or cannot replace the key.
pub async fn put_to_use(client: &Client, given: &str) -> Result<(), SshError> {
    let command = as_root(SCRIPT, &["use", &name(given)]);
    printed(client.execute(&command).await?).await.map(drop)
}

fn name(given: &str) -> String {
    format!("{:x}", Sha256::digest(given))[..16].to_owned()
}
