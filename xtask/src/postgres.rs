//! PostgreSQL as a program of ours, on loopback, with its data in a folder: one server, or a highly available database.
//!
//! The scripts are those of the store's tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::children::{self, Child};

/// Port of a single server; that of the package's own cluster is 5432.
const PORT: u16 = 5442;

/// Port of HAProxy for a highly available database. Etcd, Patroni and PostgreSQL have the 12 ports after it.
const PROXY_PORT: u16 = 5460;

/// Starts one server. Returns the address of its database too.
pub fn start(folder: &Path) -> Result<(Child, String)> {
    const SCRIPT: &str = include_str!("../../crates/store/src/testing/postgres.sh");
    start_script("PostgreSQL server", SCRIPT, folder, PORT, &[], None)
}

/// Starts three servers under Patroni, and HAProxy, which listens on `web` for browsers and passes their requests on to
/// `servers`, and signals that arrive at the address `signals`. Returns the address of the database too.
pub fn start_highly_available(
    folder: &Path,
    web: &str,
    servers: &[String],
    signals: Option<&str>,
) -> Result<(Child, String)> {
    const SCRIPT: &str = include_str!("../../crates/store/src/testing/ha.sh");
    let servers = servers.iter().map(String::as_str);
    let addresses: Vec<&str> = std::iter::once(web).chain(servers).collect();
    start_script("database", SCRIPT, folder, PROXY_PORT, &addresses, signals)
}

fn start_script(
    name: &'static str,
    script: &str,
    folder: &Path,
    port: u16,
    more: &[&str],
    signals: Option<&str>,
) -> Result<(Child, String)> {
    let mut command = children::command("sh");
    command
        .args(["-c", script, name])
        .arg(folder)
        .arg(port.to_string())
        .args(more)
        .env("SIGNALS", signals.unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut database = Child::start(name, &mut command)?;
    let output = database.take_output().context("its output is not read")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    line.strip_prefix("ready ").with_context(|| {
        format!(
            "PostgreSQL does not start in {}; see the logs there. As root it runs as the user `postgres`, who must be able to \
             reach this folder: set STACKLOOM_DATA to another one",
            folder.display()
        )
    })?;
    let address = format!("postgres://postgres:postgres@127.0.0.1:{port}/postgres");
    Ok((database, address))
}
