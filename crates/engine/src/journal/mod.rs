//! The journal: events are stored before they have an effect, and then sent to viewers.
//!
//! One task writes. It takes all waiting entries, stores them in one transaction (group commit: a thousand log lines
//! cost one), numbers the events in that order, and only then sends them to the live viewers. So every event is stored
//! before a viewer gets it, numbers have no gaps, and a viewer that misses events reads them from storage.
//!
//! Moves are durable when [`RunJournal::write`] returns: they are on the disk. Log lines are queued without waiting; a
//! full queue slows down only their sender.
//!
//! After a crash, a batch is stored completely or not at all. An effect starts after its batch is stored.

mod announce;
mod batch;
mod hub;
mod stream;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use store::{Entry, LogQuota, Store};
use tokio::sync::{Notify, mpsc, oneshot};

pub use batch::{EventBatch, EventText, TEXT_BYTES};
pub use stream::Interruption;

use crate::{Error, Result, Tenant};
use announce::Announcer;
use hub::Hub;
use writer::{Queued, Writer};

/// The journal's writer and viewers. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    store: Store,
    writes: mpsc::Sender<Queued>,
    hub: Arc<Hub>,
}

/// Length of the queue of writes. When it is full, writers wait.
const QUEUE: usize = 4096;

impl Journal {
    /// Starts the writer. It ends when the last handle is dropped. Log lines above the quota are not stored, nor is output
    /// while `is_reserved` is true. An append that takes longer than `limit` is given up and begun again. `runs` is notified
    /// when another server says that the runs have changed hands.
    pub fn start(
        store: Store,
        quota: LogQuota,
        is_reserved: Arc<AtomicBool>,
        limit: Duration,
        runs: Arc<Notify>,
    ) -> Journal {
        let (writes, queue) = mpsc::channel(QUEUE);
        let hub = Arc::new(Hub::default());
        let announcer = store.is_shared().then(Arc::<Announcer>::default);
        if let Some(announcer) = &announcer {
            tokio::spawn(announce::send(store.clone(), Arc::downgrade(announcer)));
            let receiver = announce::receive(store.clone(), Arc::downgrade(&hub), runs);
            tokio::spawn(receiver);
            tokio::spawn(announce::look_again(store.clone(), Arc::downgrade(&hub)));
        }
        let appender = store.appender(quota).with_reserve(is_reserved);
        let writer = Writer::new(appender, limit, hub.clone(), announcer);
        tokio::spawn(writer.work(queue));
        Journal { store, writes, hub }
    }

    /// The journal of a run that is held under this number.
    pub fn of(&self, tenant: &Tenant, run: &str, fence: i64) -> RunJournal {
        RunJournal {
            journal: self.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            fence,
        }
    }
}

/// The journal of one run, for the server that holds it.
#[derive(Clone)]
pub struct RunJournal {
    journal: Journal,
    tenant: Tenant,
    run: String,
    fence: i64,
}

impl RunJournal {
    /// The number under which the run is held.
    pub fn fence(&self) -> i64 {
        self.fence
    }

    /// Stores entries, in order, and returns when they are on the disk.
    ///
    /// # Errors
    /// If the database refuses them, or another server has taken the run. If it is locked or full, the call waits.
    pub async fn write(&self, entries: Vec<Entry>) -> Result<()> {
        let (done, stored) = oneshot::channel();
        self.send(entries, Some(done)).await?;
        stored.await.unwrap_or_else(|_gone| Err(stopped()))
    }

    /// Queues entries without waiting until they are stored; for log lines.
    ///
    /// # Errors
    /// Only if the writer has ended.
    pub async fn queue(&self, entries: Vec<Entry>) -> Result<()> {
        self.send(entries, None).await
    }

    async fn send(
        &self,
        entries: Vec<Entry>,
        done: Option<oneshot::Sender<Result<()>>>,
    ) -> Result<()> {
        let write = store::Write {
            tenant: self.tenant.clone(),
            run: self.run.clone(),
            fence: self.fence,
            entries,
        };
        let queued = Queued { write, done };
        let sent = self.journal.writes.send(queued).await;
        sent.map_err(|_gone| stopped())
    }
}

fn stopped() -> Error {
    Error::Unavailable("the journal has stopped".into())
}
