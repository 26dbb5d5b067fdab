//! The log lines of runs, in segments, and the last number of each run's events.
//!
//! A run's events are numbered in one dense sequence. Moves are rows of `events`; log lines are in rows of `log_segments`, each
//! with consecutive lines of one step. Ranges of segments of different steps overlap, but none is longer than [`SPAN`], so a range
//! of numbers is found by its keys. `journals` has the last number: whoever adds events raises it under the condition that nobody
//! else did, which keeps the sequence dense.

mod quota;
mod segment;

use api::{Event, LogLine};
use jiff::Timestamp;
use sqlx::Row as _;

pub use quota::LogQuota;
pub(crate) use quota::{Space, Usage, Verdict, cost};
pub(crate) use segment::Tail;

use self::segment::{Change, SPAN, Segment, lines_of};
use crate::{
    Error, Outcome, Result, Store, Tenant,
    column::{now_text, to_i64},
    database::{Connection, Row, read_all, statement},
};

/// Number of segments that a reader of one step takes at once.
const SEGMENTS: usize = 16;

/// A range of a run's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Events with a higher number.
    pub after: u64,
    /// Events with a lower number. The last ones of the range are read then, else the first ones.
    pub before: Option<u64>,
    /// Maximum number of events.
    pub limit: u32,
}

impl Range {
    /// The first events after a number.
    pub fn after(after: u64, limit: u32) -> Range {
        Range {
            after,
            before: None,
            limit,
        }
    }

    /// The last events before a number.
    pub fn before(before: u64, limit: u32) -> Range {
        Range {
            after: 0,
            before: Some(before),
            limit,
        }
    }

    /// The events of the range, of those in order that were read of it.
    pub(crate) fn cut(self, mut events: Vec<Event>) -> Vec<Event> {
        events.retain(|event| {
            event.seq > self.after && self.before.is_none_or(|before| event.seq < before)
        });
        let limit = self.limit as usize;
        if self.before.is_some() {
            events.drain(..events.len().saturating_sub(limit));
        } else {
            events.truncate(limit);
        }
        events
    }
}

impl Store {
    /// Log lines of one step, in order.
    pub(crate) async fn log_list_of_step(
        &self,
        tenant: &Tenant,
        run: &str,
        step: &str,
        range: Range,
    ) -> Result<Vec<Event>> {
        let mut after = to_i64(range.after);
        let mut before = range.before.map_or(i64::MAX, to_i64);
        let mut pieces = Vec::new();
        let mut count = 0;
        loop {
            // From the side at which the reading begins. A segment that begins below `after` may end above it.
            let order = if range.before.is_some() {
                "ORDER BY first_seq DESC LIMIT $8"
            } else {
                "ORDER BY first_seq LIMIT $8"
            };
            let rows = sqlx::query(statement(&[
                "SELECT first_seq, last_seq, body FROM log_segments \
                 WHERE run = $1 AND step = $2 AND first_seq > $3 AND first_seq < $4 AND last_seq > $5 \
                 AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $6 AND project_id = $7) ",
                order,
            ]))
            .bind(run)
            .bind(step)
            .bind(after - to_i64(SPAN))
            .bind(before)
            .bind(after)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(to_i64(SEGMENTS as u64))
            .fetch_all(&self.pool)
            .await;
            let rows = read_all(rows, found, "reading a log")?;
            let is_last = rows.len() < SEGMENTS;
            for Found { first, last, lines } in rows {
                if count >= range.limit as usize {
                    break;
                }
                let lines = range.cut(lines);
                count += lines.len();
                pieces.push(lines);
                if range.before.is_some() {
                    before = first;
                } else {
                    after = last;
                }
            }
            if is_last || count >= range.limit as usize {
                break;
            }
        }
        if range.before.is_some() {
            pieces.reverse();
        }
        Ok(range.cut(pieces.concat()))
    }

    /// The log lines above `low` and up to `high`, in order.
    pub(crate) async fn log_list_between(
        &self,
        tenant: &Tenant,
        run: &str,
        low: u64,
        high: u64,
    ) -> Result<Vec<Event>> {
        let rows = sqlx::query(
            "SELECT first_seq, last_seq, body FROM log_segments WHERE run = $1 AND first_seq > $2 AND first_seq <= $3 AND last_seq > $4 \
             AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $5 AND project_id = $6) ORDER BY first_seq",
        )
        .bind(run)
        .bind(to_i64(low) - to_i64(SPAN))
        .bind(to_i64(high))
        .bind(to_i64(low))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let rows = read_all(rows, found, "reading a log")?;
        let mut lines: Vec<Event> = rows.into_iter().flat_map(|found| found.lines).collect();
        lines.retain(|line| line.seq > low && line.seq <= high);
        lines.sort_by_key(|line| line.seq);
        Ok(lines)
    }

    /// The number of a run's last event. `None` if there is no such run.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn event_last(&self, tenant: &Tenant, run: &str) -> Result<Option<u64>> {
        let last: Option<i64> = sqlx::query_scalar(
            "SELECT last_seq FROM journals WHERE run = $1 \
             AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(run)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await
        .map_err(Error::at("reading events"))?;
        Ok(last.map(i64::cast_unsigned))
    }
}

/// Deletes the log lines of runs that ended before a time. Their other events stay. Returns the number of runs.
pub(crate) async fn sweep(store: &Store, before: Timestamp) -> Result<u64> {
    let before = format!("{before:.3}");
    let mut transaction = store.begin("deleting old logs").await?;
    sqlx::query("DELETE FROM log_segments WHERE run IN (SELECT id FROM runs WHERE ended < $1)")
        .bind(&before)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
    let done = sqlx::query(
        "UPDATE journals SET log_bytes = 0, log_deleted = $1 WHERE log_bytes > 0 AND run IN (SELECT id FROM runs WHERE ended < $2)",
    )
    .bind(now_text())
    .bind(before)
    .execute(transaction.connection())
    .await
    .map_err(transaction.failed())?;
    transaction.commit().await?;
    Ok(done.rows_affected())
}

/// A segment's row.
struct Found {
    first: i64,
    last: i64,
    lines: Vec<Event>,
}

fn found(row: &Row) -> sqlx::Result<Found> {
    let body: Vec<u8> = row.try_get("body")?;
    let lines = lines_of(&body);
    Ok(Found {
        first: row.try_get("first_seq")?,
        last: row.try_get("last_seq")?,
        lines: lines.map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
    })
}

/// Begins the numbers of a new run, which has one event.
pub(crate) async fn begin(connection: &mut Connection, run: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO journals (run, last_seq, log_bytes) VALUES ($1, 1, 0)")
        .bind(run)
        .execute(connection)
        .await
        .map(drop)
}

/// The number of a run's last event.
pub(crate) async fn last_seq(connection: &mut Connection, run: &str) -> sqlx::Result<u64> {
    let last: i64 = sqlx::query_scalar("SELECT last_seq FROM journals WHERE run = $1")
        .bind(run)
        .fetch_one(connection)
        .await?;
    Ok(last.cast_unsigned())
}

/// Raises the last number of a run. [`Outcome::Conflict`] if another appender did so since it was read.
pub(crate) async fn advance(
    connection: &mut Connection,
    run: &str,
    (from, to): (u64, u64),
    log_bytes: u64,
) -> sqlx::Result<Outcome> {
    let done = sqlx::query(
        "UPDATE journals SET last_seq = $1, log_bytes = log_bytes + $2 WHERE run = $3 AND last_seq = $4",
    )
    .bind(to_i64(to))
    .bind(to_i64(log_bytes))
    .bind(run)
    .bind(to_i64(from))
    .execute(connection)
    .await?;
    Ok(Outcome::of(done.rows_affected()))
}

/// Cost of a step's stored lines.
pub(crate) async fn bytes_of_step(
    connection: &mut Connection,
    run: &str,
    step: &str,
) -> sqlx::Result<u64> {
    let bytes: i64 = sqlx::query_scalar(
        "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM log_segments WHERE run = $1 AND step = $2",
    )
    .bind(run)
    .bind(step)
    .fetch_one(connection)
    .await?;
    Ok(bytes.cast_unsigned())
}

/// Cost of the stored lines of a project's runs.
pub(crate) async fn bytes_of_project(
    connection: &mut Connection,
    tenant: &Tenant,
) -> sqlx::Result<u64> {
    let bytes: i64 = sqlx::query_scalar(
        "SELECT CAST(COALESCE(SUM(log_bytes), 0) AS BIGINT) FROM journals WHERE run IN \
         (SELECT id FROM runs WHERE cloud = $1 AND project_id = $2)",
    )
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .fetch_one(connection)
    .await?;
    Ok(bytes.cast_unsigned())
}

/// Stores lines of one step behind its others.
pub(crate) async fn insert_lines(
    connection: &mut Connection,
    (run, step): (&str, &str),
    time: &str,
    lines: &[(u64, LogLine)],
    tail: &mut Tail,
) -> sqlx::Result<()> {
    let lines = lines.iter().map(|(seq, line)| (*seq, line));
    for change in tail.add(time, lines) {
        apply(connection, run, step, &change).await?;
    }
    Ok(())
}

/// Makes full segments of a step's lines: its attempt or its run has ended.
pub(crate) async fn close(
    connection: &mut Connection,
    (run, step): (&str, &str),
    tail: &mut Tail,
) -> sqlx::Result<()> {
    match tail.close() {
        Some(change) => apply(connection, run, step, &change).await,
        None => Ok(()),
    }
}

async fn apply(
    connection: &mut Connection,
    run: &str,
    step: &str,
    change: &Change,
) -> sqlx::Result<()> {
    let (segment, body): (&Segment, Vec<u8>) = match change {
        Change::Part(segment) => (segment, segment.plain()),
        Change::Full(segment) => (segment, segment.packed()),
        Change::Merge(from, segment) => {
            sqlx::query(
                "DELETE FROM log_segments WHERE run = $1 AND step = $2 AND first_seq >= $3",
            )
            .bind(run)
            .bind(step)
            .bind(to_i64(*from))
            .execute(&mut *connection)
            .await?;
            (segment, segment.packed())
        }
    };
    sqlx::query(
        "INSERT INTO log_segments (run, first_seq, last_seq, step, bytes, body) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(run)
    .bind(to_i64(segment.first))
    .bind(to_i64(segment.last))
    .bind(step)
    .bind(to_i64(segment.bytes))
    .bind(body)
    .execute(connection)
    .await
    .map(drop)
}
