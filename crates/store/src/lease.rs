//! Leases: which server holds which run.
//!
//! A server has one row and renews it by counting up. All runs that name the server as their holder are held with it,
//! so a lease of a thousand runs costs one small update every few seconds. A row that is not renewed for its `patience`
//! is deleted by whichever server sees that, and its runs are free. The watcher measures the patience by its own clock,
//! between two readings of the same count: no two clocks are compared.
//!
//! Taking a run raises its fencing number. Each write to the journal names the number under which its server holds the
//! run, and fails if there is a higher one. So a server that was thought dead cannot write. What it may still do in the
//! cloud is the engine's business.
//!
//! A SQLite file has one server. Rows of others are its own earlier lives, and end when it joins.

use std::time::Duration;

use sqlx::Row as _;

use crate::{
    Error, Operator, Outcome, Result, RunRow, Store, Tenant,
    column::now_text,
    database::{Row, read_all, statement},
    run,
};

/// A server as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Id of the server.
    pub id: String,
    /// Number of its renewals.
    pub beat: i64,
    /// Time without a renewal after which others may take its runs.
    pub patience: Duration,
    /// Id of the key with which it seals.
    pub sealing_key: String,
}

/// A run that this server holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRun {
    /// Id of the run.
    pub id: String,
    /// The number under which it is held.
    pub fence: i64,
    /// Cancellations that the holder has not obeyed yet.
    pub cancels: i64,
    /// True if an update replaces it, and it may have steps left to begin.
    pub gives_way: bool,
}

/// True if no server holds the run.
const IS_FREE: &str = "(holder IS NULL OR holder NOT IN (SELECT id FROM servers))";

/// Runs with work left: active ones, and failed ones that wait for their roll-back.
const HAS_WORK: &str =
    "state NOT IN ('succeeded', 'cancelled') AND (state <> 'failed' OR roll_back IS NOT NULL)";

impl Operator {
    /// Registers this server, which seals with the key of this id, under a new id and with a lease.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_join(&self, patience: Duration, sealing_key: &str) -> Result<()> {
        let id = uuid::Uuid::now_v7().to_string();
        let store = self.store();
        let mut transaction = store.begin("joining the servers").await?;
        if !store.is_shared() {
            sqlx::query("DELETE FROM servers")
                .execute(transaction.connection())
                .await
                .map_err(transaction.failed())?;
        }
        sqlx::query("INSERT INTO servers (id, beat, patience, sealing_key) VALUES ($1, 0, $2, $3)")
            .bind(&id)
            .bind(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX))
            .bind(sealing_key)
            .execute(transaction.connection())
            .await
            .map_err(transaction.failed())?;
        transaction.commit().await?;
        store.set_server(id);
        Ok(())
    }

    /// Renews the lease. [`Outcome::Conflict`] if it is lost.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_renew(&self) -> Result<Outcome> {
        let done = sqlx::query("UPDATE servers SET beat = beat + 1 WHERE id = $1")
            .bind(self.store().server())
            .execute(&self.store().pool)
            .await
            .map_err(Error::at("renewing a lease"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Ends the lease: the runs that this server holds become free.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_leave(&self) -> Result<()> {
        sqlx::query("DELETE FROM servers WHERE id = $1")
            .bind(self.store().server())
            .execute(&self.store().pool)
            .await
            .map(drop)
            .map_err(Error::at("giving up a lease"))
    }

    /// The other servers.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_list_others(&self) -> Result<Vec<ServerRow>> {
        let rows =
            sqlx::query("SELECT id, beat, patience, sealing_key FROM servers WHERE id <> $1")
                .bind(self.store().server())
                .fetch_all(&self.store().pool)
                .await;
        let server = |row: &Row| {
            let patience: i64 = row.try_get("patience")?;
            Ok(ServerRow {
                id: row.try_get("id")?,
                beat: row.try_get("beat")?,
                patience: Duration::from_millis(patience.unsigned_abs()),
                sealing_key: row.try_get("sealing_key")?,
            })
        };
        read_all(rows, server, "listing servers")
    }

    /// Ends the lease of a server that has not renewed it for its patience. [`Outcome::Conflict`] if it has.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_expire(&self, server: &ServerRow) -> Result<Outcome> {
        let done = sqlx::query("DELETE FROM servers WHERE id = $1 AND beat = $2")
            .bind(&server.id)
            .bind(server.beat)
            .execute(&self.store().pool)
            .await
            .map_err(Error::at("ending a lease"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Free runs with work left, oldest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_list_free(&self) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(statement(&[
            run::SHOWN,
            run::STORED,
            " WHERE ",
            HAS_WORK,
            " AND ",
            IS_FREE,
            " ORDER BY created, id",
        ]))
        .fetch_all(&self.store().pool)
        .await;
        read_all(rows, run::run, "listing runs")
    }

    /// Releases a run that this server holds: any server can take it. Does nothing if another one has taken it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_release(&self, run: &HeldRun) -> Result<()> {
        sqlx::query("UPDATE runs SET holder = NULL WHERE id = $1 AND fence = $2")
            .bind(&run.id)
            .bind(run.fence)
            .execute(&self.store().pool)
            .await
            .map(drop)
            .map_err(Error::at("giving up a run"))
    }

    /// The runs with work left that this server holds.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_list_held(&self) -> Result<Vec<HeldRun>> {
        let rows = sqlx::query(statement(&[
            "SELECT id, fence, cancels, CAST(CASE WHEN replaced_by IS NOT NULL AND state IN ('queued', 'running') THEN 1 ELSE 0 END AS BIGINT) \
             AS gives_way FROM runs WHERE holder = $1 AND ",
            HAS_WORK,
        ]))
        .bind(self.store().server())
        .fetch_all(&self.store().pool)
        .await;
        let held = |row: &Row| {
            Ok(HeldRun {
                id: row.try_get("id")?,
                fence: row.try_get("fence")?,
                cancels: row.try_get("cancels")?,
                gives_way: row.try_get::<i64, _>("gives_way")? != 0,
            })
        };
        read_all(rows, held, "listing runs")
    }

    /// Marks hidden parameters of changes as unused, if the server that was about to accept the change is gone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_reject_abandoned(&self) -> Result<()> {
        sqlx::query(
            "UPDATE hidden_parameters SET state = 'going' \
             WHERE state = 'new' AND COALESCE(server, '') NOT IN (SELECT id FROM servers)",
        )
        .execute(&self.store().pool)
        .await
        .map(drop)
        .map_err(Error::at("looking for hidden parameters of no use"))
    }
}

impl Store {
    /// Takes a run: a free one, or one that is paused, whoever holds it, because a paused run starts nothing. `None` if
    /// it is neither, or steps of it still run at its holder. The requests that its last holder had in flight have an
    /// unknown outcome from now on.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_take(&self, tenant: &Tenant, id: &str) -> Result<Option<RunRow>> {
        let mut transaction = self.begin("taking a run").await?;
        let taken = sqlx::query(statement(&[
            "UPDATE runs SET holder = $1, fence = fence + 1 WHERE id = $2 AND cloud = $3 AND project_id = $4 \
             AND (state = 'paused' AND NOT EXISTS (SELECT 1 FROM steps WHERE run = $2 AND state = 'running') OR ",
            IS_FREE,
            ") AND $1 IN (SELECT id FROM servers)",
        ]))
        .bind(self.server())
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        if taken.rows_affected() == 0 {
            return Ok(None);
        }
        // A command creates nothing. Requests in flight beside it are those of a change, which may have another holder.
        sqlx::query(
            "UPDATE creations SET in_flight = 0, uncertain_since = $1, swept = 0 \
             WHERE in_flight = 1 AND deployment IN (SELECT deployment FROM runs WHERE id = $2 AND kind <> 'command')",
        )
        .bind(now_text())
        .bind(id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        self.run_find(tenant, id).await
    }

    /// True if this server holds the run.
    pub fn holds(&self, run: &RunRow) -> bool {
        run.holder.as_deref() == Some(self.server().as_str())
    }

    /// Asks the holder of an active run to cancel it. [`Outcome::Conflict`] if the run has ended.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_ask_to_cancel(&self, tenant: &Tenant, id: &str) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE runs SET cancels = cancels + 1 WHERE id = $1 AND cloud = $2 AND project_id = $3 \
             AND state NOT IN ('succeeded', 'failed', 'cancelled')",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map_err(Error::at("cancelling a run"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Notes that the holder has obeyed a cancellation.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_has_cancelled(&self, run: &HeldRun) -> Result<()> {
        sqlx::query(
            "UPDATE runs SET cancels = cancels - 1 WHERE id = $1 AND fence = $2 AND cancels > 0",
        )
        .bind(&run.id)
        .bind(run.fence)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("cancelling a run"))
    }
}

#[cfg(test)]
mod tests {
    use api::{DeploymentState, LogLevel, LogLine, LogStream, RunState, StepState};

    use super::*;
    use crate::{
        Entry, LogQuota, Write,
        testing::{Database, deployment_insert_with_run, run_step, servers, strangers, tenant},
    };

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Inserts a run `r` that this server holds.
    async fn begin(operator: &Operator) {
        let (store, tenant) = (operator.store(), tenant());
        deployment_insert_with_run(store, &tenant, "d", "r").await;
    }

    async fn append(operator: &Operator, fence: i64, entry: Entry) -> Result<()> {
        let write = Write {
            tenant: tenant(),
            run: "r".into(),
            fence,
            entries: vec![entry],
        };
        let appended = operator
            .store()
            .appender(LogQuota::NONE)
            .append(&[&write])
            .await;
        appended.map(drop)
    }

    fn line() -> Entry {
        Entry::Log(LogLine {
            step: "net:create".into(),
            host: None,
            play: None,
            task: None,
            stream: LogStream::Engine,
            level: LogLevel::Info,
            text: "line".into(),
            position: None,
        })
    }

    fn is(state: RunState) -> Entry {
        Entry::Run {
            state,
            ending: None,
            reason: None,
            deployment: Some(DeploymentState::Running),
        }
    }

    async fn take(operator: &Operator) -> Option<RunRow> {
        operator.store().run_take(&tenant(), "r").await.unwrap()
    }

    async fn free(operator: &Operator) -> usize {
        operator.run_list_free().await.unwrap().len()
    }

    #[tokio::test]
    async fn a_run_is_taken_after_its_holder_is_gone_and_the_holder_writes_no_more() {
        let [first, second] = servers().await;
        first.server_join(PATIENCE, "key").await.unwrap();
        second.server_join(PATIENCE, "key").await.unwrap();
        begin(&first).await;
        append(&first, 0, line()).await.unwrap();
        assert!(free(&second).await == 0 && take(&second).await.is_none());

        let others = second.server_list_others().await.unwrap();
        assert_eq!((others.len(), others[0].patience), (1, PATIENCE));
        assert_eq!(others[0].sealing_key, "key");
        assert_eq!(first.server_renew().await.unwrap(), Outcome::Done);
        let too_early = second.server_expire(&others[0]).await.unwrap();
        assert_eq!(too_early, Outcome::Conflict, "it was renewed meanwhile");
        let others = second.server_list_others().await.unwrap();
        let expired = second.server_expire(&others[0]).await.unwrap();
        assert_eq!(expired, Outcome::Done);
        assert_eq!(first.server_renew().await.unwrap(), Outcome::Conflict);

        assert_eq!(free(&second).await, 1);
        for stranger in strangers() {
            let taken = second.store().run_take(&stranger, "r").await.unwrap();
            assert!(taken.is_none());
        }
        let taken = take(&second).await.unwrap();
        assert!(taken.fence == 1 && second.store().holds(&taken) && !first.store().holds(&taken));
        assert!(append(&first, 0, line()).await.is_err());
        append(&second, 1, line()).await.unwrap();
        let events = second.store().event_list(&tenant(), "r", 0, 10).await;
        let numbers: Vec<u64> = events.unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[tokio::test]
    async fn a_paused_run_is_taken_from_its_holder() {
        let [first, second] = servers().await;
        first.server_join(PATIENCE, "key").await.unwrap();
        second.server_join(PATIENCE, "key").await.unwrap();
        begin(&first).await;
        append(&first, 0, is(RunState::Paused)).await.unwrap();
        run_step(first.store(), "r", "web:software").await;
        assert!(take(&second).await.is_none(), "a step still runs");
        let stopped = Entry::Step {
            step: "web:software".into(),
            state: StepState::Queued,
            attempt: 1,
            error: None,
            retry_at: None,
        };
        append(&first, 0, stopped).await.unwrap();
        assert_eq!(take(&second).await.unwrap().fence, 1);
        assert_eq!(first.run_list_held().await.unwrap(), []);
        assert!(append(&first, 0, is(RunState::Running)).await.is_err());
    }

    #[tokio::test]
    async fn the_holder_is_asked_to_cancel() {
        for Database { operator, .. } in &Database::each().await {
            operator.server_join(PATIENCE, "key").await.unwrap();
            begin(operator).await;
            let store = operator.store();
            for stranger in strangers() {
                let outcome = store.run_ask_to_cancel(&stranger, "r").await.unwrap();
                assert_eq!(outcome, Outcome::Conflict);
            }
            let outcome = store.run_ask_to_cancel(&tenant(), "r").await.unwrap();
            assert_eq!(outcome, Outcome::Done);
            let held = operator.run_list_held().await.unwrap();
            assert_eq!((held[0].id.as_str(), held[0].cancels), ("r", 1));
            store.run_has_cancelled(&held[0]).await.unwrap();
            assert_eq!(operator.run_list_held().await.unwrap()[0].cancels, 0);
        }
    }

    #[tokio::test]
    async fn a_run_that_is_given_up_is_free_until_it_is_taken() {
        for Database { operator, .. } in &Database::each().await {
            operator.server_join(PATIENCE, "key").await.unwrap();
            begin(operator).await;
            let held = operator.run_list_held().await.unwrap();
            assert_eq!(free(operator).await, 0);
            operator.run_release(&held[0]).await.unwrap();
            assert_eq!(free(operator).await, 1);
            assert_eq!(take(operator).await.unwrap().fence, 1);
            operator.run_release(&held[0]).await.unwrap();
            assert_eq!(free(operator).await, 0, "it was taken meanwhile");
            assert!(append(operator, 0, line()).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_file_has_one_server_and_its_earlier_lives_hold_nothing() {
        let Database { operator, .. } = &Database::new().await;
        operator.server_join(PATIENCE, "key").await.unwrap();
        begin(operator).await;
        assert_eq!(free(operator).await, 0);
        operator.server_join(PATIENCE, "key").await.unwrap();
        assert_eq!(free(operator).await, 1);
        assert_eq!(take(operator).await.unwrap().fence, 1);
        operator.server_leave().await.unwrap();
        assert_eq!(free(operator).await, 1);
    }
}
