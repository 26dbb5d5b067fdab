//! Appends to the journal of runs: changed rows and new events, in one transaction.
//!
//! An event gets the number after the last one of its run. The numbers have no gaps because `(run, seq)` is a key. If
//! another appender has added events, an appender gets a conflict, reads the last number again, and repeats the
//! transaction.

use std::collections::HashMap;

use api::{Event, EventBody, StepState};

use crate::{
    Entry, Error, Outcome, Result, Store, Tenant,
    column::{now_text, to_json},
    creation,
    database::Connection,
    deployment,
    event::{self, NewEvent},
    resource, run, step,
};

/// Entries of one run that are stored together.
#[derive(Clone, Debug)]
pub struct Write {
    /// Owner of the run.
    pub tenant: Tenant,
    /// Id of the run.
    pub run: String,
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// New events of a run, as stored.
#[derive(Clone, Debug)]
pub struct Appended {
    /// Id of the run.
    pub run: String,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// Appends entries. Caches the last event number of recently written runs.
#[derive(Debug)]
pub struct Appender {
    store: Store,
    runs: HashMap<String, Position>,
}

/// Maximum number of attempts to store a batch, in case of conflicts with other transactions.
const TRIES: u32 = 5;

/// The end of a run's events, and the deployment that its entries change.
#[derive(Clone, Debug)]
struct Position {
    tenant: Tenant,
    deployment: String,
    seq: u64,
}

impl Store {
    /// An appender.
    pub fn appender(&self) -> Appender {
        Appender {
            store: self.clone(),
            runs: HashMap::new(),
        }
    }
}

impl Appender {
    /// Stores all writes in one transaction. They are on the disk when this returns, unless all entries are log lines:
    /// those survive a crash of the program, but not always a power cut.
    ///
    /// # Errors
    /// If the database refuses one of them, or a run does not belong to its tenant. Then none is stored.
    pub async fn append(&mut self, writes: &[&Write]) -> Result<Vec<Appended>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_append(writes).await {
                Ok(stored) => return Ok(stored),
                Err(error) if tries < TRIES && is_repeatable(&error) => {
                    for write in writes {
                        self.runs.remove(&write.run);
                    }
                }
                Err(error) => return Err(Error::at("writing to the journal")(error)),
            }
        }
    }

    async fn try_append(&mut self, writes: &[&Write]) -> sqlx::Result<Vec<Appended>> {
        let time = now_text();
        let mut connection = self.store.pool.acquire().await?;
        let is_durable = writes
            .iter()
            .any(|write| write.entries.iter().any(Entry::is_move));
        let kind = self.store.kind;
        kind.set_durable(&mut connection, is_durable).await?;
        let mut transaction = sqlx::Connection::begin_with(&mut *connection, kind.begin()).await?;

        let mut runs = HashMap::<&str, Position>::new();
        let mut appended: Vec<Appended> = Vec::new();
        let mut rows: Vec<NewEvent<'_>> = Vec::new();
        for write in writes {
            let id = write.run.as_str();
            let known = runs.get(id).or_else(|| self.runs.get(id));
            let mut position = match known.filter(|known| known.tenant == write.tenant) {
                Some(known) => known.clone(),
                None => position(&mut transaction, &write.tenant, id).await?,
            };
            let mut events = Vec::with_capacity(write.entries.len());
            for entry in &write.entries {
                if apply(&mut transaction, &position, id, entry, &time).await? == Outcome::Conflict
                {
                    continue;
                }
                position.seq += 1;
                let body = entry.event();
                rows.push(NewEvent {
                    run: id,
                    seq: position.seq,
                    kind: entry.kind(),
                    body: to_json(&body),
                });
                events.push(Event {
                    seq: position.seq,
                    time: time.clone(),
                    body,
                });
            }
            runs.insert(id, position);
            match appended.iter_mut().find(|known| known.run == id) {
                Some(known) => known.events.extend(events),
                None => appended.push(Appended {
                    run: id.to_owned(),
                    events,
                }),
            }
        }
        event::insert_all(&mut transaction, &rows, &time).await?;
        transaction.commit().await?;

        let runs = runs.into_iter().map(|(id, at)| (id.to_owned(), at));
        self.runs.extend(runs.collect::<Vec<_>>());
        for Appended { run, events } in &appended {
            let is_end = |event: &Event| matches!(event.body, EventBody::Run { state, .. } if state.is_final());
            if events.iter().any(is_end) {
                self.runs.remove(run);
            }
        }
        Ok(appended)
    }
}

/// True if the same transaction can succeed at once: another appender has used the number, or PostgreSQL rolled it back
/// because of another transaction (serialisation failure, deadlock).
fn is_repeatable(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.is_unique_violation() || matches!(error.code().as_deref(), Some("40001" | "40P01"))
    })
}

async fn position(
    connection: &mut Connection,
    tenant: &Tenant,
    run: &str,
) -> sqlx::Result<Position> {
    let deployment = sqlx::query_scalar(
        "SELECT deployment FROM runs WHERE id = $1 AND cloud = $2 AND project_id = $3",
    )
    .bind(run)
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .fetch_one(&mut *connection)
    .await?;
    Ok(Position {
        tenant: tenant.clone(),
        deployment,
        seq: event::last_seq(connection, run).await?,
    })
}

/// Changes the row of an entry. [`Outcome::Conflict`] if the entry does not apply any more; then there is no event.
async fn apply(
    connection: &mut Connection,
    at: &Position,
    run: &str,
    entry: &Entry,
    time: &str,
) -> sqlx::Result<Outcome> {
    match entry {
        Entry::Log(_) => {}
        Entry::Step {
            step,
            state,
            attempt,
            error,
        } => {
            let to = (*state, *attempt, error.as_deref());
            step::set_state(connection, run, step, to, time).await?;
            if !matches!(state, StepState::Running | StepState::Succeeded) && *attempt > 0 {
                creation::attempt_ended(connection, run, step, time).await?;
            }
        }
        Entry::Run {
            state,
            ending,
            reason,
            deployment,
        } => {
            let to = (*state, *ending, reason.as_deref());
            deployment::set_state(connection, &at.deployment, *deployment, time).await?;
            run::set_state(connection, &at.tenant, run, to, time).await?;
        }
        Entry::RollBack { reason, wanted } => {
            return run::set_roll_back_reason(connection, &at.tenant, run, reason, *wanted).await;
        }
        Entry::Resource { name, change } => {
            resource::change(connection, &at.deployment, name, change, time).await?;
        }
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use api::{LogLevel, LogLine, LogStream};

    use super::*;
    use crate::testing::{Database, deployment_insert, run_insert, strangers, tenant};

    fn lines(count: usize) -> Write {
        let line = |number| {
            Entry::Log(LogLine {
                step: "net:create".into(),
                host: None,
                play: None,
                task: None,
                stream: LogStream::Engine,
                level: LogLevel::Info,
                text: format!("line {number}"),
                position: None,
            })
        };
        Write {
            tenant: tenant(),
            run: "r".into(),
            entries: (0..count).map(line).collect(),
        }
    }

    /// Databases with a deployment `d` and a run `r`.
    async fn databases() -> [Database; 2] {
        let databases = Database::each().await;
        for Database { store, .. } in &databases {
            deployment_insert(store, &tenant(), "d").await;
            let workflow = serde_json::from_str(r#"{"steps": [], "resources": {}}"#).unwrap();
            run_insert(store, &tenant(), "d", "r", &workflow).await;
        }
        databases
    }

    #[tokio::test]
    async fn two_appenders_share_the_numbers_of_a_run() {
        for database in databases().await {
            let mut appenders = [database.store.appender(), database.store.appender()];
            for round in 0..6 {
                let appender = &mut appenders[round % 2];
                let stored = appender.append(&[&lines(2), &lines(1)]).await.unwrap();
                assert_eq!((stored.len(), stored[0].events.len()), (1, 3));
            }
            let events = database.store.event_list(&tenant(), "r", 0, 100).await;
            let numbers: Vec<u64> = events.unwrap().iter().map(|event| event.seq).collect();
            assert_eq!(numbers, (1..=18).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_run_of_another_tenant_is_not_written_to() {
        for database in databases().await {
            let mut appender = database.store.appender();
            appender.append(&[&lines(1)]).await.unwrap();
            for tenant in strangers() {
                let write = Write { tenant, ..lines(1) };
                assert!(appender.append(&[&write]).await.is_err());
            }
            let events = database.store.event_list(&tenant(), "r", 0, 100).await;
            assert_eq!(events.unwrap().len(), 1);
        }
    }
}
