//! Settings. Every one has a default that suits one server with a handful of people.

use std::{net::IpAddr, path::PathBuf, time::Duration};

/// Default image of sandboxes.
pub const SANDBOX_IMAGE: &str = "stackloom-sandbox";
/// Default of [`Config::ssh_timeout`].
pub const SSH_TIMEOUT: Duration = Duration::from_secs(120);
/// Default of [`Config::grace`].
pub const GRACE: Duration = Duration::from_secs(120);
/// Default of [`Config::retry_pause`].
pub const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Default of [`Config::commit_horizon`]: 60 s until a service gives up on another one (`rpc_response_timeout`), and 60 s of a proxy
/// or client before it.
pub const COMMIT_HORIZON: Duration = Duration::from_secs(120);
/// Default of [`Config::parallel_steps`].
pub const PARALLEL_STEPS: usize = 50;

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder of the service catalogue: one folder an item.
    pub catalog: PathBuf,
    /// Where the key file lies that seals tokens while runs last.
    pub data_dir: PathBuf,
    /// To open a session again, from a sealed token, after a restart.
    pub clouds: openstack::Clouds,
    /// The image that Ansible runs in.
    pub sandbox_image: String,
    /// The address that the bastion lets in; detected where absent.
    pub orchestrator_address: Option<IpAddr>,
    /// How long a server may take to answer over SSH once it is active.
    pub ssh_timeout: Duration,
    /// How long parallel steps may go on once one has failed.
    pub grace: Duration,
    /// Between two tries when the cloud is unreachable, unless it asks for another pause.
    pub retry_pause: Duration,
    /// How long after a request's answer was given up the cloud may still carry the request out.
    pub commit_horizon: Duration,
    /// The first pause between two looks at something that the cloud works on; it grows.
    pub poll_first: Duration,
    /// The longest pause between two looks.
    pub poll_longest: Duration,
    /// How long somebody who looks at outputs waits for the cloud. Defaults to 5 s; then the stored attributes count.
    pub read_patience: Duration,
    /// How long a stopped step may take to reach a safe point before it is cut off.
    pub stop_patience: Duration,
    /// Steps of one run at work at the same time.
    pub parallel_steps: usize,
    /// Sandboxes of all runs at the same time.
    pub parallel_sandboxes: usize,
    /// Memory of one sandbox in bytes.
    pub sandbox_memory_bytes: i64,
}

impl Config {
    /// The defaults.
    pub fn new(
        data_dir: impl Into<PathBuf>,
        catalog: impl Into<PathBuf>,
        clouds: openstack::Clouds,
    ) -> Config {
        Config {
            catalog: catalog.into(),
            data_dir: data_dir.into(),
            clouds,
            sandbox_image: SANDBOX_IMAGE.into(),
            orchestrator_address: None,
            ssh_timeout: SSH_TIMEOUT,
            grace: GRACE,
            retry_pause: RETRY_PAUSE,
            commit_horizon: COMMIT_HORIZON,
            poll_first: Duration::from_millis(300),
            poll_longest: Duration::from_secs(2),
            read_patience: Duration::from_secs(5),
            stop_patience: Duration::from_secs(10),
            parallel_steps: PARALLEL_STEPS,
            parallel_sandboxes: 8,
            sandbox_memory_bytes: 512 * 1024 * 1024,
        }
    }
}
