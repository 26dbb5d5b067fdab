//! Events of a run: stored ones first, then live ones.
//!
//! The stream of a failed run that will be rolled back does not end with the run: the reasons for a delay of the
//! roll-back are events of the same run, after its end.

use std::time::Duration;

use api::{Event, EventBody};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use store::RunProgress;

use super::{Journal, hub::News};
use crate::Tenant;

/// Number of events that are read from storage at once.
const PAGE: u32 = 1000;
/// Interval at which a run with a requested roll-back is checked: the start of its roll-back is not an event.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The position of a viewer.
struct Viewer {
    journal: Journal,
    tenant: Tenant,
    run: String,
    /// The number of the last event that the viewer got.
    seen: u64,
    live: Receiver<News>,
    /// True if storage may have events that the viewer did not get.
    behind: bool,
    /// True if there will be no more live events.
    closed: bool,
    /// True if the run has ended and will be rolled back.
    lingers: bool,
}

impl Journal {
    /// Events with a number greater than `after`, without gaps or duplicates. Ends after the run's final event, or when
    /// it is certain whether the run is rolled back. If a run is resumed, the next stream continues from there.
    pub fn stream(&self, tenant: &Tenant, run: &str, after: u64) -> BoxStream<'static, Vec<Event>> {
        // Watch first, then read: events in between arrive twice here and are dropped once.
        let live = self.hub.watch(run);
        let viewer = Viewer {
            journal: self.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            seen: after,
            live,
            behind: true,
            closed: false,
            lingers: false,
        };
        stream::unfold(viewer, |mut viewer| async move {
            let events = viewer.next().await?;
            Some((events, viewer))
        })
        .boxed()
    }
}

impl Viewer {
    async fn next(&mut self) -> Option<Vec<Event>> {
        loop {
            if self.behind {
                // The order is important: if the run ends after this query, its last event is still read. In the
                // reverse order that event would be missed.
                let store = &self.journal.store;
                let standing = store.run_standing(&self.tenant, &self.run).await;
                let standing = standing.unwrap_or(RunProgress::Ended);
                let over = self.closed || standing == RunProgress::Ended;
                self.lingers = standing == RunProgress::AwaitsRollBack;
                let events = match store
                    .event_list(&self.tenant, &self.run, self.seen, PAGE)
                    .await
                {
                    Ok(events) => events,
                    Err(error) => {
                        tracing::warn!(%error, run.id = self.run, "a viewer's stream ends early; it will ask again");
                        return None;
                    }
                };
                if let Some(last) = events.last() {
                    self.seen = last.seq;
                    return Some(events);
                }
                if over {
                    return None;
                }
                self.behind = false;
            }
            let news = if self.lingers {
                match tokio::time::timeout(LOOK_AGAIN, self.live.recv()).await {
                    Ok(news) => news,
                    Err(_nothing_yet) => {
                        self.behind = true;
                        continue;
                    }
                }
            } else {
                self.live.recv().await
            };
            match news {
                Ok(News::Until(seq)) => self.behind = seq > self.seen,
                Ok(News::Batch(batch)) => {
                    let new = batch.partition_point(|event| event.seq <= self.seen);
                    let Some(first) = batch.get(new) else {
                        continue;
                    };
                    if first.seq > self.seen + 1 {
                        self.behind = true;
                        continue;
                    }
                    let events = batch[new..].to_vec();
                    self.seen = events.last().map_or(self.seen, |last| last.seq);
                    // After a final event, storage shows if the run was resumed meanwhile.
                    self.behind = events.iter().any(|event| matches!(event.body, EventBody::Run { state, .. } if state.is_final()));
                    return Some(events);
                }
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => {
                    self.behind = true;
                    self.closed = true;
                }
            }
        }
    }
}
