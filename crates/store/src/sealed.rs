//! Sealed values. The caller seals and opens them; the store cannot read their text.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Error, Result, Store, Tenant, Transaction, database::Database};

/// The kind of a sealed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedKind {
    /// A run's token and hidden parameters, sealed with the server's own key. The name is the run's id; the row is
    /// deleted when the run ends.
    Run,
    /// A private key or hidden parameters, sealed with a key that only the user can derive, for clouds without a key
    /// manager.
    Vault,
}

/// The sealed secrets of a run, as stored.
#[derive(Clone, Debug)]
pub struct SealedRun {
    /// Owner of the run.
    pub tenant: Tenant,
    /// Id of the run.
    pub run: String,
    /// The sealed text.
    pub text: String,
}

/// The columns of a resource that may have sealed values or keyed digests.
#[derive(Clone, Debug)]
pub struct SealedResource {
    /// Id of the deployment.
    pub deployment: String,
    /// Name of the resource.
    pub name: String,
    /// Value of `get_resource`.
    pub reference: Option<Value>,
    /// Values of `get_attr`.
    pub attributes: Option<Map<String, Value>>,
    /// Keyed digests of the hidden parameters' values.
    pub made_with: Option<BTreeMap<String, String>>,
}

impl SealedKind {
    fn text(self) -> &'static str {
        match self {
            SealedKind::Run => "run",
            SealedKind::Vault => "vault",
        }
    }
}

impl Store {
    /// Inserts or replaces a sealed value.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_put(
        &self,
        tenant: &Tenant,
        kind: SealedKind,
        name: &str,
        sealed: &str,
    ) -> Result<()> {
        put(&self.pool, tenant, kind, name, sealed)
            .await
            .map_err(Error::at("storing a sealed value"))
    }

    /// A sealed value.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_find(
        &self,
        tenant: &Tenant,
        kind: SealedKind,
        name: &str,
    ) -> Result<Option<String>> {
        sqlx::query_scalar(
            "SELECT box FROM sealed WHERE kind = $1 AND cloud = $2 AND project_id = $3 AND name = $4",
        )
        .bind(kind.text())
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .fetch_optional(&self.pool)
        .await
        .map_err(Error::at("reading a sealed value"))
    }

    /// Deletes a sealed value.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_delete(&self, tenant: &Tenant, kind: SealedKind, name: &str) -> Result<()> {
        delete(&self.pool, tenant, kind, name)
            .await
            .map_err(Error::at("removing a sealed value"))
    }
}

impl Transaction {
    /// Inserts or replaces a sealed value.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_put(
        &mut self,
        tenant: &Tenant,
        kind: SealedKind,
        name: &str,
        sealed: &str,
    ) -> Result<()> {
        let failed = self.failed();
        put(self.connection(), tenant, kind, name, sealed)
            .await
            .map_err(failed)
    }
}

async fn put<'e>(
    executor: impl sqlx::Executor<'e, Database = Database>,
    tenant: &Tenant,
    kind: SealedKind,
    name: &str,
    sealed: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sealed (kind, cloud, project_id, name, box) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (kind, cloud, project_id, name) DO UPDATE SET box = excluded.box",
    )
    .bind(kind.text())
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .bind(name)
    .bind(sealed)
    .execute(executor)
    .await
    .map(drop)
}

pub(crate) async fn delete<'e>(
    executor: impl sqlx::Executor<'e, Database = Database>,
    tenant: &Tenant,
    kind: SealedKind,
    name: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM sealed WHERE kind = $1 AND cloud = $2 AND project_id = $3 AND name = $4",
    )
    .bind(kind.text())
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .bind(name)
    .execute(executor)
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{deployment_insert_with_run, strangers, tenant};

    #[tokio::test]
    async fn a_sealed_value_is_found_by_its_kind_and_its_owner_only() {
        for database in crate::testing::Database::each().await {
            let (store, owner) = (&database.store, tenant());
            let (run, vault) = (SealedKind::Run, SealedKind::Vault);
            for sealed in ["first", "second"] {
                store.sealed_put(&owner, run, "n", sealed).await.unwrap();
            }
            for stranger in strangers() {
                let found = store.sealed_find(&stranger, run, "n").await.unwrap();
                assert_eq!(found, None);
                store.sealed_delete(&stranger, run, "n").await.unwrap();
            }
            assert_eq!(store.sealed_find(&owner, vault, "n").await.unwrap(), None);
            store.sealed_delete(&owner, vault, "n").await.unwrap();
            let found = store.sealed_find(&owner, run, "n").await.unwrap();
            assert_eq!(found.as_deref(), Some("second"));
            store.sealed_delete(&owner, run, "n").await.unwrap();
            assert_eq!(store.sealed_find(&owner, run, "n").await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn an_operator_seals_the_secrets_of_runs_anew() {
        for database in crate::testing::Database::each().await {
            let (store, operator) = (&database.store, &database.operator);
            let (owner, run) = (tenant(), SealedKind::Run);
            store.sealed_put(&owner, run, "r", "first").await.unwrap();
            store
                .sealed_put(&owner, SealedKind::Vault, "v", "theirs")
                .await
                .unwrap();
            let listed = operator.sealed_list_runs().await.unwrap();
            assert_eq!(listed.len(), 1);
            operator.sealed_replace(&listed[0], "second").await.unwrap();
            operator.sealed_replace(&listed[0], "late").await.unwrap();
            let found = store.sealed_find(&owner, run, "r").await.unwrap();
            assert_eq!(found.as_deref(), Some("second"));
            assert!(operator.resource_list_sealed().await.unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn secrets_of_long_paused_runs_are_removed() {
        for database in crate::testing::Database::each().await {
            let (store, operator) = (&database.store, &database.operator);
            let (owner, run) = (tenant(), SealedKind::Run);
            for (id, state) in [("paused", "paused"), ("running", "running")] {
                deployment_insert_with_run(store, &owner, id, id).await;
                let state = sqlx::query("UPDATE runs SET state = $1 WHERE id = $2").bind(state);
                crate::testing::execute(store, state.bind(id)).await;
                store.sealed_put(&owner, run, id, "secret").await.unwrap();
                let event = sqlx::query(
                    "INSERT INTO events (run, seq, time, type, body) VALUES ($1, 1, '2026-01-02T00:00:00Z', 'run', '{}')",
                );
                crate::testing::execute(store, event.bind(id)).await;
            }
            let sweep = async |before| operator.sealed_sweep_paused(before).await.unwrap();
            assert_eq!(sweep("2026-01-01T00:00:00Z").await, 0);
            assert_eq!(sweep("2026-01-03T00:00:00Z").await, 1);
            let left = operator.sealed_list_runs().await.unwrap();
            assert_eq!(left[0].run, "running");
        }
    }
}
