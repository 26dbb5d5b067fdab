//! Runs that paused when they were taken up, because their cloud did not answer.
//!
//! A restart during an outage of a cloud must not end in a login of each user. So the sealed token is tried again until the
//! cloud answers, and the run continues. If the cloud refuses the token, the run waits for its user's login.

use api::RunState;
use store::RunRow;
use tokio::sync::oneshot;

use super::{
    Engine,
    roll_back::{PAUSE_GROWS_TO, passes},
};
use crate::{
    Error, Result,
    run::{Command, Opening},
    secrets::RunSecrets,
};

impl Engine {
    /// Resumes a paused run as soon as its cloud accepts its token.
    pub(super) fn resume_when_cloud_answers(&self, row: RunRow, secrets: RunSecrets) {
        let engine = self.clone();
        let stopping = self.core.stopping.clone();
        let let_go = self.core.lease.tenure().end_token();
        self.core.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = let_go.cancelled() => {}
                () = engine.try_until_resumed(&row, &secrets) => {}
            }
        });
    }

    async fn try_until_resumed(&self, row: &RunRow, secrets: &RunSecrets) {
        let mut pause = self.core.config.retry_pause;
        let longest = pause * PAUSE_GROWS_TO;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
            match Box::pin(self.try_to_resume(row, secrets)).await {
                Ok(()) => return,
                Err(error) if may_pass(&error) => {
                    tracing::debug!(%error, run.id = row.shown.id, "a run is still paused");
                }
                Err(error) => {
                    tracing::info!(%error, run.id = row.shown.id, "a run waits for the login of its user");
                    return;
                }
            }
        }
    }

    /// Resumes the run, unless somebody else did, or another server has taken it.
    async fn try_to_resume(&self, row: &RunRow, secrets: &RunSecrets) -> Result<()> {
        let now = self.run_row(&row.tenant, &row.shown.id).await?;
        if now.shown.state != RunState::Paused || now.fence != row.fence {
            return Ok(());
        }
        let session = self.core.session_behind(row, secrets).await?;
        let deployment = self
            .deployment_row(&row.tenant, &row.shown.deployment)
            .await?;
        let opening = Opening {
            core: &self.core,
            run: &now,
            deployment: &deployment,
            session,
            secrets,
            known: None,
        };
        let run_context = opening.run_context().await?;
        let (answer, answered) = oneshot::channel();
        self.send_command(&now, Command::Resume(Box::new(run_context), answer))
            .await?;
        answered.await.unwrap_or_else(|_gone| Err(super::let_go()))
    }
}

/// True if a later try can succeed. Keystone answers with an internal error while its own database is away.
fn may_pass(error: &Error) -> bool {
    let is_internal = |error: &openstack::Error| error.status().is_some_and(|status| status >= 500);
    passes(error) || matches!(error, Error::Cloud(error) if is_internal(error))
}
