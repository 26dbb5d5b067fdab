//! Live viewers at other servers: notices of new events, at most one per run in [`PAUSE`].
//!
//! A notice has the number of the last event. The other server reads the events from storage, once for all viewers of the
//! run. It also looks there every [`LOOK_EVERY`], and whenever notices may have been missed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures::stream::{self, StreamExt};
use store::{Notice, Store};
use tokio::sync::Notify;

use super::hub::Hub;

/// Pause between two notices of a run.
const PAUSE: Duration = Duration::from_millis(20);

/// Interval of reads from storage without notices.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Number of events that are read at once.
const PAGE: u32 = 250;

/// Maximum number of pages that are read for a notice. If there are more events, each viewer reads them at its own speed.
const PAGES: usize = 4;

/// Runs whose events are read at the same time.
const READS: usize = 4;

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
            tracing::warn!(%error, "other servers were not notified of new events");
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
        // Earlier notices are lost, such as those during an outage of the database.
        let mut missed = Some(Notice::Gap);
        loop {
            let notice = match missed.take() {
                Some(gap) => Ok(gap),
                None => listener.next().await,
            };
            let Some(hub) = hub.upgrade() else { return };
            match notice {
                Ok(Notice::Events(last)) => {
                    let (store, hub) = (&store, &*hub);
                    let forward_one = |(run, seq): (String, u64)| async move {
                        forward(store, hub, &run, seq).await;
                    };
                    stream::iter(last)
                        .for_each_concurrent(READS, forward_one)
                        .await;
                }
                Ok(Notice::Runs) => runs.notify_one(),
                Ok(Notice::Gap) => {
                    runs.notify_one();
                    look(&store, &hub).await;
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

/// Searches for missed events periodically, until the hub is dropped.
pub async fn look_again(store: Store, hub: Weak<Hub>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match hub.upgrade() {
            Some(hub) => look(&store, &hub).await,
            None => return,
        }
    }
}

/// Searches storage for events that the viewers have not received.
pub async fn look(store: &Store, hub: &Hub) {
    for (tenant, run) in hub.watched() {
        match store.event_last(&tenant, &run).await {
            Ok(Some(seq)) => forward(store, hub, &run, seq).await,
            // The run was removed, or has no events yet: the viewers find out which.
            Ok(None) => hub.look_again(&run),
            Err(error) => {
                tracing::warn!(%error, "events of other servers are not seen");
                return;
            }
        }
    }
}

/// Sends the viewers of a run the events up to a number, read once for all of them.
pub async fn forward(store: &Store, hub: &Hub, run: &str, seq: u64) {
    for _ in 0..PAGES {
        let Some((tenant, last_sent)) = hub.last_sent(run) else {
            return;
        };
        if last_sent >= seq {
            return;
        }
        // Before the first news, the viewers are at different events.
        if last_sent == 0 {
            break;
        }
        match store.event_list(&tenant, run, last_sent, PAGE).await {
            Ok(events) if !events.is_empty() => hub.publish(run, events.into()),
            Ok(_) => break,
            Err(error) => {
                tracing::warn!(%error, "events of another server were not read");
                break;
            }
        }
    }
    hub.has_events(run, seq);
}
