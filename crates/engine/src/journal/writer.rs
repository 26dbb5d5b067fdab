//! The one task that writes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use api::{Event, RunState, StepState};
use jiff::{Timestamp, Unit};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::{
    creations::{self, Moved, Requests},
    entry::{Entry, ResourceChange, Wanted},
    hub::Hub,
    read::{to_json, to_text},
};
use crate::{Error, Result};

/// Entries of one run, to be stored together.
pub struct Write {
    pub run: String,
    pub entries: Vec<Entry>,
    /// Told when the disk has them.
    pub done: Option<oneshot::Sender<Result<()>>>,
}

/// Entries in one transaction, at most (about: a write is never divided).
const BATCH: usize = 2000;
/// Rows in one `INSERT`: five values each, far below SQLite's limit of 32,766.
const ROWS: usize = 500;

pub struct Writer {
    pool: SqlitePool,
    hub: Arc<Hub>,
    /// The last number of each run that was written to lately.
    last: HashMap<String, u64>,
}

impl Writer {
    pub fn new(pool: SqlitePool, hub: Arc<Hub>) -> Writer {
        Writer {
            pool,
            hub,
            last: HashMap::new(),
        }
    }

    pub async fn work(mut self, mut queue: mpsc::Receiver<Write>) {
        while let Some(first) = queue.recv().await {
            let mut entries = first.entries.len();
            let mut batch = vec![first];
            while entries < BATCH
                && let Ok(next) = queue.try_recv()
            {
                entries += next.entries.len();
                batch.push(next);
            }
            self.store_all(batch).await;
        }
    }

    /// Together; where the database refuses that, one by one, so that the one at fault hurts nobody else.
    async fn store_all(&mut self, batch: Vec<Write>) {
        match self.store_patiently(&batch).await {
            Ok(()) => batch.into_iter().for_each(|write| answer(write, Ok(()))),
            Err(error) if batch.len() == 1 => batch
                .into_iter()
                .for_each(|write| answer(write, Err(refused(&error)))),
            Err(_) => {
                for write in batch {
                    let stored = self.store_patiently(std::slice::from_ref(&write)).await;
                    answer(write, stored.map_err(|error| refused(&error)));
                }
            }
        }
    }

    /// A locked or full database is nobody's fault here: everything waits until it works again.
    async fn store_patiently(&mut self, batch: &[Write]) -> Result<(), sqlx::Error> {
        let mut pause = Duration::from_millis(50);
        loop {
            match self.store(batch).await {
                Err(error) if passes(&error) => {
                    tracing::warn!(%error, "the journal cannot write; runs wait");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
                other => return other,
            }
        }
    }

    async fn store(&mut self, batch: &[Write]) -> Result<(), sqlx::Error> {
        let time = now_text();
        let mut connection = self.pool.acquire().await?;
        // Moves must outlive a power cut, log lines a crash of ours: the difference is a flush of the disk.
        let durable = batch
            .iter()
            .any(|write| write.entries.iter().any(Entry::is_move));
        let level = if durable {
            "PRAGMA synchronous = FULL"
        } else {
            "PRAGMA synchronous = NORMAL"
        };
        sqlx::query(level).execute(&mut *connection).await?;
        let mut transaction =
            sqlx::Connection::begin_with(&mut *connection, "BEGIN IMMEDIATE").await?;

        let mut last = HashMap::<&str, u64>::new();
        let mut stored: Vec<(&str, Vec<Event>)> = Vec::new();
        let mut rows: Vec<(&str, u64, &'static str, String)> = Vec::new();
        for write in batch {
            let run = write.run.as_str();
            let mut seq = match last.get(run).or_else(|| self.last.get(run)) {
                Some(seq) => *seq,
                None => last_seq(&mut transaction, run).await?,
            };
            let mut events = Vec::with_capacity(write.entries.len());
            for entry in &write.entries {
                if apply(&mut transaction, run, entry, &time).await? == Applied::No {
                    continue;
                }
                seq += 1;
                let body = entry.event();
                rows.push((run, seq, entry.kind(), to_json(&body)));
                events.push(Event {
                    seq,
                    time: time.clone(),
                    body,
                });
            }
            last.insert(run, seq);
            match stored.iter_mut().find(|(known, _)| *known == run) {
                Some((_, all)) => all.extend(events),
                None => stored.push((run, events)),
            }
        }
        for rows in rows.chunks(ROWS) {
            let mut insert =
                QueryBuilder::<Sqlite>::new("INSERT INTO events (run, seq, time, type, body) ");
            insert.push_values(rows, |mut values, (run, seq, kind, body)| {
                values
                    .push_bind(*run)
                    .push_bind(seq.cast_signed())
                    .push_bind(&time)
                    .push_bind(*kind)
                    .push_bind(body);
            });
            insert.build().execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        drop(connection);

        let last: Vec<(String, u64)> = last
            .into_iter()
            .map(|(run, seq)| (run.to_owned(), seq))
            .collect();
        self.last.extend(last);
        for (run, events) in stored {
            if events.iter().any(
                |event| matches!(event.body, api::EventBody::Run { state, .. } if state.is_final()),
            ) {
                self.last.remove(run);
            }
            self.hub.tell(run, events.into());
        }
        Ok(())
    }
}

/// Nobody may wait for it any more; then nobody is told.
fn answer(write: Write, result: Result<()>) {
    match write.done {
        Some(done) => drop(done.send(result)),
        None => {
            if let Err(error) = result {
                tracing::error!(%error, run.id = write.run, "log lines were not stored");
            }
        }
    }
}

fn refused(error: &sqlx::Error) -> Error {
    // The cause is shared by all of a batch, and `sqlx::Error` cannot be cloned.
    Error::Storage {
        doing: "writing to the journal",
        source: sqlx::Error::Protocol(error.to_string()),
    }
}

/// Whether waiting may help: busy (5), locked (6), I/O error (10), full (13), cannot open (14).
fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => error
            .code()
            .and_then(|code| code.parse::<u32>().ok())
            .is_some_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13 | 14)),
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) => true,
        _ => false,
    }
}

/// RFC 3339 in UTC with milliseconds.
pub fn now_text() -> String {
    let now = Timestamp::now();
    let now = now.round(Unit::Millisecond).unwrap_or(now);
    format!("{now:.3}")
}

async fn last_seq(connection: &mut SqliteConnection, run: &str) -> Result<u64, sqlx::Error> {
    let last: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = ?")
        .bind(run)
        .fetch_one(connection)
        .await?;
    Ok(last.cast_unsigned())
}

/// Whether an entry still was to the point.
#[derive(PartialEq)]
enum Applied {
    Yes,
    No,
}

/// Changes the row that the entry is about.
async fn apply(
    connection: &mut SqliteConnection,
    run: &str,
    entry: &Entry,
    time: &str,
) -> Result<Applied, sqlx::Error> {
    match entry {
        Entry::Log { .. } => {}
        Entry::Step {
            step,
            state,
            attempt,
            error,
        } => {
            let started = (*state == StepState::Running).then_some(time);
            let ended = state.is_final().then_some(time);
            sqlx::query(
                "UPDATE steps SET state = ?, attempts = ?, started = COALESCE(started, ?), ended = ?, error = ? \
                 WHERE run = ? AND id = ?",
            )
            .bind(to_text(state))
            .bind(i64::from(*attempt))
            .bind(started)
            .bind(ended)
            .bind(error)
            .bind(run)
            .bind(step)
            .execute(&mut *connection)
            .await?;
            if !matches!(state, StepState::Running | StepState::Succeeded) && *attempt > 0 {
                creations::attempt_ended(connection, run, step, time).await?;
            }
        }
        Entry::Run {
            state,
            ending,
            reason,
            deployment,
        } => {
            let started = (*state == RunState::Running).then_some(time);
            let ended = state.is_final().then_some(time);
            sqlx::query("UPDATE runs SET state = ?, ending = ?, reason = ?, started = COALESCE(started, ?), ended = ? WHERE id = ?")
                .bind(to_text(state))
                .bind(ending.map(|ending| to_text(&ending)))
                .bind(reason)
                .bind(started)
                .bind(ended)
                .bind(run)
                .execute(&mut *connection)
                .await?;
            sqlx::query("UPDATE deployments SET state = ?, updated = ? WHERE id = (SELECT deployment FROM runs WHERE id = ?)")
                .bind(to_text(deployment))
                .bind(time)
                .bind(run)
                .execute(&mut *connection)
                .await?;
            if *deployment == api::DeploymentState::Deployed {
                sqlx::query(
                    "UPDATE deployments SET good = json_object('template', template, 'beside', json(beside), 'layout', json(layout), \
                     'parameters', json(parameters), 'hidden', hidden, 'design_version', design_version) WHERE id = (SELECT deployment FROM runs WHERE id = ?)",
                )
                .bind(run)
                .execute(&mut *connection)
                .await?;
            }
            if state.is_final() {
                // The token goes in the same moment: no crash can leave one behind. The run that leads back
                // from a failure takes it over, and removes it as it is stored.
                sqlx::query("UPDATE runs SET roll_back = NULL WHERE id = ? AND state <> 'failed'")
                    .bind(run)
                    .execute(&mut *connection)
                    .await?;
                sqlx::query(
                    "DELETE FROM sealed WHERE kind = 'run' AND name IN (SELECT id FROM runs WHERE id = ? AND roll_back IS NULL)",
                )
                .bind(run)
                .execute(connection)
                .await?;
            }
        }
        Entry::RollBack { reason, wanted } => {
            return apply_roll_back(connection, run, reason, *wanted).await;
        }
        Entry::Resource { name, change } => {
            apply_resource(connection, run, name, change, time).await?;
        }
    }
    Ok(Applied::Yes)
}

/// Who goes on with the run meanwhile, or rolls it back by hand, has taken the wish or the state away.
async fn apply_roll_back(
    connection: &mut SqliteConnection,
    run: &str,
    reason: &str,
    wanted: Wanted,
) -> Result<Applied, sqlx::Error> {
    let written = sqlx::query(
        "UPDATE runs SET reason = ?, roll_back = CASE WHEN ? THEN roll_back END \
         WHERE id = ? AND state = 'failed' AND roll_back IS NOT NULL",
    )
    .bind(reason)
    .bind(wanted == Wanted::Still)
    .bind(run)
    .execute(&mut *connection)
    .await?;
    if written.rows_affected() == 0 {
        return Ok(Applied::No);
    }
    if wanted == Wanted::NoMore {
        sqlx::query("DELETE FROM sealed WHERE kind = 'run' AND name = ?")
            .bind(run)
            .execute(connection)
            .await?;
    }
    Ok(Applied::Yes)
}

async fn apply_resource(
    connection: &mut SqliteConnection,
    run: &str,
    name: &str,
    change: &ResourceChange,
    time: &str,
) -> Result<(), sqlx::Error> {
    const WHICH: &str = "deployment = (SELECT deployment FROM runs WHERE id = ?) AND name = ?";
    let query = match change {
        // What exists under the name keeps its id: it is looked at, or removed, before another is made.
        ResourceChange::Begin {
            spec,
            state,
            incarnation,
        } => {
            sqlx::query(
                "INSERT INTO resources (deployment, name, type, spec, state, incarnation) \
                 SELECT deployment, ?, ?, ?, ?, ? FROM runs WHERE id = ? \
                 ON CONFLICT (deployment, name) DO UPDATE SET type = excluded.type, spec = excluded.spec, state = excluded.state, \
                 incarnation = excluded.incarnation",
            )
            .bind(name)
            .bind(&spec.resource_type)
            .bind(to_json(spec))
            .bind(to_text(state))
            .bind(i64::from(*incarnation))
            .bind(run)
            .execute(&mut *connection)
            .await?;
            let requests = match spec.external_id.is_none() && *state == api::ResourceState::Creating {
                true => Requests::Creation,
                false => Requests::Nothing,
            };
            let (incarnation, resource_type) = (*incarnation, spec.resource_type.as_str());
            return creations::begin(connection, run, name, incarnation, resource_type, requests, time).await;
        }
        ResourceChange::Refused => {
            return creations::moved(connection, run, name, Moved::Answered).await;
        }
        ResourceChange::Namesakes(namesakes) => {
            return creations::moved(connection, run, name, Moved::Namesakes(namesakes)).await;
        }
        ResourceChange::Known { physical_id } => {
            sqlx::query(const_str(&["UPDATE resources SET physical_id = ? WHERE ", WHICH])).bind(physical_id.clone())
        }
        ResourceChange::Ready { reference, attributes, physical_id, made_from, made_with } => {
            sqlx::query(const_str(&[
                "UPDATE resources SET state = 'ready', reference = ?, attributes = ?, physical_id = ?, made_from = ?, made_with = ?, \
                 read_at = ?, tried = NULL WHERE ",
                WHICH,
            ]))
            .bind(to_json(reference))
            .bind(to_json(attributes))
            .bind(physical_id.clone())
            .bind(to_json(made_from))
            .bind(to_json(made_with))
            .bind(now_text())
        }
        ResourceChange::Tries { tried } => {
            sqlx::query(const_str(&["UPDATE resources SET tried = ? WHERE ", WHICH])).bind(to_json(tried))
        }
        ResourceChange::PutAside { copy, .. } => {
            sqlx::query(const_str(&["UPDATE resources SET name = ? WHERE ", WHICH])).bind(copy.clone())
        }
        ResourceChange::Retained => {
            creations::moved(connection, run, name, Moved::Retained).await?;
            sqlx::query(const_str(&[
                "UPDATE resources SET state = 'deleted', physical_id = NULL, reference = NULL, attributes = NULL WHERE ",
                WHICH,
            ]))
        }
        ResourceChange::To { state, .. } if *state == api::ResourceState::Deleted => sqlx::query(const_str(&[
            "UPDATE resources SET state = ?, physical_id = NULL, reference = NULL, attributes = NULL WHERE ",
            WHICH,
        ]))
        .bind(to_text(state)),
        ResourceChange::To { state, .. } => sqlx::query(const_str(&["UPDATE resources SET state = ? WHERE ", WHICH])).bind(to_text(state)),
        ResourceChange::Forgotten => sqlx::query(const_str(&[
            "UPDATE resources SET state = 'creating', physical_id = NULL, reference = NULL, attributes = NULL WHERE ",
            WHICH,
        ])),
    };
    let done = query.bind(run).bind(name).execute(&mut *connection).await?;
    match change {
        // An id without a row would be lost with what it names.
        ResourceChange::Known { .. } | ResourceChange::Ready { .. }
            if done.rows_affected() == 0 =>
        {
            Err(sqlx::Error::RowNotFound)
        }
        ResourceChange::Known { .. } | ResourceChange::Ready { .. } => {
            creations::moved(connection, run, name, Moved::Answered).await
        }
        ResourceChange::Forgotten => {
            creations::moved(connection, run, name, Moved::RequestedAgain).await
        }
        _ => Ok(()),
    }
}

/// Statements are made of our own constants only.
fn const_str(parts: &[&'static str]) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(parts.concat())
}
