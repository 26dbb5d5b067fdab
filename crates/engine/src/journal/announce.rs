//! Live viewers at other servers: notices of new events, at most one per run in [`PAUSE`].
//!
//! A notice has the number of the last event; the other server reads the events from storage. Viewers are also sent
//! there every [`LOOK_EVERY`], and whenever notices may have been missed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use store::{Notice, Store};
use tokio::sync::Notify;

use super::hub::Hub;

/// Pause between two notices of a run.
const PAUSE: Duration = Duration::from_millis(20);

/// Interval of reads from storage without notices.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Pause before the next try, if the database does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// Sends notices.
#[derive(Default)]
pub struct Announcer {
    last: Mutex<HashMap<String, u64>>,
    wake: Notify,
}

impl Announcer {
    /// Notes the last event of a run.
    pub fn note(&self, run: &str, seq: u64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.insert(run.to_owned(), seq);
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<(String, u64)> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.drain().collect()
    }
}

/// Sends the recorded notices, until the announcer is dropped.
pub async fn send(store: Store, announcer: Weak<Announcer>) {
    while let Some(announcer) = announcer.upgrade() {
        // An announcer without owner notes nothing more.
        let woken = tokio::time::timeout(LOOK_EVERY, announcer.wake.notified());
        if woken.await.is_err() {
            continue;
        }
        if let Err(error) = store.notify_events(&announcer.take()).await {
            // The other servers read from storage at an interval.
            tracing::warn!(%error, "other servers were not told of new events");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Forwards notices to the viewers of this server and to the task that claims runs, until the hub is dropped.
pub async fn receive(store: Store, hub: Weak<Hub>, runs: Arc<Notify>) {
    while hub.strong_count() > 0 {
        let mut listener = match store.listen().await {
            Ok(Some(listener)) => listener,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "notices of other servers are not heard");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        loop {
            let notice = listener.next().await;
            let Some(hub) = hub.upgrade() else { return };
            match notice {
                Ok(Notice::Events(last)) => {
                    last.iter().for_each(|(run, seq)| hub.has_events(run, *seq));
                }
                Ok(Notice::Runs) => runs.notify_one(),
                Ok(Notice::Gap) => {
                    runs.notify_one();
                    hub.look_again();
                }
                Err(error) => {
                    tracing::warn!(%error, "notices of other servers are not heard");
                    tokio::time::sleep(RETRY).await;
                    break;
                }
            }
        }
    }
}

/// Sends all viewers to storage now and then, until the hub is dropped.
pub async fn look_again(hub: Weak<Hub>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match hub.upgrade() {
            Some(hub) => hub.look_again(),
            None => return,
        }
    }
}
