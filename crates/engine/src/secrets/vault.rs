//! The location of a deployment's secrets: the cloud's key manager, or else the sealed store.
//!
//! A cloud can get a key manager later. Older secrets are still in the sealed store then, so it is searched too.

use async_trait::async_trait;
use openstack::{Secret, Service, Session};
use store::{SealedKind, Store};

use super::SealingKey;
use crate::{Tenant, VaultKey};
use drivers::{DriverError, Vault};

/// The vault of one user in one project.
pub struct RunVault {
    session: Session,
    store: Store,
    tenant: Tenant,
    /// True if the cloud has Barbican, which is used with the user's token.
    has_key_manager: bool,
    /// The key of the sealed store, which the user can derive. Without it and without a key manager, storing a secret
    /// fails with a reason.
    key: Option<SealingKey>,
}

const NOWHERE: &str = "there is nowhere to keep a secret: the cloud has no key manager, and a login by token cannot seal it. Log in \
    with a password or an application credential, and start again";

impl RunVault {
    /// The vault of a session's cloud.
    pub fn new(session: Session, store: Store, tenant: Tenant, key: Option<VaultKey>) -> RunVault {
        RunVault {
            has_key_manager: session.has_service(Service::KeyManager),
            key: key.map(|key| SealingKey::new(key.0)),
            session,
            store,
            tenant,
        }
    }

    /// True if secrets can be stored at all.
    pub fn is_there(&self) -> bool {
        self.has_key_manager || self.key.is_some()
    }

    fn purpose(&self, name: &str) -> String {
        format!(
            "vault/{}/{}/{name}",
            self.tenant.cloud, self.tenant.project_id
        )
    }
}

#[async_trait]
impl Vault for RunVault {
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError> {
        if self.has_key_manager {
            let manager = self.session.key_manager();
            return Ok(manager.secret_put(name, &Secret::new(secret)).await?);
        }
        let Some(key) = &self.key else {
            return Err(DriverError::Other(NOWHERE.into()));
        };
        let sealed = key.seal(&self.purpose(name), secret);
        let stored = self
            .store
            .sealed_put(&self.tenant, SealedKind::Vault, name, &sealed);
        stored.await.map_err(DriverError::Storage)?;
        Ok(format!("sealed:{name}"))
    }

    async fn get(&self, name: &str) -> Result<Option<String>, DriverError> {
        if self.has_key_manager
            && let Some(secret) = self.session.key_manager().secret_get(name).await?
        {
            return Ok(Some(secret.expose().to_owned()));
        }
        let sealed = self
            .store
            .sealed_find(&self.tenant, SealedKind::Vault, name);
        let sealed = sealed.await.map_err(DriverError::Storage)?;
        match (&self.key, sealed) {
            (_, None) => Ok(None),
            (Some(key), Some(sealed)) => key.open(&self.purpose(name), &sealed).map(|secret| Some(secret.to_string())).map_err(|_key| {
                DriverError::Other(format!(
                    "the secret `{name}` was sealed by another user, or with a password that has changed since; only that user can open it, with that password"
                ))
            }),
            (None, Some(_)) => Err(DriverError::Other(format!(
                "the secret `{name}` is sealed; log in with the password or application credential that it was sealed with"
            ))),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), DriverError> {
        if self.has_key_manager {
            self.session.key_manager().secret_forget(name).await?;
        }
        let deleted = self
            .store
            .sealed_delete(&self.tenant, SealedKind::Vault, name);
        deleted.await.map_err(DriverError::Storage)
    }
}
