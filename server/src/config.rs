//! Settings: command line flags, each with an environment variable and a default. `docs/settings.md` lists them.

use std::{fmt, net::IpAddr, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use axum::http::Uri;
use clap::{Parser, ValueEnum};
use engine::{catalog::GitHost, config as engine_defaults, secrets::KeySource};
use store::DatabaseUrl;

/// Name of the systemd credential with the server's keys (`LoadCredential=`).
const KEYS_CREDENTIAL: &str = "stackloom-keys";

/// Settings of the server.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "stackloom",
    version,
    about = "Draw it, deploy it, watch it: a designer and orchestrator for OpenStack."
)]
pub struct Config {
    /// Address and port on which the server listens.
    #[arg(long, env = "STACKLOOM_ADDR", default_value = "127.0.0.1:8080")]
    pub addr: SocketAddr,

    /// A `clouds.yaml`. Without it, the usual search path of OpenStack clients.
    #[arg(long, env = "STACKLOOM_CLOUDS")]
    pub clouds: Option<PathBuf>,

    /// Folder of the database, the key file and uploaded catalogue items.
    #[arg(long, env = "STACKLOOM_DATA", default_value = "stackloom-data")]
    pub data: PathBuf,

    /// A PostgreSQL database, such as `postgres://user:password@host/stackloom`. Without it, the file `stackloom.db` in
    /// the data folder. The password can be in `PGPASSWORD` or `~/.pgpass` instead.
    #[arg(long, env = "STACKLOOM_DATABASE", hide_env_values = true)]
    pub database: Option<DatabaseUrl>,

    /// File with the server's own keys, one in base64 a line, the newest first. Without it: the systemd credential
    /// `stackloom-keys`, else `engine.key` in the data folder, which is created.
    #[arg(long, env = "STACKLOOM_KEY_FILE")]
    pub key_file: Option<PathBuf>,

    /// The server's own keys, separated by commas. For the environment only: everybody on the machine sees flags.
    #[arg(long, env = "STACKLOOM_KEYS", hide_env_values = true)]
    pub keys: Option<String>,

    /// Starts although the key of stored secrets is gone. Runs then pause until their users log in.
    #[arg(long, env = "STACKLOOM_DESPITE_LOST_KEYS", default_value_t = false)]
    pub despite_lost_keys: bool,

    /// Folder of the server's own catalogue items, one folder each.
    #[arg(long, env = "STACKLOOM_CATALOG", default_value = "catalog")]
    pub catalog: PathBuf,

    /// Largest archive of an uploaded catalogue item, in MiB.
    #[arg(long, env = "STACKLOOM_UPLOAD_MIB", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=60))]
    pub upload_mib: u32,

    /// Hosts of git repositories whose items can be published, separated by commas: `git.example.org`, with another port
    /// `git.example.org:8443`, or at a fixed address, which may be a private one, `git.internal=10.0.0.5`.
    #[arg(long, env = "STACKLOOM_GIT_HOSTS", value_delimiter = ',')]
    pub git_hosts: Vec<GitHost>,

    /// File with the certificates of these hosts' own authority. Without it, the machine's.
    #[arg(long, env = "STACKLOOM_GIT_CA")]
    pub git_ca: Option<PathBuf>,

    /// Folder of the built pages, which contains `pkg/`.
    #[arg(long, env = "STACKLOOM_SITE", default_value = "target/site")]
    pub site: PathBuf,

    /// Public address of the server, such as `https://stackloom.example.org`, if a proxy is in front. With `https` the
    /// session's cookie is `Secure`.
    #[arg(long, env = "STACKLOOM_PUBLIC_URL")]
    pub public_url: Option<String>,

    /// Address at which the cloud's servers reach this server for signals, such as `https://stackloom.example.org`. Without
    /// it, the public URL, unless that is of this machine only.
    #[arg(long, env = "STACKLOOM_SIGNAL_URL")]
    pub signal_url: Option<String>,

    /// Additional address and port that take signals and nothing else, for a network of the cloud's servers.
    #[arg(long, env = "STACKLOOM_SIGNAL_ADDR")]
    pub signal_addr: Option<SocketAddr>,

    /// Listens on a network without TLS in front, although passwords and sessions are sent in clear text.
    #[arg(long, env = "STACKLOOM_PLAIN_HTTP", default_value_t = false)]
    pub plain_http: bool,

    /// Addresses of trusted proxies, whose `X-Forwarded-For` is used. Without it, all users behind a proxy count as one
    /// when logins fail.
    #[arg(long, env = "STACKLOOM_PROXIES", value_delimiter = ',')]
    pub proxies: Vec<IpAddr>,

    /// Container image in which Ansible runs.
    #[arg(long, env = "STACKLOOM_SANDBOX_IMAGE", default_value = engine_defaults::SANDBOX_IMAGE)]
    pub sandbox_image: String,

    /// Docker daemons that run sandboxes, such as `unix:///var/run/docker.sock`, separated by commas. This machine's
    /// default if not set. The least loaded one is used.
    #[arg(long, env = "STACKLOOM_DOCKER", value_delimiter = ',')]
    pub docker: Vec<String>,

    /// Maximum number of parallel sandboxes. Projects share them fairly.
    #[arg(long, env = "STACKLOOM_SANDBOXES", default_value_t = engine_defaults::PARALLEL_SANDBOXES)]
    pub sandboxes: usize,

    /// Address with SSH access to bastions during a run. Detected if not set.
    #[arg(long, env = "STACKLOOM_ORCHESTRATOR_ADDRESS")]
    pub orchestrator_address: Option<IpAddr>,

    /// Time after which a cloud that does not respond to a login counts as unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_LOGIN_TIMEOUT", default_value_t = Seconds(openstack::config::LOGIN_TIMEOUT))]
    pub login_timeout: Seconds,

    /// Reads of one cloud, and calls to its Keystone such as logins, that are under way at the same time.
    #[arg(long, env = "STACKLOOM_CLOUD_CALLS", default_value_t = openstack::config::PARALLEL_CALLS)]
    pub cloud_calls: usize,

    /// Changes of one service of a cloud that are under way at the same time, beside the reads. They start with two, and
    /// become more while the service answers as fast as before.
    #[arg(long, env = "STACKLOOM_CLOUD_CHANGES", default_value_t = openstack::config::PARALLEL_CHANGES)]
    pub cloud_changes: usize,

    /// Time in which an active server must respond over SSH, in seconds.
    #[arg(long, env = "STACKLOOM_SSH_TIMEOUT", default_value_t = Seconds(engine_defaults::SSH_TIMEOUT))]
    pub ssh_timeout: Seconds,

    /// Time that parallel steps can continue after a step has failed, in seconds.
    #[arg(long, env = "STACKLOOM_GRACE", default_value_t = Seconds(engine_defaults::GRACE))]
    pub grace: Seconds,

    /// Pause between two attempts while the cloud is unreachable, in seconds.
    #[arg(long, env = "STACKLOOM_RETRY_PAUSE", default_value_t = Seconds(engine_defaults::RETRY_PAUSE))]
    pub retry_pause: Seconds,

    /// Time after which the cloud no longer carries out a request without a response, in seconds. The default is the
    /// sum of two timeouts: 60 s between services (`rpc_response_timeout`), and 60 s of a proxy or client in front of
    /// them.
    #[arg(long, env = "STACKLOOM_COMMIT_HORIZON", default_value_t = Seconds(engine_defaults::COMMIT_HORIZON))]
    pub commit_horizon: Seconds,

    /// Time for which a server may act on its runs without hearing from the database, in seconds. Calls to clouds end before
    /// it does. Servers that share a database take the runs of one that is gone after this time and the longest time limit
    /// of a call to a cloud.
    #[arg(long, env = "STACKLOOM_LEASE", default_value_t = Seconds(engine_defaults::LEASE))]
    pub lease: Seconds,

    /// Maximum number of parallel steps of one run.
    #[arg(long, env = "STACKLOOM_PARALLEL_STEPS", default_value_t = engine_defaults::PARALLEL_STEPS)]
    pub parallel_steps: usize,

    /// Stored output of one step, in MiB. The log says what was cut.
    #[arg(long, env = "STACKLOOM_STEP_LOG_MIB", default_value_t = engine_defaults::STEP_LOG_BYTES >> 20, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub step_log_mib: u64,

    /// Stored output of all runs of a project, in MiB.
    #[arg(long, env = "STACKLOOM_PROJECT_LOG_MIB", default_value_t = engine_defaults::PROJECT_LOG_BYTES >> 20, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub project_log_mib: u64,

    /// Days after the end of a run at which its log lines are deleted. 0 keeps them.
    #[arg(long, env = "STACKLOOM_LOG_DAYS", default_value_t = 90)]
    pub log_days: u32,

    /// Free space of the data folder's disk that only active runs use, in MiB. New work is refused below it. 0 for no reserve.
    #[arg(long, env = "STACKLOOM_DISK_RESERVE_MIB", default_value_t = engine_defaults::DISK_RESERVE_BYTES >> 20, value_parser = clap::value_parser!(u64).range(0..=1 << 30))]
    pub disk_reserve_mib: u64,

    /// Maximum number of open connections.
    #[arg(long, env = "STACKLOOM_CONNECTIONS", default_value_t = 1024)]
    pub connections: usize,

    /// Maximum number of open connections of one client address. Trusted proxies have no such limit.
    #[arg(long, env = "STACKLOOM_ADDRESS_CONNECTIONS", default_value_t = 256)]
    pub address_connections: usize,

    /// Time in which a request's head must arrive, and in which an idle connection is closed, in seconds.
    #[arg(long, env = "STACKLOOM_HEADER_TIMEOUT", default_value_t = Seconds(Duration::from_secs(15)))]
    pub header_timeout: Seconds,

    /// Time in which a request's body must arrive, in seconds.
    #[arg(long, env = "STACKLOOM_BODY_TIMEOUT", default_value_t = Seconds(Duration::from_secs(60)))]
    pub body_timeout: Seconds,

    /// Maximum number of parallel logins and checks of unknown tokens.
    #[arg(long, env = "STACKLOOM_LOGINS", default_value_t = 8)]
    pub logins: usize,

    /// Maximum number of parallel logins and checks of unknown tokens of one client address.
    #[arg(long, env = "STACKLOOM_ADDRESS_LOGINS", default_value_t = 4)]
    pub address_logins: usize,

    /// Failed logins and refused tokens of one client address, under any names, before it has to wait.
    #[arg(long, env = "STACKLOOM_ADDRESS_FAILURES", default_value_t = 30)]
    pub address_failures: u32,

    /// Time without a request after which a login ends, in seconds. It ends with the cloud's token in any case.
    #[arg(long, env = "STACKLOOM_SESSION_IDLE", default_value_t = Seconds(Duration::from_secs(4 * 3600)))]
    pub session_idle: Seconds,

    /// Designs of one project.
    #[arg(long, env = "STACKLOOM_PROJECT_DESIGNS", default_value_t = 2000)]
    pub project_designs: u32,

    /// Designs of one project with their kept versions, in MiB.
    #[arg(long, env = "STACKLOOM_PROJECT_DESIGN_MIB", default_value_t = 10_240)]
    pub project_design_mib: u32,

    /// Live deployments of one project.
    #[arg(long, env = "STACKLOOM_PROJECT_DEPLOYMENTS", default_value_t = engine_defaults::PROJECT_DEPLOYMENTS)]
    pub project_deployments: u32,

    /// Undeployed deployments of one project, with the history of their runs. New ones are refused above it, until some are
    /// removed.
    #[arg(long, env = "STACKLOOM_PROJECT_UNDEPLOYED", default_value_t = engine_defaults::PROJECT_UNDEPLOYED)]
    pub project_undeployed: u32,

    /// Active runs of one project. Undeployments are always accepted.
    #[arg(long, env = "STACKLOOM_PROJECT_RUNS", default_value_t = engine_defaults::PROJECT_RUNS)]
    pub project_runs: u32,

    /// Snapshots of one deployment.
    #[arg(long, env = "STACKLOOM_DEPLOYMENT_SNAPSHOTS", default_value_t = engine_defaults::DEPLOYMENT_SNAPSHOTS)]
    pub deployment_snapshots: u32,

    /// Servers of one project that are logged in to at the same time, to see if they have booted.
    #[arg(long, env = "STACKLOOM_PROJECT_SSH_ATTEMPTS", default_value_t = engine_defaults::PROJECT_SSH_ATTEMPTS)]
    pub project_ssh_attempts: usize,

    /// Open terminals of one project.
    #[arg(long, env = "STACKLOOM_PROJECT_TERMINALS", default_value_t = engine_defaults::PROJECT_TERMINALS)]
    pub project_terminals: usize,

    /// Open terminals of one person in a project.
    #[arg(long, env = "STACKLOOM_PERSON_TERMINALS", default_value_t = engine_defaults::PERSON_TERMINALS)]
    pub person_terminals: usize,

    /// Time without input and output after which a terminal ends, in seconds.
    #[arg(long, env = "STACKLOOM_TERMINAL_IDLE", default_value_t = Seconds(engine_defaults::TERMINAL_IDLE))]
    pub terminal_idle: Seconds,

    /// Open websockets and downloads of logs of one project.
    #[arg(long, env = "STACKLOOM_PROJECT_SOCKETS", default_value_t = 500)]
    pub project_sockets: usize,

    /// Uploads of catalogue items of one project at the same time.
    #[arg(long, env = "STACKLOOM_PROJECT_UPLOADS", default_value_t = 2)]
    pub project_uploads: usize,

    /// Templates that are checked, planned or converted at the same time.
    #[arg(long, env = "STACKLOOM_COMPUTATIONS", default_value_t = engine_defaults::COMPUTATIONS)]
    pub computations: usize,

    /// Templates of one project that are checked, planned or converted at the same time.
    #[arg(long, env = "STACKLOOM_PROJECT_COMPUTATIONS", default_value_t = engine_defaults::PROJECT_COMPUTATIONS)]
    pub project_computations: usize,

    /// Time that a request waits for its turn before it is refused, in seconds.
    #[arg(long, env = "STACKLOOM_COMPUTATION_WAIT", default_value_t = Seconds(engine_defaults::COMPUTATION_PATIENCE))]
    pub computation_wait: Seconds,

    /// Time after which a check, plan or conversion is aborted, in seconds.
    #[arg(long, env = "STACKLOOM_COMPUTATION_TIMEOUT", default_value_t = Seconds(engine_defaults::COMPUTATION_DEADLINE))]
    pub computation_timeout: Seconds,

    /// Keystone roles with permission to change things. Other users can only read.
    #[arg(
        long,
        env = "STACKLOOM_MEMBER_ROLES",
        value_delimiter = ',',
        default_value = "member,_member_,manager,admin"
    )]
    pub member_roles: Vec<String>,

    /// Token for readers of `/metrics` (`Authorization: Bearer`). Without it, only this machine can read them.
    #[arg(long, env = "STACKLOOM_METRICS_TOKEN", hide_env_values = true)]
    pub metrics_token: Option<String>,

    /// Days for which audit events are kept.
    #[arg(long, env = "STACKLOOM_AUDIT_DAYS", default_value_t = 365)]
    pub audit_days: u32,

    /// Filter of log lines, such as `info` or `server=debug,info`.
    #[arg(
        long,
        env = "STACKLOOM_LOG",
        default_value = "info,sqlx=warn,tower_sessions=warn,tower_sessions_core=warn"
    )]
    pub log: String,

    /// Format of log lines.
    #[arg(long, env = "STACKLOOM_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text for users.
    Text,
    /// JSON for log collectors.
    Json,
}

impl Config {
    /// Refuses a public URL that is none, and settings that would send passwords and sessions over a network in clear
    /// text.
    ///
    /// # Errors
    /// If the public URL has no scheme or host, or the server would listen on a network without TLS in front.
    pub fn check(&self) -> anyhow::Result<()> {
        if let Some(url) = &self.public_url {
            let is_http = url.starts_with("https://") || url.starts_with("http://");
            anyhow::ensure!(
                is_http && self.public_host().is_some(),
                "STACKLOOM_PUBLIC_URL is `{url}`, which is not an address such as https://stackloom.example.org"
            );
        }
        if self.addr.ip().is_loopback() || self.is_https() || self.plain_http {
            return Ok(());
        }
        anyhow::bail!(
            "{} is reachable over the network, and passwords would cross it in clear text. Put a proxy with TLS in front and set \
             STACKLOOM_PUBLIC_URL to its https address, listen on 127.0.0.1, or set STACKLOOM_PLAIN_HTTP=true for a network \
             that you trust",
            self.addr
        )
    }

    /// The place of the server's own keys.
    pub fn key_source(&self) -> KeySource {
        if let Some(keys) = &self.keys {
            return KeySource::Text(keys.clone().into());
        }
        let credential = || {
            let folder = PathBuf::from(std::env::var_os("CREDENTIALS_DIRECTORY")?);
            Some(folder.join(KEYS_CREDENTIAL)).filter(|file| file.exists())
        };
        match self.key_file.clone().or_else(credential) {
            Some(file) => KeySource::File(file),
            None => KeySource::DataFolder,
        }
    }

    /// True if browsers connect over TLS.
    pub fn is_https(&self) -> bool {
        self.public_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https://"))
    }

    /// The URL at which the cloud's servers reach this server. `None` if they cannot.
    pub fn signal_url(&self) -> Option<&str> {
        self.signal_url.as_deref().or_else(|| {
            let is_here = is_loopback(&self.public_host()?);
            self.public_url.as_deref().filter(|_| !is_here)
        })
    }

    /// True if requests may be addressed to this host name: the public URL's, or one of this machine if the server
    /// listens on loopback. A server on a network without a public URL does not know its names, and takes all.
    pub fn has_name(&self, host: &str) -> bool {
        let is_public = self
            .public_host()
            .is_some_and(|public| public.eq_ignore_ascii_case(host));
        if self.addr.ip().is_loopback() {
            is_public || is_loopback(host)
        } else {
            is_public || self.public_url.is_none()
        }
    }

    /// The host name in the public URL.
    fn public_host(&self) -> Option<String> {
        let url: Uri = self.public_url.as_deref()?.parse().ok()?;
        url.host().map(str::to_owned)
    }

    /// The configured public origin: scheme, host and port.
    pub fn public_origin(&self) -> Option<&str> {
        self.public_url
            .as_deref()
            .map(|url| url.trim_end_matches('/'))
    }
}

/// True for names of this machine that no other machine can have: `localhost`, and addresses of the loopback interface.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let is_address = host
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    host.eq_ignore_ascii_case("localhost") || is_address
}

/// A time in seconds, as in the settings: `120`, `0.5`.
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

    #[test]
    fn a_network_is_served_with_tls_in_front_only() {
        let allowed = |settings: &[&str]| {
            let settings = [&["stackloom"], settings].concat();
            Config::parse_from(settings).check().is_ok()
        };
        assert!(allowed(&[]));
        assert!(allowed(&["--addr=[::1]:80"]));
        assert!(!allowed(&["--addr=0.0.0.0:8080"]));
        let plain = "--public-url=http://stackloom.example.org";
        assert!(!allowed(&["--addr=0.0.0.0:8080", plain]));
        let tls = "--public-url=https://stackloom.example.org";
        assert!(allowed(&["--addr=0.0.0.0:8080", tls]));
        assert!(allowed(&["--addr=0.0.0.0:8080", "--plain-http"]));
    }

    #[test]
    fn servers_signal_to_an_address_that_they_can_reach() {
        let check = |settings: &[&str], expected: Option<&str>| {
            let config = Config::parse_from([&["stackloom"], settings].concat());
            assert_eq!(config.signal_url(), expected, "{settings:?}");
        };
        let public = "--public-url=https://stackloom.example.org";
        check(&[], None);
        check(&[public], Some("https://stackloom.example.org"));
        check(
            &[public, "--signal-url=http://10.0.0.2"],
            Some("http://10.0.0.2"),
        );
        for here in [
            "http://localhost:8080",
            "http://127.0.0.1",
            "http://[::1]:80",
        ] {
            check(&["--public-url", here], None);
        }
    }

    #[test]
    fn requests_are_addressed_to_names_of_the_server() {
        let check = |settings: &[&str], host: &str, expected: bool| {
            let config = Config::parse_from([&["stackloom"], settings].concat());
            assert_eq!(config.has_name(host), expected, "{host}, {settings:?}");
        };
        let public = "--public-url=https://stackloom.example.org:8443/";
        let network = "--addr=0.0.0.0:8080";
        for here in ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "[::1]"] {
            check(&[], here, true);
            check(&[public], here, true);
            check(&[public, network], here, false);
        }
        for foreign in ["evil.example", "localhost.evil.example", "192.0.2.1"] {
            check(&[], foreign, false);
            check(&[public], foreign, false);
            check(&[public, network], foreign, false);
            check(&[network], foreign, true);
        }
        check(&[public], "Stackloom.example.org", true);
        check(&[public, network], "stackloom.example.org", true);
    }

    #[test]
    fn a_public_url_has_a_scheme_and_a_host() {
        for wrong in [
            "stackloom.example.org",
            "https://",
            "ftp://stackloom.example.org",
        ] {
            let config = Config::parse_from(["stackloom", "--public-url", wrong]);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains("STACKLOOM_PUBLIC_URL"), "{error}");
        }
    }

    /// Each row of the page is `| `VARIABLE` | `--flag` | default | meaning |`.
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

    #[test]
    fn the_guide_and_the_files_of_an_installation_name_existing_settings() {
        let command = Config::command();
        let variables = command.get_arguments().filter_map(clap::Arg::get_env);
        let known: Vec<_> = variables.map(|name| name.to_string_lossy()).collect();
        for text in [
            include_str!("../../docs/production.md"),
            include_str!("../../deploy/stackloom.env"),
            include_str!("../../deploy/stackloom.service"),
            include_str!("../../deploy/Dockerfile"),
        ] {
            let words = text.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
            let named: Vec<&str> = words
                .filter(|word| word.starts_with("STACKLOOM_"))
                .collect();
            assert!(!named.is_empty(), "{text}");
            for name in named {
                // `STACKLOOM_ADDRESS_*` stands for several.
                let is_it = |one: &str| match name.ends_with('_') {
                    true => one.starts_with(name),
                    false => one == name,
                };
                assert!(known.iter().any(|one| is_it(one)), "{name}");
            }
        }
    }
}
