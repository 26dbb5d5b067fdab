//! The secrets behind a standing permission: sealed with the server's own key until the permission ends.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use openstack::Credentials;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use super::SealingKeys;
use crate::VaultKey;

/// An application credential, and the key of the sealed vault if there is no key manager.
#[derive(Serialize, Deserialize)]
pub(crate) struct PermissionSecrets {
    id: String,
    secret: String,
    vault_key: Option<String>,
}

impl PermissionSecrets {
    /// The secrets of a new permission.
    pub fn new(id: &str, secret: &str, vault_key: Option<&VaultKey>) -> PermissionSecrets {
        PermissionSecrets {
            id: id.to_owned(),
            secret: secret.to_owned(),
            vault_key: vault_key.map(|key| STANDARD.encode(key.0.as_ref())),
        }
    }

    /// The login that it permits.
    pub fn credentials(&self) -> Credentials {
        Credentials::application_credential(&self.id, self.secret.as_str())
    }

    /// The key of the sealed vault.
    pub fn vault_key(&self) -> Option<VaultKey> {
        let bytes = Zeroizing::new(STANDARD.decode(self.vault_key.as_ref()?).ok()?);
        Some(VaultKey(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }

    /// Seals the secrets of the credential with this name.
    pub fn seal(&self, keys: &SealingKeys, credential: &str) -> String {
        keys.seal(&purpose(credential), &Zeroizing::new(store::to_json(self)))
    }

    /// Opens the output of [`PermissionSecrets::seal`]. `None` if none of the keys opens it.
    pub fn open(keys: &SealingKeys, credential: &str, sealed: &str) -> Option<PermissionSecrets> {
        let text = keys.open(&purpose(credential), sealed).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl Drop for PermissionSecrets {
    fn drop(&mut self) {
        self.secret.zeroize();
        self.vault_key.zeroize();
    }
}

/// The purpose of a credential's sealed secrets.
pub(crate) fn purpose(credential: &str) -> String {
    format!("permission/{credential}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::KeySource;

    #[test]
    fn the_secrets_open_for_their_own_credential_only() {
        let line = STANDARD.encode([7; 32]);
        let keys = SealingKeys::read(&KeySource::Text(line.into()), "".as_ref()).unwrap();
        let vault_key = VaultKey::from_bytes([5; 32]);
        let sealed = PermissionSecrets::new("id-1", "s3cret", Some(&vault_key)).seal(&keys, "c-1");
        assert!(!sealed.contains("s3cret"));
        assert!(PermissionSecrets::open(&keys, "c-2", &sealed).is_none());
        let opened = PermissionSecrets::open(&keys, "c-1", &sealed).unwrap();
        assert_eq!(opened.vault_key().unwrap().to_bytes(), vault_key.to_bytes());
        let Credentials::ApplicationCredential { secret, .. } = opened.credentials() else {
            panic!("another login");
        };
        assert_eq!(secret.expose(), "s3cret");
    }
}
