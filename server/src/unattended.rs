//! Checks of deployments at an interval, and repairs of what they find, with standing permissions.
//!
//! The engine tells which checks are due, and gives each to one server. The facts of the cloud, which a repair's plan
//! needs, and the audit trail are here.
//!
//! Checks of one project take turns ([`Line`]): a project with many deployments on a slow cloud delays no other project.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use engine::{DueCheck, Tenant, slots::Slots};
use jiff::Timestamp;
use tokio::{sync::OwnedSemaphorePermit, task::JoinSet, time::MissedTickBehavior};

use crate::{
    audit::{Recorder, outcome},
    problem,
    services::Services,
};

/// Interval of the look for checks that are due.
const EVERY: Duration = Duration::from_secs(5);
/// Maximum number of parallel checks.
const PARALLEL: usize = 8;
/// Maximum number of parallel checks of one project.
const PROJECT_PARALLEL: usize = 2;

/// Carries out the checks that are due until the server stops.
pub async fn check_deployments(services: Services) {
    let closing = services.closing.clone();
    let work = async {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (line, mut checks) = (Line::new(), JoinSet::new());
        loop {
            every.tick().await;
            while checks.try_join_next().is_some() {}
            match services.engine.take_due_checks(Timestamp::now()).await {
                Ok(due) => {
                    for due in due {
                        // An earlier check that still waits or runs finds what there is.
                        let Some(place) = line.enter(due.deployment()) else {
                            continue;
                        };
                        let services = services.clone();
                        checks.spawn(async move {
                            let _turn = place.turn(due.tenant()).await;
                            Box::pin(check(&services, due)).await;
                        });
                    }
                }
                Err(error) => tracing::warn!("no deployment can be checked: {error}"),
            }
        }
    };
    let _stopped = closing.run_until_cancelled(work).await;
}

/// The line of checks that are due.
#[derive(Clone)]
struct Line {
    projects: Slots<Tenant>,
    all: Slots<()>,
    /// Ids of deployments whose checks wait or run.
    deployments: Arc<Mutex<HashSet<String>>>,
}

/// The place of a check in the line, which it leaves when dropped.
struct Place {
    line: Line,
    deployment: String,
}

impl Line {
    fn new() -> Line {
        Line {
            projects: Slots::new(PROJECT_PARALLEL),
            all: Slots::new(PARALLEL),
            deployments: Arc::default(),
        }
    }

    /// A place for a deployment's check. `None` if it has one already.
    fn enter(&self, deployment: &str) -> Option<Place> {
        let mut all = self.deployments();
        all.insert(deployment.to_owned()).then(|| Place {
            line: self.clone(),
            deployment: deployment.to_owned(),
        })
    }

    fn deployments(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        let all = self.deployments.lock();
        all.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The turn of a check of this project, until it is dropped.
    async fn turn(&self, tenant: &Tenant) -> [OwnedSemaphorePermit; 2] {
        let of_project = self.line.projects.turn(tenant).await;
        [of_project, self.line.all.turn(&()).await]
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.deployments().remove(&self.deployment);
    }
}

async fn check(services: &Services, due: DueCheck) {
    if let Err(error) = Box::pin(check_and_repair(services, &due)).await {
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
    let recorder = Recorder::unattended(services, id);
    let who = (actor.user.as_str(), &actor.tenant);
    if let Some(run) = &checked.command {
        let action = format!("configuration after a check at an interval: run {run}");
        recorder
            .record(who, &action, StatusCode::ACCEPTED, None)
            .await;
    }
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
    let (status, code) = outcome(&started, StatusCode::ACCEPTED);
    let findings = checked.check.findings.len();
    let action = format!("repair after a check at an interval: {findings} found");
    recorder.record(who, &action, status, code).await;
    started.map(drop)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn checks_of_a_project_take_turns_and_delay_no_other_project() {
        let tenant = |project: &str| Tenant {
            cloud: "lab".into(),
            project_id: project.into(),
        };
        let line = Line::new();
        let many = (0..100).map(|number| line.enter(&format!("of-a-{number}")).unwrap());
        let many: Vec<Place> = many.collect();
        assert!(line.enter("of-a-0").is_none(), "it waits already");
        let turn = |place: &Place| place.turn(&tenant("a")).now_or_never();
        let turns: Vec<_> = many.iter().filter_map(turn).collect();
        assert_eq!(turns.len(), PROJECT_PARALLEL);
        let other = line.enter("of-b").unwrap();
        assert!(other.turn(&tenant("b")).now_or_never().is_some());

        drop(turns);
        assert!(many[99].turn(&tenant("a")).now_or_never().is_some());
        drop(many);
        assert!(line.enter("of-a-0").is_some());
    }
}
