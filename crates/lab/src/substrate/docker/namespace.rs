//! Running a script in a container's network namespace, with this machine's own programs.
//!
//! `docker exec --privileged` would do the same by way of Docker, but it wants every capability there is, which a daemon in a
//! virtual machine or a container of its own often lacks; and it takes twenty times as long. The files stay this machine's: what
//! a server has for a shell is never run with our rights.

use std::fs::File;
use std::io::{Error, Result as IoResult};
use std::os::fd::AsFd as _;
use std::process::Stdio;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::substrate::SubstrateError;

/// Run a shell script in the network namespace of this process.
pub async fn run(what: &str, pid: i64, script: &str) -> Result<(), SubstrateError> {
    let missing = |error: std::io::Error| {
        SubstrateError::Missing(format!("`nsenter` cannot be run: {error}"))
    };
    // By standard input: a rule set with thousands of addresses is longer than an argument may be.
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
        // A shell that ended early says why on its standard error.
        let _ = input.write_all(script.as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(SubstrateError::Command {
        doing: format!("setting the network of {what}"),
        output: said,
    })
}

/// Do something in the network namespace of this process, with sockets of ours: a socket belongs to the namespace in which it was
/// made, whoever holds it. A thread goes there and ends with it: one that has been elsewhere is of no other use.
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

/// Check that this machine has what scripts need.
pub async fn check() -> Result<(), SubstrateError> {
    for (program, argument, package) in [
        ("nsenter", "--version", "util-linux"),
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
