//! Roll-back: an update to the inputs of the last successful run.
//!
//! It is planned from the existing resources, like any update. So it reuses copies that the failed change put aside and
//! has not removed yet.
//!
//! A run can be started with a roll-back on failure. That request is stored with the run, and the run's sealed token is
//! kept until the roll-back has its own token. So the request survives a restart, and the roll-back acts for the user
//! who started the run, or resumed it last. If the cloud cannot be reached, the roll-back is tried again with growing
//! pauses, until the cloud responds or a user continues the run. Meanwhile the run's reason contains the delay.
//! Permanent errors drop the roll-back, and the run's reason contains them too.

use std::sync::Arc;

use api::{CloudFacts, DeploymentState, Plan, RunState, Started, TemplateFiles};
use openstack::Session;
use planner::deployed::GroupRequest;
use store::{DeploymentRow, Entry, LastGoodContent, RunRow, Wanted};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{Changes, Engine, RollBack, start::changed_meanwhile};
use crate::{
    Actor, Error, Result, Tenant,
    run::{Attendance, RunContext},
    secrets::load_run,
};

/// The longest pause between two tries, as a multiple of the first: five minutes with the default settings.
pub(super) const PAUSE_GROWS_TO: u32 = 32;

impl Engine {
    pub(super) async fn begin_roll_back(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
        mut plan_digest: Option<String>,
    ) -> Result<Started> {
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        let change = self.change_at_work(&row).await?;
        if row.shown.state == DeploymentState::Running
            && change.is_some_and(|change| change.shown.state == RunState::Paused)
        {
            let changes = Changes {
                // The end of the paused change can change the plan.
                plan_digest: plan_digest.take(),
                ..last_good(row.clone(), cloud)?
            };
            self.check_successor(actor, &row, &changes).await?;
            self.abandon_paused_change(actor, &row).await?;
        }
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        let changes = Changes {
            plan_digest,
            ..self.to_last_good(row, cloud).await?
        };
        self.begin_update(actor, deployment, changes).await
    }

    pub(super) async fn plan_roll_back(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
    ) -> Result<Plan> {
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        let changes = self.to_last_good(row, cloud).await?;
        self.plan_for(actor, changes.preview(), Some(deployment))
            .await
    }

    /// The update that returns a failed deployment to its last good state.
    async fn to_last_good(&self, row: DeploymentRow, cloud: &CloudFacts) -> Result<Changes> {
        match row.shown.state {
            DeploymentState::Failed => last_good(row, cloud),
            DeploymentState::Running => {
                self.check_unchanging(&row).await?;
                // Its change has ended since the row was read.
                Err(changed_meanwhile())
            }
            _ => Err(Error::NotPossibleNow(format!(
                "the last change of `{}` did not fail; to go back, update it to an earlier version",
                row.shown.name
            ))),
        }
    }
}

/// The update to the last good state of a deployment.
fn last_good(row: DeploymentRow, cloud: &CloudFacts) -> Result<Changes> {
    let Some(good) = row.good else {
        return Err(Error::NotPossibleNow(format!(
            "`{}` never was complete, so there is nothing to roll back to; resume its run, update it, or undeploy it",
            row.shown.name
        )));
    };
    let LastGoodContent {
        template,
        beside,
        layout,
        parameters,
        groups,
        items,
        hidden: _,
        design_version,
    } = good;
    let beside: TemplateFiles = serde_json::from_value(beside).unwrap_or_default();
    Ok(Changes {
        template,
        bundle: Some(beside.bundle()),
        layout: serde_json::from_value(layout).unwrap_or_default(),
        parameters,
        design: row.shown.design,
        design_version,
        cloud: cloud.clone(),
        rolls_back: Some(RollBack::LastGood),
        groups: groups
            .into_iter()
            .map(|(name, members)| (name, GroupRequest::Members(members)))
            .collect(),
        versions: items,
        despite_quota: true,
        ..Changes::default()
    })
}

impl Engine {
    /// Handles the end of a run: drops its inputs that are no longer needed, and rolls it back if that was requested
    /// and it failed.
    pub(super) async fn after_the_end(
        &self,
        run_context: Option<Arc<RunContext>>,
        (tenant, run): (&Tenant, &str),
        state: RunState,
    ) {
        if let Some(run_context) = &run_context
            && state == RunState::Succeeded
        {
            run_context.hidden_parameters().forget_useless().await;
        }
        match self.core.store.run_find(tenant, run).await {
            Ok(Some(row)) if row.roll_back.is_some() => {
                let session = run_context.map(|run_context| run_context.session.clone());
                self.spawn_roll_back(row, session);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a run that has ended cannot be looked at"),
        }
    }

    /// Rolls a failed run back in the background, on behalf of the run's user.
    pub(super) fn spawn_roll_back(&self, row: RunRow, session: Option<Session>) {
        let run = row.shown.id;
        let span = tracing::info_span!("roll back", run.id = %run);
        let requested = RequestedRollBack {
            fence: row.fence,
            let_go: self.core.lease.tenure().end_token(),
            engine: self.clone(),
            tenant: row.tenant,
            session,
            reported: None,
            _attendance: self.active_runs.attend(&run),
            run,
        };
        self.core
            .tasks
            .spawn(requested.carry_out().instrument(span));
    }
}

/// A failed run with a requested roll-back.
struct RequestedRollBack {
    engine: Engine,
    tenant: Tenant,
    run: String,
    /// The number under which the run is held.
    fence: i64,
    /// Cancelled when this server loses its lease.
    let_go: CancellationToken,
    /// The user's session. Opened from the sealed token if `None`.
    session: Option<Session>,
    /// The reason for the delay that is in the run's reason already.
    reported: Option<String>,
    _attendance: Attendance,
}

/// The result of one try.
enum RollBackAttempt {
    /// The roll-back has started, or a user has continued the run and from now on decides about the roll-back.
    Done,
    /// A temporary error: try again later.
    Retry(Error),
    /// A permanent error: a user decides.
    GiveUp(Error),
}

impl RequestedRollBack {
    async fn row(&self) -> store::Result<Option<RunRow>> {
        self.engine
            .core
            .store
            .run_find(&self.tenant, &self.run)
            .await
    }

    /// Tries until the roll-back starts, cannot start, or is no longer requested. When the engine stops, the request
    /// and the sealed token stay stored for the next start.
    async fn carry_out(self) {
        let (stopping, let_go) = (self.engine.core.stopping.clone(), self.let_go.clone());
        // An abort in between is like a crash: the next start, or another server, continues with the stored request.
        tokio::select! {
            () = stopping.cancelled() => {}
            () = let_go.cancelled() => {}
            () = self.try_until_over() => {}
        }
    }

    async fn try_until_over(mut self) {
        let mut pause = self.engine.core.config.retry_pause;
        let longest = pause * PAUSE_GROWS_TO;
        loop {
            match self.try_once().await {
                RollBackAttempt::Done => return,
                RollBackAttempt::GiveUp(error) => return self.give_up(&error).await,
                RollBackAttempt::Retry(error) => self.report_delay(&error).await,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn try_once(&mut self) -> RollBackAttempt {
        let row = match self.row().await {
            Ok(Some(row)) => row,
            Ok(None) => return RollBackAttempt::Done,
            Err(error) => return RollBackAttempt::Retry(error.into()),
        };
        if row.roll_back.is_none() || row.shown.state != RunState::Failed {
            return RollBackAttempt::Done;
        }
        let error = match self.begin(&row).await {
            Ok(started) => {
                tracing::info!(by = started.run, "a failed update is rolled back");
                return RollBackAttempt::Done;
            }
            Err(error) => error,
        };
        // The stored token may have been renewed, or have expired.
        self.session = None;
        // The request that starts first wins; if the engine is stopping, its next start tries again.
        let now = self.row().await;
        let is_wanted = !matches!(&now, Ok(Some(now)) if now.roll_back.is_none() || !now.shown.state.is_final());
        match is_wanted && !self.engine.core.stopping.is_cancelled() {
            false => RollBackAttempt::Done,
            true if passes(&error) => RollBackAttempt::Retry(error),
            true => RollBackAttempt::GiveUp(error),
        }
    }

    async fn begin(&self, row: &RunRow) -> Result<Started> {
        let ended = || Error::NotPossibleNow("the login for which the run acted has ended".into());
        let store = &self.engine.core.store;
        let sealed = load_run(store, &self.engine.core.keys, &row.tenant, &self.run).await?;
        let sealed = sealed.ok_or_else(ended)?;
        let session = match &self.session {
            Some(session) => session.clone(),
            None => match self.engine.core.session_behind(row, &sealed).await {
                Err(Error::Cloud(openstack::Error::WrongCredentials { .. })) => {
                    return Err(ended());
                }
                opened => opened?,
            },
        };
        let actor = Actor {
            tenant: row.tenant.clone(),
            user: session.user().name.clone(),
            vault_key: sealed.vault_key(),
            session,
        };
        let facts = row.roll_back_facts()?;
        let begun = self
            .engine
            .begin_roll_back(&actor, &row.shown.deployment, &facts, None);
        Box::pin(begun).await
    }

    /// Writes the reason for the delay into the run, once per reason.
    async fn report_delay(&mut self, error: &Error) {
        let why = error.to_string();
        if self.reported.as_ref() == Some(&why) {
            return;
        }
        tracing::warn!(%error, "a failed update cannot be rolled back yet");
        let what = format!(
            "It is to be rolled back to what worked before, as you asked for, and that cannot begin yet: {}. It is tried \
             again until it can, or until somebody resumes the run or updates the deployment.",
            on_one_line(&why)
        );
        match self.write(what, Wanted::Still).await {
            Ok(()) => self.reported = Some(why),
            Err(error) => tracing::warn!(%error, "the run does not say that its roll-back waits"),
        }
    }

    async fn give_up(&self, error: &Error) {
        tracing::warn!(%error, "a failed update cannot be rolled back by itself");
        let what = format!(
            "It was to be rolled back, as you asked for, and that could not begin: {}. Roll it back by hand, resume the run, \
             update again, or undeploy.",
            on_one_line(&error.to_string())
        );
        if let Err(error) = self.write(what, Wanted::NoMore).await {
            tracing::warn!(%error, "it is tried again when the run is taken up again");
        }
    }

    /// Replaces the last line of the run's reason, which is about the roll-back.
    async fn write(&self, what: String, wanted: Wanted) -> Result<()> {
        let row = self.row().await?;
        let reason = row.and_then(|row| row.shown.reason);
        let before = reason
            .as_deref()
            .and_then(|reason| reason.rsplit_once('\n'));
        let reason = match before {
            Some((before, _)) => format!("{before}\n{what}"),
            None => what,
        };
        let entry = Entry::RollBack { reason, wanted };
        let journal = &self.engine.core.journal;
        let journal = journal.of(&self.tenant, &self.run, self.fence);
        journal.write(vec![entry]).await
    }
}

/// True for temporary errors.
pub(super) fn passes(error: &Error) -> bool {
    match error {
        // Address and certificates were correct when the run began: another machine responds at the cloud's address, or
        // a certificate expired and will be renewed.
        Error::Cloud(
            openstack::Error::NotOpenStack { .. } | openstack::Error::Untrusted { .. },
        ) => true,
        Error::Cloud(error) => error.is_transient(),
        // Stored data that is unreadable stays unreadable.
        Error::Storage(error) => !error.is_unreadable(),
        Error::Unavailable(_)
        | Error::DiskAlmostFull
        | Error::ProjectComputes
        | Error::ServerComputes => true,
        _ => false,
    }
}

fn on_one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_ran_out_is_waited_for_and_a_wrong_password_is_not() {
        let ran_out = openstack::Error::Untrusted {
            cloud: "lab".into(),
            url: "https://lab.example".into(),
            side: openstack::Certificate::Server,
            why: "invalid peer certificate: Expired".into(),
        };
        assert!(passes(&Error::Cloud(ran_out)));
        let refused = openstack::Error::WrongCredentials {
            cloud: "lab".into(),
            method: openstack::LoginMethod::Token,
            message: "no".into(),
            request_id: None,
        };
        assert!(!passes(&Error::Cloud(refused)));
    }

    #[test]
    fn a_roll_back_waits_for_space_on_the_disk() {
        assert!(passes(&Error::DiskAlmostFull));
    }

    #[test]
    fn a_busy_database_is_tried_again_and_an_invalid_row_is_not() {
        assert!(passes(&store::testing::transient_error().into()));
        assert!(!passes(&store::testing::unreadable_error().into()));
    }
}
