//! The folder of a step's detached programs on its server, around Ansible: made before it, when others no longer use the
//! package manager, and removed when the step's ending is stored.

use std::{sync::Arc, time::Duration};

use api::{EventBody, LogStream};
use futures::FutureExt;
use planner::workflow::StepKind;
use store::{EventFilter, Range};
use tokio::time::timeout;

use super::{
    jobs::{Begun, JobFolder, LOCK_SECONDS, Positions, Stored, locks},
    log::LogSource,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::{
    sandbox::Lines,
    ssh::{Client, Output, Route, SshError, connect_alone},
};

/// Time limit for making or removing the folder. Programs that are ended get some seconds each.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which a command waits for those who hold locks, in seconds: it may be what ends them.
const COMMAND_LOCK_SECONDS: u64 = 60;
/// Number of events that are read at once.
const PAGE: u32 = 1000;

/// The folder of a step's programs on its server.
pub struct Detached {
    pub client: Arc<Client>,
    pub folder: JobFolder,
    /// The positions of a predecessor that a crash ended.
    pub stored: Positions,
}

impl Attempt {
    /// Creates the folder for programs on the server, and waits for the locks of package managers. `None` if the server
    /// does not answer or lacks a requirement: then output comes at the end of each task, and Ansible reports the error.
    pub(super) async fn detach(
        &self,
        name: &str,
        route: &Route,
        private_key: &str,
    ) -> StepResult<Option<Detached>> {
        let context = &self.run_context;
        // Each attempt at a command finds the program of the first one, so that it is started once.
        let is_command = self.step.kind == StepKind::Command;
        let attempt = if is_command { 0 } else { self.number };
        let folder = JobFolder::new(
            (&context.deployment, name),
            (&context.run, &self.step.id, attempt),
        );
        let begin = async {
            let client = connect_alone(route, private_key).await?;
            let begun = folder.begin(&client).await?;
            Ok::<_, SshError>((Arc::new(client), begun))
        };
        let begun = tokio::select! {
            begun = timeout(PATIENCE, begin) => begun.unwrap_or_else(|_elapsed| Err(SshError::Silent {
                server: route.host.name.clone(),
                seconds: PATIENCE.as_secs(),
            })),
            () = self.stop.cancelled() => return Err(Ended::Stopped),
        };
        let (client, begun) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let text = format!("No live output: it appears at the end of each task ({error})");
                self.log.warn(text).await;
                return Ok(None);
            }
        };
        self.tidy_up(client.clone(), folder.clone());
        let stored = match begun {
            Begun::New => Positions::new(),
            Begun::Again => {
                self.log
                    .info(
                        "The step was interrupted: the programs that it started are followed again",
                    )
                    .await;
                self.positions().await?
            }
        };
        let patience = match begun {
            // Its own program may hold the lock.
            Begun::Again if is_command => 0,
            Begun::New if is_command => COMMAND_LOCK_SECONDS,
            Begun::New | Begun::Again => LOCK_SECONDS,
        };
        if patience > 0 {
            tokio::select! {
                waited = self.wait_for_locks(&client, route, patience) => waited,
                () = self.stop.cancelled() => return Err(Ended::Stopped),
            }
        }
        Ok(Some(Detached {
            client,
            folder,
            stored,
        }))
    }

    /// Removes the folder when the step's ending is in the journal: a crash before that must find it.
    fn tidy_up(&self, client: Arc<Client>, folder: JobFolder) {
        let tidying = async move {
            let removed = timeout(PATIENCE, folder.end(&client)).await;
            if !matches!(removed, Ok(Ok(()))) {
                tracing::info!(
                    ?removed,
                    "a folder of programs stays until the next step there"
                );
            }
        };
        let mut slot = self
            .tidying
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *slot = Some(tidying.boxed());
    }

    /// Positions up to which the output of this step's programs is stored.
    async fn positions(&self) -> StepResult<Positions> {
        let context = &self.run_context;
        let mut positions = Positions::new();
        let mut after = 0;
        loop {
            let (range, filter) = (Range::after(after, PAGE), EventFilter::LogOf(&self.step.id));
            let store = &context.core.store;
            let events = store
                .event_list_in(&context.tenant, &context.run, range, filter)
                .await;
            let events = events.map_err(|error| Ended::lasting(error.to_string()))?;
            let Some(last) = events.last() else {
                return Ok(positions);
            };
            after = last.seq;
            for event in events {
                let EventBody::Log(line) = event.body else {
                    continue;
                };
                let Some(position) = line.position else {
                    continue;
                };
                let stored = positions.entry(position.job).or_insert_with(|| Stored {
                    source: LogSource {
                        stream: line.stream,
                        host: line.host,
                        play: line.play,
                        task: line.task,
                    },
                    bytes: [0, 0],
                });
                stored.bytes[usize::from(line.stream == LogStream::Stderr)] = position.bytes;
            }
        }
    }

    /// Waits for those who were there first: cloud-init, unattended upgrades, or what an ended sandbox left.
    async fn wait_for_locks(&self, client: &Client, route: &Route, seconds: u64) {
        let server = &route.host.name;
        let wait = async {
            let mut holders = locks(client, Duration::from_secs(seconds)).await?;
            let mut lines = Lines::masked(self.log.mask.clone());
            while let Some(output) = holders.output().await? {
                let Output::Out(bytes) = output else { continue };
                for line in lines.take(&bytes) {
                    let text = format!("Waiting for locks on `{server}`: {line}");
                    self.log.info(text).await;
                }
            }
            holders.code().await
        };
        match wait.await {
            Ok(0) => {}
            Ok(_) => {
                let text =
                    format!("`{server}` is still locked after {seconds} s: the step continues");
                self.log.warn(text).await;
            }
            // Whoever needs the server next says so.
            Err(error) => {
                self.log
                    .info(format!("Locks were not checked: {error}"))
                    .await
            }
        }
    }
}
