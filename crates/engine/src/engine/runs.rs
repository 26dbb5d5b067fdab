//! Runs on behalf of users: cancelled, resumed, and resumed at a login.

use api::RunState;
use store::{Outcome, RunRow};
use tokio::sync::oneshot;

use super::{Engine, let_go};
use crate::{Actor, Error, Result, Tenant, run::Command};

impl Engine {
    /// Cancels a run: running steps are stopped, then always-run steps follow. A second call aborts steps that do not
    /// stop.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn cancel(&self, tenant: &Tenant, run: &str) -> Result<()> {
        let row = self.run_row(tenant, run).await?;
        // If it cannot come here, its holder cancels it.
        let row = self.bring(row.clone()).await.unwrap_or(row);
        // A run that was taken over a moment ago has no task yet.
        let is_here = self.core.store.holds(&row) && self.active_runs.task_of(run).is_some();
        if !is_here && !row.shown.state.is_final() {
            let asked = self.core.store.run_ask_to_cancel(tenant, run).await?;
            self.core.wake.notify_one();
            self.notify_others().await;
            return match asked {
                Outcome::Done => Ok(()),
                Outcome::Conflict => Err(let_go()),
            };
        }
        let (answer, answered) = oneshot::channel();
        self.send_command(&row, Command::Cancel(answer)).await?;
        answered.await.unwrap_or_else(|_gone| Err(let_go()))
    }

    /// Resumes a failed, cancelled or paused run on behalf of this user. Steps that succeeded do not run again.
    ///
    /// # Errors
    /// If the run is active, succeeded, or is not the deployment's last run.
    pub async fn resume(&self, actor: &Actor, run: &str) -> Result<()> {
        let (engine, actor, id) = (self.clone(), actor.clone(), run.to_owned());
        let resumed = async move { Box::pin(engine.resume_run(&actor, &id)).await };
        self.run_to_completion(Box::pin(resumed)).await
    }

    /// True if a user's token may still be needed: by a run of the project that has not ended or that waits for its
    /// roll-back, or by a terminal of the user at another server, which closes its bastion. Whose token a run uses does
    /// not matter, for a user may have resumed a run of another.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn needs_token(&self, actor: &Actor) -> Result<bool> {
        let (store, tenant) = (&self.core.store, &actor.tenant);
        let user_id = &actor.session.user().id;
        Ok(store.run_needs_token(tenant).await?
            || store.bastion_has_terminal(tenant, user_id).await?)
    }

    /// Resumes all runs of the project that paused because their token expired. Call it at login. Returns their ids.
    ///
    /// # Errors
    /// If the journal cannot be read. A run that cannot be resumed stays paused.
    pub async fn resume_paused(&self, actor: &Actor) -> Result<Vec<String>> {
        let store = &self.core.store;
        let unfinished = store.run_list_unfinished(&actor.tenant).await?;
        let user_id = &actor.session.user().id;
        let is_own = |row: &RunRow| match &row.author_id {
            Some(id) => id == user_id,
            None => row.shown.author == actor.user,
        };
        let mut resumed = Vec::new();
        for row in unfinished
            .into_iter()
            .filter(|row| row.shown.state == RunState::Paused && is_own(row))
        {
            match Box::pin(self.resume_run(actor, &row.shown.id)).await {
                Ok(()) => resumed.push(row.shown.id),
                Err(error) => {
                    tracing::warn!(%error, run.id = row.shown.id, "a paused run stays paused")
                }
            }
        }
        Ok(resumed)
    }

    pub(super) async fn run_row(&self, tenant: &Tenant, id: &str) -> Result<RunRow> {
        let row = self.core.store.run_find(tenant, id).await?;
        row.ok_or_else(|| Error::NotFound {
            what: "run",
            id: id.to_owned(),
        })
    }

    /// Sends a command to the run's task.
    pub(super) async fn send_command(&self, row: &RunRow, command: Command) -> Result<()> {
        let task = self.active_runs.task_of(&row.shown.id);
        let sent = task.is_some_and(|task| task.send(command).is_ok());
        match sent {
            true => Ok(()),
            false if row.shown.state.is_final() => Err(Error::NotPossibleNow(format!(
                "the run has ended already: it is {}",
                store::to_text(&row.shown.state)
            ))),
            false => Err(let_go()),
        }
    }
}
