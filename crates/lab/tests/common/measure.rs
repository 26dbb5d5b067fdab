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

/// What this process has worked so far, threads that have ended included; the kernel counts in hundredths of a second.
/// See proc_pid_stat(5): after the name, which ends with the last bracket, `utime` and `stime` are the twelfth and the next.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
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
