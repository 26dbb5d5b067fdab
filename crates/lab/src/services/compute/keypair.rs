//! Nova's key pairs: public SSH keys, per user, by name.

use serde::{Deserialize, Serialize};
use ssh_key::rand_core::OsRng;
use ssh_key::{Algorithm, LineEnding, PrivateKey, PublicKey};

use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::kit::table::Keyed;

/// A key pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyPair {
    /// `<user id>/<name>`: names are unique per user.
    pub key: String,
    /// The name.
    pub name: String,
    pub user_id: String,
    /// One line, OpenSSH's form.
    pub public_key: String,
    /// MD5 fingerprint of the public key.
    pub fingerprint: String,
    pub created_at: String,
}

impl Keyed for KeyPair {
    fn key(&self) -> &str {
        &self.key
    }
}

/// The table's key of a user's key pair.
pub fn keypair_key(user_id: &str, name: &str) -> String {
    format!("{user_id}/{name}")
}

impl KeyPair {
    /// Imports a public key, or creates a new pair. The private key of a new pair is in the response only.
    pub fn new(
        user_id: &str,
        name: &str,
        public_key: Option<&str>,
    ) -> Result<(Self, Option<String>), Refusal> {
        let fine = |c: char| c.is_ascii_alphanumeric() || " _-.@".contains(c);
        if name.is_empty() || name.len() > 255 || !name.chars().all(fine) {
            return Err(Refusal::bad_request(
                "Keypair data is invalid: Keypair name contains unsafe characters",
            ));
        }
        let (public_key, private_key) = match public_key {
            Some(text) => (text.trim().to_owned(), None),
            None => {
                make_pair().map_err(|error| Refusal::new(500, "KeypairError", error.to_string()))?
            }
        };
        let unreadable =
            || Refusal::bad_request("Keypair data is invalid: failed to generate fingerprint");
        let key = PublicKey::from_openssh(&public_key).map_err(|_| unreadable())?;
        let fingerprint = fingerprint(&key.to_bytes().map_err(|_| unreadable())?);
        let pair = Self {
            key: keypair_key(user_id, name),
            name: name.into(),
            user_id: user_id.into(),
            public_key,
            fingerprint,
            created_at: now(),
        };
        Ok((pair, private_key))
    }
}

/// MD5 fingerprint of a key, as `ssh-keygen -l -E md5` prints it.
fn fingerprint(key: &[u8]) -> String {
    let digest = <md5::Md5 as md5::Digest>::digest(key);
    let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}

fn make_pair() -> Result<(String, Option<String>), ssh_key::Error> {
    let private = PrivateKey::random(&mut OsRng, Algorithm::Ed25519)?;
    let public = private.public_key().to_openssh()?;
    Ok((
        public,
        Some(private.to_openssh(LineEnding::LF)?.to_string()),
    ))
}
