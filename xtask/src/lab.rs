//! The lab cloud as a child process, started by `run`, `test` and `bench`, and reset by `cargo xtask lab reset`.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::children::{self, Child};
use crate::{build, docker, http, needs, paths, progress, shell};

/// Options of `lab`.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Remove all servers, networks and rules of the lab cloud, and its state.
    Reset,
}

/// Runs the sub-command.
pub fn run(options: &Options) -> Result<()> {
    match options.command {
        Command::Reset => {
            needs::ensure(&needs::for_running())?;
            let _daemon = docker::ensure_daemon()?;
            let profile = build::Profile::Dev;
            progress::run_concurrently(vec![build::programs(profile)])?;
            Lab::of_run().reset(&build::Programs::of(profile).lab)
        }
    }
}

/// A lab cloud. Labs with different names, addresses and folders can run at the same time.
pub struct Lab {
    /// The name, which identifies its Docker objects.
    pub name: &'static str,
    /// The address: `127.0.0.1:9500`.
    pub listen: String,
    /// The range of its external network.
    pub public_cidr: &'static str,
    /// The folder of its state.
    pub state: PathBuf,
}

impl Lab {
    /// The lab of `cargo xtask run`.
    pub fn of_run() -> Lab {
        let state = paths::data().join("lab");
        Lab {
            name: "lab",
            listen: "127.0.0.1:9500".into(),
            public_cidr: "172.30.0.0/24",
            state,
        }
    }

    /// The address of this machine in its external network, at which its servers reach it: the first one.
    pub fn host_address(&self) -> Result<Ipv4Addr> {
        let base = self.public_cidr.split('/').next().unwrap_or_default();
        let base: Ipv4Addr = base
            .parse()
            .with_context(|| format!("{} is no range of IPv4", self.public_cidr))?;
        Ok(Ipv4Addr::from(u32::from(base) + 1))
    }

    /// Starts it and waits until it responds. Its output goes to `log`, or to the output of xtask.
    pub fn start(&self, program: &Path, log: Option<&Path>) -> Result<Child> {
        if http::is_taken(&self.listen) {
            bail!(
                "{} is taken; is another `cargo xtask run` or `test` still there?",
                self.listen
            );
        }
        std::fs::create_dir_all(&self.state)?;
        let mut command = children::command(program);
        command.args([
            "--listen",
            &self.listen,
            "--name",
            self.name,
            "--public-cidr",
            self.public_cidr,
        ]);
        command.arg("--state").arg(&self.state);
        if let Some(log) = log {
            children::write_output_to(&mut command, log)?;
        }
        let mut lab = Child::start("lab cloud", &mut command)?;
        let answers = || http::answers(&self.listen, "/identity/v3");
        if !shell::wait_until(Duration::from_secs(180), || answers() || lab.has_ended())
            || lab.has_ended()
        {
            bail!("the lab cloud does not come up at {}", self.listen);
        }
        Ok(lab)
    }

    /// Removes all its objects and its state.
    pub fn reset(&self, program: &Path) -> Result<()> {
        let mut command = shell::cmd(&program.to_string_lossy(), ["reset", "--name", self.name]);
        shell::run_quiet(command.arg("--state").arg(&self.state))?;
        if self.state.is_dir() {
            std::fs::remove_dir_all(&self.state)?;
        }
        Ok(())
    }
}
