//! Appends to the journal of runs: changed rows and new events, in one transaction.
//!
//! An event gets the number after the last one of its run. The numbers are dense because an appender raises the last number only
//! if it is the one that the appender knows. Else another appender was here: it reads the number again, and repeats the
//! transaction.
//!
//! Log lines above a quota are dropped here, before they have a number, so that no viewer sees a line that is not stored. So is
//! output of programs while the disk is almost full ([`Appender::with_reserve`]).
//!
//! # A commit without an answer
//!
//! A connection can break between a `COMMIT` and its answer. The batch is then in the database or not, and storing it again
//! could store it twice. The numbers decide: nobody else writes to a run while its fencing number holds, so its last number is
//! that before the batch, or that after it. The appender locks a run of the batch, which also waits for the end of the lost
//! transaction, and reads its last number. As a batch is one transaction, one run tells for all. If other servers have taken
//! all runs of the batch, the answer does not matter any more: the next try refuses every write.
//!
//! PostgreSQL could be asked for the state of the transaction (`pg_xact_status`), but only by a number that each batch would
//! have to ask for, and not after a failover. A row with an id of each batch would be a second write. The numbers are there.

mod draft;
mod hold;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, hash_map},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use api::{Event, EventBody, StepState};

use crate::{
    Entry, Error, LogQuota, Outcome, Result, Store, Tenant,
    column::{now_text, to_json},
    creation,
    database::Connection,
    deployment,
    event::{self, NewEvent},
    log::{self, Space, Verdict},
    resource, run, step,
};
use draft::{Draft, Position, position, word};

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
    /// True while the free space of the disk is reserved.
    is_reserved: Arc<AtomicBool>,
    runs: HashMap<String, Position>,
    projects: HashMap<Tenant, (u64, Instant)>,
    /// Content of the last transaction, if its `COMMIT` has no answer: it may have taken effect.
    in_doubt: Vec<Draft>,
}

/// Maximum number of attempts to store a batch, in case of conflicts with other transactions.
const TRIES: u32 = 5;

impl Store {
    /// An appender.
    pub fn appender(&self, quota: LogQuota) -> Appender {
        Appender {
            store: self.clone(),
            quota,
            is_reserved: Arc::default(),
            runs: HashMap::new(),
            projects: HashMap::new(),
            in_doubt: Vec::new(),
        }
    }
}

impl Appender {
    /// The appender of a database whose disk has a reserve: while `is_reserved` is true, output of programs is not stored.
    pub fn with_reserve(self, is_reserved: Arc<AtomicBool>) -> Appender {
        Appender {
            is_reserved,
            ..self
        }
    }

    /// Stores all writes in one transaction. They are on the disk when this returns, unless all entries are log lines:
    /// those survive a crash of the program, but not always a power cut.
    ///
    /// After a transient error, and if the future was dropped, the same writes must be passed again: they may be stored, and
    /// only their events are returned then.
    ///
    /// # Errors
    /// If the database refuses one of them, a run does not belong to its tenant, or another server has taken it. Then
    /// none is stored.
    pub async fn append(&mut self, writes: &[&Write]) -> Result<Vec<Appended>> {
        let failed = Error::at("writing to the journal");
        let mut tries = 0;
        loop {
            tries += 1;
            if let Some(stored) = self.settle().await.map_err(&failed)? {
                return Ok(stored);
            }
            match self.try_append(writes).await {
                Ok(Some(stored)) => return Ok(stored),
                // Another appender was here: its numbers are known now.
                Ok(None) => {}
                Err(error)
                    if tries < TRIES && (is_repeatable(&error) || !self.in_doubt.is_empty()) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The events of the transaction in doubt, if it has taken effect.
    async fn settle(&mut self) -> sqlx::Result<Option<Vec<Appended>>> {
        if self.in_doubt.is_empty() {
            return Ok(None);
        }
        let kind = self.store.kind;
        let mut transaction = self.store.pool.begin_with(kind.begin()).await?;
        let mut is_stored = false;
        for draft in self
            .in_doubt
            .iter()
            .filter(|draft| !draft.events.is_empty())
        {
            if hold::lock_run(&mut transaction, kind, &draft.run, draft.fence).await? {
                let last = log::last_seq(&mut transaction, &draft.run).await?;
                is_stored = last == draft.position.seq;
                break;
            }
        }
        transaction.rollback().await?;
        let drafts = std::mem::take(&mut self.in_doubt);
        Ok(is_stored.then(|| self.stored(drafts)))
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

        hold::lock(&mut transaction, kind, writes).await?;

        let mut drafts: Vec<Draft> = Vec::new();
        let mut projects = HashMap::<Tenant, (u64, Instant)>::new();
        let mut moves: Vec<NewEvent<'_>> = Vec::new();
        let space = self.space();
        for write in writes {
            let id = write.run.as_str();
            let tenant = &write.tenant;
            let at = match drafts.iter().position(|draft| draft.run == id) {
                Some(at) if drafts[at].position.tenant == *tenant => at,
                _ => {
                    // Not kept if this fails: then it is read again.
                    let known = self.runs.remove(id);
                    let position = match known.filter(|known| known.tenant == *tenant) {
                        Some(known) => known,
                        None => position(&mut transaction, tenant, id).await?,
                    };
                    drafts.push(Draft::new(id, write.fence, position));
                    drafts.len() - 1
                }
            };
            let draft = &mut drafts[at];
            for entry in &write.entries {
                if let Entry::Log(line) = entry {
                    let project = match projects.entry(tenant.clone()) {
                        hash_map::Entry::Occupied(known) => known.into_mut(),
                        hash_map::Entry::Vacant(unknown) => {
                            unknown.insert(self.project(&mut transaction, tenant).await?)
                        }
                    };
                    let log = draft.log(&mut transaction, &line.step).await?;
                    match log.usage.admit(self.quota, space, &mut project.0, line) {
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
        for draft in &mut drafts {
            if draft.store(&mut transaction, &time).await? == Outcome::Conflict {
                return Ok(None);
            }
        }
        event::insert_all(&mut transaction, &moves, &time).await?;
        // Before the `COMMIT`, in which this future can be dropped.
        self.in_doubt = drafts;
        transaction.commit().await?;
        let drafts = std::mem::take(&mut self.in_doubt);
        self.projects.extend(projects);
        Ok(Some(self.stored(drafts)))
    }

    /// Remembers the positions after stored events.
    fn stored(&mut self, drafts: Vec<Draft>) -> Vec<Appended> {
        let mut appended = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let is_end = |event: &Event| matches!(event.body, EventBody::Run { state, .. } if state.is_final());
            if draft.events.iter().any(is_end) {
                self.runs.remove(&draft.run);
            } else {
                self.runs.insert(draft.run.clone(), draft.position);
            }
            appended.push(Appended {
                run: draft.run,
                events: draft.events,
            });
        }
        appended
    }

    /// The space for log lines at the moment.
    fn space(&self) -> Space {
        if self.is_reserved.load(Ordering::Relaxed) {
            Space::Reserved
        } else {
            Space::Free
        }
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

/// True if the same transaction may succeed at once: PostgreSQL rolled it back for the sake of another one (serialisation failure,
/// deadlock).
fn is_repeatable(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| matches!(error.code().as_deref(), Some("40001" | "40P01")))
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
            retry_at: _,
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
            if let Some(state) = *deployment {
                deployment::set_state(connection, &at.deployment, state, time).await?;
            }
            run::set_state(connection, &at.tenant, run, to, time).await?;
        }
        Entry::RollBack { reason, wanted } => {
            return run::set_roll_back_reason(connection, &at.tenant, run, reason, *wanted).await;
        }
        Entry::Resource { name, change } => {
            resource::change(connection, &at.deployment, name, change, (run, time)).await?;
        }
    }
    Ok(Outcome::Done)
}
