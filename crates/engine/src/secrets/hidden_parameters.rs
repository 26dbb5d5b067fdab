//! The location of a deployment's hidden parameters in the vault.
//!
//! The vault is not part of our database, so no transaction covers both. Therefore each set of values is a separate
//! secret. It is stored first, under a name without a reference. The transaction that accepts a change makes the
//! deployment refer to it. A refused change leaves the old values in place. Leftovers of a crash are found by their
//! names, which were recorded before.

use std::collections::BTreeMap;

use serde_json::Value;
use store::{Store, to_json};
use uuid::Uuid;

use crate::{Error, Result, Tenant};
use drivers::{DriverError, Vault};

const GONE: &str =
    "the secret that has the hidden parameters of this deployment is gone from the key manager";

const OTHER: &str =
    "the secret that has the hidden parameters of this deployment was replaced by something else";

/// The hidden parameters of one deployment.
pub(crate) struct HiddenParameters<'a> {
    pub store: &'a Store,
    pub vault: &'a dyn Vault,
    pub tenant: &'a Tenant,
    pub deployment: &'a str,
}

impl HiddenParameters<'_> {
    /// Stores values for a change that is about to be accepted. Returns the name.
    pub async fn put(&self, values: &BTreeMap<String, Value>) -> Result<String> {
        let name = format!(
            "stackloom-{}-parameters-{}",
            self.deployment,
            Uuid::now_v7().simple()
        );
        let store = self.store;
        store
            .hidden_insert(self.tenant, self.deployment, &name)
            .await?;
        match self.vault.put(&name, &to_json(values)).await {
            Ok(_reference) => Ok(name),
            Err(error) => {
                self.give_up(&name).await;
                Err(from_vault(error))
            }
        }
    }

    /// The values under a name. Empty if none were ever stored.
    ///
    /// # Errors
    /// [`Error::Lost`] if the secret is missing or cannot be opened. Lost values are not the same as no values:
    /// defaults would replace them.
    pub async fn get(&self, name: Option<&str>) -> Result<BTreeMap<String, Value>> {
        let Some(name) = name else {
            return Ok(BTreeMap::new());
        };
        match self.vault.get(name).await.map_err(unread)? {
            Some(text) => serde_json::from_str(&text).map_err(|_no_json| Error::Lost(OTHER.into())),
            None if self.may_be_empty(name) => Ok(BTreeMap::new()),
            None => Err(Error::Lost(GONE.into())),
        }
    }

    /// True for the names from migration 0206, which set them for every deployment, even without hidden parameters.
    fn may_be_empty(&self, name: &str) -> bool {
        let first = format!("stackloom-{}-parameters", self.deployment);
        name == first || name.strip_prefix(&first) == Some("-good")
    }

    /// Removes the values of a change that was refused.
    pub async fn give_up(&self, name: &str) {
        let marked = self.store.hidden_reject(self.tenant, name).await;
        self.tidy_up_after(marked).await;
    }

    /// Removes values that neither the deployment nor its last good state refers to.
    pub async fn forget_useless(&self) {
        let store = self.store;
        let marked = store
            .hidden_release_unused(self.tenant, self.deployment)
            .await;
        self.tidy_up_after(marked).await;
    }

    /// Removes all values of the deployment.
    pub async fn forget_all(&self) {
        let store = self.store;
        let marked = store.hidden_release_all(self.tenant, self.deployment).await;
        self.tidy_up_after(marked).await;
    }

    async fn tidy_up_after(&self, marked: store::Result<()>) {
        if let Err(error) = marked {
            tracing::warn!(%error, "unused hidden parameters stay for now");
        }
        self.tidy_up().await;
    }

    /// Removes unused values, including the project's older leftovers. A failed removal is tried again with the next
    /// change.
    pub async fn tidy_up(&self) {
        let going = self.store.hidden_list_released(self.tenant).await;
        for name in going.unwrap_or_default() {
            if let Err(error) = self.vault.delete(&name).await {
                tracing::warn!(%error, name, "unused hidden parameters stay in the vault for now");
                continue;
            }
            let forgotten = self.store.hidden_delete(self.tenant, &name).await;
            if let Err(error) = forgotten {
                tracing::warn!(%error, name, "a name of hidden parameters stays");
            }
        }
    }
}

fn from_vault(error: DriverError) -> Error {
    match error {
        DriverError::Cloud(error) => Error::Cloud(error),
        DriverError::Storage(error) => Error::Storage(error),
        other => Error::NotPossibleNow(other.to_string()),
    }
}

/// A vault's refusal to return an existing secret is permanent. A failure of the cloud or the database is not.
fn unread(error: DriverError) -> Error {
    match from_vault(error) {
        Error::NotPossibleNow(why) => Error::Lost(why),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_database_loses_no_hidden_value() {
        let busy = unread(DriverError::Storage(store::testing::transient_error()));
        assert!(matches!(busy, Error::Storage(_)), "{busy:?}");
        let sealed = unread(DriverError::Other("sealed by another user".into()));
        assert!(matches!(sealed, Error::Lost(_)), "{sealed:?}");
    }
}
