//! The wait for a component's health after its role: the step ends when each check of the item has succeeded.
//!
//! The wait holds no sandbox. After a crash in it the role runs again, which changes nothing, and then the checks.

use std::{sync::Arc, time::Duration};

use api::ResourceState;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};
use types::catalog::{CatalogItem, HealthCheck};
use zeroize::Zeroizing;

use super::{
    access::HOST_KEY_CHANGED,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    health::{self, Unhealthy},
    resources::address,
    ssh::{Client, Route, SshError},
};

/// Time after which an unchanged answer is logged again.
const REPEAT: Duration = Duration::from_secs(15);

/// The health checks of a component, and the way to its server.
pub struct HealthWait {
    checks: Vec<HealthCheck>,
    inputs: Map<String, Value>,
    route: Route,
    private_key: Zeroizing<String>,
    /// Connections to the bastion and the server: a check does not log in again for each attempt.
    connection: Option<(Option<Arc<Client>>, Client)>,
}

impl HealthWait {
    pub fn new(
        item: &CatalogItem,
        given: &Map<String, Value>,
        route: Route,
        private_key: Zeroizing<String>,
    ) -> HealthWait {
        HealthWait {
            checks: item.health.clone(),
            inputs: address::inputs(item, given),
            route,
            private_key,
            connection: None,
        }
    }
}

impl Attempt {
    /// Tries the health checks of a component, one after the other, until each succeeds.
    pub(super) async fn until_healthy(&self, name: &str, mut wait: HealthWait) -> StepResult {
        let begun = Instant::now();
        for check in std::mem::take(&mut wait.checks) {
            let ended = self.until_succeeds(name, &check, &mut wait, begun).await;
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
        wait: &mut HealthWait,
        begun: Instant,
    ) -> StepResult {
        let title = &check.title;
        let deadline = Duration::from_secs(check.deadline.into());
        let interval = Duration::from_secs(check.interval.into());
        let mut told: Option<(String, Instant)> = None;
        loop {
            let answer = tokio::select! {
                answer = self.health_attempt(check, wait) => answer,
                () = self.stop.cancelled() => return Err(Ended::Stopped),
            };
            let why = match answer {
                Ok(()) => {
                    let said = format!("health of `{name}`: {title}: yes");
                    self.log.info(said).await;
                    return Ok(());
                }
                Err(Unhealthy::Ssh(SshError::HostKey { server })) => {
                    return Err(Ended::lasting(format!("`{server}` {HOST_KEY_CHANGED}")));
                }
                Err(Unhealthy::Ssh(error)) => error.to_string(),
                Err(Unhealthy::Answer(why)) => self.log.masked(&why),
            };
            let left = deadline.saturating_sub(begun.elapsed());
            if left < interval {
                let server = &wait.route.host.name;
                return Err(Ended::lasting(format!(
                    "`{name}` was installed on `{server}` but is not healthy after {} s: {title}: {why}. Look at the service \
                     and its log in a terminal on `{server}`, mend the cause, and resume the run",
                    begun.elapsed().as_secs()
                )));
            }
            let is_known = |(last, at): &(String, Instant)| *last == why && at.elapsed() < REPEAT;
            if !told.as_ref().is_some_and(is_known) {
                self.log
                    .info(format!(
                        "health of `{name}`: {title}: not yet: {why}; next attempt in {} s, {} s left",
                        check.interval,
                        left.as_secs()
                    ))
                    .await;
                told = Some((why, Instant::now()));
            }
            self.pause(interval).await?;
        }
    }

    async fn health_attempt(
        &self,
        check: &HealthCheck,
        wait: &mut HealthWait,
    ) -> Result<(), Unhealthy> {
        let limit = Duration::from_secs(check.timeout.into());
        wait.connection.take_if(|(_, client)| client.is_closed());
        let (_, client) = match &mut wait.connection {
            Some(connection) => connection,
            none => none.insert(self.connect(&wait.route, &wait.private_key).await?),
        };
        let attempt = health::attempt(client, &check.probe, &wait.inputs);
        let answer = timeout(limit, attempt).await;
        answer.unwrap_or_else(|_elapsed| {
            Err(Unhealthy::Answer(format!(
                "no answer within {} s",
                check.timeout
            )))
        })
    }

    async fn connect(
        &self,
        route: &Route,
        private_key: &str,
    ) -> Result<(Option<Arc<Client>>, Client), SshError> {
        let gate = match &route.bastion {
            Some(bastion) => {
                let gateway = self
                    .run_context
                    .gateway
                    .client(bastion, &route.user, private_key);
                Some(gateway.await?)
            }
            None => None,
        };
        let client = Client::connect_through(gate.as_deref(), route, private_key).await?;
        Ok((gate, client))
    }
}
