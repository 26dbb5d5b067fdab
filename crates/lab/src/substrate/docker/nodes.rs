//! The nodes of devices in a server's `/dev`, made and removed from outside.
//!
//! Whoever is root in a server owns each program there, its shell and its libraries. So nothing of a server's is run for this:
//! the lab itself opens the server's `/dev` by way of `/proc/PID/root` and names what it makes relative to that descriptor.
//! Docker mounts `/dev`, and a server has no right to mount, so it cannot put another directory in its place; a link in that
//! place is not followed, nor is one that a server puts where a node is to be.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dev, FileType, Gid, Mode, OFlags};

use crate::substrate::SubstrateError;

/// The major number of loop devices.
const LOOP: u32 = 7;

/// The group `disk`, as Debian numbers it.
const DISK: u32 = 6;

/// Give the server with this process a loop device's node; one that is there already is replaced. `device` begins with `/dev/`.
pub fn make(what: &str, pid: i64, device: &str, minor: u32) -> Result<(), SubstrateError> {
    let number = rustix::fs::makedev(LOOP, minor);
    let made = name(device).and_then(|name| place(&devices(&root(pid))?, name, number));
    made.map_err(|error| trouble(what, device, &error))
}

/// Take a node away; one that is not there is fine.
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

/// A device's name below `/dev`: one that names a file there and nothing else.
fn name(device: &str) -> io::Result<&str> {
    device
        .strip_prefix("/dev/")
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no name of a device"))
}

/// Open the `/dev` of a server with its files at `root`.
fn devices(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty())?;
    let found = rustix::fs::openat(&root, "dev", flags | OFlags::NOFOLLOW, Mode::empty())?;
    // A process that ended leaves its number to another one, which may be this machine's own.
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
    // Our own mask may have taken rights of the group. What stands there now need not be what we made, so it is looked at first,
    // and then meant by its descriptor alone.
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
    // Changing the mode is all that cannot be done to such a descriptor itself.
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
        // Gone already is as good.
        unlink(devices(server.path()).unwrap(), "vdb").unwrap();
    }
}
