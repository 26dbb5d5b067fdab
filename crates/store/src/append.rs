//! Appends to the journal of runs: changed rows and new events, in one transaction.
//!
//! An event gets the number after the last one of its run. The numbers are dense because an appender raises the last number only
//! if it is the one that the appender knows. Else another appender was here: it reads the number again, and repeats the
//! transaction.
//!
//! Log lines above a quota are dropped here, before they have a number, so that no viewer sees a line that is not stored.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map},
    time::{Duration, Instant},
};

use api::{Event, EventBody, LogLevel, LogLine, LogStream, StepState};

use crate::{
    Entry, Error, LogQuota, Outcome, Result, Store, Tenant,
    column::{now_text, to_json},
    creation,
    database::{Connection, Kind, statement},
    deployment,
    event::{self, NewEvent},
    log::{self, Tail, Usage, Verdict},
    resource, run, step,
};

/// Time until the bytes of a project's logs are counted again: retention and other servers change them, too.
const COUNT_AGAIN: Duration = Duration::from_secs(60);

/// Entries of one run that are stored together.
#[derive(Clone, Debug)]
pub struct Write {
    /// Owner of the run.
    pub tenant: Tenant,
    /// Id of the run.
    pub run: String,
    /// The number under which the run is held.
    pub fence: i64,
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

/// Appends entries. Remembers the last event number of each run that it wrote to recently, and the logs of its steps.
#[derive(Debug)]
pub struct Appender {
    store: Store,
    quota: LogQuota,
    runs: HashMap<String, Position>,
    projects: HashMap<Tenant, (u64, Instant)>,
}

/// Maximum number of attempts to store a batch, in case of conflicts with other transactions.
const TRIES: u32 = 5;

/// The end of a run's events, and the deployment that its entries change.
#[derive(Clone, Debug)]
struct Position {
    tenant: Tenant,
    deployment: String,
    seq: u64,
    logs: HashMap<String, StepLog>,
}

/// The log of a step so far.
#[derive(Clone, Debug)]
struct StepLog {
    usage: Usage,
    tail: Tail,
}

/// New events of a run, before they are stored.
struct Draft {
    position: Position,
    /// The last number before them.
    from: u64,
    events: Vec<Event>,
    /// Log lines of the events, by step.
    lines: BTreeMap<String, Vec<(u64, LogLine)>>,
    /// Steps whose attempt ends.
    ended: Vec<String>,
}

impl Store {
    /// An appender.
    pub fn appender(&self, quota: LogQuota) -> Appender {
        Appender {
            store: self.clone(),
            quota,
            runs: HashMap::new(),
            projects: HashMap::new(),
        }
    }
}

impl Appender {
    /// Stores all writes in one transaction. They are on the disk when this returns, unless all entries are log lines:
    /// those survive a crash of the program, but not always a power cut.
    ///
    /// # Errors
    /// If the database refuses one of them, a run does not belong to its tenant, or another server has taken it. Then
    /// none is stored.
    pub async fn append(&mut self, writes: &[&Write]) -> Result<Vec<Appended>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_append(writes).await {
                Ok(Some(stored)) => return Ok(stored),
                // Another appender was here: its numbers are known now.
                Ok(None) => {}
                Err(error) if tries < TRIES && is_repeatable(&error) => {}
                Err(error) => return Err(Error::at("writing to the journal")(error)),
            }
        }
    }

    /// Stores all writes. `None` if another appender has added events to one of the runs; then none is stored.
    async fn try_append(&mut self, writes: &[&Write]) -> sqlx::Result<Option<Vec<Appended>>> {
        let time = now_text();
        let mut connection = self.store.pool.acquire().await?;
        let is_durable = writes
            .iter()
            .any(|write| write.entries.iter().any(Entry::is_move));
        let kind = self.store.kind;
        kind.set_durable(&mut connection, is_durable).await?;
        let mut transaction = sqlx::Connection::begin_with(&mut *connection, kind.begin()).await?;

        lock(&mut transaction, kind, writes).await?;

        let mut drafts: Vec<(&str, Draft)> = Vec::new();
        let mut projects = HashMap::<Tenant, (u64, Instant)>::new();
        let mut moves: Vec<NewEvent<'_>> = Vec::new();
        for write in writes {
            let id = write.run.as_str();
            let tenant = &write.tenant;
            let at = match drafts.iter().position(|(run, _)| *run == id) {
                Some(at) if drafts[at].1.position.tenant == *tenant => at,
                _ => {
                    // Not kept if this fails: then it is read again.
                    let known = self.runs.remove(id);
                    let position = match known.filter(|known| known.tenant == *tenant) {
                        Some(known) => known,
                        None => position(&mut transaction, tenant, id).await?,
                    };
                    drafts.push((id, Draft::new(position)));
                    drafts.len() - 1
                }
            };
            let draft = &mut drafts[at].1;
            for entry in &write.entries {
                if let Entry::Log(line) = entry {
                    let project = match projects.entry(tenant.clone()) {
                        hash_map::Entry::Occupied(known) => known.into_mut(),
                        hash_map::Entry::Vacant(unknown) => {
                            unknown.insert(self.project(&mut transaction, tenant).await?)
                        }
                    };
                    let log = draft.log(&mut transaction, id, &line.step).await?;
                    match log.usage.admit(self.quota, &mut project.0, line) {
                        Verdict::Store => draft.add_line(&time, line.clone()),
                        Verdict::CutBegins(notice) => {
                            draft.add_line(&time, word(&line.step, notice));
                        }
                        Verdict::Cut => {}
                    }
                    continue;
                }
                let applied = apply(&mut transaction, &draft.position, id, entry, &time).await?;
                if applied == Outcome::Conflict {
                    continue;
                }
                if let Entry::Step { step, state, .. } = entry
                    && *state != StepState::Running
                {
                    draft.end_of_step(&time, step);
                }
                let body = entry.event();
                moves.push(NewEvent {
                    run: id,
                    seq: draft.position.seq + 1,
                    kind: entry.kind(),
                    body: to_json(&body),
                });
                draft.add(&time, body);
            }
        }
        for (run, draft) in &mut drafts {
            if draft.store(&mut transaction, run, &time).await? == Outcome::Conflict {
                return Ok(None);
            }
        }
        event::insert_all(&mut transaction, &moves, &time).await?;
        transaction.commit().await?;

        self.projects.extend(projects);
        let mut appended = Vec::with_capacity(drafts.len());
        for (run, draft) in drafts {
            let is_end = |event: &Event| matches!(event.body, EventBody::Run { state, .. } if state.is_final());
            if draft.events.iter().any(is_end) {
                self.runs.remove(run);
            } else {
                self.runs.insert(run.to_owned(), draft.position);
            }
            appended.push(Appended {
                run: run.to_owned(),
                events: draft.events,
            });
        }
        Ok(Some(appended))
    }

    /// The bytes of a project's logs, and the time at which they were counted.
    async fn project(
        &self,
        connection: &mut Connection,
        tenant: &Tenant,
    ) -> sqlx::Result<(u64, Instant)> {
        let known = self.projects.get(tenant);
        match known.filter(|(_, counted)| counted.elapsed() < COUNT_AGAIN) {
            Some(known) => Ok(*known),
            None => Ok((
                log::bytes_of_project(connection, tenant).await?,
                Instant::now(),
            )),
        }
    }
}

impl Draft {
    fn new(position: Position) -> Draft {
        Draft {
            from: position.seq,
            position,
            events: Vec::new(),
            lines: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    fn add(&mut self, time: &str, body: EventBody) {
        self.position.seq += 1;
        self.events.push(Event {
            seq: self.position.seq,
            time: time.to_owned(),
            body,
        });
    }

    fn add_line(&mut self, time: &str, line: LogLine) {
        self.add(time, EventBody::Log(line.clone()));
        let lines = self.lines.entry(line.step.clone()).or_default();
        lines.push((self.position.seq, line));
    }

    async fn log(
        &mut self,
        connection: &mut Connection,
        run: &str,
        step: &str,
    ) -> sqlx::Result<&mut StepLog> {
        if !self.position.logs.contains_key(step) {
            let stored = log::bytes_of_step(connection, run, step).await?;
            let log = StepLog {
                usage: Usage::new(stored),
                tail: Tail::default(),
            };
            self.position.logs.insert(step.to_owned(), log);
        }
        Ok(self.position.logs.get_mut(step).expect("it is there"))
    }

    /// Reports what was cut of a step's log, before the event of its end.
    fn end_of_step(&mut self, time: &str, step: &str) {
        self.ended.push(step.to_owned());
        let log = self.position.logs.get_mut(step);
        if let Some(extent) = log.and_then(|log| log.usage.end()) {
            self.add_line(time, word(step, extent));
        }
    }

    /// Stores the numbers and the log lines.
    async fn store(
        &mut self,
        connection: &mut Connection,
        run: &str,
        time: &str,
    ) -> sqlx::Result<Outcome> {
        let lines = self.lines.values().flatten();
        let bytes = lines.map(|(_, line)| line.text.len() as u64).sum();
        let (from, to) = (self.from, self.position.seq);
        if log::advance(connection, run, (from, to), bytes).await? == Outcome::Conflict {
            return Ok(Outcome::Conflict);
        }
        for (step, lines) in &self.lines {
            if let Some(log) = self.position.logs.get_mut(step) {
                let tail = &mut log.tail;
                log::insert_lines(connection, (run, step), time, lines, tail).await?;
            }
        }
        for step in &self.ended {
            if let Some(log) = self.position.logs.get_mut(step) {
                log::close(connection, (run, step), &mut log.tail).await?;
            }
        }
        Ok(Outcome::Done)
    }
}

/// A line of the engine about a step's log.
fn word(step: &str, text: String) -> LogLine {
    LogLine {
        step: step.to_owned(),
        host: None,
        play: None,
        task: None,
        stream: LogStream::Engine,
        level: LogLevel::Warning,
        text,
        position: None,
    }
}

/// Locks the runs of the writes until the end of the transaction, if they are still held under the writes' numbers. Locks the
/// deployments that the writes change first, as requests do.
async fn lock(connection: &mut Connection, kind: Kind, writes: &[&Write]) -> sqlx::Result<()> {
    let is_of_run = |entry: &Entry| matches!(entry, Entry::Run { .. });
    let changing = writes
        .iter()
        .filter(|write| write.entries.iter().any(is_of_run));
    for run in changing
        .map(|write| write.run.as_str())
        .collect::<BTreeSet<_>>()
    {
        sqlx::query(statement(&[
            "SELECT id FROM deployments WHERE id = (SELECT deployment FROM runs WHERE id = $1)",
            kind.lock_rows(),
        ]))
        .bind(run)
        .execute(&mut *connection)
        .await?;
    }
    let held = writes.iter().map(|write| (write.run.as_str(), write.fence));
    for (run, fence) in held.collect::<BTreeSet<_>>() {
        if !lock_run(connection, kind, run, fence).await? {
            return Err(sqlx::Error::RowNotFound);
        }
    }
    Ok(())
}

/// Locks a run until the end of the transaction. False if it is no longer held under this number.
async fn lock_run(
    connection: &mut Connection,
    kind: Kind,
    run: &str,
    fence: i64,
) -> sqlx::Result<bool> {
    let found = sqlx::query(statement(&[
        "SELECT fence FROM runs WHERE id = $1 AND fence = $2",
        kind.lock_rows(),
    ]))
    .bind(run)
    .bind(fence)
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

/// True if the same transaction may succeed at once: PostgreSQL rolled it back for the sake of another one (serialisation failure,
/// deadlock).
fn is_repeatable(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| matches!(error.code().as_deref(), Some("40001" | "40P01")))
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
        seq: log::last_seq(connection, run).await?,
        logs: HashMap::new(),
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
            fence: 0,
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
            let mut appenders = [
                database.store.appender(LogQuota::NONE),
                database.store.appender(LogQuota::NONE),
            ];
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
            let mut appender = database.store.appender(LogQuota::NONE);
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
