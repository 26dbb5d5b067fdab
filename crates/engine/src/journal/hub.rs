//! Live viewers, by run. Batches are shared. A viewer that is too slow misses some and gets a notice of that.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::broadcast;

use super::EventBatch;

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
    runs: Mutex<HashMap<String, broadcast::Sender<News>>>,
}

impl Hub {
    /// The news of a run from now on.
    pub fn watch(&self, run: &str) -> broadcast::Receiver<News> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // Viewers of ended runs leave without a batch that would tell.
        runs.retain(|_, viewers| viewers.receiver_count() > 0);
        runs.entry(run.to_owned())
            .or_insert_with(|| broadcast::channel(BACKLOG).0)
            .subscribe()
    }

    /// Sends a batch to the viewers of a run. A run without viewers uses no memory.
    pub fn tell(&self, run: &str, batch: EventBatch) {
        self.send(run, News::Batch(batch));
    }

    /// Sends the viewers of a run to storage, if they have not seen this number.
    pub fn has_events(&self, run: &str, seq: u64) {
        self.send(run, News::Until(seq));
    }

    /// Sends all viewers to storage.
    pub fn look_again(&self) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, viewers| viewers.send(News::Until(u64::MAX)).is_ok());
    }

    fn send(&self, run: &str, news: News) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(viewers) = runs.get(run)
            && viewers.send(news).is_err()
        {
            runs.remove(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_of_ended_runs_leave_nothing_behind() {
        let hub = Hub::default();
        for run in 0..10 {
            drop(hub.watch(&run.to_string()));
        }
        let _viewer = hub.watch("last");
        assert_eq!(hub.runs.lock().unwrap().len(), 1);
    }
}
