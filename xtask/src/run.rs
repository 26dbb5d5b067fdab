//! `cargo xtask run`: from a clone to a running server with a login page.
//!
//! All requirements are prepared first, so that errors appear early. Then the lab cloud and the server are started, and
//! run until Ctrl-C or SIGTERM, or until one of them ends. Children are stopped in reverse order. The state is kept in
//! `target/data` (or `STACKLOOM_DATA`), so the next run has the same designs and deployments.

use std::path::PathBuf;
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
    /// Build in release mode: slower to build, faster at run time.
    #[arg(long)]
    release: bool,
}

/// Runs until it is stopped.
pub fn run(options: &Options) -> Result<()> {
    let begin = Instant::now();
    let stop = children::stop_flag()?;
    needs::ensure(&if options.postgres {
        needs::for_running_on_postgres()
    } else {
        needs::for_running()
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
    let database = match options.postgres {
        true => {
            let (server, address) = postgres::start(&data.join("postgres"))?;
            running.push(server);
            Some(address)
        }
        false => None,
    };
    let server = Server {
        address: address.clone(),
        database,
        clouds: clouds_file,
        data,
        catalog: paths::root().join("catalog"),
        signal_url: None,
        log: None,
    };
    running.push(server.start(&programs.server)?);

    print!("{}", welcome(&address, lab.is_some(), begin.elapsed()));
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
        std::thread::sleep(Duration::from_millis(200));
    };
    eprintln!("stopping");
    while let Some(child) = running.pop() {
        drop(child);
    }
    match ended {
        Some((name, status)) => bail!("the {name} ended with {status}"),
        None => Ok(()),
    }
}

fn welcome(address: &str, has_lab: bool, took: Duration) -> String {
    let mut lines = vec![format!("Stackloom is at  http://{address}"), String::new()];
    if has_lab {
        lines.push("Log in with      cloud lab, user demo, password demo,".into());
        lines.push("                 domain Default, project demo".into());
    } else {
        lines.push("Log in with an account of one of your clouds.".into());
    }
    lines.push(String::new());
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
        let text = welcome("127.0.0.1:8080", true, Duration::from_secs(63));
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
}
