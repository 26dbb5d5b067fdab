//! Volumes as sparse files behind loop devices.
//!
//! A server sees a block device (`/dev/vdb`): it can be partitioned, formatted, read and written, and keeps its content from
//! server to server. What it cannot be is mounted: that takes a right (`CAP_SYS_ADMIN`) that would let a server out of its
//! container. The disk that a server boots from is the container's own, whatever volume it is said to boot from.
//!
//! A machine without loop devices (a container without `/dev/loop-control`, a kernel without the driver) still has a lab: volumes
//! are made, grow, are copied and deleted, and only plugging one in fails, with a sentence that says why. The lab says so when it
//! starts.
//!
//! A server may open loop devices but not make their nodes (it lacks `CAP_MKNOD`), so it gets at those that the lab gives it, and
//! at no other of this machine's. How it is given them: see `nodes`.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::Command;

use crate::substrate::{SubstrateError, VolumeSpec};

const GIB: u64 = 1 << 30;

/// The disks of one lab.
#[derive(Debug)]
pub struct Disks {
    directory: PathBuf,
}

impl Disks {
    /// In a directory that follows from the lab's name, so that `reset` finds them.
    pub fn new(lab: &str) -> Self {
        Self {
            directory: PathBuf::from(format!("/var/tmp/stackloom-lab-{lab}")),
        }
    }

    /// Say once, at a start, if volumes cannot be plugged in here.
    pub async fn check(&self) {
        if let Err(error) = run("losetup", &["--find"]).await {
            tracing::warn!(%error, "this machine has no loop devices: volumes can be made, but not plugged into servers");
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.raw"))
    }

    /// Make a disk, or let it grow.
    pub async fn create(&self, spec: &VolumeSpec) -> Result<(), SubstrateError> {
        let file = self.file(&spec.id);
        let trouble = |error: std::io::Error| SubstrateError::Command {
            doing: format!("making the disk {}", file.display()),
            output: error.to_string(),
        };
        std::fs::create_dir_all(&self.directory).map_err(trouble)?;
        match &spec.content_of {
            Some(source) if !file.exists() => self.copy(&spec.id, source).await?,
            _ => {}
        }
        let disk = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file)
            .map_err(trouble)?;
        disk.set_len(u64::from(spec.size_gib) * GIB)
            .map_err(trouble)
    }

    /// Keep a disk's content under another id.
    pub async fn copy(&self, id: &str, source: &str) -> Result<(), SubstrateError> {
        let (from, to) = (self.file(source), self.file(id));
        if !from.exists() {
            // Made before this lab had disks: there is no content.
            return Ok(());
        }
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        run("cp", &["--sparse=always", "--reflink=auto", &from, &to]).await?;
        Ok(())
    }

    /// Remove a disk; one that is not there is fine.
    pub async fn remove(&self, id: &str) -> Result<(), SubstrateError> {
        self.release(id).await?;
        // Gone already is as good.
        let _ = std::fs::remove_file(self.file(id));
        Ok(())
    }

    /// The loop device's minor number; one is set up if there is none.
    pub async fn minor(&self, id: &str) -> Result<u32, SubstrateError> {
        let file = self.file(id);
        let path = file.to_string_lossy();
        let device = match self.devices(id).await?.into_iter().next() {
            Some(device) => device,
            None => run("losetup", &["--find", "--show", &path])
                .await
                .map_err(|error| {
                    SubstrateError::Missing(format!(
                        "this machine gives no loop device, so that no volume can be plugged in: {error}"
                    ))
                })?,
        };
        let minor = device.trim().strip_prefix("/dev/loop");
        minor
            .and_then(|minor| minor.parse().ok())
            .ok_or_else(|| SubstrateError::Command {
                doing: format!("setting up a loop device for {path}"),
                output: device,
            })
    }

    async fn devices(&self, id: &str) -> Result<Vec<String>, SubstrateError> {
        let file = self.file(id);
        if !file.exists() {
            return Ok(Vec::new());
        }
        let path = file.to_string_lossy();
        let listed = run(
            "losetup",
            &["--noheadings", "--output", "NAME", "-j", &path],
        )
        .await?;
        Ok(listed.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Let go of a disk's loop device.
    pub async fn release(&self, id: &str) -> Result<(), SubstrateError> {
        for device in self.devices(id).await? {
            run("losetup", &["--detach", &device]).await?;
        }
        Ok(())
    }

    /// Remove all of them.
    pub async fn reset(&self) -> Result<(), SubstrateError> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if let Some(id) = name.to_string_lossy().strip_suffix(".raw") {
                self.remove(id).await?;
            }
        }
        let _ = std::fs::remove_dir(&self.directory);
        Ok(())
    }
}

async fn run(program: &str, arguments: &[&str]) -> Result<String, SubstrateError> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| SubstrateError::Missing(format!("`{program}` cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(SubstrateError::Command {
        doing: format!("{program} {}", arguments.join(" ")),
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
