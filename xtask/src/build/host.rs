//! The programs that run on the host: server and lab.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::paths;
use crate::shell::{self, cargo};

/// How they are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// For tests: what `cargo test` has compiled already is used again.
    Dev,
    /// For people.
    Release,
}

/// Where the programs are.
pub struct Programs {
    /// `stackloom`.
    pub server: PathBuf,
    /// `stackloom-lab`.
    pub lab: PathBuf,
}

/// Builds both.
pub fn programs(profile: Profile) -> Result<Programs> {
    let mut build = cargo(["build", "--package", "server", "--package", "lab", "--bins"]);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Release => {
            build.arg("--release");
            "release"
        }
    };
    shell::run(&mut build)?;
    let dir = paths::target().join(folder);
    let programs = Programs {
        server: dir.join("stackloom"),
        lab: dir.join("stackloom-lab"),
    };
    for program in [&programs.server, &programs.lab] {
        if !program.is_file() {
            bail!("cargo built no {}", program.display());
        }
    }
    Ok(programs)
}
