//! The backend of servers, networks and routers: Docker, or memory.
//!
//! The model makes all decisions; a substrate applies them. Its operations are idempotent: creating an existing object
//! or removing a missing one succeeds, so that a lab that was killed in the middle can be restarted.

pub mod docker;
pub mod memory;

use std::net::TcpListener;
use std::time::Duration;

use async_trait::async_trait;

use crate::wiring::{BalancerWiring, ServerWiring, Wiring};

/// A server to create.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Nova's id.
    pub id: String,
    /// The name, from which the host name is derived.
    pub name: String,
    /// The id of its image. Snapshots of servers have their own image in the substrate.
    pub image: String,
    /// Memory limit in MiB.
    pub ram_mib: u32,
    /// User data as in the request.
    pub user_data: Option<Vec<u8>>,
    /// The public key of the key pair.
    pub public_key: Option<String>,
    /// Interfaces and filters.
    pub wiring: ServerWiring,
    /// Attached volumes with their devices. Later ones are attached by [`Substrate::volume_plug`].
    pub volumes: Vec<(String, String)>,
    /// Whether sshd works. A fault can prevent it.
    pub ssh: Ssh,
}

/// Whether a server accepts SSH logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ssh {
    /// Works.
    Works,
    /// An injected fault: the server is ACTIVE, but has no SSH daemon.
    Missing,
}

/// A disk to create.
#[derive(Debug, Clone)]
pub struct VolumeSpec {
    /// Cinder's id.
    pub id: String,
    /// The name, for faults.
    pub name: String,
    /// In GiB.
    pub size_gib: u32,
    /// The id of the snapshot or volume to copy. `None` is empty.
    pub source: Option<String>,
}

/// A power action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// Stops the server.
    Stop,
    /// Starts the server.
    Start,
    /// Stops and starts the server.
    Reboot,
    /// Freezes the processes.
    Pause,
    /// Continues the processes.
    Unpause,
    /// Same as `Pause`: nothing is written to a disk.
    Suspend,
    /// Same as `Unpause`.
    Resume,
    /// Same as `Stop`: the host stays the same.
    Shelve,
    /// Same as `Start`.
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

    /// Nova's task state during the action.
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

    /// The action of a server that was interrupted with this task state.
    pub fn of_task(task: &str) -> Option<Self> {
        match task {
            "rebooting_hard" => Some(Power::Reboot),
            _ => Self::ALL.into_iter().find(|power| power.task() == task),
        }
    }

    /// Whether a server runs after the action.
    pub fn ends_running(self) -> bool {
        matches!(
            self,
            Power::Start | Power::Reboot | Power::Unpause | Power::Resume | Power::Unshelve
        )
    }
}

/// The handling of containers and networks when the lab stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// Containers continue to run; the next start finds them.
    Keep,
    /// All objects are removed.
    Remove,
}

/// An error of the substrate.
#[derive(Debug, thiserror::Error)]
pub enum SubstrateError {
    /// A requirement on the host that an administrator must fix.
    #[error("{0}")]
    Missing(String),
    /// An error of Docker.
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

/// The interface to a backend of servers.
#[async_trait]
pub trait Substrate: Send + Sync {
    /// Prepares the backend. The error describes missing requirements for the user.
    async fn open(&self) -> Result<(), SubstrateError>;

    /// Creates and starts a server. Returns when it runs with its wiring and filters; its boot can continue.
    async fn server_start(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Performs a power action.
    async fn server_power(&self, spec: &ServerSpec, power: Power) -> Result<(), SubstrateError>;

    /// Applies the memory limit of the spec to a running server.
    async fn server_resize(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Applies the interfaces of the spec to a running server. Called only if there is wiring.
    async fn server_update_interfaces(&self, spec: &ServerSpec) -> Result<(), SubstrateError>;

    /// Removes a server.
    async fn server_remove(&self, id: &str) -> Result<(), SubstrateError>;

    /// The servers among these that have stopped without a request.
    async fn servers_dead(&self, ids: &[String]) -> Result<Vec<String>, SubstrateError>;

    /// Saves a server's current disk under an image's id.
    async fn image_create(&self, image: &str, server: &str) -> Result<(), SubstrateError>;

    /// Removes such an image. No error if it is missing.
    async fn image_remove(&self, image: &str) -> Result<(), SubstrateError>;

    /// The console output of a server so far.
    async fn console(&self, id: &str) -> Result<String, SubstrateError>;

    /// Creates a disk, or extends an existing one. `source` is used only for new disks.
    async fn volume_create(&self, spec: &VolumeSpec) -> Result<(), SubstrateError>;

    /// Removes a disk or snapshot.
    async fn volume_remove(&self, id: &str) -> Result<(), SubstrateError>;

    /// Copies the current content of a disk or snapshot to another id, also to an existing one: for a snapshot, and for the
    /// return of a disk to it.
    async fn volume_copy(&self, id: &str, source: &str) -> Result<(), SubstrateError>;

    /// Attaches a disk to a server as this device.
    async fn volume_plug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError>;

    /// Detaches a disk from a server.
    async fn volume_unplug(
        &self,
        server: &str,
        volume: &str,
        device: &str,
    ) -> Result<(), SubstrateError>;

    /// A listener for a running server's requests to 169.254.169.254. `None` if there are no such requests.
    async fn metadata_listener(&self, id: &str) -> Result<Option<TcpListener>, SubstrateError>;

    /// The simulated duration of a change for which the substrate has nothing to do.
    fn simulated_delay(&self) -> Duration;

    /// Whether there is wiring. If not, [`Substrate::wire`] is never called.
    fn has_wiring(&self) -> bool;

    /// Discards the state of routers and load balancers whose containers have stopped without a request. Returns
    /// whether there were any. The next [`Substrate::wire`] recreates them.
    async fn wiring_lost(&self) -> bool;

    /// Whether a load balancer runs this configuration, or is removed for `None`.
    async fn balancer_is_running(&self, id: &str, wanted: Option<&BalancerWiring>) -> bool;

    /// Applies the wiring to networks, routers, load balancers and running servers. On an error, unaffected objects are
    /// still updated.
    async fn wire(&self, wiring: &Wiring) -> Result<(), SubstrateError>;

    /// Stops the backend.
    async fn close(&self, how: Close) -> Result<(), SubstrateError>;
}
