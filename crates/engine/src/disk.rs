//! The disk with the data folder, and the reserve on it.
//!
//! While less space is free than the reserve, new work that takes space is refused, and output of programs is not stored. The
//! journal can then write the states of active runs and the ids of their cloud resources until the operator has freed space.
//! Without space, the database refuses all writes, and runs wait.
//!
//! The free space is read at an interval, so that no request waits for the disk.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Error, Result};

/// Pause between two readings. The journal writes less than the default reserve meanwhile.
const READ_EVERY: Duration = Duration::from_secs(5);

/// The disk with the data folder.
pub struct Disk {
    folder: PathBuf,
    reserve_bytes: u64,
    free_bytes: AtomicU64,
    is_reserved: Arc<AtomicBool>,
}

impl Disk {
    /// The disk with this folder.
    ///
    /// # Errors
    /// If its free space cannot be read.
    pub fn of(folder: &Path, reserve_bytes: u64) -> io::Result<Disk> {
        let disk = Disk {
            folder: folder.to_owned(),
            reserve_bytes,
            free_bytes: AtomicU64::default(),
            is_reserved: Arc::default(),
        };
        disk.note(free_bytes(folder)?);
        Ok(disk)
    }

    /// Reads the free space at an interval until `stopping` is cancelled.
    pub async fn watch(self: Arc<Disk>, stopping: CancellationToken) {
        let mut every = interval(READ_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stopping.run_until_cancelled(every.tick()).await.is_some() {
            let folder = self.folder.clone();
            // A disk on the network can hang.
            match tokio::task::spawn_blocking(move || free_bytes(&folder)).await {
                Ok(Ok(free)) => self.note(free),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the free space of the data folder's disk is unknown");
                }
                Err(_stopping) => return,
            }
        }
    }

    /// Refuses work that takes space while the free space is reserved.
    ///
    /// # Errors
    /// [`Error::DiskAlmostFull`].
    pub fn check(&self) -> Result<()> {
        if self.is_reserved.load(Ordering::Relaxed) {
            Err(Error::DiskAlmostFull)
        } else {
            Ok(())
        }
    }

    /// True while the free space is reserved.
    pub fn is_reserved(&self) -> Arc<AtomicBool> {
        self.is_reserved.clone()
    }

    /// The free space when it was last read, in bytes.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Ordering::Relaxed)
    }

    /// Takes a reading of the free space. The log has a line when it falls below the reserve, and when it is above again.
    fn note(&self, free: u64) {
        self.free_bytes.store(free, Ordering::Relaxed);
        let is_reserved = free < self.reserve_bytes;
        if self.is_reserved.swap(is_reserved, Ordering::Relaxed) == is_reserved {
            return;
        }
        let folder = self.folder.display();
        let (free_mib, reserve_mib) = (free >> 20, self.reserve_bytes >> 20);
        if is_reserved {
            tracing::warn!(
                %folder, free_mib, reserve_mib,
                "the disk of the data folder is almost full: new work is refused until there is space"
            );
        } else {
            tracing::info!(
                %folder, free_mib, reserve_mib,
                "the disk of the data folder has space again: new work is accepted"
            );
        }
    }
}

/// Space of the folder's file system that is free for this user, in bytes.
fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_refused_while_less_space_than_the_reserve_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::of(folder.path(), 1000).unwrap();
        let is_reserved = disk.is_reserved();
        for (free, is_refused) in [(1000, false), (999, true), (0, true), (1001, false)] {
            disk.note(free);
            assert_eq!(disk.check().is_err(), is_refused, "{free}");
            assert_eq!(is_reserved.load(Ordering::Relaxed), is_refused, "{free}");
            assert_eq!(disk.free_bytes(), free);
        }
    }

    #[test]
    fn the_free_space_is_known_from_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let disk = |reserve| Disk::of(folder.path(), reserve).unwrap();
        assert!(disk(0).check().is_ok());
        assert!(disk(u64::MAX).check().is_err());
        assert!(Disk::of(&folder.path().join("missing"), 0).is_err());
    }
}
