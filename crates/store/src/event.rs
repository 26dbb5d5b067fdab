//! The events of a run. Rows are only added; `seq` starts at 1 per run and has no gaps.

use api::{Event, EventBody, RunState};
use sqlx::{AssertSqlSafe, Row as _};

use crate::{
    Result, Store, Tenant,
    column::{from_json, to_json},
    database::{Connection, Row, parameters, read_all},
};

/// Maximum number of rows in one `INSERT`: five values each, far below SQLite's limit of 32,766 and PostgreSQL's of
/// 65,535.
const ROWS: usize = 500;

impl Store {
    /// A run's events after number `after`, at most `limit`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn event_list(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        let rows = sqlx::query(
            "SELECT seq, time, body FROM events WHERE run = $1 AND seq > $2 \
             AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND cloud = $3 AND project_id = $4) ORDER BY seq LIMIT $5",
        )
        .bind(run)
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await;
        read_all(rows, event, "reading events")
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

/// The number of a run's last event. 0 if it has none.
pub(crate) async fn last_seq(connection: &mut Connection, run: &str) -> sqlx::Result<u64> {
    let last: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = $1")
        .bind(run)
        .fetch_one(connection)
        .await?;
    Ok(last.cast_unsigned())
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
        .execute(connection)
        .await
        .map(drop)
}

/// A new event of a run.
pub(crate) struct NewEvent<'a> {
    pub run: &'a str,
    pub seq: u64,
    pub kind: &'static str,
    pub body: String,
}

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
