//! Snapshots of deployments and their parts, a part for each resource.
//!
//! The id of a snapshot is that of the run that takes it. Its parts are stored with that run, before the first request to
//! the cloud; a part without an id in the cloud can exist there nevertheless.

use sqlx::Row as _;

use crate::{
    Error, Outcome, Result, Store, Tenant, Transaction,
    column::to_i64,
    database::{Row, read_all, statement},
};

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Id of the run that takes it.
    pub run: String,
    /// Name for people.
    pub name: String,
    /// Author of that run.
    pub author: String,
    /// Time of that run's creation, in RFC 3339.
    pub created: String,
    /// True if that run has ended.
    pub has_ended: bool,
    /// True once its deletion has begun: it is restored no more.
    pub is_deleting: bool,
    /// Parts of the snapshot, by resource.
    pub parts: Vec<SnapshotPartRow>,
}

/// The part of a snapshot for one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPartRow {
    /// Id of the snapshot.
    pub snapshot: String,
    /// Name of the resource.
    pub resource: String,
    /// Type of the resource.
    pub resource_type: String,
    /// Id of the resource in the cloud.
    pub physical_id: String,
    /// Id of the copy in the cloud. `None` until it is complete.
    pub snapshot_id: Option<String>,
    /// Size of the copy.
    pub bytes: Option<u64>,
}

const PARTS: &str = "SELECT p.snapshot, p.resource, p.type, p.physical_id, p.snapshot_id, p.bytes FROM snapshot_parts p \
    JOIN snapshots s ON s.run = p.snapshot JOIN deployments d ON d.id = s.deployment \
    WHERE s.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 ORDER BY p.snapshot, p.resource";

impl Store {
    /// The snapshots of a deployment with their parts, newest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_list(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<SnapshotRow>> {
        const DOING: &str = "listing snapshots";
        let parts = self.snapshot_part_list(tenant, deployment).await?;
        let rows = sqlx::query(
            "SELECT s.run, s.name, s.deleting, r.author, r.created, r.state FROM snapshots s JOIN runs r ON r.id = s.run \
             WHERE s.deployment = $1 AND r.cloud = $2 AND r.project_id = $3 ORDER BY r.created DESC, s.run DESC",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let read = |row: &Row| {
            let run: String = row.try_get("run")?;
            let state: String = row.try_get("state")?;
            let own = parts.iter().filter(|part| part.snapshot == run);
            Ok(SnapshotRow {
                parts: own.cloned().collect(),
                run,
                name: row.try_get("name")?,
                author: row.try_get("author")?,
                created: row.try_get("created")?,
                has_ended: matches!(state.as_str(), "succeeded" | "failed" | "cancelled"),
                is_deleting: row.try_get::<i64, _>("deleting")? != 0,
            })
        };
        read_all(rows, read, DOING)
    }

    /// The parts of all snapshots of a deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_part_list(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<SnapshotPartRow>> {
        let rows = sqlx::query(PARTS)
            .bind(deployment)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .fetch_all(&self.pool)
            .await;
        read_all(rows, part, "listing parts of snapshots")
    }

    /// Records that a part of the snapshot that a run takes is complete.
    ///
    /// # Errors
    /// If the database fails, there is no such part, or another server of ours has taken the run.
    pub async fn snapshot_part_complete(
        &self,
        tenant: &Tenant,
        (run, fence): (&str, i64),
        resource: &str,
        (snapshot_id, bytes): (&str, Option<u64>),
    ) -> Result<()> {
        const DOING: &str = "storing a part of a snapshot";
        let done = sqlx::query(
            "UPDATE snapshot_parts SET snapshot_id = $1, bytes = $2 WHERE snapshot = $3 AND resource = $4 \
             AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $3 AND r.cloud = $5 AND r.project_id = $6 AND r.fence = $7)",
        )
        .bind(snapshot_id)
        .bind(bytes.map(to_i64))
        .bind(run)
        .bind(resource)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(fence)
        .execute(&self.pool)
        .await
        .map_err(Error::at(DOING))?;
        if done.rows_affected() == 0 {
            return Err(Error::at(DOING)(sqlx::Error::RowNotFound));
        }
        Ok(())
    }

    /// Begins the deletion of a snapshot, so that no restoration can begin. [`Outcome::Conflict`] if there is no such snapshot,
    /// or a run of its deployment is at work, apart from commands.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_begin_deletion(
        &self,
        tenant: &Tenant,
        deployment: &str,
        snapshot: &str,
    ) -> Result<Outcome> {
        let mut transaction = self.begin("beginning the deletion of a snapshot").await?;
        // A run locks the deployment too while it is stored, so one of both sees the other.
        sqlx::query(
            "UPDATE deployments SET updated = updated WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        let done = sqlx::query(
            "UPDATE snapshots SET deleting = 1 WHERE run = $1 \
             AND deployment IN (SELECT id FROM deployments WHERE id = $2 AND cloud = $3 AND project_id = $4) \
             AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.deployment = $2 AND kind <> 'command' \
             AND state NOT IN ('succeeded', 'failed', 'cancelled'))",
        )
        .bind(snapshot)
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Deletes a part, and its snapshot with the last one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_part_delete(
        &self,
        tenant: &Tenant,
        snapshot: &str,
        resource: &str,
    ) -> Result<()> {
        let mut transaction = self.begin("deleting a part of a snapshot").await?;
        // One at a time: of two last parts, neither would see that the other one goes too.
        sqlx::query(statement(&[
            "SELECT run FROM snapshots \
             WHERE run IN (SELECT id FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
            self.kind.lock_rows(),
        ]))
        .bind(snapshot)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        sqlx::query(
            "DELETE FROM snapshot_parts WHERE snapshot = $1 AND resource = $2 \
             AND snapshot IN (SELECT id FROM runs WHERE id = $1 AND cloud = $3 AND project_id = $4)",
        )
        .bind(snapshot)
        .bind(resource)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        sqlx::query(
            "DELETE FROM snapshots WHERE run = $1 \
             AND NOT EXISTS (SELECT 1 FROM snapshot_parts WHERE snapshot = $1) \
             AND run IN (SELECT id FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(snapshot)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await
    }
}

impl Transaction {
    /// Number of snapshots of a deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_count(&mut self, tenant: &Tenant, deployment: &str) -> Result<i64> {
        sqlx::query_scalar(
            "SELECT COUNT(*) FROM snapshots s JOIN deployments d ON d.id = s.deployment \
             WHERE s.deployment = $1 AND d.cloud = $2 AND d.project_id = $3",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(self.connection())
        .await
        .map_err(self.failed())
    }

    /// True if a snapshot exists, and its deletion has not begun. It does not begin before the end of the transaction if that
    /// has stored a run ([`Transaction::deployment_hold`]).
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_is_kept(&mut self, tenant: &Tenant, snapshot: &str) -> Result<bool> {
        let count: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM snapshots s JOIN runs r ON r.id = s.run \
             WHERE s.run = $1 AND s.deleting = 0 AND r.cloud = $2 AND r.project_id = $3",
        )
        .bind(snapshot)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(count > 0)
    }

    /// Stores the snapshot that a new run of a project takes of these resources, given by name, type and id in the
    /// cloud.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn snapshot_insert(
        &mut self,
        tenant: &Tenant,
        run: &str,
        name: &str,
        resources: &[(&str, &str, &str)],
    ) -> Result<()> {
        sqlx::query(
            "INSERT INTO snapshots (run, deployment, name) \
             SELECT id, deployment, $2 FROM runs WHERE id = $1 AND cloud = $3 AND project_id = $4",
        )
        .bind(run)
        .bind(name)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        for (resource, resource_type, physical_id) in resources {
            sqlx::query(
                "INSERT INTO snapshot_parts (snapshot, resource, type, physical_id) VALUES ($1, $2, $3, $4)",
            )
            .bind(run)
            .bind(*resource)
            .bind(*resource_type)
            .bind(*physical_id)
            .execute(self.connection())
            .await
            .map_err(self.failed())?;
        }
        Ok(())
    }
}

fn part(row: &Row) -> sqlx::Result<SnapshotPartRow> {
    let bytes: Option<i64> = row.try_get("bytes")?;
    Ok(SnapshotPartRow {
        snapshot: row.try_get("snapshot")?,
        resource: row.try_get("resource")?,
        resource_type: row.try_get("type")?,
        physical_id: row.try_get("physical_id")?,
        snapshot_id: row.try_get("snapshot_id")?,
        bytes: bytes.and_then(|bytes| u64::try_from(bytes).ok()),
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        Outcome, Tenant,
        testing::{Database, deployment_insert_with_run, execute, strangers, tenant},
    };

    #[tokio::test]
    async fn a_snapshot_is_of_its_project_and_goes_with_its_last_part() {
        let own = &tenant();
        for Database { store, .. } in &Database::each().await {
            deployment_insert_with_run(store, own, "d", "r").await;
            let mut transaction = store.begin("testing").await.unwrap();
            let parts = [("db", "T", "1"), ("web", "T", "2")];
            let inserted = transaction.snapshot_insert(own, "r", "before", &parts);
            inserted.await.unwrap();
            assert_eq!(transaction.snapshot_count(own, "d").await.unwrap(), 1);
            transaction.commit().await.unwrap();

            let fence = store.run_find(own, "r").await.unwrap().unwrap().fence;
            let complete = async |fence: i64, resource: &str| {
                let copy = ("i", Some(5));
                store
                    .snapshot_part_complete(own, ("r", fence), resource, copy)
                    .await
            };
            complete(fence, "web").await.unwrap();
            let late = complete(fence + 1, "db").await;
            assert!(late.is_err(), "another server has taken the run");
            for stranger in strangers() {
                assert_eq!(store.snapshot_list(&stranger, "d").await.unwrap(), []);
                let deleted = store.snapshot_part_delete(&stranger, "r", "db");
                deleted.await.unwrap();
            }
            let listed = store.snapshot_list(own, "d").await.unwrap();
            assert_eq!(
                (listed[0].name.as_str(), listed[0].has_ended),
                ("before", false)
            );
            let copies: Vec<_> = listed[0]
                .parts
                .iter()
                .map(|part| (part.snapshot_id.as_deref(), part.bytes))
                .collect();
            assert_eq!(copies, [(None, None), (Some("i"), Some(5))]);

            for (resource, left) in [("db", 1), ("web", 0)] {
                let deleted = store.snapshot_part_delete(own, "r", resource);
                deleted.await.unwrap();
                let listed = store.snapshot_list(own, "d").await.unwrap();
                assert_eq!(listed.len(), left);
            }
        }
    }

    #[tokio::test]
    async fn a_snapshot_is_deleted_only_while_no_run_can_restore_it() {
        let own = &tenant();
        for Database { store, .. } in &Database::each().await {
            deployment_insert_with_run(store, own, "d", "r").await;
            let mut transaction = store.begin("testing").await.unwrap();
            let parts = [("db", "T", "1")];
            let inserted = transaction.snapshot_insert(own, "r", "before", &parts);
            inserted.await.unwrap();
            transaction.commit().await.unwrap();
            let begin = async |tenant: &Tenant| {
                let begun = store.snapshot_begin_deletion(tenant, "d", "r");
                begun.await.unwrap()
            };
            let is_kept = async |tenant: &Tenant| {
                let mut transaction = store.begin("testing").await.unwrap();
                let is_kept = transaction.snapshot_is_kept(tenant, "r").await.unwrap();
                transaction.commit().await.unwrap();
                is_kept
            };
            assert_eq!(begin(own).await, Outcome::Conflict, "a run is at work");
            let end = sqlx::query("UPDATE runs SET state = 'succeeded' WHERE id = 'r'");
            execute(store, end).await;
            for stranger in &strangers() {
                assert_eq!(begin(stranger).await, Outcome::Conflict);
                assert!(!is_kept(stranger).await);
            }
            assert!(is_kept(own).await);
            for _ in 0..2 {
                assert_eq!(begin(own).await, Outcome::Done, "it can be repeated");
                assert!(!is_kept(own).await);
            }
            assert!(store.snapshot_list(own, "d").await.unwrap()[0].is_deleting);
        }
    }

    #[tokio::test]
    async fn the_last_parts_take_their_snapshot_with_them_also_at_the_same_time() {
        let own = &tenant();
        for Database { store, .. } in &Database::each().await {
            deployment_insert_with_run(store, own, "d", "r").await;
            let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
            let parts = names.map(|name| (name, "T", name));
            let mut transaction = store.begin("testing").await.unwrap();
            let inserted = transaction.snapshot_insert(own, "r", "before", &parts);
            inserted.await.unwrap();
            transaction.commit().await.unwrap();

            let mut deletions = tokio::task::JoinSet::new();
            for name in names {
                let store = store.clone();
                let deletion =
                    async move { store.snapshot_part_delete(&tenant(), "r", name).await };
                deletions.spawn(deletion);
            }
            for deleted in deletions.join_all().await {
                deleted.unwrap();
            }
            assert_eq!(store.snapshot_list(own, "d").await.unwrap(), []);
        }
    }
}
