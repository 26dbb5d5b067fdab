//! Child processes, which are stopped at the end.
//!
//! Each child is the leader of a process group: Ctrl-C in a terminal reaches only xtask, which stops the children with
//! all their descendants, the last started first. They get SIGTERM, and are killed if they do not end. If xtask itself
//! is killed, the kernel ends them (`setpriv --pdeathsig`).

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

/// Time limit for a child to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(20);

/// A command for [`Child::start`] that ends with xtask.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    if !shell::has("setpriv") {
        return cmd(&program.as_ref().to_string_lossy(), [""; 0]);
    }
    let mut command = cmd("setpriv", ["--pdeathsig", "TERM", "--"]);
    command.arg(program);
    command
}

/// Redirects the command's output to a file.
pub fn write_output_to(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let again = file
        .try_clone()
        .with_context(|| format!("cannot write {}", log.display()))?;
    command.stdout(file).stderr(again);
    Ok(())
}

/// A running program. It is stopped when dropped.
pub struct Child {
    name: &'static str,
    process: std::process::Child,
}

impl Child {
    /// Starts a program.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Child> {
        let process = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Child { name, process })
    }

    /// The name for messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The child's standard output, if the command has a pipe. Can be taken once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// The exit status, if it has ended.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// Whether it has ended.
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
        let is_signalled = shell::succeeds(&mut cmd("kill", ["-TERM", "--", &group]));
        if !(is_signalled && shell::wait_until(GRACE, || self.has_ended())) {
            eprintln!("{} does not end by itself; it is killed", self.name);
            // Both fail only if it has ended in the meantime.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// A flag that is set by Ctrl-C, SIGTERM and SIGHUP instead of ending xtask. The second signal ends it.
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

/// Whether the flag is set.
pub fn is_raised(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
