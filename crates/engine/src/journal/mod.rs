//! What happened, stored before it has an effect, and told to whoever watches.
//!
//! One task writes. It takes everything that waits, stores it in one transaction (group commit: a
//! thousand log lines cost one), gives each event its number in that order, and only then tells the
//! live viewers. So what a viewer has seen is stored, numbers are dense, and a viewer that misses
//! something reads it again from storage.
//!
//! Moves are durable when [`Journal::write`] returns: the disk has them. Log lines are handed over
//! without waiting; a full queue slows down the one who talks, nobody else.
//!
//! What a crash does here: a batch is there whole or not at all. An effect starts after its batch.

mod hub;
mod stream;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use store::{Entry, Store};
use tokio::sync::{mpsc, oneshot};

use crate::{Error, Result, Tenant};
use hub::Hub;
use writer::{Queued, Writer};

/// A cheap handle: clone it.
#[derive(Clone)]
pub struct Journal {
    store: Store,
    writes: mpsc::Sender<Queued>,
    hub: Arc<Hub>,
}

/// Writes that may wait before who writes has to.
const QUEUE: usize = 4096;

impl Journal {
    /// Starts the writer. It ends when the last handle is gone.
    pub fn start(store: Store) -> Journal {
        let (writes, queue) = mpsc::channel(QUEUE);
        let hub = Arc::new(Hub::default());
        tokio::spawn(Writer::new(store.appender(), hub.clone()).work(queue));
        Journal { store, writes, hub }
    }

    /// Stores entries of a run, in order, and returns when the disk has them.
    ///
    /// # Errors
    /// Where the database refuses them. A database that is locked or full is waited for instead.
    pub async fn write(&self, tenant: &Tenant, run: &str, entries: Vec<Entry>) -> Result<()> {
        let (done, stored) = oneshot::channel();
        self.queue(tenant, run, entries, Some(done)).await?;
        stored.await.unwrap_or_else(|_gone| Err(stopped()))
    }

    /// Hands over entries of a run without waiting until they are stored; for log lines.
    ///
    /// # Errors
    /// Only where the writer is gone.
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
