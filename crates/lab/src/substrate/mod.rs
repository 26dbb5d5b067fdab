//! The substrate of servers, networks and routers: Docker, or memory.
//!
//! The model decides, a substrate obeys. Its calls are idempotent: what is there already is taken as it is, and removing what is
//! not there succeeds, so that a lab that was killed in the middle can be started again.

pub mod docker;
pub mod memory;

use std::net::TcpListener;
use std::time::Duration;

use async_trait::async_trait;

use crate::wiring::{BalancerWiring, ServerWiring, Wiring};

/// A server to make.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Nova's id.
    pub id: String,
    /// The host's name comes from it.
    pub name: String,
    /// Its image; what it begins with if that is a server's disk of some moment.
    pub image: String,
    /// Memory limit, MiB.
    pub ram_mib: u32,
    /// As the person gave it.
    pub user_data: Option<Vec<u8>>,
    /// Of the key pair.
    pub public_key: Option<String>,
    /// Interfaces and filters.
    pub wiring: ServerWiring,
    /// Disks that it has: volume and device. One that is plugged in later comes by [`Substrate::volume_plug`].
    pub volumes: Vec<(String, String)>,
    /// Whether it gets a working sshd (a fault may say no).
    pub ssh: Ssh,
}

/// Whether a server can be logged in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ssh {
    /// As it should.
    Works,
    /// A fault of the test: the server is ACTIVE, but nothing listens.
    NeverComes,
}

/// A disk to make.
#[derive(Debug, Clone)]
pub struct VolumeSpec {
    /// Cinder's id.
    pub id: String,
    /// For faults that go by name.
    pub name: String,
    /// GiB.
    pub size_gib: u32,
    /// The snapshot or volume whose content it begins with; else it is empty.
    pub content_of: Option<String>,
}

/// A change of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// Off.
    Stop,
    /// On.
    Start,
    /// Off and on.
    Reboot,
    /// Hold it where it is.
    Pause,
    /// Let it go on.
    Unpause,
    /// As if its memory went to a disk: it is held.
    Suspend,
    /// As if it came back: it goes on.
    Resume,
    /// Off, as if its host were given to others.
    Shelve,
    /// On again.
    Unshelve,
}

impl Power {
    const ALL: [Power; 9] = [
        Power::Stop,
        Power::Start,
        Power::Reboot,
        Power::Pause,
        Power::Unpause,
        Power::Suspend,
        Power::Resume,
        Power::Shelve,
        Power::Unshelve,
    ];

    /// Nova's task state for the change.
    pub fn task(self) -> &'static str {
        match self {
            Power::Stop => "powering-off",
            Power::Start => "powering-on",
            Power::Reboot => "rebooting",
            Power::Pause => "pausing",
            Power::Unpause => "unpausing",
            Power::Suspend => "suspending",
            Power::Resume => "resuming",
            Power::Shelve => "shelving",
            Power::Unshelve => "unshelving",
        }
    }

    /// The switch that was being turned when a server was left with this task.
    pub fn of_task(task: &str) -> Option<Self> {
        match task {
            "rebooting_hard" => Some(Power::Reboot),
            _ => Self::ALL.into_iter().find(|power| power.task() == task),
        }
    }

    /// Whether a server runs after it.
    pub fn ends_running(self) -> bool {
        matches!(
            self,
            Power::Start | Power::Reboot | Power::Unpause | Power::Resume | Power::Unshelve
        )
    }
}

/// The resources that stay when the lab stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// Containers go on; the next start finds them.
    Keep,
    /// Nothing stays.
    Remove,
}

/// An error of the substrate.
#[derive(Debug, thiserror::Error)]
pub enum SubstrateError {
    /// The machine lacks something; a person has to act.
    #[error("{0}")]
    Missing(String),
    /// Docker refused.
    #[error("while {doing}: {source}")]
    Docker {
        /// The operation.
        doing: String,
        /// Docker's error.
        source: bollard::errors::Error,
    },
    /// A command in a container, or on this machine, failed.
    #[error("while {doing}: {output}")]
    Command {
        /// The operation.
        doing: String,
        /// The output.
        output: String,
    },
}

/// The interface to the machinery that runs servers.
#[async_trait]
pub trait Substrate: Send + Sync {
    /// Get ready; fails with a sentence for a person if something is missing.
    async fn open(&self) -> Result<(), SubstrateError>;

    /// Make a server and start it. Done when it runs, wired and filtered; it may still boot.
    async fn server_start(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Switch a server.
    async fn server_power(&self, spec: &ServerSpec, power: Power) -> Result<(), SubstrateError>;

    /// Give a server the size that its spec says; it goes on running.
    async fn server_resize(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Make a running server have the interfaces of its spec. Called only if there is wiring.
    async fn server_replug(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Remove a server.
    async fn server_remove(&self, id: &str) -> Result<(), SubstrateError>;

    /// Servers of these that do not run though nobody stopped them here.
    async fn servers_dead(&self, ids: &[String]) -> Result<Vec<String>, SubstrateError>;

    /// Keep a server's disk of this moment under an image's id.
    async fn image_create(&self, image: &str, server: &str) -> Result<(), SubstrateError>;

    /// Forget such an image; one that is not there is fine.
    async fn image_remove(&self, image: &str) -> Result<(), SubstrateError>;

    /// The console output of a server so far.
    async fn console(&self, id: &str) -> Result<String, SubstrateError>;

    /// Make a disk, or let one that is there grow to its size. What it began with stays.
    async fn volume_create(&self, spec: &VolumeSpec) -> Result<(), SubstrateError>;

    /// Remove a disk, or a snapshot of one.
    async fn volume_remove(&self, id: &str) -> Result<(), SubstrateError>;

    /// Keep a disk's content of this moment under another id.
    async fn snapshot_create(&self, id: &str, volume: &str) -> Result<(), SubstrateError>;

    /// Give a disk to a server as this device.
    async fn volume_plug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError>;

    /// Take a disk from a server.
    async fn volume_unplug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError>;

    /// A socket on which a running server's questions to 169.254.169.254 arrive; none where servers ask nothing.
    async fn metadata_listener(&self, id: &str) -> Result<Option<TcpListener>, SubstrateError>;

    /// How long a change takes of which nothing is made here.
    fn beat(&self) -> Duration;

    /// Whether it has wiring at all; if not, [`Substrate::wire`] is never called.
    fn has_wiring(&self) -> bool;

    /// Forget routers and load balancers that died by themselves, which the wiring runs through; whether there were any. The next
    /// [`Substrate::wire`] makes it anew.
    async fn wiring_lost(&self) -> bool;

    /// Whether a load balancer does what it should: this, or nothing any more.
    async fn balancer_follows(&self, id: &str, wanted: Option<&BalancerWiring>) -> bool;

    /// Make networks, routers, load balancers and packet filters of running servers as told. An error means that not all is as it
    /// should be; what has nothing to do with the trouble is.
    async fn wire(&self, wiring: &Wiring) -> Result<(), SubstrateError>;

    /// Stop.
    async fn close(&self, how: Close) -> Result<(), SubstrateError>;
}
