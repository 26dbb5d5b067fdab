//! Going on: after a crash, and after a person comes back.

use api::RunState;
use openstack::Session;
use tokio::sync::oneshot;

use super::{Engine, roll_back::roll_back_if_asked};
use crate::{
    Actor, Error, Result,
    journal::{RunRow, Scoped},
    machine::Event,
    run::{Command, Opening, RunTask},
    secrets::{RunSecrets, load_run, store_run},
};

impl Engine {
    /// Takes up all runs that have not ended. One that cannot be taken up does not keep the others
    /// from it.
    pub(super) async fn recover(&self) -> Result<()> {
        match self.core.sandboxes.remove_orphans().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "sandboxes of an earlier life are removed"),
            Err(error) => {
                tracing::warn!(%error, "Docker does not answer; software steps will fail until it does")
            }
        }
        crate::secrets::shelf::after_a_start(self.core.journal.pool()).await?;
        for row in self.core.journal.runs_at_work(Scoped::ToNone).await? {
            let id = row.shown.id.clone();
            if let Err(error) = self.take_up(row).await {
                tracing::error!(%error, run.id = id, "a run cannot be taken up");
            }
        }
        for row in self.core.journal.runs_to_roll_back().await? {
            let session = match self.secrets_of(&row).await? {
                Some(secrets) => self.session_of(&row, &secrets).await,
                None => None,
            };
            roll_back_if_asked(&self.core, &row, session).await;
        }
        Ok(())
    }

    async fn take_up(&self, row: RunRow) -> Result<()> {
        let machine = self.restore(&row).await?;
        let deployment = self
            .core
            .journal
            .deployment(Scoped::ToNone, &row.shown.deployment)
            .await?;
        let deployment = deployment.ok_or_else(|| Error::NotFound {
            what: "deployment",
            id: row.shown.deployment.clone(),
        })?;
        let secrets = self.secrets_of(&row).await?;
        let session = match &secrets {
            Some(secrets) if row.shown.state != RunState::Paused => {
                self.session_of(&row, secrets).await
            }
            _ => None,
        };
        let (site, first) = match (session, &secrets) {
            (Some(session), Some(secrets)) => {
                let opening = Opening {
                    core: &self.core,
                    run: &row,
                    deployment: &deployment,
                    session,
                    secrets,
                    known: None,
                };
                (Some(opening.site().await?), Event::Recover)
            }
            _ => (None, Event::RecoverWithoutToken),
        };
        tracing::info!(
            run.id = row.shown.id,
            with_token = site.is_some(),
            "a run is taken up"
        );
        let workflow = std::sync::Arc::new(row.workflow()?);
        let begun = RunTask::new(&self.core, &row, workflow, machine, site).spawn(first);
        begun.await.map_err(|_gone| super::let_go())
    }

    async fn secrets_of(&self, row: &RunRow) -> Result<Option<RunSecrets>> {
        let (pool, key) = (self.core.journal.pool(), &self.core.key);
        load_run(pool, key, &row.tenant, &row.shown.id).await
    }

    /// The session behind a sealed token, if the token is still good. A cloud that cannot be reached
    /// pauses the run: a person's login continues it.
    async fn session_of(&self, row: &RunRow, secrets: &RunSecrets) -> Option<Session> {
        let cloud = self.core.config.clouds.get(&row.tenant.cloud)?;
        match Session::from_token(cloud, secrets.token.as_str().into()).await {
            Ok(session) => Some(session),
            Err(error) => {
                tracing::warn!(%error, run.id = row.shown.id, "a run pauses until its person logs in");
                None
            }
        }
    }

    pub(super) async fn go_on(&self, actor: &Actor, run: &str) -> Result<()> {
        self.core.check_running()?;
        let row = self.run_row(&actor.tenant, run).await?;
        let deployment = self
            .deployment_row(&actor.tenant, &row.shown.deployment)
            .await?;
        let is_last = deployment.shown.last_run.as_deref() == Some(run);
        match row.shown.state {
            RunState::Paused => {}
            RunState::Failed | RunState::Cancelled if is_last => {}
            RunState::Failed | RunState::Cancelled => {
                return Err(Error::NotNow(
                    "another run came after this one; only the last can go on".into(),
                ));
            }
            state => {
                return Err(Error::NotNow(format!(
                    "the run is {}; there is nothing to go on with",
                    crate::journal::to_text(&state)
                )));
            }
        }
        // What was hidden comes from the vault, or from what the paused run still has.
        let hidden =
            match load_run(self.core.journal.pool(), &self.core.key, &actor.tenant, run).await? {
                Some(sealed) => sealed.parameters.clone(),
                None => self.kept_hidden(actor, &deployment).await?,
            };
        let secrets = RunSecrets::new(
            actor.session.token().expose(),
            hidden,
            actor.vault_key.as_ref(),
        );
        let mut connection = self
            .core
            .journal
            .pool()
            .acquire()
            .await
            .map_err(Error::storage("sealing a run's token"))?;
        store_run(
            &mut connection,
            &self.core.key,
            &actor.tenant,
            run,
            &secrets,
        )
        .await?;
        drop(connection);

        if row.shown.state != RunState::Paused {
            // The task that brought it to its end may not have gone yet.
            if let Some(task) = self.core.task_of(run) {
                task.closed().await;
            }
            return self.put_to_work(actor, run, Event::Resume).await;
        }
        let opening = Opening {
            core: &self.core,
            run: &row,
            deployment: &deployment,
            session: actor.session.clone(),
            secrets: &secrets,
            known: None,
        };
        let site = opening.site().await?;
        let (answer, answered) = oneshot::channel();
        self.tell(&row, Command::Resume(Box::new(site), answer))
            .await?;
        answered.await.unwrap_or_else(|_gone| Err(super::let_go()))
    }
}
