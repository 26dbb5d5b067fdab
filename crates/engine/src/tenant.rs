//! Who asks: a project for looking, a person for changing.

use openstack::{Credentials, Session};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

pub use store::Tenant;

/// A person who is logged in.
#[derive(Clone)]
pub struct Actor {
    /// The project that they work in.
    pub tenant: Tenant,
    /// Their name, kept as author.
    pub user: String,
    /// Their session; what they may do in the cloud, the run may.
    pub session: Session,
    /// Opens the sealed store in clouds without a key manager.
    pub vault_key: Option<VaultKey>,
}

/// A key that only the person can make: derived from what they log in with, never written in clear.
#[derive(Clone)]
pub struct VaultKey(pub(crate) Zeroizing<[u8; 32]>);

impl VaultKey {
    /// Takes some 50 ms of work and 19 MiB for a moment: call it off the async threads, once a login.
    /// `None` for a token, which is gone tomorrow and so cannot lock anything away.
    pub fn derive(credentials: &Credentials, user_id: &str) -> Option<VaultKey> {
        let (kind, secret) = match credentials {
            Credentials::Password { password, .. } => ("password", password.expose()),
            Credentials::ApplicationCredential { secret, .. } => {
                ("application-credential", secret.expose())
            }
            // A one-time code alone comes after a password that is not at hand any more.
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
    /// For a session's sealed record, and for nothing else.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        self.0.clone()
    }

    /// From a session's sealed record.
    pub fn from_bytes(bytes: [u8; 32]) -> VaultKey {
        VaultKey(Zeroizing::new(bytes))
    }
}

impl std::fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VaultKey(***)")
    }
}
