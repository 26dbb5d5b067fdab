//! The events of a run. They are only added; `seq` is dense per run, from 1.
//!
//! Each move is a row here. Log lines are in segments, see [`log`](crate::log). When old log lines are deleted, their numbers are
//! missing, and only then.

use api::{Event, EventBody, RunState};
use sqlx::{AssertSqlSafe, Row as _};

use crate::{
    Result, Store, Tenant,
    column::{from_json, to_i64, to_json},
    database::{Connection, Row, parameters, read_all, statement},
    log::{self, Range},
};

/// Maximum number of rows in one `INSERT`: five values each, far below SQLite's limit of 32,766 and PostgreSQL's of
/// 65,535.
const ROWS: usize = 500;

/// Kinds of events that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFilter<'a> {
    /// Moves and log lines.
    All,
    /// No log lines.
    Moves,
    /// The log lines of this step.
    LogOf(&'a str),
}

impl Store {
    /// A run's events after number `after`, at most `limit`.
    ///
    /// # Errors
    /// If the database fails, or a segment of the log is damaged.
    pub async fn event_list(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        let range = Range::after(after, limit);
        self.event_list_in(tenant, run, range, EventFilter::All)
            .await
    }

    /// A run's events in a range. Where log lines were deleted, fewer than `limit` may be returned although there are more; none
    /// are returned only if there are none.
    ///
    /// # Errors
    /// If the database fails, or a segment of the log is damaged.
    pub async fn event_list_in(
        &self,
        tenant: &Tenant,
        run: &str,
        range: Range,
        filter: EventFilter<'_>,
    ) -> Result<Vec<Event>> {
        match filter {
            EventFilter::All => self.event_list_all(tenant, run, range).await,
            EventFilter::Moves => self.event_list_moves(tenant, run, range).await,
            EventFilter::LogOf(step) => self.log_list_of_step(tenant, run, step, range).await,
        }
    }

    async fn event_list_all(&self, tenant: &Tenant, run: &str, range: Range) -> Result<Vec<Event>> {
        // All events up to this number are visible to both queries. Newer ones might be so to the second one only.
        let Some(last) = self.event_last(tenant, run).await? else {
            return Ok(Vec::new());
        };
        let limit = u64::from(range.limit);
        let end = last.min(range.before.map_or(last, |before| before.saturating_sub(1)));
        let (low, high) = match range.before {
            None => (range.after, end.min(range.after.saturating_add(limit))),
            Some(_) => (range.after.max(end.saturating_sub(limit)), end),
        };
        if low >= high {
            return Ok(Vec::new());
        }
        let numbers = Range {
            after: low,
            before: Some(high + 1),
            limit: range.limit,
        };
        let mut events = self.event_list_moves(tenant, run, numbers).await?;
        events.extend(self.log_list_between(tenant, run, low, high).await?);
        events.sort_by_key(|event| event.seq);
        if !events.is_empty() {
            return Ok(events);
        }
        // The lines of these numbers were deleted. The nearest event beyond them is a move: lines came before it or follow it.
        let beyond = match range.before {
            None => Range::after(high, 1),
            Some(_) => Range {
                after: range.after,
                before: Some(low + 1),
                limit: 1,
            },
        };
        self.event_list_moves(tenant, run, beyond).await
    }

    async fn event_list_moves(
        &self,
        tenant: &Tenant,
        run: &str,
        range: Range,
    ) -> Result<Vec<Event>> {
        let order = match range.before {
            None => "ORDER BY seq LIMIT $6",
            Some(_) => "ORDER BY seq DESC LIMIT $6",
        };
        let rows = sqlx::query(statement(&[
            "SELECT seq, time, body FROM events WHERE run = $1 AND seq > $2 AND seq < $3 \
             AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $4 AND project_id = $5) ",
            order,
        ]))
        .bind(run)
        .bind(to_i64(range.after))
        .bind(range.before.map_or(i64::MAX, to_i64))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(range.limit))
        .fetch_all(&self.pool)
        .await;
        let mut events = read_all(rows, event, "reading events")?;
        events.sort_by_key(|event| event.seq);
        Ok(events)
    }

    /// Number of times that a run has ended without success. It can be resumed after each of them.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn event_count_bad_ends(&self, tenant: &Tenant, run: &str) -> Result<usize> {
        let rows = sqlx::query(
            "SELECT seq, time, body FROM events WHERE run = $1 AND type = 'run' \
             AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let events = read_all(rows, event, "reading events")?;
        let is_bad_end = |event: &&Event| {
            matches!(
                event.body,
                EventBody::Run {
                    state: RunState::Failed | RunState::Cancelled,
                    ..
                }
            )
        };
        Ok(events.iter().filter(is_bad_end).count())
    }
}

/// The first event of a new run.
pub(crate) async fn insert_queued(
    connection: &mut Connection,
    run: &str,
    time: &str,
) -> sqlx::Result<()> {
    let body = EventBody::Run {
        state: RunState::Queued,
        reason: None,
    };
    sqlx::query("INSERT INTO events (run, seq, time, type, body) VALUES ($1, 1, $2, 'run', $3)")
        .bind(run)
        .bind(time)
        .bind(to_json(&body))
        .execute(&mut *connection)
        .await?;
    log::begin(connection, run).await
}

/// A new event of a run.
pub(crate) struct NewEvent<'a> {
    pub run: &'a str,
    pub seq: u64,
    pub kind: &'static str,
    pub body: String,
}

/// Inserts moves.
pub(crate) async fn insert_all(
    connection: &mut Connection,
    events: &[NewEvent<'_>],
    time: &str,
) -> sqlx::Result<()> {
    for events in events.chunks(ROWS) {
        let insert = format!(
            "INSERT INTO events (run, seq, time, type, body) VALUES {}",
            parameters(events.len(), 5)
        );
        let mut insert = sqlx::query(AssertSqlSafe(insert));
        for event in events {
            insert = insert
                .bind(event.run)
                .bind(event.seq.cast_signed())
                .bind(time)
                .bind(event.kind)
                .bind(&event.body);
        }
        insert.execute(&mut *connection).await?;
    }
    Ok(())
}

fn event(row: &Row) -> sqlx::Result<Event> {
    Ok(Event {
        seq: row.try_get::<i64, _>("seq")?.cast_unsigned(),
        time: row.try_get("time")?,
        body: from_json::<EventBody>(row.try_get("body")?)?,
    })
}
