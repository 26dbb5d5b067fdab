//! Live viewers, by run. Batches are shared. A viewer that is too slow misses some and gets a notice of that.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::broadcast;

use super::EventBatch;
use crate::Tenant;

/// News of a run.
#[derive(Clone)]
pub enum News {
    /// Events that were stored here.
    Batch(EventBatch),
    /// Storage has events up to this number.
    Until(u64),
}

/// Number of batches that a viewer can be behind.
const BACKLOG: usize = 256;

#[derive(Default)]
pub struct Hub {
    runs: Mutex<HashMap<String, Watched>>,
}

/// A run with viewers.
struct Watched {
    tenant: Tenant,
    viewers: broadcast::Sender<News>,
    /// Number of the last event of the news so far. 0 before the first ones.
    told: u64,
}

impl Hub {
    /// The news of a run from now on.
    pub fn watch(&self, tenant: &Tenant, run: &str) -> broadcast::Receiver<News> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // Viewers of ended runs leave without a batch that would tell.
        runs.retain(|_, watched| watched.viewers.receiver_count() > 0);
        runs.entry(run.to_owned())
            .or_insert_with(|| Watched {
                tenant: tenant.clone(),
                viewers: broadcast::channel(BACKLOG).0,
                told: 0,
            })
            .viewers
            .subscribe()
    }

    /// Sends a batch to the viewers of a run. A run without viewers uses no memory.
    pub fn tell(&self, run: &str, batch: EventBatch) {
        let last = batch.last().map_or(0, |event| event.seq);
        self.send(run, News::Batch(batch), last);
    }

    /// Sends the viewers of a run to storage, if they have not seen this number.
    pub fn has_events(&self, run: &str, seq: u64) {
        self.send(run, News::Until(seq), seq);
    }

    /// Sends the viewers of a run to storage.
    pub fn look_again(&self, run: &str) {
        self.send(run, News::Until(u64::MAX), 0);
    }

    /// The project of a run with viewers, and the number of the last event of its news.
    pub fn told(&self, run: &str) -> Option<(Tenant, u64)> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = runs.get(run)?;
        Some((watched.tenant.clone(), watched.told))
    }

    /// The runs with viewers.
    pub fn watched(&self) -> Vec<(Tenant, String)> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = runs.iter();
        runs.map(|(run, watched)| (watched.tenant.clone(), run.clone()))
            .collect()
    }

    fn send(&self, run: &str, news: News, last: u64) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = runs.get_mut(run) {
            watched.told = watched.told.max(last);
            if watched.viewers.send(news).is_err() {
                runs.remove(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use store::testing::tenant;

    use super::*;

    #[test]
    fn viewers_of_ended_runs_leave_nothing_behind() {
        let hub = Hub::default();
        for run in 0..10 {
            drop(hub.watch(&tenant(), &run.to_string()));
        }
        let _viewer = hub.watch(&tenant(), "last");
        assert_eq!(hub.runs.lock().unwrap().len(), 1);
    }
}
