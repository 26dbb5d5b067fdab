//! `cargo xtask contract`: what we take for granted of a cloud, asked of one.
//!
//! The same suite runs against the lab in memory (also in every `cargo test`) and against a real cloud, which is
//! the judge of both the client and the lab. With a real cloud, the engine's own proof runs too: a design is
//! deployed there and undeployed, and nothing may be left.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::shell::{self, cargo};

/// Options of `contract`.
#[derive(clap::Args)]
pub struct Options {
    /// Which cloud is asked.
    #[arg(long, value_enum, default_value_t = Cloud::Lab)]
    cloud: Cloud,
    /// The `clouds.yaml` of a real one. An entry whose name has `admin` in it is the administrator's, who makes a
    /// project with small quotas; the first other one is asked.
    #[arg(long, value_name = "FILE")]
    clouds: Option<PathBuf>,
    /// The entry that is asked, if not the first.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Only cases whose name has this in it.
    filter: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Cloud {
    /// The lab, in memory.
    Lab,
    /// A real one.
    Real,
}

/// Runs the suite.
pub fn run(options: &Options) -> Result<()> {
    let filter = options.filter.as_deref();
    let suite = ["test", "--package", "openstack", "--test", "contract", "--"];
    if options.cloud == Cloud::Lab {
        return shell::run(cargo(suite).args(filter));
    }
    let Some(clouds) = &options.clouds else {
        bail!("--cloud real needs --clouds FILE, the clouds.yaml with a login to it");
    };
    let clouds = std::path::absolute(clouds)?;
    let asked = |arguments: &[&str]| {
        let mut command = cargo(arguments.iter().copied());
        command.args(filter).args(["--test-threads", "4"]);
        command.env("STACKLOOM_CONTRACT_CLOUDS", &clouds);
        if let Some(entry) = &options.entry {
            command.env("STACKLOOM_CONTRACT_CLOUD", entry);
        }
        shell::run(&mut command)
    };
    asked(&suite)?;
    asked(&[
        "test",
        "--package",
        "engine",
        "--test",
        "real",
        "--",
        "--nocapture",
    ])
}
