//! `cargo xtask run`: from a clone to a running server with a login page.
//!
//! All requirements are prepared first, so that errors appear early. Then the lab cloud and the server are started, and
//! run until Ctrl-C or SIGTERM, or until one of them ends. Children are stopped in reverse order. The state is kept in
//! `target/data` (or `STACKLOOM_DATA`), so the next run has the same designs and deployments.
//!
//! With `--servers`, a failover can be tried: all that a service manager would start again is started again after a pause.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::children::{self, Child};
use crate::lab::Lab;
use crate::server::Server;
use crate::{build, clouds, docker, http, needs, paths, postgres, progress, shell};

/// Options of `run`.
#[derive(clap::Args)]
pub struct Options {
    /// A `clouds.yaml` with additional clouds.
    #[arg(long, value_name = "FILE")]
    clouds: Option<PathBuf>,
    /// Do not start the lab cloud.
    #[arg(long)]
    no_lab: bool,
    /// Keep the state in a PostgreSQL server, started for it, and not in a file.
    #[arg(long)]
    postgres: bool,
    /// Start this number of servers behind HAProxy, on a highly available database: three PostgreSQL servers with Patroni.
    #[arg(long, value_name = "N", conflicts_with = "postgres", value_parser = clap::value_parser!(u16).range(2..=9))]
    servers: Option<u16>,
    /// Build in release mode: slower to build, faster at run time.
    #[arg(long)]
    release: bool,
}

/// Runs until it is stopped.
pub fn run(options: &Options) -> Result<()> {
    let begin = Instant::now();
    let stop = children::stop_flag()?;
    needs::ensure(&match options {
        Options {
            servers: Some(_), ..
        } => needs::for_running_servers(),
        Options { postgres: true, .. } => needs::for_running_on_postgres(),
        _ => needs::for_running(),
    })?;
    let address = std::env::var("STACKLOOM_ADDR").unwrap_or_else(|_| "127.0.0.1:8080".into());
    if http::is_taken(&address) {
        bail!("{address} is taken; set STACKLOOM_ADDR to another address, or stop what is there");
    }
    // Stopped in reverse order: the server first, then the lab, then the daemon.
    let mut running: Vec<Child> = docker::ensure_daemon()?.into_iter().collect();
    let profile = if options.release {
        build::Profile::Release
    } else {
        build::Profile::Dev
    };
    shell::headline("Building");
    progress::run_concurrently(vec![
        docker::images(),
        build::pages(profile),
        build::programs(profile),
    ])?;
    let programs = build::Programs::of(profile);
    if children::is_raised(&stop) {
        return Ok(());
    }

    let data = paths::data();
    std::fs::create_dir_all(&data).with_context(|| format!("cannot make {}", data.display()))?;
    let lab = (!options.no_lab).then(Lab::of_run);
    if let Some(lab) = &lab {
        running.push(lab.start(&programs.lab, None)?);
    }
    let clouds_file = data.join("clouds.yaml");
    let clouds = clouds::text(
        lab.as_ref().map(|lab| lab.listen.as_str()),
        options.clouds.as_deref(),
    )?;
    std::fs::write(&clouds_file, clouds)
        .with_context(|| format!("cannot write {}", clouds_file.display()))?;
    let signals = match &lab {
        Some(lab) => signal_address(&address, lab)?,
        None => None,
    };
    let server = |address: &str, folder: &Path, database: &str| Server {
        address: address.to_owned(),
        database: (!database.is_empty()).then(|| database.to_owned()),
        clouds: clouds_file.clone(),
        data: folder.to_owned(),
        catalog: paths::root().join("catalog"),
        signal_url: signals.map(|signals| format!("http://{signals}")),
        log: None,
        settings: Vec::new(),
    };
    // Where the server itself listens on all addresses, it is there already.
    let own_signals = signals.filter(|_| !is_everywhere(&address));
    let own_signals = own_signals.map(|signals| signals.to_string());
    let mut supervised = Vec::new();
    let mut trial = Vec::new();
    if let Some(count) = options.servers {
        let addresses = addresses_after(&address, count)?;
        let folder = data.join("ha");
        shell::headline("Starting the database");
        let (child, database) = postgres::start_highly_available(
            &folder,
            &address,
            &addresses,
            own_signals.as_deref(),
        )?;
        running.push(child);
        for (number, own) in addresses.iter().enumerate() {
            let mut server = server(own, &data.join(format!("server{}", number + 1)), &database);
            server.settings = vec![("STACKLOOM_PROXIES", "127.0.0.1".into())];
            if number > 0 {
                // The first server makes the keys.
                let keys = data.join("server1/engine.key");
                server.settings.push(("STACKLOOM_KEY_FILE", keys.into()));
            }
            supervised.push(Supervised::start(server, &programs.server)?);
        }
        trial = how_to_fail_over(&folder, &supervised);
    } else {
        let database = if options.postgres {
            let (child, database) = postgres::start(&data.join("postgres"))?;
            running.push(child);
            database
        } else {
            String::new()
        };
        let mut server = server(&address, &data, &database);
        if let Some(signals) = own_signals {
            server.settings = vec![("STACKLOOM_SIGNAL_ADDR", signals.into())];
        }
        running.push(server.start(&programs.server)?);
    }

    print!(
        "{}",
        welcome(&address, lab.is_some(), &trial, begin.elapsed())
    );
    let ended = loop {
        if children::is_raised(&stop) {
            break None;
        }
        let ended = running
            .iter_mut()
            .find_map(|child| Some((child.name(), child.exit_status()?)));
        if ended.is_some() {
            break ended;
        }
        supervised.iter_mut().for_each(Supervised::look);
        std::thread::sleep(Duration::from_millis(200));
    };
    eprintln!("stopping");
    drop(supervised);
    while let Some(child) = running.pop() {
        drop(child);
    }
    match ended {
        Some((name, status)) => bail!("the {name} ended with {status}"),
        None => Ok(()),
    }
}

/// The address at which the lab's servers signal, in their external network. Only signals are taken there. `None` if the
/// environment names another one, or if this machine is not in that network, as where Docker runs in a virtual machine.
fn signal_address(address: &str, lab: &Lab) -> Result<Option<SocketAddr>> {
    let settings = ["STACKLOOM_SIGNAL_URL", "STACKLOOM_PUBLIC_URL"];
    if settings.iter().any(|one| std::env::var_os(one).is_some()) {
        return Ok(None);
    }
    let port = address
        .parse::<SocketAddr>()
        .with_context(|| format!("{address} is no address with a port"))?
        .port();
    let signals = SocketAddr::new(lab.host_address()?.into(), port);
    if !is_everywhere(address)
        && let Err(error) = TcpListener::bind(signals)
    {
        eprintln!("the lab's servers cannot signal, because {signals} cannot be used: {error}");
        return Ok(None);
    }
    Ok(Some(signals))
}

/// True for an address that means all addresses of this machine.
fn is_everywhere(address: &str) -> bool {
    address
        .parse::<SocketAddr>()
        .is_ok_and(|address| address.ip().is_unspecified())
}

/// The addresses with the next ports.
fn addresses_after(address: &str, count: u16) -> Result<Vec<String>> {
    let address: SocketAddr = address
        .parse()
        .with_context(|| format!("{address} is no address with a port"))?;
    let next = |number| SocketAddr::new(address.ip(), address.port().saturating_add(number));
    Ok((1..=count).map(|number| next(number).to_string()).collect())
}

/// Pause before a server that has ended is started again.
const RESTART_PAUSE: Duration = Duration::from_secs(30);

/// A server that is started again when it has ended.
struct Supervised {
    server: Server,
    program: PathBuf,
    /// `None` after its end.
    process: Option<Child>,
    ended: Instant,
}

impl Supervised {
    fn start(server: Server, program: &Path) -> Result<Supervised> {
        Ok(Supervised {
            process: Some(server.start(program)?),
            server,
            program: program.to_owned(),
            ended: Instant::now(),
        })
    }

    fn look(&mut self) {
        let address = &self.server.address;
        if let Some(process) = &mut self.process {
            if let Some(status) = process.exit_status() {
                eprintln!("the server at {address} ended with {status}; it starts again in 30 s");
                self.process = None;
                self.ended = Instant::now();
            }
        } else if self.ended.elapsed() >= RESTART_PAUSE {
            self.ended = Instant::now();
            match self.server.start(&self.program) {
                Ok(process) => {
                    eprintln!("the server at {address} is process {}", process.id());
                    self.process = Some(process);
                }
                Err(error) => eprintln!("{error:#}; next try in 30 s"),
            }
        }
    }
}

fn how_to_fail_over(folder: &Path, servers: &[Supervised]) -> Vec<String> {
    let folder = folder.display();
    let mut lines =
        vec!["HAProxy passes requests on to these servers; kill one during a run:".into()];
    lines.extend(servers.iter().map(|one| {
        let id = one.process.as_ref().map_or(0, Child::id);
        format!("  {}   kill -9 {id}", one.server.address)
    }));
    lines.extend([
        "The database has three members; list them, then kill the leader:".into(),
        format!("  patronictl --config-file {folder}/db1/patroni.yml list"),
        format!("  cd {folder}/db1; kill -9 $(cat pid) $(head -1 data/postmaster.pid)"),
        "All that is killed starts again after 30 s.".into(),
        String::new(),
    ]);
    lines
}

fn welcome(address: &str, has_lab: bool, trial: &[String], took: Duration) -> String {
    let mut lines = vec![format!("Stackloom is at  http://{address}"), String::new()];
    if has_lab {
        lines.push("Log in with      cloud lab, user demo, password demo,".into());
        lines.push("                 domain Default, project demo".into());
    } else {
        lines.push("Log in with an account of one of your clouds.".into());
    }
    lines.push(String::new());
    lines.extend_from_slice(trial);
    lines.push(format!(
        "Ready after {}. Ctrl-C stops everything.",
        shell::duration(took)
    ));
    let width = lines
        .iter()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or_default();
    let rule = "─".repeat(width + 4);
    let body: String = lines
        .iter()
        .map(|line| format!("│  {line:<width$}  │\n"))
        .collect();
    format!("\n┌{rule}┐\n{body}└{rule}┘\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_straight_and_names_address_and_login() {
        let text = welcome("127.0.0.1:8080", true, &[], Duration::from_secs(63));
        let widths: Vec<usize> = text
            .trim()
            .lines()
            .map(|line| line.chars().count())
            .collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        for part in [
            "http://127.0.0.1:8080",
            "user demo",
            "password demo",
            "1 m 03 s",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn the_lab_knows_this_machine_by_its_first_address() {
        let lab = Lab::of_run();
        assert_eq!(lab.host_address().unwrap().to_string(), "172.30.0.1");
        assert!(is_everywhere("0.0.0.0:8080") && !is_everywhere("127.0.0.1:8080"));
    }

    #[test]
    fn several_servers_have_the_ports_after_that_of_haproxy() {
        let addresses = addresses_after("127.0.0.1:8080", 2).unwrap();
        assert_eq!(addresses, ["127.0.0.1:8081", "127.0.0.1:8082"]);
        assert!(addresses_after("localhost", 2).is_err());
    }
}
