//! Checks of deployments at an interval, and repairs of what they find, with standing permissions.
//!
//! The engine tells which checks are due, and gives each to one server. The facts of the cloud, which a repair's plan
//! needs, and the audit trail are here.

use std::time::Duration;

use axum::http::StatusCode;
use engine::DueCheck;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tokio::time::MissedTickBehavior;

use crate::{audit::Recorder, problem, services::Services};

/// Interval of the look for checks that are due.
const EVERY: Duration = Duration::from_secs(5);
/// Maximum number of parallel checks.
const PARALLEL: usize = 8;

/// Carries out the checks that are due until the server stops.
pub async fn check_deployments(services: Services) {
    let closing = services.closing.clone();
    let work = async {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            every.tick().await;
            match services.engine.take_due_checks(Timestamp::now()).await {
                Ok(due) => {
                    let checks = stream::iter(due);
                    let check = |due| check(&services, due);
                    checks.for_each_concurrent(PARALLEL, check).await;
                }
                Err(error) => tracing::warn!("no deployment can be checked: {error}"),
            }
        }
    };
    let _stopped = closing.run_until_cancelled(work).await;
}

async fn check(services: &Services, due: DueCheck) {
    if let Err(error) = check_and_repair(services, &due).await {
        tracing::warn!(
            deployment = due.deployment(),
            "a check or repair failed: {error}"
        );
        services.engine.note_failed_check(&due, &error).await;
    }
}

async fn check_and_repair(services: &Services, due: &DueCheck) -> engine::Result<()> {
    let (engine, id) = (&services.engine, due.deployment());
    let Some(checked) = engine.check_with_permission(due).await? else {
        return Ok(());
    };
    let actor = &checked.actor;
    let Some(repair) = checked.repair else {
        return Ok(());
    };
    let deployment = engine.deployment(&actor.tenant, id).await?;
    let cloud = services
        .facts
        .for_deployment(actor, &deployment)
        .await
        .map_err(|error: problem::Error| engine::Error::Unavailable(error.sentences()))?;
    let started = engine.repair(actor, id, repair, cloud).await;
    let (status, code) = match &started {
        Ok(_) => (StatusCode::ACCEPTED, None),
        Err(error) => {
            let status =
                StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Some(error.code().to_owned()))
        }
    };
    let findings = checked.check.findings.len();
    let action = format!("repair after a check at an interval: {findings} found");
    Recorder::unattended(services, id)
        .record((actor.user.as_str(), &actor.tenant), &action, status, code)
        .await;
    started.map(drop)
}
