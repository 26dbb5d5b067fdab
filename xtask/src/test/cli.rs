//! The `openstack` command line with the lab. The transcripts are tests of `crates/lab`. The program is in a Python
//! virtual environment below `target`, which is recreated when these versions change.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::counted::{self, Counts};
use crate::progress::Part;
use crate::{build, paths, shell};

/// Exact versions, since the transcripts contain their output.
const PACKAGES: &[&str] = &[
    "python-openstackclient==10.5.0",
    "python-barbicanclient==7.6.0",
    "python-octaviaclient==3.15.0",
];

/// The arguments that select the test.
pub const TEST: &[&str] = &["--test", "cli"];

/// Runs a sample of the sessions, or all of them with `--full`.
pub fn run(options: &super::Options, stop: &AtomicBool) -> Result<Counts> {
    let program = install()?;
    let mut test = build::lint(shell::cargo([super::ALL, TEST].concat()));
    test.env("STACKLOOM_OPENSTACK", program);
    if options.full {
        test.args(["--", "--include-ignored"]);
    }
    counted::run(test, stop)
}

/// Installs the program while others compile: it mostly waits for the network.
pub fn installed() -> Part {
    Part::new("openstack", 1, |_| install().map(drop))
}

/// Creates the virtual environment if needed. Returns the path of the program.
fn install() -> Result<PathBuf> {
    let place = paths::target().join("openstack-cli");
    let (program, note) = (place.join("bin/openstack"), place.join("packages"));
    let wanted = PACKAGES.join("\n");
    // Written last, so that an interrupted installation is repeated.
    if std::fs::read_to_string(&note).is_ok_and(|there| there == wanted) {
        return Ok(program);
    }
    let venv = place.to_string_lossy();
    shell::run_quiet(&mut shell::cmd("python3", ["-m", "venv", "--clear", &venv]))
        .context("the command line needs Python with venv")?;
    let pip = place.join("bin/pip");
    let patient = ["install", "--quiet", "--retries", "10", "--timeout", "60"];
    let mut install = shell::cmd(&pip.to_string_lossy(), patient);
    shell::fetch(install.args(PACKAGES))?;
    std::fs::write(&note, wanted).with_context(|| format!("cannot write {}", note.display()))?;
    Ok(program)
}
