//! A PostgreSQL server as a program of ours, on loopback, with its cluster in a folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::children::{self, Child};

/// Its port; that of the package's own cluster is 5432.
const PORT: &str = "5442";

/// Starts it with the script that the store's tests use. Returns the address of its database too.
pub fn start(folder: &Path) -> Result<(Child, String)> {
    const SCRIPT: &str = include_str!("../../crates/store/src/testing/postgres.sh");
    let mut command = children::command("sh");
    command
        .args(["-c", SCRIPT, "postgres.sh"])
        .arg(folder)
        .arg(PORT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut server = Child::start("PostgreSQL server", &mut command)?;
    let output = server.take_output().context("its output is not read")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    line.strip_prefix("ready ").with_context(|| {
        format!(
            "PostgreSQL does not start in {}; see postgres.log there. As root it runs as the user `postgres`, who must be able to \
             reach this folder: set STACKLOOM_DATA to another one",
            folder.display()
        )
    })?;
    let address = format!("postgres://postgres:postgres@127.0.0.1:{PORT}/postgres");
    Ok((server, address))
}
