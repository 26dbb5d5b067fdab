//! Back to what worked: an update to what the last run that ended well was given.
//!
//! It is planned from what is there now, like any update, so it takes back copies that the failed change put
//! aside and has not removed yet.
//!
//! A run may be told to be rolled back if it fails. That is stored with it, and its sealed token outlives it until
//! the run that leads back has one of its own: so a restart in between forgets nothing, and it acts for the person
//! who started the run, or resumed it last.

use std::sync::Arc;

use api::{Beside, CloudFacts, DeploymentState, OnFailure, RunState, Started};
use openstack::Session;

use super::{Changes, Engine, Force};
use crate::{
    Actor, Error, Result,
    journal::{Good, RunRow, Scoped, from_json},
    run::Site,
    secrets::load_run,
    shared::Core,
};

impl Engine {
    pub(super) async fn begin_roll_back(
        &self,
        actor: &Actor,
        deployment: &str,
        cloud: &CloudFacts,
    ) -> Result<Started> {
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        if row.shown.state == DeploymentState::Busy {
            self.give_up_paused(actor, &row, Force::No).await?;
        }
        let row = self.deployment_row(&actor.tenant, deployment).await?;
        let good = match (row.shown.state, row.good) {
            (DeploymentState::Failed, Some(good)) => good,
            (DeploymentState::Failed, None) => {
                return Err(Error::NotNow(format!(
                    "`{}` never was complete, so there is nothing to go back to; go on, change it, or undeploy it",
                    row.shown.name
                )));
            }
            (DeploymentState::Busy, _) => {
                return Err(Error::Busy(row.shown.last_run.unwrap_or_default()));
            }
            _ => {
                return Err(Error::NotNow(format!(
                    "the last change of `{}` did not fail; to go back, update it to an earlier version",
                    row.shown.name
                )));
            }
        };
        let Good {
            template,
            beside,
            layout,
            parameters,
            hidden: _,
            design_version,
        } = good;
        let beside: Beside = serde_json::from_value(beside).unwrap_or_default();
        let changes = Changes {
            template,
            bundle: Some(beside.bundle()),
            layout: serde_json::from_value(layout).unwrap_or_default(),
            parameters,
            design: row.shown.design,
            design_version,
            cloud: cloud.clone(),
            rolls_back: true,
            on_failure: OnFailure::Stop,
        };
        self.begin_update(actor, deployment, changes).await
    }
}

/// A run has ended: what it was given and is of no use any more goes, and it is rolled back, if that was asked
/// for and it failed.
pub async fn after_the_end(core: &Arc<Core>, site: Option<&Site>, run: &str, state: RunState) {
    if let Some(site) = site
        && state == RunState::Succeeded
    {
        site.shelf().forget_useless().await;
    }
    match core.journal.run(Scoped::ToNone, run).await {
        Ok(Some(row)) if row.roll_back.is_some() => {
            let session = site.map(|site| site.session.clone());
            roll_back_if_asked(core, &row, session).await;
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "a run that has ended cannot be looked at"),
    }
}

/// Rolls a run back for the person for whom it acted: its sealed token stayed for that. Where that token has
/// ended, a person decides.
pub(super) async fn roll_back_if_asked(core: &Arc<Core>, row: &RunRow, session: Option<Session>) {
    let done = try_roll_back(core, row, session).await;
    match &done {
        Ok(started) => tracing::info!(run.id = started.run, "a failed update is rolled back"),
        Err(error) => {
            tracing::warn!(%error, run.id = row.shown.id, "a failed update cannot be rolled back by itself");
        }
    }
    // A person was faster and goes on with it: then the wish and the token are that person's.
    let now = core.journal.run(Scoped::ToNone, &row.shown.id).await;
    let goes_on = matches!(now, Ok(Some(now)) if !now.shown.state.is_final());
    // At the next start it is tried again.
    if done.is_err()
        && !goes_on
        && !core.stopping.is_cancelled()
        && let Err(error) = core.journal.forget_roll_back(&row.shown.id).await
    {
        tracing::warn!(%error, run.id = row.shown.id, "the next start tries to roll it back");
    }
}

async fn try_roll_back(
    core: &Arc<Core>,
    row: &RunRow,
    session: Option<Session>,
) -> Result<Started> {
    let ended = || Error::NotNow("the login for which the run acted has ended".into());
    let session = session.ok_or_else(ended)?;
    let sealed = load_run(core.journal.pool(), &core.key, &row.tenant, &row.shown.id).await?;
    let actor = Actor {
        tenant: row.tenant.clone(),
        user: session.user().name.clone(),
        vault_key: sealed.ok_or_else(ended)?.vault_key(),
        session,
    };
    let facts = row.roll_back.as_deref().map(from_json).transpose();
    let facts: CloudFacts = facts
        .map_err(Error::storage("reading what a cloud has"))?
        .unwrap_or_default();
    let engine = Engine { core: core.clone() };
    Box::pin(engine.begin_roll_back(&actor, &row.shown.deployment, &facts)).await
}
