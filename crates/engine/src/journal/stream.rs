//! Events of a run: stored ones first, then live ones.
//!
//! A viewer that has got live events and does not take the next ones in time is cut off: it reads what it missed when it
//! comes back. A viewer that is still reading stored events has all the time that it needs.
//!
//! The stream of a failed run that will be rolled back does not end with the run: the reasons for a delay of the
//! roll-back are events of the same run, after its end.

use std::time::Duration;

use api::{Event, EventBody};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use store::RunProgress;

use super::{EventBatch, Journal, batch::event_bytes, hub::News};
use crate::Tenant;

/// Number of events that are read from storage at once. Each reading viewer holds this number.
pub(super) const PAGE: u32 = 250;
/// Size of these events, in bytes. Of long ones, fewer are taken at once.
pub(super) const PAGE_BYTES: usize = 256 * 1024;
/// Interval at which a run with a requested roll-back is checked: the start of its roll-back is not an event. One viewer
/// does it for all.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The reason why a stream of events ends before its run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Interruption {
    /// The viewer does not take live events as fast as they come. Another stream continues after its last event.
    #[error("the viewer is too slow")]
    TooSlow,
    /// The database failed. Another stream continues after the viewer's last event.
    #[error(transparent)]
    Storage(#[from] store::Error),
}

/// The position of a viewer.
pub(super) struct Viewer {
    journal: Journal,
    tenant: Tenant,
    run: String,
    /// The number of the last event that the viewer got.
    seen: u64,
    live: Receiver<News>,
    /// True if storage may have events that the viewer did not get.
    pub(super) behind: bool,
    /// True if the last events were live.
    is_live: bool,
    /// True if there will be no more live events.
    closed: bool,
    /// True if the run has ended and will be rolled back.
    lingers: bool,
}

impl Journal {
    /// Events with a number greater than `after`, without gaps or duplicates. No batch is empty. Ends after the run's final
    /// event, when it is certain whether the run is rolled back, or with an interruption. If a run is resumed, the next
    /// stream continues from there.
    pub fn stream(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
    ) -> BoxStream<'static, Result<EventBatch, Interruption>> {
        let viewer = self.viewer(tenant, run, after);
        stream::unfold(Some(viewer), |viewer| async move {
            let mut viewer = viewer?;
            match viewer.next().await {
                Ok(events) => Some((Ok(events?), Some(viewer))),
                Err(interruption) => Some((Err(interruption), None)),
            }
        })
        .boxed()
    }

    /// Looks for all viewers of a run whether it is still going to be rolled back.
    async fn look(&self, tenant: &Tenant, run: &str) -> store::Result<()> {
        if self.hub.is_due(run, LOOK_AGAIN)
            && self.store.run_standing(tenant, run).await? != RunProgress::AwaitsRollBack
        {
            self.hub.look_again(run);
        }
        Ok(())
    }

    pub(super) fn viewer(&self, tenant: &Tenant, run: &str, after: u64) -> Viewer {
        // Watch first, then read: events in between arrive twice here and are dropped once.
        let live = self.hub.watch(tenant, run);
        Viewer {
            journal: self.clone(),
            tenant: tenant.clone(),
            run: run.to_owned(),
            seen: after,
            live,
            behind: true,
            is_live: false,
            closed: false,
            lingers: false,
        }
    }
}

/// Stored events for a viewer.
enum Stored {
    /// Events that follow those that it got.
    Events(EventBatch),
    /// No events yet.
    Nothing,
    /// No events, and there will be none.
    Over,
}

impl Viewer {
    async fn stored(&mut self) -> store::Result<Stored> {
        // The order is important: if the run ends after this query, its last event is still read. In the reverse order
        // that event would be missed.
        let store = &self.journal.store;
        let standing = store.run_standing(&self.tenant, &self.run).await?;
        let over = self.closed || standing == RunProgress::Ended;
        self.lingers = standing == RunProgress::AwaitsRollBack;
        let mut events = store
            .event_list(&self.tenant, &self.run, self.seen, PAGE)
            .await?;
        events.truncate(fitting(&events));
        Ok(match events.last() {
            Some(last) => {
                self.seen = last.seq;
                self.is_live = false;
                Stored::Events(events.into())
            }
            None if over => Stored::Over,
            None => Stored::Nothing,
        })
    }

    /// Called if live events were missed.
    fn missed(&mut self) -> Result<(), Interruption> {
        if self.is_live {
            return Err(Interruption::TooSlow);
        }
        self.behind = true;
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Option<EventBatch>, Interruption> {
        loop {
            if self.behind {
                // Boxed, because a viewer mostly waits, and then needs no room for queries.
                match Box::pin(self.stored()).await? {
                    Stored::Events(events) => return Ok(Some(events)),
                    Stored::Over => return Ok(None),
                    Stored::Nothing => self.behind = false,
                }
            }
            let news = if self.lingers {
                match tokio::time::timeout(LOOK_AGAIN, self.live.recv()).await {
                    Ok(news) => news,
                    Err(_nothing_yet) => {
                        Box::pin(self.journal.look(&self.tenant, &self.run)).await?;
                        continue;
                    }
                }
            } else {
                self.live.recv().await
            };
            match news {
                Ok(News::Until(seq)) => self.behind = seq > self.seen,
                Ok(News::Batch(queued)) => {
                    let Some(batch) = queued.get() else {
                        self.missed()?;
                        continue;
                    };
                    // After a final event, storage shows if the run was resumed meanwhile. That holds for a viewer with a
                    // number beyond the end, too, which is possible after a backup was restored.
                    self.behind = batch.iter().any(is_end);
                    let new = batch.partition_point(|event| event.seq <= self.seen);
                    let Some(first) = batch.get(new) else {
                        continue;
                    };
                    if first.seq > self.seen + 1 {
                        self.behind = true;
                        continue;
                    }
                    let events = match new {
                        0 => batch,
                        new => batch[new..].to_vec().into(),
                    };
                    self.seen = events.last().map_or(self.seen, |last| last.seq);
                    self.is_live = true;
                    return Ok(Some(events));
                }
                Err(RecvError::Lagged(_)) => self.missed()?,
                Err(RecvError::Closed) => {
                    self.behind = true;
                    self.closed = true;
                }
            }
        }
    }
}

/// Number of events that a viewer takes at once: those within [`PAGE_BYTES`], and the one that exceeds it.
fn fitting(events: &[Event]) -> usize {
    let mut bytes = 0;
    let fits = |event: &&Event| {
        let fits = bytes < PAGE_BYTES;
        bytes += event_bytes(event);
        fits
    };
    events.iter().take_while(fits).count()
}

/// True for an end of the run.
fn is_end(event: &Event) -> bool {
    matches!(event.body, EventBody::Run { state, .. } if state.is_final())
}
