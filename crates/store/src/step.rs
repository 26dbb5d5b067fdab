//! The steps of a run, and the servers that they lock.
//!
//! # Locks
//!
//! Commands run beside a change of their deployment, so runs lock the servers that they work on. A lock is a column of the
//! step that works there: `locks` names the server for as long as the step is running. So there is nothing to release. Each
//! move of the step clears the column in the journal's own write, whether the step has succeeded, failed, or was cancelled.
//! After a crash the step is still running in the journal and keeps its server until its run is taken up again, because its
//! programs go on there. The lock is in the database because the runs of a deployment can be at different holders.
//!
//! Steps of the same run do not exclude each other: their order is the workflow's.

use api::{Named as _, RunKind, RunStep, StepState, Workflow};
use planner::workflow::StepKind;
use sqlx::Row as _;

use crate::{
    Error, Result, Store, Tenant,
    column::{from_json, from_text, now_text, time, to_json, to_text, to_u32},
    database::{Connection, Outcome, Row, read_all, read_one, statement},
};

/// Duration of an earlier step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDuration {
    /// Kind of the step.
    pub kind: StepKind,
    /// Type of its resource. `None` for steps of the whole deployment.
    pub resource_type: Option<String>,
    /// Time from the first start to the end, in milliseconds.
    pub milliseconds: u64,
}

/// A step that has locked a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockingStep {
    /// Id of the step.
    pub step: String,
    /// Id of its run.
    pub run: String,
    /// The kind of the run.
    pub kind: RunKind,
    /// User who started the run.
    pub author: String,
}

impl Store {
    /// Locks a server of the deployment for a running step of a run that is held under this number. Returns the step of
    /// another run that has locked it, if there is one; then nothing has changed. A step that has locked the server keeps
    /// it.
    ///
    /// # Errors
    /// If the database fails, the step is not running, or another server of ours has taken the run.
    pub async fn step_lock(
        &self,
        tenant: &Tenant,
        (run, fence): (&str, i64),
        step: &str,
        server: &str,
    ) -> Result<Option<LockingStep>> {
        let mut transaction = self.begin("locking a server").await?;
        // One at a time, so that two runs cannot lock the same server.
        sqlx::query(statement(&[
            "SELECT id FROM deployments WHERE id = \
             (SELECT deployment FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
            self.kind.lock_rows(),
        ]))
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        let other = sqlx::query(
            "SELECT s.id AS step, r.id AS run, r.kind, r.author FROM steps s JOIN runs r ON r.id = s.run \
             WHERE r.deployment = (SELECT deployment FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3) AND r.id <> $1 \
             AND r.state NOT IN ('succeeded', 'failed', 'cancelled') AND s.locks = $4 AND s.state = 'running' \
             ORDER BY r.id, s.position LIMIT 1",
        )
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(server)
        .fetch_optional(transaction.connection())
        .await;
        if let Some(other) = read_one(other, locking_step, "looking for a lock")? {
            return Ok(Some(other));
        }
        let done = sqlx::query(
            "UPDATE steps SET locks = $1 WHERE run = $2 AND id = $3 AND state = 'running' \
             AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $2 AND r.cloud = $4 AND r.project_id = $5 AND r.fence = $6)",
        )
        .bind(server)
        .bind(run)
        .bind(step)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(fence)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        if done.rows_affected() == 0 {
            return Err(transaction.failed()(sqlx::Error::RowNotFound));
        }
        transaction.commit().await?;
        Ok(None)
    }

    /// The servers of a deployment that steps have locked, each once.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_list_locks(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<String>> {
        let rows = sqlx::query(
            "SELECT DISTINCT s.locks FROM steps s JOIN runs r ON r.id = s.run \
             WHERE r.deployment = $1 AND r.cloud = $2 AND r.project_id = $3 \
             AND r.state NOT IN ('succeeded', 'failed', 'cancelled') AND s.locks IS NOT NULL AND s.state = 'running' \
             ORDER BY s.locks",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, |row: &Row| row.try_get("locks"), "listing locks")
    }

    /// A run's steps in the order of the workflow.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_list(&self, tenant: &Tenant, run: &str) -> Result<Vec<RunStep>> {
        let rows = sqlx::query(
            "SELECT s.id, s.kind, s.resource, s.state, s.waits_for, s.attempts, s.started, s.ended, s.error \
             FROM steps s JOIN runs r ON r.id = s.run \
             WHERE s.run = $1 AND r.cloud = $2 AND r.project_id = $3 ORDER BY s.position",
        )
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, step, "reading steps")
    }

    /// Durations of the succeeded steps in the project's last successful runs. Those of hooks are people's, and not among
    /// them.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_durations(&self, tenant: &Tenant, runs: u32) -> Result<Vec<StepDuration>> {
        let rows = sqlx::query(
            "SELECT s.kind, x.type, s.started, s.ended FROM steps s JOIN runs r ON r.id = s.run \
             LEFT JOIN resources x ON x.deployment = r.deployment AND x.name = s.resource \
             WHERE s.state = 'succeeded' AND s.kind <> 'hook' AND s.started IS NOT NULL AND s.ended IS NOT NULL AND r.id IN \
             (SELECT id FROM runs WHERE cloud = $1 AND project_id = $2 AND state = 'succeeded' ORDER BY created DESC LIMIT $3)",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(runs))
        .fetch_all(&self.pool)
        .await;
        let duration = |row: &Row| {
            let at = |column: &str| time(row.try_get(column)?);
            let took = at("ended")?.as_millisecond() - at("started")?.as_millisecond();
            Ok(StepDuration {
                kind: from_text(row.try_get("kind")?)?,
                resource_type: row.try_get("type")?,
                milliseconds: u64::try_from(took).unwrap_or_default(),
            })
        };
        read_all(rows, duration, "reading durations of steps")
    }

    /// Counts a crash of the program for the steps that were running of a run that is held under this number. Returns their
    /// ids, each with its number of crashes in a row.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_crashed(
        &self,
        tenant: &Tenant,
        (run, fence): (&str, i64),
    ) -> Result<Vec<(String, u32)>> {
        let doing = "counting a crash";
        self.add_crashes(tenant, (run, fence), 1, doing).await?;
        let rows = sqlx::query(
            "SELECT s.id, s.crashes FROM steps s JOIN runs r ON r.id = s.run \
             WHERE s.run = $1 AND r.cloud = $2 AND r.project_id = $3 AND s.state = 'running'",
        )
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let counted = |row: &Row| Ok((row.try_get("id")?, to_u32(row.try_get("crashes")?)?));
        read_all(rows, counted, doing)
    }

    /// Notes that the holder of a run stops in an orderly way, so that [`Store::step_crashed`] at the next one counts no crash.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_let_go(&self, tenant: &Tenant, held: (&str, i64)) -> Result<()> {
        let doing = "noting an orderly stop";
        self.add_crashes(tenant, held, -1, doing).await
    }

    /// Releases a run that waits at a hook. [`Outcome::Conflict`] if it does not wait there.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_release(&self, tenant: &Tenant, run: &str, step: &str) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE steps SET released = $1 WHERE run = $2 AND id = $3 AND kind = 'hook' AND state = 'running' \
             AND EXISTS (SELECT 1 FROM runs r WHERE r.id = run AND r.cloud = $4 AND r.project_id = $5)",
        )
        .bind(now_text())
        .bind(run)
        .bind(step)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map_err(Error::at("releasing a hook"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// True if a run may continue at a hook.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn step_is_released(&self, tenant: &Tenant, run: &str, step: &str) -> Result<bool> {
        let found = sqlx::query(
            "SELECT 1 FROM steps s JOIN runs r ON r.id = s.run WHERE s.run = $1 AND s.id = $2 AND r.cloud = $3 \
             AND r.project_id = $4 AND s.released IS NOT NULL",
        )
        .bind(run)
        .bind(step)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await
        .map_err(Error::at("looking at a hook"))?;
        Ok(found.is_some())
    }

    async fn add_crashes(
        &self,
        tenant: &Tenant,
        (run, fence): (&str, i64),
        number: i64,
        doing: &'static str,
    ) -> Result<()> {
        sqlx::query(
            "UPDATE steps SET crashes = crashes + $1 WHERE run = $2 AND state = 'running' \
             AND EXISTS (SELECT 1 FROM runs r WHERE r.id = run AND r.cloud = $3 AND r.project_id = $4 AND r.fence = $5)",
        )
        .bind(number)
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(fence)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at(doing))
    }
}

pub(crate) async fn insert_all(
    connection: &mut Connection,
    run: &str,
    workflow: &Workflow,
) -> sqlx::Result<()> {
    for (position, step) in (0_i64..).zip(&workflow.steps) {
        sqlx::query(
            "INSERT INTO steps (run, id, position, kind, resource, waits_for, state, attempts) \
             VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0)",
        )
        .bind(run)
        .bind(&step.id)
        .bind(position)
        .bind(to_text(&step.kind))
        .bind(&step.resource)
        .bind(to_json(&step.after))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Moves a step. The server that it has locked is free then. A step that waits again, after a resume of its run, has not
/// started yet.
pub(crate) async fn set_state(
    connection: &mut Connection,
    run: &str,
    step: &str,
    (state, attempt, error): (StepState, u32, Option<&str>),
    time: &str,
) -> sqlx::Result<()> {
    let started = (state == StepState::Running).then_some(time);
    let ended = state.is_final().then_some(time);
    sqlx::query(
        "UPDATE steps SET state = $1, attempts = $2, started = CASE $1 WHEN 'waiting' THEN NULL ELSE COALESCE(started, $3) END, ended = $4, \
         error = $5, crashes = 0, locks = NULL \
         WHERE run = $6 AND id = $7",
    )
    .bind(column_word(state))
    .bind(i64::from(attempt))
    .bind(started)
    .bind(ended)
    .bind(error)
    .bind(run)
    .bind(step)
    .execute(connection)
    .await
    .map(drop)
}

/// Word of a state in the column, whose constraint has an older one for a queued step.
fn column_word(state: StepState) -> &'static str {
    match state {
        StepState::Queued => "ready",
        state => state.word(),
    }
}

fn locking_step(row: &Row) -> sqlx::Result<LockingStep> {
    Ok(LockingStep {
        step: row.try_get("step")?,
        run: row.try_get("run")?,
        kind: from_text::<RunKind>(row.try_get("kind")?)?,
        author: row.try_get("author")?,
    })
}

fn step(row: &Row) -> sqlx::Result<RunStep> {
    let kind = from_text::<StepKind>(row.try_get("kind")?)?;
    let state = from_text::<StepState>(row.try_get("state")?)?;
    Ok(RunStep {
        id: row.try_get("id")?,
        kind,
        resource: row.try_get("resource")?,
        state,
        shown_as: state.shown_as(kind),
        after: from_json(row.try_get("waits_for")?)?,
        attempts: to_u32(row.try_get("attempts")?)?,
        started: row.try_get("started")?,
        ended: row.try_get("ended")?,
        error: row.try_get("error")?,
        expected_ms: None,
    })
}

#[cfg(test)]
mod tests {
    use planner::workflow::Workflow;

    use super::*;
    use crate::testing::{
        Database, deployment_insert_with_run, run_insert, run_step, strangers, tenant,
    };

    #[tokio::test]
    async fn durations_are_those_of_succeeded_steps_of_the_projects_own_runs() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "r").await;
            run_step(store, "r", "web:create").await;
            assert_eq!(store.step_durations(&tenant, 5).await.unwrap(), []);
            for statement in [
                "UPDATE steps SET state = 'succeeded', started = '2026-01-01T00:00:01Z', ended = '2026-01-01T00:00:03.5Z'",
                "UPDATE runs SET state = 'succeeded', ending = NULL",
            ] {
                sqlx::query(statement).execute(&store.pool).await.unwrap();
            }
            let durations = store.step_durations(&tenant, 5).await.unwrap();
            assert_eq!(durations.len(), 1);
            assert_eq!(
                (durations[0].kind, durations[0].milliseconds),
                (StepKind::Create, 2_500)
            );
            for stranger in strangers() {
                assert_eq!(store.step_durations(&stranger, 5).await.unwrap(), []);
            }
        }
    }

    #[tokio::test]
    async fn a_step_starts_once_and_again_after_a_resume() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "r").await;
            run_step(store, "r", "web:create").await;
            let to = async |state: StepState, hour: u8| {
                let mut connection = store.pool.acquire().await.unwrap();
                let time = format!("2026-01-01T{hour:02}:00:00Z");
                let moved = set_state(&mut connection, "r", "web:create", (state, 1, None), &time);
                moved.await.unwrap();
                drop(connection);
                let steps = store.step_list(&tenant, "r").await.unwrap();
                steps[0].started.clone()
            };
            let first = Some("2026-01-01T09:00:00Z".to_owned());
            assert_eq!(to(StepState::Running, 9).await, first);
            assert_eq!(to(StepState::Retrying, 10).await, first);
            assert_eq!(to(StepState::Running, 11).await, first);
            assert_eq!(to(StepState::Failed, 12).await, first);
            assert_eq!(to(StepState::Waiting, 20).await, None);
            assert_eq!(to(StepState::Queued, 20).await, None);
            let second = Some("2026-01-01T21:00:00Z".to_owned());
            assert_eq!(to(StepState::Running, 21).await, second);
        }
    }

    #[tokio::test]
    async fn a_step_is_read_in_the_state_in_which_it_was_stored() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "r").await;
            run_step(store, "r", "web:delete").await;
            sqlx::query("UPDATE steps SET kind = 'delete'")
                .execute(&store.pool)
                .await
                .unwrap();
            for state in StepState::ALL {
                let mut connection = store.pool.acquire().await.unwrap();
                let (to, time) = ((*state, 1, None), "2026-01-01T09:00:00Z");
                let moved = set_state(&mut connection, "r", "web:delete", to, time);
                moved.await.unwrap();
                drop(connection);
                let steps = store.step_list(&tenant, "r").await.unwrap();
                let shown_as = state.shown_as(StepKind::Delete);
                assert_eq!((steps[0].state, steps[0].shown_as), (*state, shown_as));
            }
        }
    }

    #[tokio::test]
    async fn only_a_hook_at_which_a_run_waits_can_be_released_and_only_by_its_project() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "r").await;
            run_step(store, "r", "web:pre-create").await;
            let is_released =
                async |tenant: &Tenant| store.step_is_released(tenant, "r", "web:pre-create").await;
            let release =
                async |tenant: &Tenant| store.step_release(tenant, "r", "web:pre-create").await;
            assert_eq!(release(&tenant).await.unwrap(), Outcome::Conflict);
            sqlx::query("UPDATE steps SET kind = 'hook'")
                .execute(&store.pool)
                .await
                .unwrap();
            for stranger in strangers() {
                assert_eq!(release(&stranger).await.unwrap(), Outcome::Conflict);
            }
            assert!(!is_released(&tenant).await.unwrap());
            assert_eq!(release(&tenant).await.unwrap(), Outcome::Done);
            assert!(is_released(&tenant).await.unwrap());
            for stranger in strangers() {
                assert!(!is_released(&stranger).await.unwrap());
            }
        }
    }

    #[tokio::test]
    async fn a_server_is_locked_for_one_run_until_its_step_moves() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "command").await;
            sqlx::query("UPDATE runs SET kind = 'command'")
                .execute(&store.pool)
                .await
                .unwrap();
            // A change beside a command.
            run_insert(store, &tenant, "d", "change", &Workflow::default()).await;
            run_step(store, "command", "web:command").await;
            run_step(store, "change", "web:delete").await;
            let command = async || {
                let lock = store.step_lock(&tenant, ("command", 0), "web:command", "web");
                lock.await.unwrap()
            };
            let change = async || {
                let lock = store.step_lock(&tenant, ("change", 0), "web:delete", "web");
                lock.await.unwrap()
            };
            assert_eq!(command().await, None);
            assert_eq!(command().await, None, "it keeps it, as after a crash");
            let other = LockingStep {
                step: "web:command".into(),
                run: "command".into(),
                kind: RunKind::Command,
                author: "demo".into(),
            };
            assert_eq!(change().await, Some(other));
            let locks = async |tenant: &Tenant| store.step_list_locks(tenant, "d").await.unwrap();
            assert_eq!(locks(&tenant).await, ["web"]);

            for stranger in strangers() {
                let lock = store.step_lock(&stranger, ("change", 0), "web:delete", "db");
                assert!(lock.await.is_err());
                assert_eq!(locks(&stranger).await, Vec::<String>::new());
            }
            // A holder that was thought dead.
            let lock = store.step_lock(&tenant, ("change", -1), "web:delete", "db");
            assert!(lock.await.is_err());

            let to = async |state: StepState| {
                let mut connection = store.pool.acquire().await.unwrap();
                let (to, now) = ((state, 1, None), now_text());
                let moved = set_state(&mut connection, "command", "web:command", to, &now);
                moved.await.unwrap();
            };
            to(StepState::Retrying).await;
            assert_eq!(locks(&tenant).await, Vec::<String>::new());
            assert_eq!(change().await, None);
            to(StepState::Running).await;
            let other = command().await.map(|other| other.run);
            assert_eq!(other.as_deref(), Some("change"));
            assert_eq!(locks(&tenant).await, ["web"]);
        }
    }

    #[tokio::test]
    async fn crashes_in_a_row_are_counted_and_orderly_stops_are_not() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            deployment_insert_with_run(store, &tenant, "d", "r").await;
            run_step(store, "r", "web:create").await;
            let crashed = async |tenant: &Tenant| {
                let counted = store.step_crashed(tenant, ("r", 0)).await;
                counted.unwrap()
            };
            let counted = |crashes| vec![("web:create".to_owned(), crashes)];
            assert_eq!(crashed(&tenant).await, counted(1));
            for stranger in strangers() {
                assert_eq!(crashed(&stranger).await, []);
                store.step_let_go(&stranger, ("r", 0)).await.unwrap();
            }
            // A holder that was thought dead.
            store.step_let_go(&tenant, ("r", -1)).await.unwrap();
            assert_eq!(crashed(&tenant).await, counted(2));
            store.step_let_go(&tenant, ("r", 0)).await.unwrap();
            assert_eq!(crashed(&tenant).await, counted(2));

            let mut connection = store.pool.acquire().await.unwrap();
            let running = (StepState::Running, 2, None);
            let now = now_text();
            let moved = set_state(&mut connection, "r", "web:create", running, &now);
            moved.await.unwrap();
            assert_eq!(crashed(&tenant).await, counted(1), "a new row of crashes");
        }
    }
}
