//! Access to servers: the bastion that is open during a run, and the check that a login to a server works before its
//! software is installed. The engine connects directly: a booting server needs a task, but no sandbox and no slot.

use api::{LogLevel, LogStream};
use planner::workflow::StepKind;

use super::{
    outcome::Ended,
    step::{Attempt, StepResult},
};

use crate::{
    bastion::{self, Bastion, Entrance, Rule, RuleUser, Users},
    machine::{Failure, FailureClass},
    ssh::{Route, Wait, WaitProgress},
};

/// Number of lines of the console log in an error.
const CONSOLE_LINES: u32 = 40;

pub(super) const HOST_KEY_CHANGED: &str = "showed another SSH host key than the pinned one. Either it was rebuilt or its keys were \
    changed on it, or somebody intercepts the connection. Nothing was sent to it. If you changed it yourself, deploy the server anew";

impl Attempt {
    /// Tries to log in until it succeeds. If an active server does not respond, its cloud-init has failed.
    pub(super) async fn wait_for_ssh(&self) -> StepResult {
        let server = self.name()?.to_owned();
        let route = self.route(&server)?;
        let patience = self.run_context.core.config.ssh_timeout;
        self.log
            .info(format!(
                "Waiting for SSH on `{server}` ({})",
                route.host.address
            ))
            .await;
        let key = self.private_key().await?;
        let core = &self.run_context.core;
        let slots = core.ssh_attempts.of(&self.run_context.tenant);
        let wait_on = |route: Route| {
            let gateway = &self.run_context.gateway;
            Wait::new(route, key.clone(), gateway, slots.clone(), patience)
        };
        let mut wait = wait_on(route);
        loop {
            let news = tokio::select! {
                news = wait.news() => news,
                () = self.stop.cancelled() => return Err(Ended::Stopped),
            };
            match news {
                WaitProgress::NotYet(why) => {
                    let (attempts, left) = (wait.attempts(), wait.left().as_secs());
                    self.log
                        .info(format!(
                            "SSH attempt {attempts} failed: {why}; {left} s left"
                        ))
                        .await;
                }
                WaitProgress::LoggedIn => {
                    self.log
                        .info(format!("Connected to `{server}` over SSH"))
                        .await;
                    return Box::pin(self.use_own_host_key(&server, &key)).await;
                }
                WaitProgress::HostKey(other) => {
                    if !self.read_host_keys(&other).await? {
                        return Err(Ended::lasting(format!("`{other}` {HOST_KEY_CHANGED}")));
                    }
                    wait = wait_on(self.route(&server)?);
                }
                WaitProgress::TimeIsUp(last) => {
                    return Err(self.never_answered(&server, &last).await);
                }
            }
        }
    }

    async fn never_answered(&self, server: &str, last: &str) -> Ended {
        self.show_console(server).await;
        let seconds = self.run_context.core.config.ssh_timeout.as_secs();
        let message = format!(
            "`{server}` is active but could not be reached over SSH within {seconds} s (last: {last}). Log in to the VM, by the cloud's \
             console for instance, and see why cloud-init failed: `cloud-init status --long`, `/var/log/cloud-init-output.log`. The end \
             of its console log is in this step's log. If it only boots slowly, start the server of Stackloom with a longer \
             `--ssh-timeout` (`STACKLOOM_SSH_TIMEOUT`, in seconds) and deploy again"
        );
        Ended::Failed(Failure::new(FailureClass::SshTimeout, message))
    }

    async fn show_console(&self, server: &str) {
        let Some(id) = self
            .run_context
            .known
            .get(server)
            .and_then(|entry| entry.physical_id)
        else {
            return;
        };
        match self
            .run_context
            .session
            .compute()
            .server_console(&id, CONSOLE_LINES)
            .await
        {
            Ok(text) => {
                let lines: Vec<&str> = text.lines().collect();
                let end = lines.len().saturating_sub(CONSOLE_LINES as usize);
                self.log
                    .say(
                        LogStream::Console,
                        lines[end..].iter().map(|line| (LogLevel::Info, *line)),
                    )
                    .await;
            }
            Err(error) => {
                self.log
                    .warn(format!("The console log cannot be read: {error}"))
                    .await
            }
        }
    }

    /// The connection path to a server.
    pub(super) fn route(&self, server: &str) -> StepResult<Route> {
        let known = &self.run_context.known;
        let scope = known.scope(&self.run_context.parameters);
        bastion::route(known, &scope, self.bastion().as_ref(), server).map_err(Ended::lasting)
    }

    fn bastion(&self) -> Option<Bastion> {
        let opens = self
            .run_context
            .workflow
            .steps
            .iter()
            .find(|step| step.kind == StepKind::OpenBastion);
        let named = opens.and_then(|step| step.resource.as_deref());
        Bastion::of(
            &self.run_context.known,
            &self.run_context.known.scope(&self.run_context.parameters),
            named,
        )
    }

    fn rule(&self) -> Rule {
        Rule {
            core: self.run_context.core.clone(),
            tenant: self.run_context.tenant.clone(),
            deployment: self.run_context.deployment.clone(),
            deployment_name: self.run_context.deployment_name.clone(),
            session: self.run_context.session.clone(),
        }
    }

    pub(super) async fn open_bastion(&self) -> StepResult {
        let bastion = self.bastion().ok_or_else(|| {
            Ended::lasting("no server of this deployment is the bastion; mark one as public")
        })?;
        let configured = self.run_context.core.config.orchestrator_address;
        let entrance = bastion.entrance(configured).map_err(Ended::lasting)?;
        let user = RuleUser::Run(&self.run_context.run);
        self.rule().open(&entrance, user).await?;
        let Entrance {
            server,
            address,
            from,
            ..
        } = &entrance;
        self.log
            .info(format!(
                "Port 22 of `{server}` ({address}) is open for {from}"
            ))
            .await;
        Ok(())
    }

    pub(super) async fn close_bastion(&self) -> StepResult {
        let bastion = self.bastion();
        let server = bastion.as_ref().map(|bastion| bastion.server.as_str());
        let users = self.rule().close(&self.run_context.run, server).await?;
        let message = match (server, users) {
            // The bastion was never created, or has been deleted. Then no rule is left either.
            (None, _) => "There is no bastion to close".to_owned(),
            (Some(server), Users::None) => format!("Port 22 of `{server}` is closed"),
            (Some(server), Users::Others) => {
                format!(
                    "Port 22 of `{server}` stays open for another run, a terminal or a check; it is closed after the last one"
                )
            }
        };
        self.log.info(message).await;
        Ok(())
    }
}
