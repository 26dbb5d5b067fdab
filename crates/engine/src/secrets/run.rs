//! The user's secrets for a run: sealed during the run, removed when it ends.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{SealedKind, Store};
use zeroize::{Zeroize, Zeroizing};

use super::{CommandContent, SealingKeys};
use crate::{Result, Tenant, VaultKey};

/// Token, hidden parameters, a command's content, and the key of the sealed vault if there is no key manager.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunSecrets {
    /// A Keystone token of the user.
    pub token: String,
    /// Values of hidden parameters.
    pub parameters: BTreeMap<String, Value>,
    /// The key of the sealed vault, in base64.
    vault_key: Option<String>,
    /// The content of the command, if the run is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<Box<CommandContent>>,
}

impl RunSecrets {
    /// The secrets of a new run.
    pub fn new(
        token: &str,
        parameters: BTreeMap<String, Value>,
        vault_key: Option<&VaultKey>,
    ) -> RunSecrets {
        RunSecrets {
            token: token.to_owned(),
            parameters,
            vault_key: vault_key.map(|key| STANDARD.encode(key.0.as_ref())),
            command: None,
        }
    }

    /// Adds the content of a command.
    pub(crate) fn with_command(mut self, command: Option<Box<CommandContent>>) -> RunSecrets {
        self.command = command;
        self
    }

    /// The key of the sealed vault.
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

pub(crate) fn purpose(run: &str) -> String {
    format!("run/{run}")
}

/// Seals a run's secrets for [`SealedKind::Run`].
pub(crate) fn seal_run(key: &SealingKeys, run: &str, secrets: &RunSecrets) -> String {
    let text = Zeroizing::new(store::to_json(secrets));
    key.seal(&purpose(run), &text)
}

/// Reads and opens a run's secrets. `None` if they are missing, or sealed with another key.
pub(crate) async fn load_run(
    store: &Store,
    key: &SealingKeys,
    tenant: &Tenant,
    run: &str,
) -> Result<Option<RunSecrets>> {
    let sealed = store.sealed_find(tenant, SealedKind::Run, run).await?;
    Ok(sealed
        .and_then(|sealed| key.open(&purpose(run), &sealed).ok())
        .and_then(|text| serde_json::from_str(&text).ok()))
}
