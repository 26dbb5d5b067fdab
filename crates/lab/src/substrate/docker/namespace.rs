//! Scripts in a container's network namespace, and mounts in its mount namespace, with the host's programs.
//!
//! `docker exec --privileged` would need all capabilities, which a daemon in a virtual machine or container often
//! lacks, and takes twenty times as long. The mount namespace stays the host's: a server's shell never runs with the
//! lab's privileges.

use std::fs::File;
use std::io::{Error, Result as IoResult};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::substrate::SubstrateError;

/// Runs a shell script in the network namespace of this process.
pub async fn run(what: &str, pid: i64, script: &str) -> Result<(), SubstrateError> {
    let missing = |error: std::io::Error| {
        SubstrateError::Missing(format!("`nsenter` cannot be run: {error}"))
    };
    // Standard input, since a rule set with thousands of addresses exceeds the maximum length of an argument.
    let mut child = Command::new("nsenter")
        .arg(format!("--net=/proc/{pid}/ns/net"))
        .args(["--", "sh", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(missing)?;
    if let Some(mut input) = child.stdin.take() {
        // The reason for an early end is on standard error.
        let _ = input.write_all(script.as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(SubstrateError::Command {
        doing: format!("setting the network of {what}"),
        output: stderr,
    })
}

/// Makes the control groups of this process's container writable for its root, as systemd needs it. Docker mounts them
/// read-only. The container has a namespace of its own for them, so it reaches no others. With version 1, systemd needs
/// only the hierarchy without a controller.
pub async fn allow_control_groups(what: &str, pid: i64) -> Result<(), SubstrateError> {
    let second_version = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let mounted = if second_version {
        "/sys/fs/cgroup"
    } else {
        "/sys/fs/cgroup/systemd"
    };
    let done = Command::new("mount")
        .args(["--namespace", &pid.to_string()])
        .args(["--options", "remount,bind,rw,nosuid,nodev,noexec", mounted])
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| SubstrateError::Missing(format!("`mount` cannot be run: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    Err(SubstrateError::Command {
        doing: format!("allowing control groups in {what}"),
        output: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
    })
}

/// Runs a function in the network namespace of this process. A socket belongs to the namespace of its creation, and can
/// be used from others. A new thread enters the namespace and ends there, so that no other work runs in it.
pub fn within<T: Send + 'static>(
    pid: i64,
    doing: impl FnOnce() -> IoResult<T> + Send + 'static,
) -> IoResult<T> {
    let there = move || {
        let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        doing()
    };
    let thread = std::thread::Builder::new().name("namespace".into());
    let done = thread.spawn(there)?.join();
    done.unwrap_or_else(|_| Err(Error::other("the thread that went there ended early")))
}

/// Checks that the host has the programs for scripts.
pub async fn check() -> Result<(), SubstrateError> {
    for (program, argument, package) in [
        ("nsenter", "--version", "util-linux"),
        ("mount", "--version", "mount"),
        ("ip", "-V", "iproute2"),
        ("nft", "--version", "nftables"),
    ] {
        let tried = Command::new(program).arg(argument).output().await;
        if let Err(error) = tried {
            return Err(SubstrateError::Missing(format!(
                "`{program}` cannot be run ({error}): apt-get install {package}"
            )));
        }
    }
    Ok(())
}
