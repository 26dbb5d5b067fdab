//! Where a deployment's secrets are kept: the cloud's key manager, else the sealed store.

use async_trait::async_trait;
use openstack::{Secret, Service, Session};
use sqlx::SqlitePool;

use super::SealingKey;
use crate::{
    Tenant, VaultKey,
    driver::{DriverError, Vault},
};

/// The vault of one person in one project.
pub struct RunVault {
    session: Session,
    pool: SqlitePool,
    tenant: Tenant,
    place: Place,
}

enum Place {
    /// Barbican, under the person's token.
    KeyManager,
    /// Our table, under a key that the person makes.
    Sealed(SealingKey),
    /// There is none: keeping fails, and says why.
    Nowhere,
}

const NOWHERE: &str = "there is nowhere to keep a secret: the cloud has no key manager, and a login by token cannot seal it. Log in \
    with a password or an application credential, and start again";

impl RunVault {
    /// As the session's cloud offers it.
    pub fn new(
        session: Session,
        pool: SqlitePool,
        tenant: Tenant,
        key: Option<VaultKey>,
    ) -> RunVault {
        let place = match key {
            _ if session.has_service(Service::KeyManager) => Place::KeyManager,
            Some(key) => Place::Sealed(SealingKey::new(key.0)),
            None => Place::Nowhere,
        };
        RunVault {
            session,
            pool,
            tenant,
            place,
        }
    }

    /// Whether secrets can be kept at all.
    pub fn is_there(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    fn purpose(&self, name: &str) -> String {
        format!(
            "vault/{}/{}/{name}",
            self.tenant.cloud, self.tenant.project_id
        )
    }
}

fn stored(error: sqlx::Error) -> DriverError {
    DriverError::Other(format!("the sealed store failed: {error}"))
}

#[async_trait]
impl Vault for RunVault {
    async fn put(&self, name: &str, secret: &str) -> Result<String, DriverError> {
        match &self.place {
            Place::KeyManager => Ok(self
                .session
                .key_manager()
                .secret_put(name, &Secret::new(secret))
                .await?),
            Place::Sealed(key) => {
                sqlx::query(
                    "INSERT INTO sealed (kind, cloud, project_id, name, box) VALUES ('vault', ?, ?, ?, ?) \
                     ON CONFLICT (kind, cloud, project_id, name) DO UPDATE SET box = excluded.box",
                )
                .bind(&self.tenant.cloud)
                .bind(&self.tenant.project_id)
                .bind(name)
                .bind(key.seal(&self.purpose(name), secret))
                .execute(&self.pool)
                .await
                .map_err(stored)?;
                Ok(format!("sealed:{name}"))
            }
            Place::Nowhere => Err(DriverError::Other(NOWHERE.into())),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<String>, DriverError> {
        if let Place::KeyManager = self.place {
            let secret = self.session.key_manager().secret_get(name).await?;
            return Ok(secret.map(|secret| secret.expose().to_owned()));
        }
        let sealed: Option<String> =
            sqlx::query_scalar("SELECT box FROM sealed WHERE kind = 'vault' AND cloud = ? AND project_id = ? AND name = ?")
                .bind(&self.tenant.cloud)
                .bind(&self.tenant.project_id)
                .bind(name)
                .fetch_optional(&self.pool)
                .await
                .map_err(stored)?;
        match (&self.place, sealed) {
            (_, None) => Ok(None),
            (Place::Sealed(key), Some(sealed)) => key.open(&self.purpose(name), &sealed).map(|secret| Some(secret.to_string())).map_err(|_key| {
                DriverError::Other(format!(
                    "the secret `{name}` was sealed by another person, or with a password that has changed since; only they can open it"
                ))
            }),
            (_, Some(_)) => Err(DriverError::Other(format!(
                "the secret `{name}` is sealed; log in with the password or application credential that it was sealed with"
            ))),
        }
    }

    async fn forget(&self, name: &str) -> Result<(), DriverError> {
        if let Place::KeyManager = self.place {
            return Ok(self.session.key_manager().secret_forget(name).await?);
        }
        sqlx::query(
            "DELETE FROM sealed WHERE kind = 'vault' AND cloud = ? AND project_id = ? AND name = ?",
        )
        .bind(&self.tenant.cloud)
        .bind(&self.tenant.project_id)
        .bind(name)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(stored)
    }
}
