//! Live viewers, by run. Batches are shared. A viewer that is too slow misses some and gets a notice of that.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use api::Event;
use tokio::sync::broadcast;

/// Events of one run that were stored together.
pub type Batch = Arc<[Event]>;

/// Number of batches that a viewer can be behind.
const BACKLOG: usize = 256;

#[derive(Default)]
pub struct Hub {
    runs: Mutex<HashMap<String, broadcast::Sender<Batch>>>,
}

impl Hub {
    /// The batches of a run from now on.
    pub fn watch(&self, run: &str) -> broadcast::Receiver<Batch> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // Viewers of ended runs leave without a batch that would tell.
        runs.retain(|_, viewers| viewers.receiver_count() > 0);
        runs.entry(run.to_owned())
            .or_insert_with(|| broadcast::channel(BACKLOG).0)
            .subscribe()
    }

    /// Sends a batch to the viewers of a run. A run without viewers uses no memory.
    pub fn tell(&self, run: &str, batch: Batch) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(viewers) = runs.get(run)
            && viewers.send(batch).is_err()
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
