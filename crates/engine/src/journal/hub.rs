//! Live viewers, by run. Batches are shared. A viewer that is too slow misses some and gets a notice of that.
//!
//! A batch is in memory until all viewers have taken it. So a viewer that takes nothing holds the batches of its run, up to
//! [`BACKLOG`] in number and [`BACKLOG_BYTES`] in size. The other viewers do not notice.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::broadcast, time::Instant};

use super::EventBatch;
use crate::Tenant;

/// News of a run.
#[derive(Clone)]
pub enum News {
    /// Events that were stored here.
    Batch(Arc<QueuedBatch>),
    /// Storage has events up to this number.
    Until(u64),
}

/// Number of batches that a viewer can be behind.
const BACKLOG: usize = 256;

/// Size of the events that a viewer can be behind. The last batch counts, but is never too large.
const BACKLOG_BYTES: usize = 16 * 1024 * 1024;

/// A batch on its way to the viewers of a run.
pub struct QueuedBatch {
    bytes: usize,
    batch: Mutex<Option<EventBatch>>,
}

impl QueuedBatch {
    fn new(batch: EventBatch) -> QueuedBatch {
        QueuedBatch {
            bytes: batch.bytes(),
            batch: Mutex::new(Some(batch)),
        }
    }

    /// The batch. `None` if it was discarded, because a viewer was too slow for it.
    pub fn get(&self) -> Option<EventBatch> {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.clone()
    }

    fn discard(&self) {
        let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        *batch = None;
    }
}

#[derive(Default)]
pub struct Hub {
    runs: Mutex<HashMap<String, Watched>>,
}

/// A run with viewers.
struct Watched {
    tenant: Tenant,
    viewers: broadcast::Sender<News>,
    /// Number of the last event of the news so far. 0 before the first ones.
    last_sent: u64,
    /// Batches that not all viewers have taken, in order. Others are removed with the next batch.
    backlog: VecDeque<Weak<QueuedBatch>>,
    /// Time of the last [`Hub::is_due`].
    looked: Option<Instant>,
}

impl Watched {
    /// Adds a batch to the backlog, and discards the oldest ones if there is too much of it.
    fn queue(&mut self, batch: EventBatch) -> News {
        let queued = Arc::new(QueuedBatch::new(batch));
        self.backlog.retain(|earlier| earlier.strong_count() > 0);
        let mut bytes = queued.bytes;
        for earlier in self.backlog.iter().rev().filter_map(Weak::upgrade) {
            bytes = bytes.saturating_add(earlier.bytes);
            if bytes > BACKLOG_BYTES {
                earlier.discard();
            }
        }
        self.backlog.push_back(Arc::downgrade(&queued));
        News::Batch(queued)
    }
}

impl Hub {
    /// The news of a run from now on.
    pub fn watch(&self, tenant: &Tenant, run: &str) -> broadcast::Receiver<News> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        forget_unwatched(&mut runs);
        runs.entry(run.to_owned())
            .or_insert_with(|| Watched {
                tenant: tenant.clone(),
                viewers: broadcast::channel(BACKLOG).0,
                last_sent: 0,
                backlog: VecDeque::new(),
                looked: None,
            })
            .viewers
            .subscribe()
    }

    /// Sends a batch to the viewers of a run. A run without viewers uses no memory.
    pub fn publish(&self, run: &str, batch: EventBatch) {
        let last = batch.last().map_or(0, |event| event.seq);
        self.send(run, last, |watched| watched.queue(batch));
    }

    /// Sends the viewers of a run to storage, if they have not seen this number.
    pub fn has_events(&self, run: &str, seq: u64) {
        self.send(run, seq, |_| News::Until(seq));
    }

    /// Sends the viewers of a run to storage.
    pub fn look_again(&self, run: &str) {
        self.send(run, 0, |_| News::Until(u64::MAX));
    }

    /// True for one of the viewers of a run in each interval: it looks at something for all of them.
    pub fn is_due(&self, run: &str, interval: Duration) -> bool {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watched) = runs.get_mut(run) else {
            return false;
        };
        let now = Instant::now();
        let is_due = watched.looked.is_none_or(|looked| now - looked >= interval);
        if is_due {
            watched.looked = Some(now);
        }
        is_due
    }

    /// The project of a run with viewers, and the number of the last event of its news.
    pub fn last_sent(&self, run: &str) -> Option<(Tenant, u64)> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = runs.get(run)?;
        Some((watched.tenant.clone(), watched.last_sent))
    }

    /// The runs with viewers.
    pub fn watched(&self) -> Vec<(Tenant, String)> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        forget_unwatched(&mut runs);
        let runs = runs.iter();
        runs.map(|(run, watched)| (watched.tenant.clone(), run.clone()))
            .collect()
    }

    fn send(&self, run: &str, last: u64, news: impl FnOnce(&mut Watched) -> News) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = runs.get_mut(run) {
            watched.last_sent = watched.last_sent.max(last);
            let news = news(watched);
            if watched.viewers.send(news).is_err() {
                runs.remove(run);
            }
        }
    }
}

/// Removes the runs whose viewers have left. Viewers of ended runs leave without a last batch.
fn forget_unwatched(runs: &mut HashMap<String, Watched>) {
    runs.retain(|_, watched| watched.viewers.receiver_count() > 0);
}

#[cfg(test)]
mod tests {
    use api::{Event, EventBody, LogLevel, LogLine, LogStream};
    use store::testing::tenant;

    use super::*;

    const MIB: usize = 1024 * 1024;

    /// A batch of one long line.
    fn long(seq: u64) -> EventBatch {
        let line = LogLine {
            step: "web:create".into(),
            host: None,
            play: None,
            task: None,
            stream: LogStream::Stdout,
            level: LogLevel::Info,
            text: "x".repeat(MIB),
            position: None,
        };
        let event = Event {
            seq,
            time: String::new(),
            body: EventBody::Log(line),
        };
        vec![event].into()
    }

    /// The number of the next event. `None` if it was discarded.
    fn next(viewer: &mut broadcast::Receiver<News>) -> Option<u64> {
        match viewer.try_recv() {
            Ok(News::Batch(queued)) => Some(queued.get()?.first()?.seq),
            Ok(News::Until(_)) => panic!("no batch"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_viewer_who_takes_nothing_holds_a_limited_size_and_delays_nobody() {
        const COUNT: u64 = 60;
        let hub = Hub::default();
        let [mut slow, mut fast] = [(); 2].map(|()| hub.watch(&tenant(), "r"));
        for seq in 1..=COUNT {
            hub.publish("r", long(seq));
            assert_eq!(next(&mut fast), Some(seq));
        }
        let held: Vec<u64> = (1..=COUNT).filter_map(|_| next(&mut slow)).collect();
        let fitting = BACKLOG_BYTES / MIB;
        assert!((1..=fitting).contains(&held.len()), "{held:?}");
        let last: Vec<u64> = (1..=COUNT).skip(COUNT as usize - held.len()).collect();
        assert_eq!(held, last, "the newest ones");
        // All have taken everything.
        hub.publish("r", long(COUNT + 1));
        assert_eq!(hub.runs.lock().unwrap()["r"].backlog.len(), 1);
    }

    #[test]
    fn one_viewer_looks_for_all() {
        let hub = Hub::default();
        let _viewers = [(); 2].map(|()| hub.watch(&tenant(), "r"));
        let hour = Duration::from_secs(3600);
        assert!(hub.is_due("r", hour));
        assert!(!hub.is_due("r", hour));
        assert!(hub.is_due("r", Duration::ZERO));
        assert!(!hub.is_due("no-such-run", hour));
    }

    #[test]
    fn viewers_of_ended_runs_leave_nothing_behind() {
        let hub = Hub::default();
        for run in 0..10 {
            drop(hub.watch(&tenant(), &run.to_string()));
        }
        let viewer = hub.watch(&tenant(), "last");
        assert_eq!(hub.runs.lock().unwrap().len(), 1);
        drop(viewer);
        assert_eq!(hub.watched(), []);
    }
}
