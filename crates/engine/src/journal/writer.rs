//! The writer task: group commit, retries while the database cannot write or does not answer, and the results.

use std::{sync::Arc, time::Duration};

use store::Appender;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{announce::Announcer, hub::Hub};
use crate::Result;

/// A write in the queue.
pub struct Queued {
    pub write: store::Write,
    /// Receives the result when the write is on the disk.
    pub done: Option<oneshot::Sender<Result<()>>>,
}

/// Maximum number of entries in one transaction. May be exceeded, because a write is never divided.
const BATCH: usize = 2000;

pub struct Writer {
    appender: Appender,
    hub: Arc<Hub>,
    /// Notifies other servers, if there can be any.
    announcer: Option<Arc<Announcer>>,
    /// Time limit of an append.
    limit: Duration,
}

impl Writer {
    pub fn new(
        appender: Appender,
        limit: Duration,
        hub: Arc<Hub>,
        announcer: Option<Arc<Announcer>>,
    ) -> Writer {
        Writer {
            appender,
            hub,
            announcer,
            limit,
        }
    }

    pub async fn work(mut self, mut queue: mpsc::Receiver<Queued>) {
        while let Some(first) = queue.recv().await {
            let mut entries = first.write.entries.len();
            let mut batch = vec![first];
            while entries < BATCH
                && let Ok(next) = queue.try_recv()
            {
                entries += next.write.entries.len();
                batch.push(next);
            }
            self.store_all(batch).await;
        }
    }

    /// Stores all writes together. If the database refuses that, stores them one by one, so that one invalid write does
    /// not affect the others.
    async fn store_all(&mut self, batch: Vec<Queued>) {
        match self.store_patiently(&batch).await {
            Err(_) if batch.len() > 1 => {
                for queued in batch {
                    let stored = self.store_patiently(std::slice::from_ref(&queued)).await;
                    answer(queued, stored);
                }
            }
            stored => batch
                .into_iter()
                .for_each(|queued| answer(queued, stored.clone())),
        }
    }

    /// A database that is locked, full or silent is not caused by a write: all writes wait until it works again.
    async fn store_patiently(&mut self, batch: &[Queued]) -> store::Result<()> {
        let writes: Vec<&store::Write> = batch.iter().map(|queued| &queued.write).collect();
        let mut pause = Duration::from_millis(50);
        loop {
            match timeout(self.limit, self.appender.append(&writes)).await {
                Ok(Ok(appended)) => {
                    for stored in appended {
                        if let (Some(announcer), Some(last)) =
                            (&self.announcer, stored.events.last())
                        {
                            announcer.note(&stored.run, last.seq);
                        }
                        self.hub.publish(&stored.run, stored.events.into());
                    }
                    return Ok(());
                }
                Ok(Err(error)) if error.is_transient() => {
                    tracing::warn!(%error, cause = %error.cause(), "the journal cannot write; runs wait");
                }
                Ok(Err(error)) => {
                    let writes = batch.len();
                    tracing::warn!(%error, cause = %error.cause(), writes, "the journal refuses writes");
                    return Err(error);
                }
                Err(_elapsed) => {
                    let limit_seconds = self.limit.as_secs_f64();
                    tracing::warn!(limit_seconds, "the journal gets no answer; runs wait");
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// Sends the result. It is dropped if the sender no longer waits for it.
fn answer(queued: Queued, stored: store::Result<()>) {
    match queued.done {
        Some(done) => drop(done.send(stored.map_err(Into::into))),
        None => {
            if let Err(error) = stored {
                tracing::error!(%error, run.id = queued.write.run, "log lines were not stored");
            }
        }
    }
}
