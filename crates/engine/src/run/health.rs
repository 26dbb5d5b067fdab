//! The wait for a component's health after its role: the step ends when each check of the item has succeeded.
//!
//! The wait holds no sandbox. After a crash in it the role runs again, which changes nothing, and then the checks.

use std::time::Duration;

use api::ResourceState;
use serde_json::{Map, Value};
use tokio::time::Instant;
use types::catalog::{CatalogItem, HealthCheck};
use zeroize::Zeroizing;

use super::{
    access::HOST_KEY_CHANGED,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    health::{Subject, Unhealthy},
    ssh::{Route, SshError},
};

/// Time after which an unchanged answer is logged again.
const REPEAT: Duration = Duration::from_secs(15);

/// The health checks of a component, and the component.
pub struct HealthWait {
    checks: Vec<HealthCheck>,
    subject: Subject,
}

impl HealthWait {
    pub fn new(
        name: &str,
        item: &CatalogItem,
        given: &Map<String, Value>,
        route: Route,
        private_key: Zeroizing<String>,
    ) -> HealthWait {
        let subject = Subject::new(name, item, given, route, private_key);
        HealthWait {
            checks: subject.checks(item),
            subject,
        }
    }
}

impl Attempt {
    /// Tries the health checks of a component, one after the other, until each succeeds.
    pub(super) async fn until_healthy(&self, name: &str, wait: HealthWait) -> StepResult {
        let begun = Instant::now();
        let HealthWait {
            checks,
            mut subject,
        } = wait;
        for check in checks {
            let ended = self.until_succeeds(name, &check, &mut subject, begun).await;
            if let Err(Ended::Failed(_)) = &ended {
                self.note_state(name, ResourceState::Failed).await?;
            }
            ended?;
        }
        Ok(())
    }

    async fn until_succeeds(
        &self,
        name: &str,
        check: &HealthCheck,
        subject: &mut Subject,
        begun: Instant,
    ) -> StepResult {
        let title = &check.title;
        let deadline = Duration::from_secs(check.deadline.into());
        let interval = Duration::from_secs(check.interval.into());
        let mut last_report: Option<(String, Instant)> = None;
        loop {
            let answer = tokio::select! {
                answer = subject.attempt(check, &self.run_context.gateway) => answer,
                () = self.stop.cancelled() => return Err(Ended::Stopped),
            };
            let why = match answer {
                Ok(()) => {
                    let message = format!("Health check of `{name}` passed: {title}");
                    self.log.info(message).await;
                    return Ok(());
                }
                Err(Unhealthy::Ssh(SshError::HostKey { server })) => {
                    return Err(Ended::lasting(format!("`{server}` {HOST_KEY_CHANGED}")));
                }
                Err(Unhealthy::Ssh(error)) => error.to_string(),
                Err(Unhealthy::Answer(why)) => self.log.masked(&why),
                Err(Unhealthy::Exit(code, output)) => {
                    let output = if output.is_empty() {
                        "nothing"
                    } else {
                        &output
                    };
                    self.log
                        .masked(&format!("exit status {code}; it said: {output}"))
                }
            };
            let left = deadline.saturating_sub(begun.elapsed());
            if left < interval {
                let server = subject.server();
                return Err(Ended::lasting(format!(
                    "`{name}` was installed on `{server}` but is not healthy after {} s: {title}: {why}. Look at the service \
                     and its log in a terminal on `{server}`, correct the cause, and resume the run",
                    begun.elapsed().as_secs()
                )));
            }
            let is_known = |(last, at): &(String, Instant)| *last == why && at.elapsed() < REPEAT;
            if !last_report.as_ref().is_some_and(is_known) {
                self.log
                    .info(format!(
                        "Health check of `{name}` failed: {title}: {why}; next attempt in {} s, {} s left",
                        check.interval,
                        left.as_secs()
                    ))
                    .await;
                last_report = Some((why, Instant::now()));
            }
            self.pause(interval).await?;
        }
    }
}
