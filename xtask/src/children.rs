//! Programs that we start and therefore stop.
//!
//! A child leads a process group of its own: Ctrl-C in a terminal reaches only us, and we stop children in our own
//! order, the last started first, with all that they started. They are asked by SIGTERM, and killed when they do not
//! listen. Should we ourselves be killed outright, the kernel ends them (`setpriv --pdeathsig`).

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::shell::{self, cmd};

/// How long a child may take to end by itself.
const GRACE: Duration = Duration::from_secs(20);

/// A command for [`Child::start`] that does not outlive us.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    if !shell::has("setpriv") {
        return cmd(&program.as_ref().to_string_lossy(), [""; 0]);
    }
    let mut command = cmd("setpriv", ["--pdeathsig", "TERM", "--"]);
    command.arg(program);
    command
}

/// Lets it write to a file in place of our own output.
pub fn write_output_to(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let again = file
        .try_clone()
        .with_context(|| format!("cannot write {}", log.display()))?;
    command.stdout(file).stderr(again);
    Ok(())
}

/// A running program; stopped when dropped.
pub struct Child {
    name: &'static str,
    process: std::process::Child,
}

impl Child {
    /// Starts it.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Child> {
        let process = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Child { name, process })
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it writes, where the command asked for a pipe. Once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// How it ended, if it did.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// Whether it is no longer there.
    pub fn has_ended(&mut self) -> bool {
        self.exit_status().is_some()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        let group = format!("-{}", self.process.id());
        let asked = shell::succeeds(&mut cmd("kill", ["-TERM", "--", &group]));
        if !(asked && shell::wait_until(GRACE, || self.has_ended())) {
            eprintln!("{} does not end by itself; it is killed", self.name);
            // Both fail only when it has ended in between, which is what we want.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// A flag that Ctrl-C and SIGTERM raise, in place of ending us at once. The second Ctrl-C ends us.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("cannot listen for signals")?;
    }
    Ok(flag)
}

/// Whether it was raised.
pub fn is_raised(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
