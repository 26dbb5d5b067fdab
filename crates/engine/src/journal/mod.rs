//! The journal: events are stored before they have an effect, and then sent to viewers.
//!
//! One task writes. It takes all waiting entries, stores them in one transaction (group commit: a thousand log lines
//! cost one), numbers the events in that order, and only then sends them to the live viewers. So every event is stored
//! before a viewer gets it, numbers have no gaps, and a viewer that misses events reads them from storage.
//!
//! Moves are durable when [`Journal::write`] returns: they are on the disk. Log lines are queued without waiting; a
//! full queue slows down only their sender.
//!
//! After a crash, a batch is stored completely or not at all. An effect starts after its batch is stored.

mod hub;
mod stream;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use store::{Entry, LogQuota, Store};
use tokio::sync::{mpsc, oneshot};

use crate::{Error, Result, Tenant};
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
    /// Starts the writer. It ends when the last handle is dropped. Log lines above the quota are not stored.
    pub fn start(store: Store, quota: LogQuota) -> Journal {
        let (writes, queue) = mpsc::channel(QUEUE);
        let hub = Arc::new(Hub::default());
        tokio::spawn(Writer::new(store.appender(quota), hub.clone()).work(queue));
        Journal { store, writes, hub }
    }

    /// Stores entries of a run, in order, and returns when they are on the disk.
    ///
    /// # Errors
    /// If the database refuses them. If it is locked or full, the call waits.
    pub async fn write(&self, tenant: &Tenant, run: &str, entries: Vec<Entry>) -> Result<()> {
        let (done, stored) = oneshot::channel();
        self.queue(tenant, run, entries, Some(done)).await?;
        stored.await.unwrap_or_else(|_gone| Err(stopped()))
    }

    /// Queues entries of a run without waiting until they are stored; for log lines.
    ///
    /// # Errors
    /// Only if the writer has ended.
    pub async fn tell(&self, tenant: &Tenant, run: &str, entries: Vec<Entry>) -> Result<()> {
        self.queue(tenant, run, entries, None).await
    }

    async fn queue(
        &self,
        tenant: &Tenant,
        run: &str,
        entries: Vec<Entry>,
        done: Option<oneshot::Sender<Result<()>>>,
    ) -> Result<()> {
        let write = store::Write {
            tenant: tenant.clone(),
            run: run.to_owned(),
            entries,
        };
        let queued = Queued { write, done };
        self.writes.send(queued).await.map_err(|_gone| stopped())
    }
}

fn stopped() -> Error {
    Error::Unavailable("the journal has stopped".into())
}
