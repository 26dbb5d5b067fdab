//! The time at which a project's last run ended on this server: what was read from its cloud before is outdated.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::Tenant;

/// Time after which an end is forgotten. Longer than anything read from a cloud is kept.
const MEMORY: Duration = Duration::from_secs(600);

/// Ends of runs, by project.
#[derive(Default)]
pub(crate) struct RunEnds(Mutex<HashMap<Tenant, Instant>>);

impl RunEnds {
    /// Notes that a run of a project ends now.
    pub fn note(&self, tenant: &Tenant) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.retain(|_, at| at.elapsed() < MEMORY);
        ends.insert(tenant.clone(), Instant::now());
    }

    /// The last end of a run of a project. `None` if there was none for a while.
    pub fn last(&self, tenant: &Tenant) -> Option<Instant> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.get(tenant).copied()
    }
}
