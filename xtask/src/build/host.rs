//! The programs that run on the host: server and lab.

use std::path::PathBuf;
use std::process::Command;

use super::Profile;
use crate::paths;
use crate::progress::Part;
use crate::shell::cargo;

/// The paths of the programs.
pub struct Programs {
    /// `stackloom`.
    pub server: PathBuf,
    /// `stackloom-lab`.
    pub lab: PathBuf,
}

impl Programs {
    /// The paths for a profile, after a build.
    pub fn of(profile: Profile) -> Programs {
        let folder = match profile {
            Profile::Dev => "debug",
            Profile::Release => "release",
        };
        let dir = paths::target().join(folder);
        Programs {
            server: dir.join("stackloom"),
            lab: dir.join("stackloom-lab"),
        }
    }
}

const BUILD: [&str; 6] = ["build", "--package", "server", "--package", "lab", "--bins"];

/// Builds both programs.
pub fn programs(profile: Profile) -> Part {
    let (mut build, usual_minutes) = (cargo(BUILD), 11);
    match profile {
        Profile::Dev => build.args(AS_TESTED),
        Profile::Release => build.arg("--release"),
    };
    Part::new("programs", usual_minutes, move |step| {
        step.cargo(&mut build)
    })
}

/// The same features as for the tests. With others, most crates would be compiled twice.
const AS_TESTED: [&str; 2] = ["--features", "store/testing"];

/// Builds both programs with the flags of the tests, which takes no time after the tests.
pub fn tested_programs() -> Part {
    let mut build = lint(cargo(BUILD));
    build.args(AS_TESTED);
    Part::new("programs", 8, move |step| step.cargo(&mut build))
}

/// Compiles our crates with clippy, with its findings as errors. It compiles like `rustc` and lints in the same pass;
/// `cargo clippy` would check all dependencies a second time.
pub fn lint(mut command: Command) -> Command {
    command
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    command
}
