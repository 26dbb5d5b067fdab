//! Settings: command line flags, each with an environment variable and a default.

use std::{net::IpAddr, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

/// What the server is started with.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "stackloom",
    version,
    about = "Draw it, deploy it, watch it: a designer and orchestrator for OpenStack."
)]
pub struct Config {
    /// Where to listen.
    #[arg(long, env = "STACKLOOM_ADDR", default_value = "127.0.0.1:8080")]
    pub addr: SocketAddr,

    /// A `clouds.yaml`; without it the usual search path is taken.
    #[arg(long, env = "STACKLOOM_CLOUDS")]
    pub clouds: Option<PathBuf>,

    /// Where state lives.
    #[arg(long, env = "STACKLOOM_DATA", default_value = "stackloom-data")]
    pub data: PathBuf,

    /// The service catalogue: one folder an item.
    #[arg(long, env = "STACKLOOM_CATALOG", default_value = "catalog")]
    pub catalog: PathBuf,

    /// The largest archive of a catalogue item that is taken, in MiB.
    #[arg(long, env = "STACKLOOM_UPLOAD_MIB", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=60))]
    pub upload_mib: u32,

    /// The built site, with `pkg/` in it.
    #[arg(long, env = "STACKLOOM_SITE", default_value = "target/site")]
    pub site: PathBuf,

    /// The address that people type, such as `https://stackloom.example.org`, where a proxy stands in
    /// front. With `https` the session's cookie is `Secure`.
    #[arg(long, env = "STACKLOOM_PUBLIC_URL")]
    pub public_url: Option<String>,

    /// Addresses of proxies in front: what they say in `X-Forwarded-For` is believed. Without it, all who come through a proxy count as one
    /// when logins fail.
    #[arg(long, env = "STACKLOOM_PROXIES", value_delimiter = ',')]
    pub proxies: Vec<IpAddr>,

    /// The image that Ansible runs in.
    #[arg(
        long,
        env = "STACKLOOM_SANDBOX_IMAGE",
        default_value = "stackloom-sandbox"
    )]
    pub sandbox_image: String,

    /// The address that bastions let in; detected where absent.
    #[arg(long, env = "STACKLOOM_ORCHESTRATOR_ADDRESS")]
    pub orchestrator_address: Option<IpAddr>,

    /// How long a login to a cloud may take before the cloud counts as unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_LOGIN_TIMEOUT", default_value = "15", value_parser = seconds)]
    pub login_timeout: Duration,

    /// How long a server may take to answer over SSH once it is active, in seconds.
    #[arg(long, env = "STACKLOOM_SSH_TIMEOUT", default_value = "120", value_parser = seconds)]
    pub ssh_timeout: Duration,

    /// How long parallel steps may go on once one has failed, in seconds.
    #[arg(long, env = "STACKLOOM_GRACE", default_value = "120", value_parser = seconds)]
    pub grace: Duration,

    /// Between two tries when the cloud is unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_RETRY_PAUSE", default_value = "10", value_parser = seconds)]
    pub retry_pause: Duration,

    /// How long after a request's answer was given up the cloud may still carry the request out, in seconds. The default is the sum of
    /// what services wait for each other (60 s, `rpc_response_timeout`) and what a proxy or client in front waits for them (60 s).
    #[arg(long, env = "STACKLOOM_COMMIT_HORIZON", default_value = "120", value_parser = seconds)]
    pub commit_horizon: Duration,

    /// Steps of one run at work at the same time.
    #[arg(long, env = "STACKLOOM_PARALLEL_STEPS", default_value = "50")]
    pub parallel_steps: usize,

    /// Keystone roles that may change things; all others only look.
    #[arg(
        long,
        env = "STACKLOOM_MEMBER_ROLES",
        value_delimiter = ',',
        default_value = "member,_member_,manager,admin"
    )]
    pub member_roles: Vec<String>,

    /// What to log, such as `info` or `server=debug,info`.
    #[arg(
        long,
        env = "STACKLOOM_LOG",
        default_value = "info,sqlx=warn,tower_sessions=warn,tower_sessions_core=warn"
    )]
    pub log: String,

    /// How to log.
    #[arg(long, env = "STACKLOOM_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

impl Config {
    /// Whether browsers reach us over TLS.
    pub fn is_https(&self) -> bool {
        self.public_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https://"))
    }

    /// The origin that browsers show, where it is set: scheme, host and port.
    pub fn public_origin(&self) -> Option<&str> {
        self.public_url
            .as_deref()
            .map(|url| url.trim_end_matches('/'))
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
