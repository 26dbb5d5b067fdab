//! Queries across tenants: recovery after a start, the deletion of expired sessions, metrics, and ids that any
//! deployment has recorded.
//!
//! [`open`](crate::open) and [`connect`](crate::connect()) create the only [`Operator`], for the program's start. It is
//! not accessible from a [`Store`], so a route with a store cannot make these queries.

use std::path::Path;

use api::RunState;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row as _};

use crate::{
    CreationKey, CreationsNow, Error, OpenSessions, Result, SealedResource, SealedRun, Store,
    Tenant,
    column::{from_json_column, from_text, to_json, to_u32},
    connect::{self, DatabaseUrl},
    creation,
    database::{Row, parameters, read_all},
    log,
};

/// Opens a database file, creates it if it is missing, and applies the migrations.
///
/// With the write-ahead log, readers and the writer work at the same time. `synchronous = NORMAL` loses the last
/// moments in a power cut and never corrupts the file; the [`Appender`](crate::Appender) sets more durability if
/// necessary.
///
/// # Errors
/// If the file cannot be opened, or its schema is newer than the program's.
pub async fn open(path: &Path) -> Result<Operator> {
    Ok(Operator::new(connect::open(path).await?))
}

/// Connects to a PostgreSQL server and applies the migrations.
///
/// # Errors
/// If the server does not respond or refuses the user, or the schema is newer than the program's.
pub async fn connect(url: &DatabaseUrl) -> Result<Operator> {
    Ok(Operator::new(connect::connect(url).await?))
}

/// The handle for queries across tenants. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Operator {
    store: Store,
}

/// Maximum number of ids in one query: far below the limit of 32,766 values in SQLite and 65,535 in PostgreSQL.
const IDS: usize = 500;

impl Operator {
    pub(crate) fn new(store: Store) -> Operator {
        Operator { store }
    }

    /// The handle for requests and runs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    // ---- sweeps ----

    /// A deployment's creations, and the given ids that any deployment has recorded. All are read in one transaction,
    /// after the search of the cloud: by then, requests of attempts that began before the search are in flight or
    /// recorded.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creations_now(
        &self,
        tenant: &Tenant,
        deployment: &str,
        ids: &[String],
    ) -> Result<CreationsNow> {
        self.read_creations_now(tenant, deployment, ids)
            .await
            .map_err(Error::at("reading creations"))
    }

    async fn read_creations_now(
        &self,
        tenant: &Tenant,
        deployment: &str,
        ids: &[String],
    ) -> sqlx::Result<CreationsNow> {
        let mut now = CreationsNow::default();
        let begin = self.store.kind.begin_reading();
        let mut transaction = self.store.pool.begin_with(begin).await?;
        let creations = sqlx::query(creation::OF_DEPLOYMENT)
            .bind(deployment)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .fetch_all(&mut *transaction)
            .await?;
        for row in &creations {
            let creation = creation::creation(row)?;
            now.creations.insert(creation.key.clone(), creation);
        }
        for ids in ids.chunks(IDS) {
            // The object of an `external_id` resource counts as recorded even before that resource is read.
            for column in ["physical_id", "external_id"] {
                let query = format!(
                    "SELECT DISTINCT {column} FROM resources WHERE state <> 'deleted' AND {column} IN {}",
                    parameters(1, ids.len())
                );
                let mut found = sqlx::query_scalar::<_, String>(AssertSqlSafe(query));
                for id in ids {
                    found = found.bind(id);
                }
                now.recorded
                    .extend(found.fetch_all(&mut *transaction).await?);
            }
        }
        let without_id = sqlx::query(
            "SELECT r.name, r.incarnation, r.type FROM resources r JOIN deployments d ON d.id = r.deployment \
             WHERE r.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 AND r.physical_id IS NULL AND r.state <> 'deleted'",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&mut *transaction)
        .await?;
        now.without_id = without_id.iter().map(key).collect::<sqlx::Result<_>>()?;
        Ok(now)
    }

    // ---- sessions and metrics ----

    /// Deletes all sessions but the open ones. Returns their number.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_sweep(&self, open: OpenSessions) -> Result<u64> {
        let done = sqlx::query("DELETE FROM sessions WHERE expires <= $1 OR seen <= $2")
            .bind(open.now)
            .bind(open.idle_since)
            .execute(&self.store.pool)
            .await
            .map_err(Error::at("removing expired sessions"))?;
        Ok(done.rows_affected())
    }

    // ---- sealed values ----

    /// The sealed secrets of all runs.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_list_runs(&self) -> Result<Vec<SealedRun>> {
        let rows =
            sqlx::query("SELECT cloud, project_id, name, box FROM sealed WHERE kind = 'run'")
                .fetch_all(&self.store.pool)
                .await;
        let sealed = |row: &Row| {
            Ok(SealedRun {
                tenant: Tenant {
                    cloud: row.try_get("cloud")?,
                    project_id: row.try_get("project_id")?,
                },
                run: row.try_get("name")?,
                text: row.try_get("box")?,
            })
        };
        read_all(rows, sealed, "listing sealed values")
    }

    /// Replaces the sealed secrets of a run, unless they have changed meanwhile.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_replace(&self, old: &SealedRun, text: &str) -> Result<()> {
        sqlx::query(
            "UPDATE sealed SET box = $1 WHERE kind = 'run' AND cloud = $2 AND project_id = $3 AND name = $4 AND box = $5",
        )
        .bind(text)
        .bind(&old.tenant.cloud)
        .bind(&old.tenant.project_id)
        .bind(&old.run)
        .bind(&old.text)
        .execute(&self.store.pool)
        .await
        .map(drop)
        .map_err(Error::at("sealing a value anew"))
    }

    /// Deletes the sealed secrets of runs that have been paused since before a time, in RFC 3339. Returns their number.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn sealed_sweep_paused(&self, before: &str) -> Result<u64> {
        let done = sqlx::query(
            "DELETE FROM sealed WHERE kind = 'run' AND name IN (SELECT r.id FROM runs r WHERE r.state = 'paused' \
             AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run = r.id AND e.time >= $1))",
        )
        .bind(before)
        .execute(&self.store.pool)
        .await
        .map_err(Error::at("removing secrets of paused runs"))?;
        Ok(done.rows_affected())
    }

    /// The columns of all resources that may have sealed values or keyed digests.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resource_list_sealed(&self) -> Result<Vec<SealedResource>> {
        let rows = sqlx::query(
            "SELECT deployment, name, reference, attributes, made_with FROM resources WHERE state <> 'deleted' \
             AND (reference LIKE '%Stackloom::Sealed%' OR attributes LIKE '%Stackloom::Sealed%' OR made_with LIKE '%\":\"%')",
        )
        .fetch_all(&self.store.pool)
        .await;
        let sealed = |row: &Row| {
            Ok(SealedResource {
                deployment: row.try_get("deployment")?,
                name: row.try_get("name")?,
                reference: from_json_column(row.try_get("reference")?)?,
                attributes: from_json_column(row.try_get("attributes")?)?,
                made_with: from_json_column(row.try_get("made_with")?)?,
            })
        };
        read_all(rows, sealed, "listing resources with secrets")
    }

    /// Stores these columns of a resource.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resource_replace_sealed(&self, sealed: &SealedResource) -> Result<()> {
        sqlx::query(
            "UPDATE resources SET reference = $1, attributes = $2, made_with = $3 WHERE deployment = $4 AND name = $5",
        )
        .bind(sealed.reference.as_ref().map(to_json))
        .bind(sealed.attributes.as_ref().map(to_json))
        .bind(sealed.made_with.as_ref().map(to_json))
        .bind(&sealed.deployment)
        .bind(&sealed.name)
        .execute(&self.store.pool)
        .await
        .map(drop)
        .map_err(Error::at("sealing attributes anew"))
    }

    /// Deletes the audit events before a time, in RFC 3339, and all but the newest `keep` of each project. Returns their
    /// number.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_sweep(&self, before: &str, keep: u32) -> Result<u64> {
        let statement = "DELETE FROM audit_events WHERE time < $1 OR id IN \
            (SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cloud, project_id ORDER BY id DESC) AS place \
             FROM audit_events) AS numbered WHERE place > $2)";
        let done = sqlx::query(statement)
            .bind(before)
            .bind(i64::from(keep))
            .execute(&self.store.pool)
            .await
            .map_err(Error::at("removing old audit events"))?;
        Ok(done.rows_affected())
    }

    /// Deletes the log lines of runs that ended before a time. Their other events stay. Returns the number of runs.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn log_sweep(&self, before: Timestamp) -> Result<u64> {
        log::sweep(&self.store, before).await
    }

    /// Number of sessions that have not expired at `now`, in Unix seconds.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_count(&self, now: i64) -> Result<i64> {
        sqlx::query_scalar("SELECT COUNT(*) FROM sessions WHERE expires > $1")
            .bind(now)
            .fetch_one(&self.store.pool)
            .await
            .map_err(Error::at("counting sessions"))
    }

    /// Bytes of the texts of all stored log lines.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn log_bytes(&self) -> Result<i64> {
        sqlx::query_scalar("SELECT CAST(COALESCE(SUM(log_bytes), 0) AS BIGINT) FROM journals")
            .fetch_one(&self.store.pool)
            .await
            .map_err(Error::at("counting log lines"))
    }

    /// Number of runs in each state, since the database was created.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_count_by_state(&self) -> Result<Vec<(RunState, i64)>> {
        let rows =
            sqlx::query("SELECT state, COUNT(*) AS runs FROM runs GROUP BY state ORDER BY state")
                .fetch_all(&self.store.pool)
                .await;
        let count = |row: &Row| Ok((from_text(row.try_get("state")?)?, row.try_get("runs")?));
        read_all(rows, count, "counting runs")
    }
}

fn key(row: &Row) -> sqlx::Result<CreationKey> {
    let name: &str = row.try_get("name")?;
    Ok(CreationKey {
        name: planner::workflow::copy_of(name).unwrap_or(name).to_owned(),
        incarnation: to_u32(row.try_get("incarnation")?)?,
        resource_type: row.try_get("type")?,
    })
}
