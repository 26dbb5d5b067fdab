//! New events of a run, before they are stored: their numbers, and the log lines among them by step.

use std::collections::{BTreeMap, HashMap};

use api::{Event, EventBody, LogLevel, LogLine, LogStream};

use crate::{
    Outcome, Tenant,
    database::Connection,
    log::{self, Tail, Usage},
};

/// The end of a run's events, and the deployment that its entries change.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub tenant: Tenant,
    pub deployment: String,
    pub seq: u64,
    logs: HashMap<String, StepLog>,
}

/// The log of a step so far.
#[derive(Clone, Debug)]
pub(super) struct StepLog {
    pub usage: Usage,
    tail: Tail,
}

/// New events of a run, before they are stored.
#[derive(Debug)]
pub(super) struct Draft {
    pub run: String,
    /// The number under which the run is held.
    pub fence: i64,
    /// The end of the run's events with these.
    pub position: Position,
    /// The last number before them.
    from: u64,
    pub events: Vec<Event>,
    /// Log lines of the events, by step.
    lines: BTreeMap<String, Vec<(u64, LogLine)>>,
    /// Steps whose attempt ends.
    ended: Vec<String>,
}

impl Draft {
    pub fn new(run: &str, fence: i64, position: Position) -> Draft {
        Draft {
            run: run.to_owned(),
            fence,
            from: position.seq,
            position,
            events: Vec::new(),
            lines: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    pub fn add(&mut self, time: &str, body: EventBody) {
        self.position.seq += 1;
        self.events.push(Event {
            seq: self.position.seq,
            time: time.to_owned(),
            body,
        });
    }

    pub fn add_line(&mut self, time: &str, line: LogLine) {
        self.add(time, EventBody::Log(line.clone()));
        let lines = self.lines.entry(line.step.clone()).or_default();
        lines.push((self.position.seq, line));
    }

    pub async fn log(
        &mut self,
        connection: &mut Connection,
        step: &str,
    ) -> sqlx::Result<&mut StepLog> {
        if !self.position.logs.contains_key(step) {
            let stored = log::bytes_of_step(connection, &self.run, step).await?;
            let log = StepLog {
                usage: Usage::new(stored),
                tail: Tail::default(),
            };
            self.position.logs.insert(step.to_owned(), log);
        }
        Ok(self.position.logs.get_mut(step).expect("it is there"))
    }

    /// Reports what was cut of a step's log, before the event of its end.
    pub fn end_of_step(&mut self, time: &str, step: &str) {
        self.ended.push(step.to_owned());
        let log = self.position.logs.get_mut(step);
        if let Some(extent) = log.and_then(|log| log.usage.end()) {
            self.add_line(time, word(step, extent));
        }
    }

    /// Stores the numbers and the log lines.
    pub async fn store(
        &mut self,
        connection: &mut Connection,
        time: &str,
    ) -> sqlx::Result<Outcome> {
        let run = self.run.as_str();
        let lines = self.lines.values().flatten();
        let bytes = lines.map(|(_, line)| log::cost(line)).sum();
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
pub(super) fn word(step: &str, text: String) -> LogLine {
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

/// The end of a run's events, as stored.
pub(super) async fn position(
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
