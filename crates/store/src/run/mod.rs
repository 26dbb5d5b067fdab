//! Runs. A run executes a workflow, which is stored completely with it.

mod content;
#[cfg(test)]
mod tests;

use api::{Change, CloudFacts, Run, RunCommand, RunKind, RunState, Scaling, Workflow};
use sqlx::Row as _;

use crate::{
    Ending, Error, Outcome, Page, Result, Store, Tenant, Transaction,
    column::{from_json, from_json_column, from_text, now_text, to_json, to_text},
    database::{Row, read_all, read_one, statement},
    event, sealed, step,
};

/// A run as stored.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// The fields for the API, without steps.
    pub shown: Run,
    /// The owner.
    pub tenant: Tenant,
    /// The bad ending that the run will have, if any.
    pub ending: Option<Ending>,
    /// True if it continues after failed steps.
    pub forced: bool,
    /// The bad ending from which a queued run was resumed. `None` for a new run, and once it is active.
    pub resumed_from: Option<RunState>,
    /// JSON of [`CloudFacts`], if the run is rolled back when it fails. See [`RunRow::roll_back_facts`].
    pub roll_back: Option<String>,
    /// The workflow as JSON. See [`RunRow::workflow`].
    pub workflow: String,
    /// The cloud's id of the user who started it. `None` for a run from before ids were stored.
    pub author_id: Option<String>,
    /// Fencing number: it is raised when a server takes the run.
    pub fence: i64,
    /// Id of the server that holds the run, or held it last.
    pub(crate) holder: Option<String>,
}

impl RunRow {
    /// The workflow.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn workflow(&self) -> Result<Workflow> {
        from_json(&self.workflow).map_err(Error::at("reading a workflow"))
    }

    /// Facts about the cloud, for planning the roll-back.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn roll_back_facts(&self) -> Result<CloudFacts> {
        let facts = self.roll_back.as_deref().map(from_json).transpose();
        Ok(facts
            .map_err(Error::at("reading what a cloud has"))?
            .unwrap_or_default())
    }
}

/// A run that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    /// Id of the run.
    pub id: &'a str,
    /// Deployment of the run.
    pub deployment: &'a str,
    /// The kind of run.
    pub kind: RunKind,
    /// True if it continues after failed steps.
    pub forced: bool,
    /// True for a roll-back to the last good content, or to that of an earlier run.
    pub rolls_back: bool,
    /// Facts about the cloud, if the run is rolled back when it fails.
    pub roll_back: Option<&'a CloudFacts>,
    /// The scaling that it carries out, if it was started for one.
    pub scaling: Option<&'a Scaling>,
    /// The command that it carries out, if it is one.
    pub command: Option<&'a RunCommand>,
    /// The workflow.
    pub workflow: &'a Workflow,
    /// The changes of its plan, without unchanged resources. `None` for a run without a plan, such as a command.
    pub changes: Option<&'a [Change]>,
    /// The user who started it.
    pub author: &'a str,
    /// Id of this user in the cloud.
    pub author_id: &'a str,
}

/// The progress of a run for its viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunProgress {
    /// The run is active.
    Active,
    /// The run has ended and waits for its roll-back. Its events contain the reasons for the roll-back's delay.
    AwaitsRollBack,
    /// The run has ended. There are no more events unless a user resumes it.
    Ended,
}

/// The columns that [`shown`] reads.
pub(crate) const SHOWN: &str = "SELECT id, deployment, kind, state, reason, author, created, started, ended, rolls_back, scaling, command, replaced_by, \
    (SELECT log_deleted FROM journals WHERE run = runs.id) AS log_deleted, \
    CASE WHEN state = 'running' THEN (SELECT COUNT(*) FROM steps WHERE steps.run = runs.id AND steps.kind = 'hook' AND steps.state = 'running') \
    ELSE 0 END AS hooks";

/// The other columns that [`run`] reads, and the table. It follows [`SHOWN`] in a statement.
pub(crate) const STORED: &str = ", cloud, project_id, ending, forced, workflow, author_id, resumed_from, roll_back, holder, fence FROM runs";

impl Store {
    /// A page of a deployment's runs, newest first, without workflows.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_list(
        &self,
        tenant: &Tenant,
        deployment: &str,
        page: Page,
    ) -> Result<Vec<Run>> {
        let rows = sqlx::query(statement(&[
            SHOWN,
            " FROM runs WHERE deployment = $1 AND cloud = $2 AND project_id = $3 \
             ORDER BY created DESC, id DESC LIMIT $4 OFFSET $5",
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        read_all(rows, shown, "listing runs")
    }

    /// The runs of a deployment that have not ended.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_list_open(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(statement(&[
            SHOWN,
            STORED,
            " WHERE deployment = $1 AND cloud = $2 AND project_id = $3 AND state NOT IN ('succeeded', 'failed', 'cancelled') \
             ORDER BY created DESC, id DESC",
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, run, "listing runs")
    }

    /// The project's runs that have not ended, oldest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_list_unfinished(&self, tenant: &Tenant) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(statement(&[
            SHOWN,
            STORED,
            " WHERE cloud = $1 AND project_id = $2 AND state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY created, id",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, run, "listing runs")
    }

    /// True if a run of the project has not ended, or waits for its roll-back: it still needs a token.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_needs_token(&self, tenant: &Tenant) -> Result<bool> {
        let count: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM runs WHERE cloud = $1 AND project_id = $2 \
             AND (state NOT IN ('succeeded', 'failed', 'cancelled') OR roll_back IS NOT NULL)",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(&self.pool)
        .await
        .map_err(Error::at("looking for active runs"))?;
        Ok(count > 0)
    }

    /// A run.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_find(&self, tenant: &Tenant, id: &str) -> Result<Option<RunRow>> {
        let row = sqlx::query(statement(&[
            SHOWN,
            STORED,
            " WHERE id = $1 AND cloud = $2 AND project_id = $3",
        ]))
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(row, run, "reading a run")
    }

    /// The newest successful run of a deployment that scaled this group.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_last_scaling(
        &self,
        tenant: &Tenant,
        deployment: &str,
        group: &str,
    ) -> Result<Option<Run>> {
        let row = sqlx::query(statement(&[
            SHOWN,
            " FROM runs WHERE deployment = $1 AND cloud = $2 AND project_id = $3 AND scaled_group = $4 AND state = 'succeeded' \
             ORDER BY created DESC, id DESC LIMIT 1",
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(group)
        .fetch_optional(&self.pool)
        .await;
        read_one(row, shown, "looking for a scaling")
    }

    /// The progress of a run for its viewers. A missing run is over.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_standing(&self, tenant: &Tenant, id: &str) -> Result<RunProgress> {
        let row = sqlx::query(
            "SELECT state, CASE WHEN roll_back IS NULL THEN NULL ELSE state END AS waits FROM runs \
             WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        let standing = read_one(row, standing, "reading a run")?;
        Ok(standing.unwrap_or(RunProgress::Ended))
    }

    /// Notes that an update of this user replaces an active run. [`Outcome::Conflict`] if the run has ended, or
    /// another update takes its place.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_replace(&self, tenant: &Tenant, id: &str, by: &str) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE runs SET replaced_by = $4 WHERE id = $1 AND cloud = $2 AND project_id = $3 AND replaced_by IS NULL \
             AND state NOT IN ('succeeded', 'failed', 'cancelled')",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(by)
        .execute(&self.pool)
        .await
        .map_err(Error::at("replacing a run"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Adds a line to the reason of a run that has ended.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_add_reason(&self, tenant: &Tenant, id: &str, line: &str) -> Result<()> {
        sqlx::query(
            "UPDATE runs SET reason = CASE WHEN reason IS NULL THEN $4 ELSE reason || $5 || $4 END \
             WHERE id = $1 AND cloud = $2 AND project_id = $3 AND state IN ('succeeded', 'failed', 'cancelled')",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(line)
        .bind("\n")
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("adding to a run's reason"))
    }

    /// Cancels the roll-back of a run. If the run has ended, the token for the roll-back is deleted.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_forget_roll_back(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let mut transaction = self.begin("deciding about a roll-back").await?;
        for statement in [
            "DELETE FROM sealed WHERE kind = 'run' AND cloud = $2 AND project_id = $3 AND name IN (SELECT id FROM runs WHERE id = $1 \
             AND cloud = $2 AND project_id = $3 AND roll_back IS NOT NULL AND state IN ('succeeded', 'failed', 'cancelled'))",
            "UPDATE runs SET roll_back = NULL WHERE id = $1 AND cloud = $2 AND project_id = $3",
        ] {
            sqlx::query(statement)
                .bind(id)
                .bind(&tenant.cloud)
                .bind(&tenant.project_id)
                .execute(transaction.connection())
                .await
                .map_err(transaction.failed())?;
        }
        transaction.commit().await
    }
}

impl Transaction {
    /// Number of the project's runs that have not ended.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_count_unfinished(&mut self, tenant: &Tenant) -> Result<i64> {
        sqlx::query_scalar(
            "SELECT COUNT(*) FROM runs WHERE cloud = $1 AND project_id = $2 AND state NOT IN ('succeeded', 'failed', 'cancelled')",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(self.connection())
        .await
        .map_err(self.failed())
    }

    /// Id of the deployment's run that has not ended and is no command. There is at most one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_change_at_work(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Option<String>> {
        sqlx::query_scalar(
            "SELECT id FROM runs WHERE deployment = $1 AND cloud = $2 AND project_id = $3 \
             AND state NOT IN ('succeeded', 'failed', 'cancelled') AND kind <> 'command'",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(self.connection())
        .await
        .map_err(self.failed())
    }

    /// Inserts a queued run with its steps, its first event and the present content of its deployment; this server holds it.
    /// [`Outcome::Conflict`] if both it and an active run of the deployment are no commands.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_insert(&mut self, tenant: &Tenant, new: NewRun<'_>) -> Result<Outcome> {
        let now = now_text();
        let done = sqlx::query(
            "INSERT INTO runs (id, deployment, cloud, project_id, kind, state, forced, rolls_back, roll_back, workflow, author, author_id, created, \
             holder, scaling, scaled_group, command) VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING",
        )
        .bind(new.id)
        .bind(new.deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(to_text(&new.kind))
        .bind(i64::from(new.forced))
        .bind(i64::from(new.rolls_back))
        .bind(new.roll_back.map(to_json))
        .bind(to_json(new.workflow))
        .bind(new.author)
        .bind(new.author_id)
        .bind(&now)
        .bind(self.server.clone())
        .bind(new.scaling.map(to_json))
        .bind(new.scaling.map(|scaling| &scaling.group))
        .bind(new.command.map(to_json))
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        if done.rows_affected() == 0 {
            return Ok(Outcome::Conflict);
        }
        let failed = self.failed();
        content::insert(self.connection(), new.id, new.changes)
            .await
            .map_err(&failed)?;
        step::insert_all(self.connection(), new.id, new.workflow)
            .await
            .map_err(&failed)?;
        event::insert_queued(self.connection(), new.id, &now)
            .await
            .map_err(&failed)?;
        Ok(Outcome::Done)
    }

    /// Cancels the roll-back of an earlier run of a deployment: `run` replaces it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_supersede(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
        run: &str,
    ) -> Result<()> {
        for statement in [
            "DELETE FROM sealed WHERE kind = 'run' AND cloud = $3 AND project_id = $4 AND name IN (SELECT id FROM runs \
             WHERE deployment = $1 AND id <> $2 AND cloud = $3 AND project_id = $4 AND roll_back IS NOT NULL)",
            "UPDATE runs SET roll_back = NULL \
             WHERE deployment = $1 AND id <> $2 AND cloud = $3 AND project_id = $4 AND roll_back IS NOT NULL",
        ] {
            sqlx::query(statement)
                .bind(deployment)
                .bind(run)
                .bind(&tenant.cloud)
                .bind(&tenant.project_id)
                .execute(self.connection())
                .await
                .map_err(self.failed())?;
        }
        Ok(())
    }

    /// Queues an ended run again, takes it for this server, and records its previous state. [`Outcome::Conflict`] if it
    /// is not in that state any more.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn run_requeue(
        &mut self,
        tenant: &Tenant,
        id: &str,
        from: RunState,
    ) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE runs SET state = 'queued', resumed_from = state, ended = NULL, holder = $5, fence = fence + 1, cancels = 0, replaced_by = NULL \
             WHERE id = $1 AND cloud = $2 AND project_id = $3 AND state = $4",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(to_text(&from))
        .bind(self.server.clone())
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(Outcome::of(done.rows_affected()))
    }
}

/// Sets the state of a run. At its end the sealed token is deleted in the same transaction, so that it cannot be left
/// after a crash. A failed run with a requested roll-back keeps its token for the roll-back.
pub(crate) async fn set_state(
    connection: &mut crate::database::Connection,
    tenant: &Tenant,
    id: &str,
    (state, ending, reason): (RunState, Option<Ending>, Option<&str>),
    time: &str,
) -> sqlx::Result<()> {
    let started = (state == RunState::Running).then_some(time);
    let ended = state.is_final().then_some(time);
    sqlx::query(
        "UPDATE runs SET state = $1, ending = $2, reason = $3, started = COALESCE(started, $4), ended = $5, resumed_from = NULL \
         WHERE id = $6",
    )
    .bind(to_text(&state))
    .bind(ending.map(|ending| to_text(&ending)))
    .bind(reason)
    .bind(started)
    .bind(ended)
    .bind(id)
    .execute(&mut *connection)
    .await?;
    if !state.is_final() {
        return Ok(());
    }
    sqlx::query("UPDATE runs SET roll_back = NULL WHERE id = $1 AND state <> 'failed'")
        .bind(id)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "DELETE FROM sealed WHERE kind = 'run' AND cloud = $2 AND project_id = $3 \
         AND name IN (SELECT id FROM runs WHERE id = $1 AND roll_back IS NULL)",
    )
    .bind(id)
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .execute(connection)
    .await
    .map(drop)
}

/// Sets the reason why a failed run is not rolled back yet, or at all. Not written if the run is not failed any more,
/// or its roll-back was cancelled.
pub(crate) async fn set_roll_back_reason(
    connection: &mut crate::database::Connection,
    tenant: &Tenant,
    id: &str,
    reason: &str,
    wanted: crate::Wanted,
) -> sqlx::Result<Outcome> {
    let update = match wanted {
        crate::Wanted::Still => {
            "UPDATE runs SET reason = $1 WHERE id = $2 AND state = 'failed' AND roll_back IS NOT NULL"
        }
        crate::Wanted::NoMore => {
            "UPDATE runs SET reason = $1, roll_back = NULL WHERE id = $2 AND state = 'failed' AND roll_back IS NOT NULL"
        }
    };
    let written = sqlx::query(update)
        .bind(reason)
        .bind(id)
        .execute(&mut *connection)
        .await?;
    let written = Outcome::of(written.rows_affected());
    if written == Outcome::Done && wanted == crate::Wanted::NoMore {
        sealed::delete(connection, tenant, crate::SealedKind::Run, id).await?;
    }
    Ok(written)
}

fn standing(row: &Row) -> sqlx::Result<RunProgress> {
    let state = from_text::<RunState>(row.try_get("state")?)?;
    let waits: Option<String> = row.try_get("waits")?;
    Ok(match (state.is_final(), waits) {
        (false, _) => RunProgress::Active,
        (true, Some(_)) => RunProgress::AwaitsRollBack,
        (true, None) => RunProgress::Ended,
    })
}

pub(crate) fn run(row: &Row) -> sqlx::Result<RunRow> {
    let ending: Option<String> = row.try_get("ending")?;
    let resumed_from: Option<String> = row.try_get("resumed_from")?;
    Ok(RunRow {
        tenant: Tenant::read(row)?,
        ending: ending.as_deref().map(from_text).transpose()?,
        forced: row.try_get::<i64, _>("forced")? != 0,
        resumed_from: resumed_from.as_deref().map(from_text).transpose()?,
        roll_back: row.try_get("roll_back")?,
        workflow: row.try_get("workflow")?,
        fence: row.try_get("fence")?,
        holder: row.try_get("holder")?,
        author_id: row.try_get("author_id")?,
        shown: shown(row)?,
    })
}

pub(crate) fn shown(row: &Row) -> sqlx::Result<Run> {
    Ok(Run {
        id: row.try_get("id")?,
        deployment: row.try_get("deployment")?,
        kind: from_text::<RunKind>(row.try_get("kind")?)?,
        rolls_back: row.try_get::<i64, _>("rolls_back")? != 0,
        scaling: from_json_column(row.try_get("scaling")?)?,
        command: from_json_column(row.try_get("command")?)?,
        replaced_by: row.try_get("replaced_by")?,
        state: from_text::<RunState>(row.try_get("state")?)?,
        waits_for_user: row.try_get::<i64, _>("hooks")? > 0,
        reason: row.try_get("reason")?,
        author: row.try_get("author")?,
        created: row.try_get("created")?,
        started: row.try_get("started")?,
        ended: row.try_get("ended")?,
        log_deleted: row.try_get("log_deleted")?,
        steps: Vec::new(),
    })
}
