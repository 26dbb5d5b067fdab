//! Continues runs: after a crash, and when a user resumes them.

use api::{Run, RunKind, RunState};
use openstack::Session;
use store::{DeploymentRow, Outcome, RunRow, SealedKind};
use tokio::sync::oneshot;

use super::Engine;
use crate::{
    Actor, Error, Result,
    machine::Event,
    run::{Command, Opening},
    secrets::{RunSecrets, load_run, seal_run},
};

impl Engine {
    /// Continues all runs that have not ended and that no server holds.
    pub(super) async fn recover(&self) -> Result<()> {
        match self.core.sandboxes.remove_orphans().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "sandboxes of an earlier life are removed"),
            Err(error) => {
                tracing::warn!(%error, "Docker does not answer; software steps will fail until it does")
            }
        }
        self.take_free_runs().await
    }

    pub(super) async fn recover_run(&self, mut row: RunRow) -> Result<()> {
        // The run has been resumed, and is restored to its state before that.
        let resumed = row.resumed_from.is_some();
        if let Some(state) = row.resumed_from {
            row.shown.state = state;
        }
        let mut machine = self.restore(&row).await?;
        let deployment = self
            .deployment_row(&row.tenant, &row.shown.deployment)
            .await?;
        let secrets = self.secrets_of(&row).await?;
        let session = match &secrets {
            Some(secrets) if row.shown.state != RunState::Paused => {
                self.session_of(&row, secrets).await
            }
            _ => None,
        };
        let (run_context, first) = match (session, &secrets) {
            (Some(session), Some(secrets)) => {
                let opening = Opening {
                    core: &self.core,
                    run: &row,
                    deployment: &deployment,
                    session,
                    secrets,
                    known: None,
                };
                let first = if resumed {
                    Event::Resume
                } else {
                    Event::Recover
                };
                (Some(opening.run_context().await?), first)
            }
            _ if resumed => {
                let why = "the login for which it acts has ended.";
                self.could_not_begin(&row, why).await;
                return Ok(());
            }
            _ => (None, Event::RecoverWithoutToken),
        };
        // Last, because a recovery that fails is tried again, and is no crash.
        let held = (row.shown.id.as_str(), row.fence);
        let crashed = self.core.store.step_crashed(&row.tenant, held).await?;
        for (step, crashes) in crashed {
            machine.crashed(&step, crashes);
        }
        let has_token = run_context.is_some();
        tracing::info!(
            run.id = row.shown.id,
            with_token = has_token,
            "a run is taken up"
        );
        let workflow = std::sync::Arc::new(row.workflow()?);
        let begun = self.spawn(&row, workflow, machine, run_context, first);
        begun.await.map_err(|_gone| super::let_go())?;
        if let (false, Some(secrets)) = (has_token, secrets) {
            self.resume_when_cloud_answers(row, secrets);
        }
        Ok(())
    }

    async fn secrets_of(&self, row: &RunRow) -> Result<Option<RunSecrets>> {
        let (store, key) = (&self.core.store, &self.core.keys);
        load_run(store, key, &row.tenant, &row.shown.id).await
    }

    /// The session for a sealed token, if the token is still valid. If the cloud cannot be reached, the run pauses until it
    /// can.
    async fn session_of(&self, row: &RunRow, secrets: &RunSecrets) -> Option<Session> {
        match self.core.session_behind(row, secrets).await {
            Ok(session) => Some(session),
            Err(error) => {
                tracing::warn!(%error, run.id = row.shown.id, "a run pauses");
                None
            }
        }
    }

    pub(super) async fn resume_run(&self, actor: &Actor, run: &str) -> Result<()> {
        self.core.check_running()?;
        let row = self.bring(self.run_row(&actor.tenant, run).await?).await?;
        let deployment = self
            .deployment_row(&actor.tenant, &row.shown.deployment)
            .await?;
        check_resumable(&row.shown, deployment.shown.last_run.as_deref())?;
        // Hidden values come from the vault, or from what the paused run still has sealed.
        let sealed = load_run(&self.core.store, &self.core.keys, &actor.tenant, run).await?;
        let command = sealed.as_ref().and_then(|sealed| sealed.command.clone());
        let hidden = match sealed {
            Some(sealed) => sealed.parameters.clone(),
            // A deletion needs only ids.
            None if row.shown.kind == RunKind::Undeploy => self
                .stored_hidden(actor, &deployment)
                .await
                .unwrap_or_default(),
            None => self.stored_hidden(actor, &deployment).await?,
        };
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        )
        .with_command(command);
        if row.shown.state == RunState::Paused {
            self.wake_paused(actor, &row, &deployment, &secrets).await
        } else {
            self.resume_ended(actor, row, &secrets).await
        }
    }

    /// Starts the task of an ended run again.
    async fn resume_ended(
        &self,
        actor: &Actor,
        mut row: RunRow,
        secrets: &RunSecrets,
    ) -> Result<()> {
        let run = row.shown.id.clone();
        let _attendance = self.active_runs.attend(&run);
        self.claim(actor, &row, secrets).await?;
        row.fence = self.run_row(&actor.tenant, &run).await?.fence;
        // The task that ended the run can still be finishing.
        if let Some(task) = self.active_runs.task_of(&run) {
            task.closed().await;
        }
        let begun = self.start_task(actor, &row, Event::Resume).await;
        if let Err(error) = &begun {
            let why = error.to_string();
            self.could_not_begin(&row, &why).await;
        }
        begun
    }

    /// Gives the task of a paused run a session.
    async fn wake_paused(
        &self,
        actor: &Actor,
        row: &RunRow,
        deployment: &DeploymentRow,
        secrets: &RunSecrets,
    ) -> Result<()> {
        let run = row.shown.id.as_str();
        let sealed = seal_run(&self.core.keys, run, secrets);
        let store = &self.core.store;
        store
            .sealed_put(&actor.tenant, SealedKind::Run, run, &sealed)
            .await?;

        let opening = Opening {
            core: &self.core,
            run: row,
            deployment,
            session: actor.session.clone(),
            secrets,
            known: None,
        };
        let run_context = opening.run_context().await?;
        let (answer, answered) = oneshot::channel();
        self.send_command(row, Command::Resume(Box::new(run_context), answer))
            .await?;
        answered.await.unwrap_or_else(|_gone| Err(super::let_go()))
    }

    /// Claims an ended run for one user. If two users, or a user and a planned roll-back, claim it, the first one wins.
    /// The run's secrets are sealed in the same transaction, so a later crash loses nothing.
    async fn claim(&self, actor: &Actor, row: &RunRow, secrets: &RunSecrets) -> Result<()> {
        let (tenant, id) = (&actor.tenant, row.shown.id.as_str());
        let taken = || {
            Error::NotPossibleNow(
                "this run was resumed already, or another one came after it; reload the page"
                    .into(),
            )
        };
        let mut transaction = self.core.store.begin("taking a run up again").await?;
        let deployment = transaction
            .deployment_reclaim(tenant, &row.shown.deployment, id)
            .await?;
        if deployment == Outcome::Conflict {
            return Err(taken());
        }
        let run = transaction.run_requeue(tenant, id, row.shown.state).await?;
        if run == Outcome::Conflict {
            return Err(taken());
        }
        let sealed = seal_run(&self.core.keys, id, secrets);
        transaction
            .sealed_put(tenant, SealedKind::Run, id, &sealed)
            .await?;
        Ok(transaction.commit().await?)
    }
}

/// Checks that a run can be resumed. `last_run` is the last run of its deployment.
fn check_resumable(run: &Run, last_run: Option<&str>) -> Result<()> {
    let is_last = last_run == Some(run.id.as_str());
    match run.state {
        RunState::Paused => Ok(()),
        RunState::Failed | RunState::Cancelled if run.kind == RunKind::Command => {
            Err(Error::NotPossibleNow(
                "a command is not resumed; run it again on the servers that need it".into(),
            ))
        }
        RunState::Failed | RunState::Cancelled if run.kind.keeps_deployment() => {
            Err(Error::NotPossibleNow(
                "this run is not resumed; start another snapshot or restoration".into(),
            ))
        }
        RunState::Failed | RunState::Cancelled if is_last => Ok(()),
        RunState::Failed | RunState::Cancelled => Err(Error::NotPossibleNow(
            "another run came after this one; only the last run of a deployment is resumed".into(),
        )),
        state => Err(Error::NotPossibleNow(format!(
            "the run is {}; there is nothing to resume",
            store::to_text(&state)
        ))),
    }
}
