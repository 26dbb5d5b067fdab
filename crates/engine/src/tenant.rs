//! Actors: a project for reads, a user for changes.

use openstack::{Credentials, Session};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

pub use store::Tenant;

/// A user who is logged in.
#[derive(Clone)]
pub struct Actor {
    /// The project that they work in.
    pub tenant: Tenant,
    /// The user's name, stored as author.
    pub user: String,
    /// The user's session. A run has the same rights in the cloud.
    pub session: Session,
    /// The key of the sealed store, for clouds without a key manager.
    pub vault_key: Option<VaultKey>,
}

/// A key that only the user can derive from their credentials. It is never written in clear text.
#[derive(Clone)]
pub struct VaultKey(pub(crate) Zeroizing<[u8; 32]>);

impl VaultKey {
    /// Derives the key. `None` for a token, which expires and so cannot lock anything away.
    ///
    /// Takes about 50 ms of processor time and 19 MiB of memory: call it outside of the async threads, once per login.
    pub fn derive(credentials: &Credentials, user_id: &str) -> Option<VaultKey> {
        let (kind, secret) = match credentials {
            Credentials::Password { password, .. } => ("password", password.expose()),
            Credentials::ApplicationCredential { secret, .. } => {
                ("application-credential", secret.expose())
            }
            // A one-time code alone follows a password that is no longer available.
            Credentials::Token { .. } | Credentials::Passcode { .. } => return None,
        };
        let salt = Sha256::new()
            .chain_update("stackloom vault ")
            .chain_update(kind)
            .chain_update(" ")
            .chain_update(user_id)
            .finalize();
        let mut key = Zeroizing::new([0u8; 32]);
        argon2::Argon2::default()
            .hash_password_into(secret.as_bytes(), &salt, key.as_mut())
            .ok()?;
        Some(VaultKey(key))
    }
}

impl VaultKey {
    /// The bytes for a session's sealed record. Not for any other use.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        self.0.clone()
    }

    /// A key from a session's sealed record.
    pub fn from_bytes(bytes: [u8; 32]) -> VaultKey {
        VaultKey(Zeroizing::new(bytes))
    }
}

impl std::fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VaultKey(***)")
    }
}
