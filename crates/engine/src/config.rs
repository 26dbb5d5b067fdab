//! Settings of the engine. The defaults suit one server with a few users.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use store::LogQuota;

use crate::{catalog::GitHost, compute, sandbox::OutputLimits, secrets::KeySource};

/// Default image of sandboxes.
pub const SANDBOX_IMAGE: &str = "stackloom-sandbox";
/// Default of [`Config::software_timeout`].
const SOFTWARE_TIMEOUT: Duration = Duration::from_secs(1800);
/// Default of [`Config::ssh_timeout`].
pub const SSH_TIMEOUT: Duration = Duration::from_secs(120);
/// Default of [`Config::grace`].
pub const GRACE: Duration = Duration::from_secs(120);
/// Default of [`Config::retry_pause`].
pub const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Default of [`Config::commit_horizon`]: 60 s for the timeout between services (`rpc_response_timeout`), plus 60 s for
/// a proxy or client in front of them.
pub const COMMIT_HORIZON: Duration = Duration::from_secs(120);
/// Default of [`Config::lease`]: longer than the usual time limit of a call to a cloud, 60 s.
pub const LEASE: Duration = Duration::from_secs(75);
/// Default of [`Config::parallel_steps`].
pub const PARALLEL_STEPS: usize = 50;
/// Default of [`Config::parallel_sandboxes`].
pub const PARALLEL_SANDBOXES: usize = 8;
/// Default of [`LogQuota::step_bytes`].
pub const STEP_LOG_BYTES: u64 = 64 << 20;
/// Default of [`LogQuota::project_bytes`].
pub const PROJECT_LOG_BYTES: u64 = 10 << 30;
/// Default of [`Config::disk_reserve_bytes`].
pub const DISK_RESERVE_BYTES: u64 = 512 << 20;

/// Default of [`compute::Limits::parallel`].
pub const COMPUTATIONS: usize = 4;
/// Default of [`compute::Limits::per_project`].
pub const PROJECT_COMPUTATIONS: usize = 2;
/// Default of [`compute::Limits::patience`].
pub const COMPUTATION_PATIENCE: Duration = Duration::from_secs(10);
/// Default of [`compute::Limits::deadline`].
pub const COMPUTATION_DEADLINE: Duration = Duration::from_secs(30);

/// Default of [`Config::project_deployments`].
pub const PROJECT_DEPLOYMENTS: u32 = 500;
/// Default of [`Config::project_undeployed`].
pub const PROJECT_UNDEPLOYED: u32 = 5000;
/// Default of [`Config::project_runs`].
pub const PROJECT_RUNS: u32 = 200;
/// Default of [`Config::deployment_snapshots`].
pub const DEPLOYMENT_SNAPSHOTS: u32 = 10;
/// Default of [`Config::project_ssh_attempts`].
pub const PROJECT_SSH_ATTEMPTS: usize = 200;
/// Default of [`Config::project_terminals`].
pub const PROJECT_TERMINALS: usize = 50;
/// Default of [`Config::person_terminals`].
pub const PERSON_TERMINALS: usize = 10;
/// Default of [`Config::terminal_idle`].
pub const TERMINAL_IDLE: Duration = Duration::from_secs(3600);

impl Default for compute::Limits {
    fn default() -> compute::Limits {
        compute::Limits {
            parallel: COMPUTATIONS,
            per_project: PROJECT_COMPUTATIONS,
            patience: COMPUTATION_PATIENCE,
            deadline: COMPUTATION_DEADLINE,
        }
    }
}

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder of the service catalogue, with one folder per item.
    pub catalog: PathBuf,
    /// Hosts of git repositories whose items can be published.
    pub git_hosts: Vec<GitHost>,
    /// Certificates of these hosts' own authority. The machine's if `None`.
    pub git_authority: Option<PathBuf>,
    /// Data folder.
    pub data_dir: PathBuf,
    /// Clouds, to open a session again from a sealed token after a restart.
    pub clouds: openstack::Clouds,
    /// Image of sandboxes, in which Ansible runs.
    pub sandbox_image: String,
    /// Address with SSH access to the bastion. Detected if `None`.
    pub orchestrator_address: Option<IpAddr>,
    /// URL of this server for signals from the cloud's servers. `None` if they cannot reach it.
    pub signal_url: Option<String>,
    /// Maximum time until an active server responds over SSH.
    pub ssh_timeout: Duration,
    /// Maximum time for the set-up of software on a server. The limit in the plan counts if it is shorter.
    pub software_timeout: Duration,
    /// Time that parallel steps can continue after a step has failed.
    pub grace: Duration,
    /// Pause before a retry when the cloud is unreachable. A pause requested by the cloud takes precedence.
    pub retry_pause: Duration,
    /// Time after a lost response during which the cloud can still carry out the request.
    pub commit_horizon: Duration,
    /// Time for which a server may act on its runs without hearing from the database. Calls to clouds end before it
    /// does.
    pub lease: Duration,
    /// First pause between two polls of a resource. Pauses grow.
    pub poll_first: Duration,
    /// Longest pause between two polls of a resource.
    pub poll_longest: Duration,
    /// Time limit for the reads of outputs from the cloud, and for each list of present states. Defaults to 5 s. After that
    /// the stored attributes are shown, and the service of the list is named as late. The limit of a list begins when it
    /// has one of the project's slots.
    pub read_patience: Duration,
    /// Time for a stopped step to reach a safe point before it is aborted.
    pub stop_patience: Duration,
    /// The place of the server's keys.
    pub keys: KeySource,
    /// True if the engine starts although the key of stored secrets is gone.
    pub despite_lost_keys: bool,
    /// Maximum number of running steps of one run.
    pub parallel_steps: usize,
    /// Maximum number of live deployments of a project.
    pub project_deployments: u32,
    /// Maximum number of undeployed deployments of a project. They are kept with the history of their runs until somebody
    /// removes them.
    pub project_undeployed: u32,
    /// Maximum number of active runs of a project. Undeployments are always accepted.
    pub project_runs: u32,
    /// Maximum number of snapshots of a deployment.
    pub deployment_snapshots: u32,
    /// Maximum number of servers that a project tries to log in to at the same time.
    pub project_ssh_attempts: usize,
    /// Maximum number of open terminals of a project.
    pub project_terminals: usize,
    /// Maximum number of open terminals of a person in a project.
    pub person_terminals: usize,
    /// Time without input and output after which a terminal ends.
    pub terminal_idle: Duration,
    /// Limits of computations on templates.
    pub computations: compute::Limits,
    /// Maximum number of sandboxes of all runs.
    pub parallel_sandboxes: usize,
    /// Memory limit of one sandbox in bytes.
    pub sandbox_memory_bytes: i64,
    /// Addresses of the Docker daemons that run sandboxes. The usual one of this machine if empty.
    pub docker_hosts: Vec<String>,
    /// Limits of stored log lines.
    pub log_quota: LogQuota,
    /// Free space of the data folder's disk, in bytes, that only active runs use. New work is refused below it. 0 for no
    /// reserve.
    pub disk_reserve_bytes: u64,
}

impl Config {
    /// Settings with their defaults.
    pub fn new(
        data_dir: impl Into<PathBuf>,
        catalog: impl Into<PathBuf>,
        clouds: openstack::Clouds,
    ) -> Config {
        let data_dir = data_dir.into();
        Config {
            catalog: catalog.into(),
            git_hosts: Vec::new(),
            git_authority: None,
            data_dir,
            clouds,
            sandbox_image: SANDBOX_IMAGE.into(),
            orchestrator_address: None,
            signal_url: None,
            ssh_timeout: SSH_TIMEOUT,
            software_timeout: SOFTWARE_TIMEOUT,
            grace: GRACE,
            retry_pause: RETRY_PAUSE,
            commit_horizon: COMMIT_HORIZON,
            lease: LEASE,
            poll_first: Duration::from_millis(300),
            poll_longest: Duration::from_secs(2),
            read_patience: Duration::from_secs(5),
            stop_patience: Duration::from_secs(10),
            keys: KeySource::default(),
            despite_lost_keys: false,
            parallel_steps: PARALLEL_STEPS,
            project_deployments: PROJECT_DEPLOYMENTS,
            project_undeployed: PROJECT_UNDEPLOYED,
            project_runs: PROJECT_RUNS,
            deployment_snapshots: DEPLOYMENT_SNAPSHOTS,
            project_ssh_attempts: PROJECT_SSH_ATTEMPTS,
            project_terminals: PROJECT_TERMINALS,
            person_terminals: PERSON_TERMINALS,
            terminal_idle: TERMINAL_IDLE,
            computations: compute::Limits::default(),
            parallel_sandboxes: PARALLEL_SANDBOXES,
            sandbox_memory_bytes: 512 * 1024 * 1024,
            docker_hosts: Vec::new(),
            log_quota: LogQuota {
                step_bytes: STEP_LOG_BYTES,
                project_bytes: PROJECT_LOG_BYTES,
            },
            disk_reserve_bytes: DISK_RESERVE_BYTES,
        }
    }

    /// Time limit for the wait of a page's request for one of its project's slots. It is longer than a request that hangs
    /// keeps a slot. Together with the request's own limit, it is shorter than the interval at which pages ask.
    pub(crate) fn slot_patience(&self) -> Duration {
        self.read_patience * 3 / 2
    }

    /// Limits of the output of one sandbox. What its step may store may also arrive.
    pub fn output_limits(&self) -> OutputLimits {
        OutputLimits {
            bytes_max: self.log_quota.step_bytes,
            ..OutputLimits::default()
        }
    }
}
