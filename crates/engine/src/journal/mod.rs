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

mod creations;
mod entry;
mod hub;
mod read;
mod stream;
mod writer;

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::{mpsc, oneshot};

pub use creations::{Creation, CreationKey, CreationsNow};
pub use entry::{Entry, ResourceChange, Wanted};
pub use read::{DeploymentRow, Good, ResourceRow, RunRow, Scoped, StepRow};
pub(crate) use read::{from_json, to_json, to_text};
pub(crate) use writer::now_text;

use crate::{Error, Result};
use hub::Hub;
use writer::{Write, Writer};

/// A cheap handle: clone it.
#[derive(Clone)]
pub struct Journal {
    pool: SqlitePool,
    writes: mpsc::Sender<Write>,
    hub: Arc<Hub>,
}

/// Writes that may wait before who writes has to.
const QUEUE: usize = 4096;

/// Opens a database file as the journal likes it, making it if it is missing: write-ahead log, so
/// that readers and the writer do not wait for each other. Migrations are the caller's.
///
/// # Errors
/// Where the file cannot be opened.
pub async fn open(path: &Path) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10));
    SqlitePoolOptions::new()
        .max_connections(8)
        .connect_with(options)
        .await
        .map_err(Error::storage("opening it"))
}

impl Journal {
    /// Starts the writer. It ends when the last handle is gone.
    pub fn start(pool: SqlitePool) -> Journal {
        let (writes, queue) = mpsc::channel(QUEUE);
        let hub = Arc::new(Hub::default());
        tokio::spawn(Writer::new(pool.clone(), hub.clone()).work(queue));
        Journal { pool, writes, hub }
    }

    /// Stores entries of a run, in order, and returns when the disk has them.
    ///
    /// # Errors
    /// Where the database refuses them. A database that is locked or full is waited for instead.
    pub async fn write(&self, run: &str, entries: Vec<Entry>) -> Result<()> {
        let (done, stored) = oneshot::channel();
        self.queue(Write {
            run: run.into(),
            entries,
            done: Some(done),
        })
        .await?;
        stored.await.unwrap_or_else(|_gone| Err(stopped()))
    }

    /// Hands over entries of a run without waiting until they are stored; for log lines.
    ///
    /// # Errors
    /// Only where the writer is gone.
    pub async fn tell(&self, run: &str, entries: Vec<Entry>) -> Result<()> {
        self.queue(Write {
            run: run.into(),
            entries,
            done: None,
        })
        .await
    }

    async fn queue(&self, write: Write) -> Result<()> {
        self.writes.send(write).await.map_err(|_gone| stopped())
    }

    /// For queries and transactions of the facade's own.
    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }
}

fn stopped() -> Error {
    Error::Unavailable("the journal has stopped".into())
}
