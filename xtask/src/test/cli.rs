//! The `openstack` command line against the lab: its transcripts are tests of `crates/lab`, and the program is a Python
//! environment of its own below `target`, made once and made anew when the versions here change.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::counted::{self, Counts};
use crate::{build, paths, shell};

/// Fixed, for the transcripts show what these versions print.
const PACKAGES: &[&str] = &[
    "python-openstackclient==10.5.0",
    "python-barbicanclient==7.6.0",
    "python-octaviaclient==3.15.0",
];

/// The test among all tests.
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

/// Makes the environment if it is not there; answers the program.
fn install() -> Result<PathBuf> {
    let place = paths::target().join("openstack-cli");
    let (program, note) = (place.join("bin/openstack"), place.join("packages"));
    let wanted = PACKAGES.join("\n");
    // Written last: an installation that was interrupted is done again.
    if std::fs::read_to_string(&note).is_ok_and(|there| there == wanted) {
        return Ok(program);
    }
    eprintln!(
        "installing {} into {}",
        PACKAGES.join(", "),
        place.display()
    );
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
