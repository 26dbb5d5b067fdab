//! Measurement of time and memory for scale tests.

use std::time::{Duration, Instant};

/// Processor time and elapsed time of an operation. Elapsed time also depends on the load of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Processor time of this process, including the lab and its client.
    pub work: Duration,
    /// Elapsed time.
    pub time: Duration,
}

/// Measures from its creation.
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

/// Processor time of this process, including ended threads. The kernel counts hundredths of a second. See
/// proc_pid_stat(5): after the name, which ends with the last bracket, `utime` and `stime` are the twelfth and
/// thirteenth fields.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Resident memory of this process in MiB.
pub fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok())
        .unwrap();
    kib / 1024
}
