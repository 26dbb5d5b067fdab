//! Volumes as sparse files behind loop devices.
//!
//! A server sees a block device (`/dev/vdb`). It can be partitioned, formatted, read and written, and keeps its content
//! between servers. It cannot be mounted: that requires `CAP_SYS_ADMIN`, with which a server could escape its
//! container. The boot disk of a server is always the container's own file system, even with a boot volume.
//!
//! The lab also runs on a host without loop devices (a container without `/dev/loop-control`, a kernel without the
//! driver). Volumes can then be created, extended, copied and deleted; only attachments fail, with the reason. The lab
//! logs a warning at start.
//!
//! A server can open loop devices but not create their nodes (it lacks `CAP_MKNOD`), so it has access only to the
//! devices that the lab creates nodes for. See `nodes`.

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
    /// The disks in a directory derived from the lab's name, so that `reset` finds them.
    pub fn new(lab: &str) -> Self {
        Self {
            directory: PathBuf::from(format!("/var/tmp/stackloom-lab-{lab}")),
        }
    }

    /// Logs a warning if the host cannot attach volumes.
    pub async fn check(&self) {
        if let Err(error) = run("losetup", &["--find"]).await {
            tracing::warn!(%error, "this machine has no loop devices: volumes can be made, but not plugged into servers");
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.raw"))
    }

    /// Creates or extends a disk.
    pub async fn create(&self, spec: &VolumeSpec) -> Result<(), SubstrateError> {
        let file = self.file(&spec.id);
        let trouble = |error: std::io::Error| SubstrateError::Command {
            doing: format!("making the disk {}", file.display()),
            output: error.to_string(),
        };
        std::fs::create_dir_all(&self.directory).map_err(trouble)?;
        match &spec.source {
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

    /// Copies a disk's content to another id. An existing disk gets this content; no server may have it then.
    pub async fn copy(&self, id: &str, source: &str) -> Result<(), SubstrateError> {
        let (from, to) = (self.file(source), self.file(id));
        if !from.exists() {
            // A volume from a version of the lab without disks has no content.
            return Ok(());
        }
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        run("cp", &["--sparse=always", "--reflink=auto", &from, &to]).await?;
        Ok(())
    }

    /// Removes a disk. No error if it is missing.
    pub async fn remove(&self, id: &str) -> Result<(), SubstrateError> {
        self.release(id).await?;
        // No error if the file is missing.
        let _ = std::fs::remove_file(self.file(id));
        Ok(())
    }

    /// The minor number of the loop device, which is set up if needed.
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

    /// Detaches a disk's loop devices.
    pub async fn release(&self, id: &str) -> Result<(), SubstrateError> {
        for device in self.devices(id).await? {
            run("losetup", &["--detach", &device]).await?;
        }
        Ok(())
    }

    /// Removes all disks.
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
