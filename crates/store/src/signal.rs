//! Signals from outside to resources: results that servers report to a wait condition handle.
//!
//! A signal belongs to one creation of a resource: a successor with the same name has none of its signals.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;

use crate::{
    Error, Result, Store, Tenant,
    column::{from_json, from_text, now_text, to_json, to_text},
    database::{Row, read_all, read_one, statement},
};

/// Maximum number of signals of a resource.
pub const SIGNALS_MAX: u32 = 1000;

/// One creation of a resource, as the target of signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalTarget {
    /// Owner of the deployment.
    pub tenant: Tenant,
    /// Id of the deployment.
    pub deployment: String,
    /// Name of the resource, also for an older copy.
    pub resource: String,
    /// Number of the resource among all that had the name.
    pub incarnation: u32,
}

/// The result that a sender reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalStatus {
    /// The signalled work is done.
    Success,
    /// The signalled work has failed.
    Failure,
}

/// A signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Id that the sender chose, or the number of the signal.
    pub id: String,
    /// The reported result.
    pub status: SignalStatus,
    /// The sender's reason.
    pub reason: String,
    /// The sender's data.
    pub data: Value,
}

/// A signal that arrives. The fields without a value get Heat's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSignal {
    /// Defaults to the number of the signal.
    pub id: Option<String>,
    /// The reported result.
    pub status: SignalStatus,
    /// Defaults to the number of the signal, as a sentence.
    pub reason: Option<String>,
    /// The sender's data.
    pub data: Value,
    /// The server and the file that it was fetched from. It is stored once. `None` for signals over HTTP.
    pub source: Option<String>,
}

/// The treatment of a signal that arrived.
#[must_use = "the sender must be told of a signal that is not stored"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOutcome {
    /// The signal is stored.
    Stored,
    /// The resource is gone or was replaced.
    NoTarget,
    /// The resource has [`SIGNALS_MAX`] signals with other ids.
    Full,
}

const TARGET: &str = "SELECT type FROM resources WHERE deployment = $1 AND name = $4 AND incarnation = $5 AND state <> 'deleted' \
    AND deployment IN (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)";

const OF_TARGET: &str = "deployment = $1 AND resource = $4 AND incarnation = $5 \
    AND deployment IN (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)";

impl Store {
    /// Stores a signal. It replaces an earlier one with the same id. One that was stored from the same source stays as it
    /// is.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn signal_put(
        &self,
        target: &SignalTarget,
        signal: &NewSignal,
    ) -> Result<SignalOutcome> {
        let mut transaction = self.begin("storing a signal").await?;
        // The row is locked, so that the numbers of simultaneous signals differ.
        let exists = sqlx::query(statement(&[TARGET, self.kind.lock_rows()]));
        let exists = of(exists, target)
            .fetch_optional(transaction.connection())
            .await
            .map_err(transaction.failed())?;
        if exists.is_none() {
            return Ok(SignalOutcome::NoTarget);
        }
        let known = sqlx::query(statement(&[
            "SELECT id, source FROM signals WHERE ",
            OF_TARGET,
        ]));
        let known = of(known, target).fetch_all(transaction.connection()).await;
        let known: Vec<(String, Option<String>)> = read_all(
            known,
            |row: &Row| Ok((row.try_get("id")?, row.try_get("source")?)),
            "storing a signal",
        )?;
        let (ids, sources): (Vec<_>, Vec<_>) = known.into_iter().unzip();
        if signal.source.is_some() && sources.contains(&signal.source) {
            return Ok(SignalOutcome::Stored);
        }
        let number = ids.len() + 1;
        let id = signal.id.clone().unwrap_or_else(|| number.to_string());
        if ids.len() >= SIGNALS_MAX as usize && !ids.contains(&id) {
            return Ok(SignalOutcome::Full);
        }
        let reason = signal.reason.clone();
        let insert = sqlx::query(
            "INSERT INTO signals (deployment, resource, incarnation, id, status, reason, data, at, source) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (deployment, resource, incarnation, id) \
             DO UPDATE SET status = excluded.status, reason = excluded.reason, data = excluded.data, at = excluded.at, \
             source = excluded.source",
        )
        .bind(&target.deployment)
        .bind(&target.resource)
        .bind(i64::from(target.incarnation))
        .bind(id)
        .bind(to_text(&signal.status))
        .bind(reason.unwrap_or_else(|| format!("Signal {number} received")))
        .bind(to_json(&signal.data))
        .bind(now_text())
        .bind(signal.source.as_deref());
        insert
            .execute(transaction.connection())
            .await
            .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(SignalOutcome::Stored)
    }

    /// Type of a target's resource. `None` if it is gone or was replaced.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn signal_target_type(&self, target: &SignalTarget) -> Result<Option<String>> {
        let found = sqlx::query(statement(&[TARGET]));
        let found = of(found, target).fetch_optional(&self.pool).await;
        read_one(
            found,
            |row: &Row| row.try_get("type"),
            "looking for the target of a signal",
        )
    }

    /// A resource's signals, oldest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn signal_list(&self, target: &SignalTarget) -> Result<Vec<Signal>> {
        let rows = sqlx::query(statement(&[
            "SELECT id, status, reason, data FROM signals WHERE ",
            OF_TARGET,
            " ORDER BY at, id",
        ]));
        let rows = of(rows, target).fetch_all(&self.pool).await;
        read_all(rows, signal, "reading signals")
    }

    /// Deletes a resource's signals, or only those with one result.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn signal_delete(
        &self,
        target: &SignalTarget,
        status: Option<SignalStatus>,
    ) -> Result<()> {
        let delete = sqlx::query(statement(&[
            "DELETE FROM signals WHERE ",
            OF_TARGET,
            " AND COALESCE($6, status) = status",
        ]));
        of(delete, target)
            .bind(status.map(|status| to_text(&status)))
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("removing signals"))
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Any, sqlx::any::AnyArguments>;

/// Binds the first five parameters.
fn of<'q>(query: Query<'q>, target: &'q SignalTarget) -> Query<'q> {
    query
        .bind(&target.deployment)
        .bind(&target.tenant.cloud)
        .bind(&target.tenant.project_id)
        .bind(&target.resource)
        .bind(i64::from(target.incarnation))
}

fn signal(row: &Row) -> sqlx::Result<Signal> {
    Ok(Signal {
        id: row.try_get("id")?,
        status: from_text(row.try_get("status")?)?,
        reason: row.try_get("reason")?,
        data: from_json(row.try_get("data")?)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{self, Database, strangers, tenant};

    fn target() -> SignalTarget {
        SignalTarget {
            tenant: tenant(),
            deployment: "d".into(),
            resource: "handle".into(),
            incarnation: 1,
        }
    }

    fn with_id(id: Option<&str>) -> NewSignal {
        NewSignal {
            id: id.map(str::to_owned),
            status: SignalStatus::Success,
            reason: None,
            data: json!({"port": 80}),
            source: None,
        }
    }

    /// A database with the second incarnation of `handle`.
    async fn prepare(database: &Database) {
        testing::deployment_insert(&database.store, &tenant(), "d").await;
        let insert = sqlx::query(
            "INSERT INTO resources (deployment, name, type, spec, state, incarnation) \
             VALUES ('d', 'handle', 'OS::Heat::WaitConditionHandle', '{}', 'ready', 1)",
        );
        testing::execute(&database.store, insert).await;
    }

    #[tokio::test]
    async fn signals_are_numbered_and_replaced_by_id() {
        for database in Database::each().await {
            prepare(&database).await;
            let store = &database.store;
            for id in [None, Some("db"), None, Some("db")] {
                let stored = store.signal_put(&target(), &with_id(id)).await.unwrap();
                assert_eq!(stored, SignalOutcome::Stored);
            }
            let failed = NewSignal {
                status: SignalStatus::Failure,
                reason: Some("no disk".into()),
                ..with_id(Some("1"))
            };
            let stored = store.signal_put(&target(), &failed).await.unwrap();
            assert_eq!(stored, SignalOutcome::Stored);
            let mut listed = store.signal_list(&target()).await.unwrap();
            listed.sort_by(|one, other| one.id.cmp(&other.id));
            let shown: Vec<_> = listed
                .iter()
                .map(|one| (one.id.as_str(), one.status, one.reason.as_str()))
                .collect();
            assert_eq!(
                shown,
                [
                    ("1", SignalStatus::Failure, "no disk"),
                    ("3", SignalStatus::Success, "Signal 3 received"),
                    ("db", SignalStatus::Success, "Signal 4 received"),
                ]
            );
            assert_eq!(listed[1].data, json!({"port": 80}));
            let failures = Some(SignalStatus::Failure);
            store.signal_delete(&target(), failures).await.unwrap();
            assert_eq!(store.signal_list(&target()).await.unwrap().len(), 2);
            store.signal_delete(&target(), None).await.unwrap();
            assert_eq!(store.signal_list(&target()).await.unwrap(), []);
        }
    }

    #[tokio::test]
    async fn a_file_of_a_server_is_stored_once() {
        for database in Database::each().await {
            prepare(&database).await;
            let store = &database.store;
            for source in ["web/1", "web/1", "web/2", "db/1"] {
                let signal = NewSignal {
                    source: Some(source.into()),
                    ..with_id(None)
                };
                let stored = store.signal_put(&target(), &signal).await.unwrap();
                assert_eq!(stored, SignalOutcome::Stored);
            }
            assert_eq!(store.signal_list(&target()).await.unwrap().len(), 3);
        }
    }

    #[tokio::test]
    async fn simultaneous_signals_without_an_id_all_count() {
        for database in Database::each().await {
            prepare(&database).await;
            let store = &database.store;
            let mut puts = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let store = store.clone();
                puts.spawn(async move { store.signal_put(&target(), &with_id(None)).await });
            }
            for stored in puts.join_all().await {
                assert_eq!(stored.unwrap(), SignalOutcome::Stored);
            }
            assert_eq!(store.signal_list(&target()).await.unwrap().len(), 20);
        }
    }

    #[tokio::test]
    async fn only_the_present_resource_of_the_project_is_signalled() {
        for database in Database::each().await {
            prepare(&database).await;
            let store = &database.store;
            let signal = with_id(None);
            let others = strangers().map(|tenant| SignalTarget { tenant, ..target() });
            let replaced = SignalTarget {
                incarnation: 0,
                ..target()
            };
            let stored = store.signal_put(&target(), &signal).await.unwrap();
            assert_eq!(stored, SignalOutcome::Stored);
            for other in others.into_iter().chain([replaced]) {
                let stored = store.signal_put(&other, &signal).await.unwrap();
                assert_eq!(stored, SignalOutcome::NoTarget);
                assert_eq!(store.signal_list(&other).await.unwrap(), []);
                store.signal_delete(&other, None).await.unwrap();
            }
            assert_eq!(store.signal_list(&target()).await.unwrap().len(), 1);
            let delete = sqlx::query("UPDATE resources SET state = 'deleted'");
            testing::execute(store, delete).await;
            let stored = store.signal_put(&target(), &signal).await.unwrap();
            assert_eq!(stored, SignalOutcome::NoTarget);
        }
    }

    #[tokio::test]
    async fn the_signals_of_a_resource_are_limited() {
        for database in Database::each().await {
            prepare(&database).await;
            let store = &database.store;
            let fill = sqlx::query(
                "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000) \
                 INSERT INTO signals (deployment, resource, incarnation, id, status, reason, data, at) \
                 SELECT 'd', 'handle', 1, CAST(n AS TEXT), 'SUCCESS', '', 'null', '2026-01-02T00:00:00Z' FROM numbers",
            );
            testing::execute(store, fill).await;
            for (id, outcome) in [
                (None, SignalOutcome::Full),
                (Some("new"), SignalOutcome::Full),
                (Some("7"), SignalOutcome::Stored),
            ] {
                let stored = store.signal_put(&target(), &with_id(id)).await.unwrap();
                assert_eq!(stored, outcome, "{id:?}");
            }
        }
    }
}
