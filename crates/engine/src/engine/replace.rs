//! An update that replaces the active run.
//!
//! Errors of its plan refuse it before anything is stopped; a roll-back that replaces a paused run is checked in the
//! same way. Then the run begins no further step, its active steps continue to their end, except hooks and pauses, and
//! the update is planned from what exists then. The wait is a task of this server: if the server stops meanwhile, the
//! run has ended, and the update must be sent again.

use std::time::Duration;

use api::{RunKind, RunState, Severity, Started};
use store::{DeploymentRow, Outcome, RunRow};
use tokio::{sync::oneshot, time::timeout};
use tracing::Instrument;

use super::{Changes, Engine, begin::check_quota, let_go, reviewed::check_digest};
use crate::{Actor, Error, Result, run::Command};

/// Time that a request waits for the end of the active steps. The update begins later by itself.
const PATIENCE: Duration = Duration::from_secs(20);

impl Engine {
    /// Starts an update in the place of a run. Returns the replaced run if its steps take longer than [`PATIENCE`].
    pub(super) async fn replace(
        self,
        actor: Actor,
        deployment: String,
        run: String,
        changes: Changes,
    ) -> Result<Started> {
        let later = Started {
            deployment: deployment.clone(),
            run: run.clone(),
        };
        let tasks = self.core.tasks.clone();
        let work = async move {
            let begun = Box::pin(self.begin_instead(&actor, &deployment, &run, changes));
            begun.await
        };
        let work = tasks.spawn(work.in_current_span());
        match timeout(PATIENCE, work).await {
            Ok(done) => done.map_err(|_panicked| let_go())?,
            Err(_elapsed) => Ok(later),
        }
    }

    async fn begin_instead(
        &self,
        actor: &Actor,
        deployment: &str,
        run: &str,
        changes: Changes,
    ) -> Result<Started> {
        let row = self.live_row(&actor.tenant, deployment).await?;
        self.check_replaceable(&row, run).await?;
        self.check_successor(actor, &row, &changes).await?;
        self.make_way(actor, &row, run).await?;
        let changes = Changes {
            base_run: Some(run.to_owned()),
            // The reviewed plan was made while the run was at work.
            plan_digest: None,
            ..changes
        };
        let begun = self.begin_update(actor, deployment, changes).await;
        if let Err(error) = &begun {
            tracing::warn!(%error, run.id = run, "an update that takes a run's place does not begin");
            let line = format!("The update of {} did not begin: {error}", actor.user);
            let store = &self.core.store;
            store.run_add_reason(&actor.tenant, run, &line).await?;
        }
        begun
    }

    /// Checks that the run is the one at work, and of a kind that an update can continue from. It may have ended a moment
    /// ago.
    async fn check_replaceable(&self, row: &DeploymentRow, run: &str) -> Result<()> {
        let open = self.core.store.run_list_open(&row.tenant, &row.shown.id);
        let mut open = open.await?.into_iter();
        let is_meant = |open: &RunRow| open.shown.id == run || open.shown.kind != RunKind::Command;
        let Some(open) = open.find(is_meant) else {
            return self.is_based_on(row, run).await;
        };
        if open.shown.id != run {
            return Err(Error::Busy(open.shown.id));
        }
        if let Some(by) = open.shown.replaced_by {
            return Err(taken(&by));
        }
        let what = match open.shown.kind {
            RunKind::Deploy | RunKind::Update => return Ok(()),
            RunKind::Undeploy => "an undeployment",
            RunKind::Command => "a command",
            RunKind::Suspend => "a suspension",
            RunKind::Resume => "a resumption",
            RunKind::Snapshot => "a snapshot",
            RunKind::Restore => "a restoration",
        };
        Err(Error::NotPossibleNow(format!(
            "the run at work is {what}, whose place an update cannot take. Wait for its end, or cancel it"
        )))
    }

    /// Checks that an update can begin after the deployment's active change. So a refused update leaves that change as it
    /// is.
    pub(super) async fn check_successor(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
        changes: &Changes,
    ) -> Result<()> {
        self.core.check_running()?;
        self.check_not_suspended(row).await?;
        Box::pin(self.check_plan(actor, &row.shown.id, changes)).await?;
        let mut transaction = self.core.store.begin("counting active runs").await?;
        self.check_room(&mut transaction, &actor.tenant, 1).await
    }

    /// Checks that the update can be planned from what exists now.
    async fn check_plan(&self, actor: &Actor, deployment: &str, changes: &Changes) -> Result<()> {
        let plan = self
            .plan_for(actor, changes.preview(), Some(deployment))
            .await?;
        if let Some(digest) = &changes.plan_digest {
            check_digest(&plan, digest)?;
        }
        if !changes.despite_quota {
            check_quota(&plan)?;
        }
        let is_error = |severity| severity == Severity::Error;
        if plan.diagnostics.iter().any(|one| is_error(one.severity)) {
            return Err(Error::Refused(plan.diagnostics));
        }
        Ok(())
    }

    /// Ends a run for the update that replaces it, and waits for its end.
    async fn make_way(&self, actor: &Actor, row: &DeploymentRow, run: &str) -> Result<()> {
        let (store, tenant) = (&self.core.store, &actor.tenant);
        if store.run_replace(tenant, run, &actor.user).await? == Outcome::Conflict {
            let now = self.run_row(tenant, run).await?.shown;
            return match now.replaced_by {
                // Each waiting update is a task, so there is one for a run.
                Some(by) if !now.state.is_final() => Err(taken(&by)),
                _ => Ok(()),
            };
        }
        // The user who replaces the run decides about what follows.
        store.run_forget_roll_back(tenant, run).await?;
        self.let_give_way(run).await;
        self.core.wake.notify_one();
        self.notify_others().await;
        loop {
            let now = self.run_row(tenant, run).await?;
            match now.shown.state {
                state if state.is_final() => return Ok(()),
                // Nothing of it runs, and its own login does not come back by itself.
                RunState::Paused => self.abandon_paused_change(actor, row).await?,
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(self.core.config.poll_longest) => {}
                () = self.core.stopping.cancelled() => return Err(let_go()),
            }
        }
    }

    /// Requests that a run's task, if it is here, begins no further step. A run that is ending anyway does not need to know.
    pub(super) async fn let_give_way(&self, run: &str) {
        let Some(task) = self.active_runs.task_of(run) else {
            return;
        };
        let (answer, answered) = oneshot::channel();
        if task.send(Command::GiveWay(answer)).is_ok()
            && let Ok(Err(error)) = answered.await
        {
            tracing::debug!(%error, run.id = run, "the run is about to end");
        }
    }
}

fn taken(by: &str) -> Error {
    Error::NotPossibleNow(format!(
        "an update of {by} takes the place of this run already. Wait until it has begun"
    ))
}
