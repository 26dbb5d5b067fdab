//! `cargo xtask contract`: tests of the assumptions about a cloud.
//!
//! The same suite runs with the lab in memory (also in every `cargo test`) and with a real cloud, so that it checks
//! both the client and the lab. With a real cloud, a test of the engine runs too: a design is deployed and undeployed
//! there, and no resource must remain.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::shell::{self, cargo};

/// Options of `contract`.
#[derive(clap::Args)]
pub struct Options {
    /// The cloud to test.
    #[arg(long, value_enum, default_value_t = Cloud::Lab)]
    cloud: Cloud,
    /// The `clouds.yaml` of the real cloud. An entry with `admin` in its name is used as administrator, to create a
    /// project with small quotas; the first other entry is tested.
    #[arg(long, value_name = "FILE")]
    clouds: Option<PathBuf>,
    /// The entry to test. The default is the first one.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Run only cases with this text in their name.
    filter: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Cloud {
    /// The lab, in memory.
    Lab,
    /// A real cloud.
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
    let run_suite = |arguments: &[&str]| {
        let mut command = cargo(arguments.iter().copied());
        command.args(filter).args(["--test-threads", "4"]);
        command.env("STACKLOOM_CONTRACT_CLOUDS", &clouds);
        if let Some(entry) = &options.entry {
            command.env("STACKLOOM_CONTRACT_CLOUD", entry);
        }
        shell::run(&mut command)
    };
    run_suite(&suite)?;
    run_suite(&[
        "test",
        "--package",
        "engine",
        "--test",
        "real",
        "--",
        "--nocapture",
    ])
}
