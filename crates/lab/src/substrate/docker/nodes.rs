//! Device nodes in a server's `/dev`, created and removed from outside.
//!
//! Root in a server controls all programs in it, including its shell and libraries. So the lab runs none of them: it
//! opens the server's `/dev` through `/proc/PID/root` and creates nodes relative to that descriptor. Docker mounts
//! `/dev`, and a server has no right to mount, so it cannot replace that directory. Symbolic links are not followed,
//! neither in place of `/dev` nor in place of a node.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dev, FileType, Gid, Mode, OFlags};

use crate::substrate::SubstrateError;

/// The major number of loop devices.
const LOOP: u32 = 7;

/// The group `disk` in Debian.
const DISK: u32 = 6;

/// Creates a loop device's node in the server with this process, or replaces it. `device` begins with `/dev/`.
pub fn make(what: &str, pid: i64, device: &str, minor: u32) -> Result<(), SubstrateError> {
    let number = rustix::fs::makedev(LOOP, minor);
    let made = name(device).and_then(|name| place(&devices(&root(pid))?, name, number));
    made.map_err(|error| trouble(what, device, &error))
}

/// Removes a node. No error if it is missing.
pub fn remove(what: &str, pid: i64, device: &str) -> Result<(), SubstrateError> {
    let removed = name(device).and_then(|name| unlink(&devices(&root(pid))?, name));
    removed.map_err(|error| trouble(what, device, &error))
}

fn trouble(what: &str, device: &str, error: &io::Error) -> SubstrateError {
    SubstrateError::Command {
        doing: format!("setting {device} of {what}"),
        output: error.to_string(),
    }
}

fn root(pid: i64) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root"))
}

/// The name below `/dev`, without further path components.
fn name(device: &str) -> io::Result<&str> {
    device
        .strip_prefix("/dev/")
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no name of a device"))
}

/// Opens the `/dev` of a server with its root directory at `root`.
fn devices(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty())?;
    let found = rustix::fs::openat(&root, "dev", flags | OFlags::NOFOLLOW, Mode::empty())?;
    // The id of an ended process can be reused, also by a process of the host.
    let (theirs, ours) = (rustix::fs::fstat(&found)?, rustix::fs::stat("/dev")?);
    if (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino) {
        return Err(io::Error::other("the server has ended"));
    }
    Ok(found)
}

fn unlink(devices: impl AsFd, name: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(devices, OsStr::new(name), AtFlags::empty()) {
        Err(rustix::io::Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

fn place(devices: impl AsFd, name: &str, number: Dev) -> io::Result<()> {
    let devices = devices.as_fd();
    unlink(devices, name)?;
    let mode = Mode::from_raw_mode(0o660);
    rustix::fs::mknodat(devices, name, FileType::BlockDevice, mode, number)?;
    // The umask can have removed rights of the group. The server can have replaced the node, so the descriptor is
    // checked and then used for the changes.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let node = rustix::fs::openat(devices, name, flags, Mode::empty())?;
    let is = rustix::fs::fstat(&node)?;
    if FileType::from_raw_mode(is.st_mode) != FileType::BlockDevice || is.st_rdev != number {
        return Err(io::Error::other("the server has put something else there"));
    }
    rustix::fs::chownat(
        &node,
        "",
        None,
        Some(Gid::from_raw(DISK)),
        AtFlags::EMPTY_PATH,
    )?;
    // `chmod` does not accept such a descriptor itself.
    let by_number = format!("/proc/self/fd/{}", node.as_raw_fd());
    rustix::fs::chmodat(CWD, by_number, mode, AtFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::substrate::docker::nodes::*;

    #[test]
    fn a_device_is_named_by_letters_and_digits() {
        assert_eq!(name("/dev/vdb").unwrap(), "vdb");
        for wrong in [
            "vdb", "/dev/", "/dev/..", "/dev/a/b", "/dev/a b", "/etc/vdb",
        ] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_link_in_place_of_dev_is_not_followed() {
        let (server, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), server.path().join("dev")).unwrap();
        assert!(devices(server.path()).is_err());
    }

    #[test]
    fn the_devices_of_this_machine_are_left_alone() {
        let refused = devices(Path::new("/")).unwrap_err();
        assert_eq!(refused.to_string(), "the server has ended");
    }

    #[test]
    fn a_link_in_place_of_a_device_node_is_removed_without_its_target() {
        let (server, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (place, kept) = (server.path().join("dev"), elsewhere.path().join("kept"));
        std::fs::create_dir(&place).unwrap();
        std::fs::write(&kept, "kept").unwrap();
        std::os::unix::fs::symlink(&kept, place.join("vdb")).unwrap();
        unlink(devices(server.path()).unwrap(), "vdb").unwrap();
        assert!(place.join("vdb").symlink_metadata().is_err());
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
        // No error if it is missing.
        unlink(devices(server.path()).unwrap(), "vdb").unwrap();
    }
}
