//! What a run needs of its person, sealed while the run lasts, gone when it ends.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{SqliteConnection, SqlitePool};
use zeroize::{Zeroize, Zeroizing};

use super::SealingKey;
use crate::{Error, Result, Tenant, VaultKey};

/// Token, hidden parameters, and the key to the sealed vault where there is no key manager.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunSecrets {
    /// A Keystone token of the person.
    pub token: String,
    /// Values of hidden parameters.
    pub parameters: BTreeMap<String, Value>,
    /// Base64.
    vault_key: Option<String>,
}

impl RunSecrets {
    /// All of it.
    pub fn new(
        token: &str,
        parameters: BTreeMap<String, Value>,
        vault_key: Option<&VaultKey>,
    ) -> RunSecrets {
        RunSecrets {
            token: token.to_owned(),
            parameters,
            vault_key: vault_key.map(|key| STANDARD.encode(key.0.as_ref())),
        }
    }

    /// The key to the sealed vault.
    pub fn vault_key(&self) -> Option<VaultKey> {
        let bytes = Zeroizing::new(STANDARD.decode(self.vault_key.as_ref()?).ok()?);
        Some(VaultKey(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }
}

impl Drop for RunSecrets {
    fn drop(&mut self) {
        self.token.zeroize();
        self.vault_key.zeroize();
    }
}

impl std::fmt::Debug for RunSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunSecrets(***)")
    }
}

fn purpose(run: &str) -> String {
    format!("run/{run}")
}

/// Seals and stores them; what was stored for the run before is replaced.
pub(crate) async fn store_run(
    connection: &mut SqliteConnection,
    key: &SealingKey,
    tenant: &Tenant,
    run: &str,
    secrets: &RunSecrets,
) -> Result<()> {
    let text = Zeroizing::new(crate::journal::to_json(secrets));
    sqlx::query(
        "INSERT INTO sealed (kind, cloud, project_id, name, box) VALUES ('run', ?, ?, ?, ?) \
         ON CONFLICT (kind, cloud, project_id, name) DO UPDATE SET box = excluded.box",
    )
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .bind(run)
    .bind(key.seal(&purpose(run), &text))
    .execute(connection)
    .await
    .map(drop)
    .map_err(Error::storage("sealing a run's token"))
}

/// Opens them. `None` where they are gone, or sealed with a key that is.
pub(crate) async fn load_run(
    pool: &SqlitePool,
    key: &SealingKey,
    tenant: &Tenant,
    run: &str,
) -> Result<Option<RunSecrets>> {
    let sealed: Option<String> = sqlx::query_scalar(
        "SELECT box FROM sealed WHERE kind = 'run' AND cloud = ? AND project_id = ? AND name = ?",
    )
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .bind(run)
    .fetch_optional(pool)
    .await
    .map_err(Error::storage("reading a run's token"))?;
    Ok(sealed
        .and_then(|sealed| key.open(&purpose(run), &sealed).ok())
        .and_then(|text| serde_json::from_str(&text).ok()))
}
