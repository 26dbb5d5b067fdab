//! The events of a run: stored ones, live ones, and the search in log lines.

use api::{Event, LogHits};
use futures::stream::BoxStream;
use store::{EventFilter, Range};

use super::{
    Engine,
    search::{self, LogSearch},
};
use crate::{
    Result, Tenant,
    journal::{EventBatch, Interruption},
};

impl Engine {
    /// Events with `seq > after`, at most `limit`.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn events(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        let range = Range::after(after, limit.clamp(1, 10_000));
        self.events_in(tenant, run, range, EventFilter::All).await
    }

    /// Stored events of a range.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn events_in(
        &self,
        tenant: &Tenant,
        run: &str,
        range: Range,
        filter: EventFilter<'_>,
    ) -> Result<Vec<Event>> {
        self.run_row(tenant, run).await?;
        let _turn = self.core.event_reads.turn(tenant).await;
        let store = &self.core.store;
        Ok(store.event_list_in(tenant, run, range, filter).await?)
    }

    /// Log lines that contain a text, backward from the number `before`, of one step or of all. Stops early, and says where:
    /// see [`search`].
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn search_log(
        &self,
        tenant: &Tenant,
        run: &str,
        search: LogSearch<'_>,
    ) -> Result<LogHits> {
        self.run_row(tenant, run).await?;
        let (store, reads) = (&self.core.store, &self.core.event_reads);
        Ok(search::search((store, reads), tenant, run, search).await?)
    }

    /// Events with `seq > after`: first stored ones, then live ones, without gaps or duplicates. Ends after the run's
    /// final event, or with an interruption.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn stream(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
    ) -> Result<BoxStream<'static, Result<EventBatch, Interruption>>> {
        self.run_row(tenant, run).await?;
        Ok(self.core.journal.stream(tenant, run, after))
    }
}
