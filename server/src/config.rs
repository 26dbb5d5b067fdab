//! Settings: command line flags, each with an environment variable and a default. `docs/settings.md` lists them.

use std::{fmt, net::IpAddr, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use clap::{Parser, ValueEnum};
use engine::config as engine_defaults;

/// Settings of the server.
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

    /// Addresses of proxies in front: what they say in `X-Forwarded-For` is believed. Without it, all who come through a proxy
    /// count as one when logins fail.
    #[arg(long, env = "STACKLOOM_PROXIES", value_delimiter = ',')]
    pub proxies: Vec<IpAddr>,

    /// The image that Ansible runs in.
    #[arg(long, env = "STACKLOOM_SANDBOX_IMAGE", default_value = engine_defaults::SANDBOX_IMAGE)]
    pub sandbox_image: String,

    /// The address that bastions let in; detected where absent.
    #[arg(long, env = "STACKLOOM_ORCHESTRATOR_ADDRESS")]
    pub orchestrator_address: Option<IpAddr>,

    /// How long a login to a cloud may take before the cloud counts as unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_LOGIN_TIMEOUT", default_value_t = Seconds(openstack::config::LOGIN_TIMEOUT))]
    pub login_timeout: Seconds,

    /// How long a server may take to answer over SSH once it is active, in seconds.
    #[arg(long, env = "STACKLOOM_SSH_TIMEOUT", default_value_t = Seconds(engine_defaults::SSH_TIMEOUT))]
    pub ssh_timeout: Seconds,

    /// How long parallel steps may go on once one has failed, in seconds.
    #[arg(long, env = "STACKLOOM_GRACE", default_value_t = Seconds(engine_defaults::GRACE))]
    pub grace: Seconds,

    /// Between two tries when the cloud is unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_RETRY_PAUSE", default_value_t = Seconds(engine_defaults::RETRY_PAUSE))]
    pub retry_pause: Seconds,

    /// How long after a request's answer was given up the cloud may still carry the request out, in seconds. The default is the
    /// sum of what services wait for each other (60 s, `rpc_response_timeout`) and what a proxy or client in front waits for them
    /// (60 s).
    #[arg(long, env = "STACKLOOM_COMMIT_HORIZON", default_value_t = Seconds(engine_defaults::COMMIT_HORIZON))]
    pub commit_horizon: Seconds,

    /// Steps of one run at work at the same time.
    #[arg(long, env = "STACKLOOM_PARALLEL_STEPS", default_value_t = engine_defaults::PARALLEL_STEPS)]
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

/// Format of log lines.
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

/// A time in seconds, as a setting says it: `120`, `0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seconds, String> {
        let seconds: f64 = text
            .parse()
            .map_err(|_| format!("`{text}` is not a number of seconds"))?;
        let duration = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
        Ok(Seconds(duration))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// A row each: `| `VARIABLE` | `--flag` | default | meaning |`.
    #[test]
    fn the_page_lists_every_setting_with_its_default() {
        let page = include_str!("../../docs/settings.md");
        let mut rows: Vec<String> = page
            .lines()
            .filter(|line| line.starts_with("| `STACKLOOM_"))
            .map(|line| {
                line.split('|')
                    .take(4)
                    .map(str::trim)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        let command = Config::command();
        let mut settings: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| {
                let default = argument.get_default_values().iter();
                let default: Vec<_> = default.map(|value| value.to_string_lossy()).collect();
                let default = match default.as_slice() {
                    [] => "none".to_owned(),
                    values => format!("`{}`", values.join(",")),
                };
                let variable = argument.get_env()?.to_string_lossy();
                Some(format!(
                    " `{variable}` `--{}` {default}",
                    argument.get_long()?
                ))
            })
            .collect();
        rows.sort();
        settings.sort();
        assert_eq!(rows, settings);
    }
}
