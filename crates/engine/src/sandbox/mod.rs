//! One disposable container per execution.
//!
//! [`Sandboxes`] assigns the slots ([`queue`]: fair between projects), places each execution on the least loaded
//! [`Host`], and communicates with the container over its standard streams ([`session`]): it has no network. A [`Host`]
//! creates and removes containers: Docker daemons, local or remote ([`docker`]), and in-memory programs for tests.

mod docker;
mod ignore_write_errors;
mod image;
mod lines;
#[cfg(test)]
mod memory;
mod owner;
mod queue;
mod session;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

pub use docker::DockerHost;
pub use lines::Lines;
pub use owner::owner_id;
pub use queue::Slot;
pub use session::{Meter, OutputLimits, Permit, Servers};

use crate::{secrets::Mask, ssh::ByteStream};

/// Starts sandboxes. Cheap to clone.
#[derive(Clone)]
pub struct Sandboxes {
    hosts: Arc<[Place]>,
    slots: queue::Queue,
    limits: OutputLimits,
}

/// A host and its load.
struct Place {
    host: Arc<dyn Host>,
    running: AtomicUsize,
}

/// One execution.
#[derive(Clone, Default)]
pub struct Job {
    /// Id of the run, for a label.
    pub run: String,
    /// Id of the step, for a label.
    pub step: String,
    /// Files in the work folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The servers that it can connect to.
    pub servers: Servers,
    /// Secrets that the reader of its lines masks. A line that is too long is not split within one.
    pub mask: Arc<Mask>,
}

/// The reason why an execution was not completed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The execution was stopped.
    #[error("it was stopped")]
    Stopped,
    /// The execution was not started, because this server no longer holds the run.
    #[error(transparent)]
    NotPermitted(#[from] openstack::NotPermitted),
    /// The image does not exist.
    #[error(
        "the sandbox image `{0}` is missing; `cargo xtask run` builds it, or set STACKLOOM_SANDBOX_IMAGE"
    )]
    NoImage(String),
    /// Docker failed.
    #[error("the sandbox could not be run: {0}")]
    Docker(String),
    /// The program inside violated our protocol.
    #[error(
        "the sandbox was ended, because it sent what its protocol does not allow ({0}); see what the role does on Ansible's side"
    )]
    Protocol(String),
}

/// A host of containers.
#[async_trait]
pub trait Host: Send + Sync {
    /// Starts a container and passes the job's files and program to it.
    ///
    /// # Errors
    /// See [`SandboxError`]. No container is left then.
    async fn start(&self, job: &Job) -> Result<Box<dyn Container>, SandboxError>;

    /// Removes containers that an earlier process of this engine left, and returns their number.
    ///
    /// # Errors
    /// If the host does not respond.
    async fn remove_orphans(&self) -> Result<usize, SandboxError>;
}

/// A running container. Dropping it removes it in the background.
#[async_trait]
pub trait Container: Send {
    /// Standard input and output of the container. `None` after the first call.
    fn take_streams(&mut self) -> Option<Box<dyn ByteStream>>;

    /// The exit code, after the end.
    ///
    /// # Errors
    /// If the host does not respond.
    async fn exit_code(&mut self) -> Result<i64, SandboxError>;

    /// Error lines and warnings of the container's first program. Mostly empty on success.
    fn complaints(&self) -> Vec<String>;

    /// Removes it, and waits until it is gone.
    async fn remove(self: Box<Self>);
}

/// Receives an execution's lines.
#[async_trait]
pub trait LineSink {
    /// Lines that arrived together, without their line ends.
    async fn lines(&mut self, lines: Vec<String>);
}

impl Sandboxes {
    /// Sandboxes on these hosts, at most `parallel` in total.
    pub fn new(
        hosts: impl IntoIterator<Item = Arc<dyn Host>>,
        parallel: usize,
        limits: OutputLimits,
    ) -> Sandboxes {
        let place = |host| Place {
            host,
            running: AtomicUsize::new(0),
        };
        Sandboxes {
            hosts: hosts.into_iter().map(place).collect(),
            slots: queue::Queue::new(parallel),
            limits,
        }
    }

    /// Removes containers that an earlier process of this engine left.
    ///
    /// # Errors
    /// If a host does not respond.
    pub async fn remove_orphans(&self) -> Result<usize, SandboxError> {
        let mut removed = 0;
        for place in self.hosts.iter() {
            removed += place.host.remove_orphans().await?;
        }
        Ok(removed)
    }

    /// Numbers of executions that have a slot, and that wait for one.
    pub fn count(&self) -> (usize, usize) {
        self.slots.count()
    }

    /// A slot at once, if one is free.
    pub fn try_slot(&self, project: &str) -> Option<Slot> {
        self.slots.try_acquire(project)
    }

    /// A slot, when it is this project's turn.
    pub async fn slot(&self, project: &str) -> Slot {
        self.slots.acquire(project).await
    }

    /// Runs a job and passes on its lines as they arrive. Returns its exit code.
    ///
    /// # Errors
    /// See [`SandboxError`]. The container is removed in each case.
    pub async fn execute(
        &self,
        _slot: Slot,
        job: &Job,
        stop: &CancellationToken,
        sink: &mut (dyn LineSink + Send),
    ) -> Result<i64, SandboxError> {
        // As late as possible: a job may wait in line for minutes.
        openstack::permitted_for()?;
        let place = self.least_loaded()?;
        let _load = Load::on(place);
        let mut container = tokio::select! {
            container = place.host.start(job) => container?,
            () = stop.cancelled() => return Err(SandboxError::Stopped),
        };
        let result = tokio::select! {
            result = supervise(&mut *container, job, self.limits, sink) => result,
            () = stop.cancelled() => Err(SandboxError::Stopped),
        };
        container.remove().await;
        result
    }

    fn least_loaded(&self) -> Result<&Place, SandboxError> {
        let load = |place: &&Place| place.running.load(Ordering::Relaxed);
        let least = self.hosts.iter().min_by_key(load);
        least.ok_or_else(|| SandboxError::Docker("no Docker daemon is configured".into()))
    }
}

async fn supervise(
    container: &mut dyn Container,
    job: &Job,
    limits: OutputLimits,
    sink: &mut (dyn LineSink + Send),
) -> Result<i64, SandboxError> {
    if let Some(streams) = container.take_streams() {
        session::run_session(streams, job, limits, sink).await?;
    }
    let code = container.exit_code().await?;
    let complaints = container.complaints();
    if !complaints.is_empty() {
        sink.lines(complaints).await;
    }
    Ok(code)
}

/// One execution on a host.
struct Load<'a>(&'a Place);

impl<'a> Load<'a> {
    fn on(place: &'a Place) -> Load<'a> {
        place.running.fetch_add(1, Ordering::Relaxed);
        Load(place)
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
