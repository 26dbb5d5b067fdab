//! Back to what worked: an update to what the last run that ended well was given.
//!
//! It is planned from what is there now, like any update, so it takes back copies that the failed change put
//! aside and has not removed yet.

use std::sync::Arc;

use api::{Beside, CloudFacts, DeploymentState, OnFailure, Started};

use super::{Changes, Engine, Force};
use crate::{Actor, Error, Result, journal::Good, shared::Core};

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

    /// Remembers that a run is rolled back if it fails. Kept in memory: after a crash a person chooses.
    pub(super) fn roll_back_if_it_fails(&self, run: &str, actor: &Actor, cloud: CloudFacts) {
        self.core
            .roll_backs
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(run.to_owned(), (actor.clone(), cloud));
    }
}

/// A run has ended: rolls it back, if that was asked for and it failed.
pub async fn after_the_end(core: &Arc<Core>, run: &str, deployment: &str, failed: bool) {
    let asked = core
        .roll_backs
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .remove(run);
    let Some((actor, cloud)) = asked.filter(|_| failed) else {
        return;
    };
    let engine = Engine { core: core.clone() };
    match Box::pin(engine.begin_roll_back(&actor, deployment, &cloud)).await {
        Ok(started) => tracing::info!(run.id = started.run, "a failed update is rolled back"),
        Err(error) => tracing::warn!(%error, "a failed update cannot be rolled back"),
    }
}
