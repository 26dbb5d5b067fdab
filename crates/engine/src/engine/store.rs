//! Storing a run and putting it to work.

use std::sync::Arc;

use api::{DeploymentState, Event, EventBody, RunKind, RunState, Workflow};
use planner::workflow::StepKind;
use sqlx::SqliteConnection;
use uuid::Uuid;

use super::{Engine, Force, sweeps};
use crate::{
    Actor, Error, Result,
    journal::{DeploymentRow, Entry, RunRow, now_text, to_json, to_text},
    machine::{self, Graph, OnFailure, Settings},
    run::{Opening, RunTask, strays},
    secrets::{RunSecrets, load_run, store_run},
};

/// Beyond the time that a server has to answer: for the sandbox, and for reading the console log.
const SSH_STEP_EXTRA_SECONDS: u32 = 180;
/// A run that is about to be stored.
pub(super) struct NewRun<'a> {
    pub actor: &'a Actor,
    pub deployment: &'a str,
    /// What the plan was made from, if there was anything: it must still be so.
    pub seen: Option<&'a DeploymentRow>,
    pub kind: RunKind,
    pub forced: Force,
    /// It leads back to what worked.
    pub rolls_back: bool,
    /// What the cloud has, in JSON, if it shall be rolled back when it fails.
    pub roll_back: Option<String>,
    pub workflow: Workflow,
    pub secrets: RunSecrets,
}

impl Engine {
    pub(super) async fn store_run(
        &self,
        connection: &mut SqliteConnection,
        new: &NewRun<'_>,
    ) -> Result<String> {
        let doing = "storing a run";
        let id = Uuid::now_v7().to_string();
        let now = now_text();
        let tenant = &new.actor.tenant;
        let mut workflow = self.with_timeouts(&new.workflow);
        let pending = pending_creations(connection, new).await?;
        let horizon = self.core.config.commit_horizon;
        sweeps::add(&mut workflow, new.kind, pending, horizon);
        Graph::of(&workflow).map_err(|bad| {
            Error::NotNow(format!(
                "this cannot be run: {bad}. It is a mistake of ours; please report it"
            ))
        })?;
        let stored = sqlx::query(
            "INSERT INTO runs (id, deployment, cloud, project_id, kind, state, forced, rolls_back, roll_back, workflow, author, created) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&id)
        .bind(new.deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(to_text(&new.kind))
        .bind(to_text(&RunState::Queued))
        .bind(i64::from(new.forced == Force::Yes))
        .bind(i64::from(new.rolls_back))
        .bind(&new.roll_back)
        .bind(to_json(&workflow))
        .bind(&new.actor.user)
        .bind(&now)
        .execute(&mut *connection)
        .await;
        match stored {
            // Somebody else was faster.
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                return Err(Error::Busy(id));
            }
            other => other.map_err(Error::storage(doing))?,
        };
        for (position, step) in workflow.steps.iter().enumerate() {
            sqlx::query("INSERT INTO steps (run, id, position, kind, resource, waits_for, state, attempts) VALUES (?, ?, ?, ?, ?, ?, 'waiting', 0)")
                .bind(&id)
                .bind(&step.id)
                .bind(i64::try_from(position).unwrap_or(i64::MAX))
                .bind(to_text(&step.kind))
                .bind(&step.resource)
                .bind(to_json(&step.after))
                .execute(&mut *connection)
                .await
                .map_err(Error::storage(doing))?;
        }
        let queued = Event {
            seq: 1,
            time: now.clone(),
            body: EventBody::Run {
                state: RunState::Queued,
                reason: None,
            },
        };
        sqlx::query("INSERT INTO events (run, seq, time, type, body) VALUES (?, 1, ?, 'run', ?)")
            .bind(&id)
            .bind(&now)
            .bind(to_json(&queued.body))
            .execute(&mut *connection)
            .await
            .map_err(Error::storage(doing))?;
        let seen = new.seen.map(|seen| &seen.shown);
        let claimed = sqlx::query(
            "UPDATE deployments SET state = 'busy', last_run = ?, updated = ? WHERE id = ? \
             AND COALESCE(last_run, '') = COALESCE(?, last_run, '') AND updated = COALESCE(?, updated)",
        )
        .bind(&id)
        .bind(&now)
        .bind(new.deployment)
        .bind(seen.map(|seen| seen.last_run.clone().unwrap_or_default()))
        .bind(seen.map(|seen| &seen.updated))
        .execute(&mut *connection)
        .await
        .map_err(Error::storage(doing))?;
        if claimed.rows_affected() == 0 {
            return Err(Error::NotNow(
                "another run has changed this deployment meanwhile; look at it and try again"
                    .into(),
            ));
        }
        // The run before was to be rolled back if it failed: this one comes in place of that.
        for statement in [
            "DELETE FROM sealed WHERE kind = 'run' AND name IN \
             (SELECT id FROM runs WHERE deployment = ?1 AND id <> ?2 AND roll_back IS NOT NULL)",
            "UPDATE runs SET roll_back = NULL WHERE deployment = ?1 AND id <> ?2 AND roll_back IS NOT NULL",
        ] {
            sqlx::query(statement)
                .bind(new.deployment)
                .bind(&id)
                .execute(&mut *connection)
                .await
                .map_err(Error::storage(doing))?;
        }
        store_run(connection, &self.core.key, tenant, &id, &new.secrets).await?;
        Ok(id)
    }

    /// How long a server may take to answer is a setting of ours.
    fn with_timeouts(&self, workflow: &Workflow) -> Workflow {
        let mut workflow = workflow.clone();
        let seconds = u32::try_from(self.core.config.ssh_timeout.as_secs()).unwrap_or(u32::MAX);
        for step in workflow
            .steps
            .iter_mut()
            .filter(|step| step.kind == StepKind::WaitForSsh)
        {
            step.timeout_seconds = seconds.saturating_add(SSH_STEP_EXTRA_SECONDS);
        }
        workflow
    }

    pub(super) async fn go(&self, actor: &Actor, run: &str) -> Result<()> {
        let begun = match self.run_row(&actor.tenant, run).await {
            Ok(row) => self.put_to_work(actor, &row, machine::Event::Start).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &begun {
            self.could_not_begin(run, &error.to_string()).await;
        }
        begun
    }

    /// A run that is stored and has no task: it fails, so that a person can resume it.
    pub(super) async fn could_not_begin(&self, run: &str, why: &str) {
        let failed = Entry::Run {
            state: RunState::Failed,
            ending: Some(machine::Ending::Failed),
            reason: Some(format!(
                "the run could not begin: {why}\nResume it, update again, or undeploy."
            )),
            deployment: DeploymentState::Failed,
        };
        let written = match self.core.journal.write(run, vec![failed]).await {
            // Nothing has changed in the cloud that would have to go back.
            Ok(_) => self.core.journal.forget_roll_back(run).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::error!(%error, run.id = run, "a run that could not begin waits for the next start");
        }
    }

    /// Starts a run's task with a person's session, from where the row says that it stands.
    pub(super) async fn put_to_work(
        &self,
        actor: &Actor,
        row: &RunRow,
        first: machine::Event,
    ) -> Result<()> {
        let run = row.shown.id.as_str();
        let missing = || Error::NotFound {
            what: "run",
            id: run.to_owned(),
        };
        let deployment = self
            .deployment_row(&actor.tenant, &row.shown.deployment)
            .await?;
        let secrets = load_run(self.core.journal.pool(), &self.core.key, &actor.tenant, run)
            .await?
            .ok_or_else(missing)?;
        let machine = self.restore(row).await?;
        let opening = Opening {
            core: &self.core,
            run: row,
            deployment: &deployment,
            session: actor.session.clone(),
            secrets: &secrets,
            known: None,
        };
        let site = opening.site().await?;
        let workflow = site.workflow.clone();
        let begun = RunTask::new(&self.core, row, workflow, machine, Some(site)).spawn(first);
        begun.await.map_err(|_gone| super::let_go())
    }

    /// The machine of a stored run.
    pub(super) async fn restore(&self, row: &RunRow) -> Result<machine::Run> {
        let graph = Graph::of(&row.workflow()?)
            .map_err(|bad| Error::NotNow(format!("a stored workflow cannot be run: {bad}")))?;
        let steps = self.core.journal.steps(&row.shown.id).await?;
        let config = &self.core.config;
        let settings = Settings {
            grace: config.grace,
            retry_pause: config.retry_pause,
            parallel_steps: config.parallel_steps,
            on_failure: if row.forced {
                OnFailure::GoOn
            } else {
                OnFailure::EndTheRun
            },
        };
        let steps = steps
            .into_iter()
            .map(|step| (step.state, step.attempts, step.error));
        Ok(machine::Run::restore(
            Arc::new(graph),
            settings,
            row.shown.state,
            row.ending,
            row.shown.reason.clone(),
            steps,
        ))
    }
}

/// How many creations of unknown outcome a new run has to do with.
async fn pending_creations(connection: &mut SqliteConnection, new: &NewRun<'_>) -> Result<usize> {
    let types: Vec<String> = sqlx::query_scalar(
        "SELECT type FROM creations WHERE deployment = ? AND uncertain_since IS NOT NULL AND swept = 0",
    )
    .bind(new.deployment)
    .fetch_all(connection)
    .await
    .map_err(Error::storage("storing a run"))?;
    let counts = |one: &&String| strays::is_pending_for(new.kind, one);
    Ok(types.iter().filter(counts).count())
}
