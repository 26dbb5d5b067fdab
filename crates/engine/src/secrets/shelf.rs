//! Where a deployment's hidden parameters stand in the vault.
//!
//! The vault is no part of our database, so no transaction covers both. Hence each set of values is a secret of
//! its own: it is kept first, under a name at which nothing points; the transaction that takes up a change makes the
//! deployment point at it. A change that is refused leaves what was there, and what a crash leaves over is known by
//! the names that were written down before.

use std::collections::BTreeMap;

use serde_json::Value;
use store::{Store, to_json};
use uuid::Uuid;

use crate::{
    Error, Result, Tenant,
    driver::{DriverError, Vault},
};

const GONE: &str =
    "the secret that has the hidden parameters of this deployment is gone from the key manager";

const OTHER: &str =
    "the secret that has the hidden parameters of this deployment was replaced by something else";

/// The hidden parameters of one deployment.
pub(crate) struct Shelf<'a> {
    pub store: &'a Store,
    pub vault: &'a dyn Vault,
    pub tenant: &'a Tenant,
    pub deployment: &'a str,
}

impl Shelf<'_> {
    /// Keeps values for a change that is about to be taken up. Returns the name.
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

    /// The values under a name; none where nothing was ever kept.
    ///
    /// # Errors
    /// [`Error::Lost`] where the secret is gone or cannot be opened: no values are not the same as none that
    /// are known, for defaults would come in their place.
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

    /// Migration 0206 gave these names to every deployment, those without hidden parameters included.
    fn may_be_empty(&self, name: &str) -> bool {
        let first = format!("stackloom-{}-parameters", self.deployment);
        name == first || name.strip_prefix(&first) == Some("-good")
    }

    /// The change was not taken up.
    pub async fn give_up(&self, name: &str) {
        let marked = self.store.hidden_reject(self.tenant, name).await;
        self.tidy_up_after(marked).await;
    }

    /// Removes what neither the deployment nor its last good state points at.
    pub async fn forget_useless(&self) {
        let store = self.store;
        let marked = store
            .hidden_release_unused(self.tenant, self.deployment)
            .await;
        self.tidy_up_after(marked).await;
    }

    /// Removes all that the deployment has.
    pub async fn forget_all(&self) {
        let store = self.store;
        let marked = store.hidden_release_all(self.tenant, self.deployment).await;
        self.tidy_up_after(marked).await;
    }

    async fn tidy_up_after(&self, marked: store::Result<()>) {
        if let Err(error) = marked {
            tracing::warn!(%error, "hidden parameters of no use stay for now");
        }
        self.tidy_up().await;
    }

    /// Removes what is of no use, the project's leavings from earlier included. What cannot be removed is
    /// tried again with the next change.
    pub async fn tidy_up(&self) {
        let going = self.store.hidden_list_released(self.tenant).await;
        for name in going.unwrap_or_default() {
            if let Err(error) = self.vault.forget(&name).await {
                tracing::warn!(%error, name, "hidden parameters of no use stay in the vault for now");
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
        other => Error::NotNow(other.to_string()),
    }
}

/// What a vault says of a secret that it has and does not give is final; a cloud or a database that fails says nothing of it.
fn unread(error: DriverError) -> Error {
    match from_vault(error) {
        Error::NotNow(why) => Error::Lost(why),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_fails_has_lost_nothing() {
        let busy = unread(DriverError::Storage(store::testing::transient_error()));
        assert!(matches!(busy, Error::Storage(_)), "{busy:?}");
        let sealed = unread(DriverError::Other("sealed by another person".into()));
        assert!(matches!(sealed, Error::Lost(_)), "{sealed:?}");
    }
}
