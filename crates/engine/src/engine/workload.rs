//! The work of this server at a moment, for metrics.

use std::time::Duration;

use super::Engine;

/// The work of a server at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Runs with a task on this server.
    pub runs: usize,
    /// Sandboxes that have a slot.
    pub sandboxes: usize,
    /// Sandboxes that wait for a slot.
    pub waiting_sandboxes: usize,
    /// The rest of the lease. Zero if it is lost.
    pub lease: Duration,
    /// Number of leases that were lost since the start.
    pub lost_leases: u64,
    /// Free space of the data folder's disk when it was last read.
    pub disk_free_bytes: u64,
    /// Free space below which new work is refused.
    pub disk_reserve_bytes: u64,
}

impl Engine {
    /// The work of this server now.
    pub fn workload(&self) -> Workload {
        let (sandboxes, waiting_sandboxes) = self.core.sandboxes.count();
        Workload {
            runs: self.active_runs.all().len(),
            sandboxes,
            waiting_sandboxes,
            lease: self.core.lease.tenure().rest().unwrap_or_default(),
            lost_leases: self.core.lease.losses(),
            disk_free_bytes: self.core.disk.free_bytes(),
            disk_reserve_bytes: self.core.config.disk_reserve_bytes,
        }
    }
}
