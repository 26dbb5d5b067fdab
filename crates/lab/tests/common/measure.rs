//! What something takes of the machine: for tests of thousands, of the lab and of what works with it.

use std::time::{Duration, Instant};

/// How long something takes, and what the machine works for it: what the clock says hangs on what else the machine has to do.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Of this process, the lab and its client, on all processors.
    pub work: Duration,
    /// On the wall.
    pub time: Duration,
}

/// Measures from its making on.
pub struct Clock {
    began: Instant,
    worked: Duration,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            worked: processor_time(),
        }
    }

    pub fn took(&self) -> Took {
        Took {
            work: processor_time().saturating_sub(self.worked),
            time: self.began.elapsed(),
        }
    }
}

/// What the threads of this process have worked so far.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let stats = threads.filter_map(|thread| {
        // One that has ended since has none.
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(stats.sum())
}

/// What this process has in memory.
pub fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok())
        .unwrap();
    kib / 1024
}
