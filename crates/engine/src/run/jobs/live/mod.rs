//! The live output of a step's tasks: a task of the engine that follows programs and package managers on the server, and says
//! which task still runs.

use std::{collections::HashMap, sync::Arc, time::Duration};

use api::{LogLevel, LogPosition, LogStream};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    JobFolder,
    folder::package_log,
    output::StreamLines,
    packages::PackageLog,
    reader::{Piece, read, read_packages, watch},
    result::{ResultLine, unlogged},
};
use crate::{
    run::log::{LogSource, StepLog},
    sandbox::{Meter, OutputLimits, Permit},
    ssh::{Client, Output, SshError},
};

/// Time without output until a log line says that the task still runs. It doubles each time.
const SILENCE: Duration = Duration::from_secs(10);
/// Longest time between two of these lines.
const SILENCE_LONGEST: Duration = Duration::from_secs(300);
/// Time without live output after the end of a task until its result is logged for the rest.
const REST: Duration = Duration::from_secs(10);
/// The bytes of a program's output and errors if all are logged.
const WHOLE: [u64; 2] = [u64::MAX; 2];
/// Number of pieces of output that wait for the log.
const PIECES: usize = 64;
/// Maximum number of executions that wait for their task to begin.
const UNCLAIMED: usize = 10_000;

/// Stored output of programs, by execution.
pub type Positions = HashMap<String, Stored>;

/// Stored part of the output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Origin of its lines.
    pub source: LogSource,
    /// Number of bytes of its output whose lines are stored, and the same of its errors.
    pub bytes: [u64; 2],
}

/// The output that a task has while it runs, besides that of its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A package manager's log.
    Package,
    /// No further output.
    Other,
}

/// The live output of a step. It ends when this is dropped.
pub struct Live {
    orders: mpsc::Sender<Order>,
    _driver: JoinSet<()>,
}

enum Order {
    Begin(String, LogSource, TaskKind),
    End(
        Option<String>,
        Vec<ResultLine>,
        oneshot::Sender<Vec<ResultLine>>,
    ),
}

impl Live {
    /// The live output of the programs in a folder. Without a connection there is none, but tasks are still said to run.
    pub fn start(
        log: StepLog,
        server: Option<(Arc<Client>, JobFolder)>,
        stored: Positions,
        limits: OutputLimits,
    ) -> Live {
        let (orders, received) = mpsc::channel(1);
        let (sender, pieces) = mpsc::channel(PIECES);
        let driver = Driver::new(log, server, stored, limits, sender);
        let mut tasks = JoinSet::new();
        tasks.spawn(openstack::under_same_permit(driver.drive(received, pieces)));
        Live {
            orders,
            _driver: tasks,
        }
    }

    /// A task begins.
    pub async fn begin(&self, key: &str, source: LogSource, kind: TaskKind) {
        // The driver lives as long as this.
        let _ = self
            .orders
            .send(Order::Begin(key.to_owned(), source, kind))
            .await;
    }

    /// A task has ended, or an item of its loop, with a result. Returns when the rest of the live output is logged: the output in
    /// the result that was not part of it.
    pub async fn end(&self, program: Option<String>, output: Vec<ResultLine>) -> Vec<ResultLine> {
        let (answer, answered) = oneshot::channel();
        let _ = self.orders.send(Order::End(program, output, answer)).await;
        answered.await.unwrap_or_default()
    }
}

struct Driver {
    log: StepLog,
    /// The connection, until it is lost.
    client: Option<Arc<Client>>,
    folder: Option<JobFolder>,
    stored: Positions,
    meter: Meter,
    /// True if the quota is used up.
    is_over: bool,
    tasks: HashMap<String, LogSource>,
    current: Option<Current>,
    /// Number of tasks that have begun.
    begun: u64,
    followed: HashMap<String, Followed>,
    /// Executions that are not followed any more, with the bytes of their output and errors that are logged.
    ended: HashMap<String, [u64; 2]>,
    /// Executions of tasks that have not begun: a repeated step finds those of its predecessor.
    unclaimed: Vec<String>,
    waiting: Option<Waiting>,
    /// The package managers' log, during a task of theirs.
    packages: Option<PackageLog>,
    readers: JoinSet<()>,
    sender: mpsc::Sender<Piece>,
}

/// The task that runs.
struct Current {
    source: LogSource,
    since: Instant,
    /// Time of the next line that says that the task still runs, unless there is output before.
    say_at: Instant,
    silence: Duration,
}

/// An execution that is followed.
struct Followed {
    source: LogSource,
    out: StreamLines,
    err: StreamLines,
}

impl Followed {
    /// Bytes of the output and of the errors whose lines are logged.
    fn positions(&self) -> [u64; 2] {
        [self.out.position(), self.err.position()]
    }
}

/// The end of a task, which waits for the rest of its live output.
struct Waiting {
    program: Option<String>,
    /// Output in its result.
    output: Vec<ResultLine>,
    until: Instant,
    answer: oneshot::Sender<Vec<ResultLine>>,
}

impl Driver {
    fn new(
        log: StepLog,
        server: Option<(Arc<Client>, JobFolder)>,
        stored: Positions,
        limits: OutputLimits,
        sender: mpsc::Sender<Piece>,
    ) -> Driver {
        let (client, folder) = server.unzip();
        Driver {
            log,
            client,
            folder,
            stored,
            meter: Meter::new(limits),
            is_over: false,
            tasks: HashMap::new(),
            current: None,
            begun: 0,
            followed: HashMap::new(),
            ended: HashMap::new(),
            unclaimed: Vec::new(),
            waiting: None,
            packages: None,
            readers: JoinSet::new(),
            sender,
        }
    }

    async fn drive(mut self, mut orders: mpsc::Receiver<Order>, mut pieces: mpsc::Receiver<Piece>) {
        if let (Some(client), Some(folder)) = (self.client.clone(), self.folder.clone()) {
            let sender = self.sender.clone();
            self.readers.spawn(openstack::under_same_permit(async move {
                watch(&client, &folder, &sender).await
            }));
        }
        loop {
            let say_at = self.current.as_ref().map(|current| current.say_at);
            let until = self.waiting.as_ref().map(|waiting| waiting.until);
            let wake = say_at.into_iter().chain(until).min();
            let far = Instant::now() + SILENCE_LONGEST;
            tokio::select! {
                Some(piece) = pieces.recv() => self.piece(piece).await,
                order = orders.recv() => match order {
                    Some(order) => self.order(order).await,
                    None => return,
                },
                () = sleep_until(wake.unwrap_or(far)) => self.tick().await,
            }
        }
    }

    async fn order(&mut self, order: Order) {
        match order {
            Order::Begin(key, source, kind) => {
                self.begun += 1;
                self.packages = None;
                if kind == TaskKind::Package && !self.is_over {
                    self.follow_packages();
                }
                self.current = Some(Current {
                    source: source.clone(),
                    since: Instant::now(),
                    say_at: Instant::now() + SILENCE,
                    silence: SILENCE,
                });
                let is_of_task = |name: &mut String| name.starts_with(&format!("{key}-"));
                let claimed: Vec<String> = self.unclaimed.extract_if(.., is_of_task).collect();
                self.tasks.insert(key.clone(), source);
                claimed.into_iter().for_each(|name| self.follow(name));
            }
            Order::End(program, output, answer) => {
                if program.is_none()
                    && let Some(packages) = &mut self.packages
                {
                    packages.request();
                }
                self.waiting = Some(Waiting {
                    program,
                    output,
                    until: Instant::now() + REST,
                    answer,
                });
                self.answer_if_read();
            }
        }
    }

    /// Answers the end of a task if no more live output is expected for it.
    fn answer_if_read(&mut self) {
        let Some(waiting) = &self.waiting else {
            return;
        };
        let is_read = match (&waiting.program, &self.packages) {
            _ if self.is_over || self.client.is_none() => true,
            (Some(name), _) => self.ended.contains_key(name),
            (None, Some(packages)) => packages.is_read(),
            (None, None) => true,
        };
        if is_read {
            self.answer();
        }
    }

    /// Answers the end of a task. Its program is not followed any more: the result has what would still come.
    fn answer(&mut self) {
        if let Some(Waiting {
            program,
            output,
            answer,
            ..
        }) = self.waiting.take()
        {
            let rest = if let Some(name) = program {
                let logged = self.logged(&name);
                self.followed.remove(&name);
                self.ended.insert(name, logged);
                unlogged(output, logged)
            } else if let Some(packages) = &mut self.packages {
                packages.unlogged(output)
            } else {
                output
            };
            // The execution may have been stopped meanwhile.
            let _ = answer.send(rest);
        }
        // A loop continues with its next item.
        if let Some(current) = &mut self.current {
            current.silence = SILENCE;
            current.say_at = Instant::now() + SILENCE;
        }
    }

    async fn tick(&mut self) {
        let now = Instant::now();
        if self
            .waiting
            .as_ref()
            .is_some_and(|waiting| waiting.until <= now)
        {
            self.answer();
        }
        if let Some(current) = &mut self.current
            && current.say_at <= now
        {
            current.silence = (current.silence * 2).min(SILENCE_LONGEST);
            current.say_at = now + current.silence;
            let seconds = (now - current.since).as_secs();
            let source = LogSource {
                stream: LogStream::Engine,
                ..current.source.clone()
            };
            let text = format!("Still running after {seconds} s");
            self.log.say(source, [(LogLevel::Info, text)]).await;
        }
    }

    async fn piece(&mut self, piece: Piece) {
        match piece {
            // The quota may have cut a line within a secret, so its beginning is not logged either.
            _ if self.is_over => {}
            Piece::Program(name) => self.follow(name),
            Piece::Output(name, output) => {
                self.output(&name, &output).await;
                self.wait_on(Some(&name));
            }
            Piece::Complete(name, ended) => self.completed(name, ended).await,
            Piece::Package(task, output) => {
                self.package(task, output).await;
                self.wait_on(None);
            }
            Piece::Lost(error) => self.lost(&error).await,
        }
        self.answer_if_read();
    }

    /// Extends the wait for the end of a task: its live output continues.
    fn wait_on(&mut self, program: Option<&str>) {
        if let Some(waiting) = &mut self.waiting
            && waiting.program.as_deref() == program
        {
            waiting.until = Instant::now() + REST;
        }
    }

    /// Bytes of an execution's output and errors that are logged, or cut.
    fn logged(&self, name: &str) -> [u64; 2] {
        if self.is_over {
            return WHOLE;
        }
        let followed = || self.followed.get(name).map(Followed::positions);
        let stored = || {
            let job = self.folder.as_ref()?.job(name);
            self.stored.get(&job).map(|stored| stored.bytes)
        };
        let ended = self.ended.get(name).copied();
        ended.or_else(followed).or_else(stored).unwrap_or_default()
    }

    /// Follows an execution that has begun. One of which the predecessor of a repeated step has stored lines goes on at once; its
    /// task may be minutes away.
    fn follow(&mut self, name: String) {
        let (Some(client), Some(folder)) = (self.client.clone(), self.folder.clone()) else {
            return;
        };
        if self.is_over || self.followed.contains_key(&name) || self.ended.contains_key(&name) {
            return;
        }
        let task = name
            .rsplit_once('-')
            .and_then(|(key, _)| self.tasks.get(key));
        let stored = self.stored.get(&folder.job(&name));
        let Some(source) = stored.map(|stored| &stored.source).or(task).cloned() else {
            if self.unclaimed.len() < UNCLAIMED {
                self.unclaimed.push(name);
            }
            return;
        };
        let from = stored.map_or([0, 0], |stored| stored.bytes);
        let mask = || self.log.mask.clone();
        let followed = Followed {
            source,
            out: StreamLines::from(from[0], mask()),
            err: StreamLines::from(from[1], mask()),
        };
        self.followed.insert(name.clone(), followed);
        let sender = self.sender.clone();
        self.readers.spawn(openstack::under_same_permit(async move {
            let ended = match folder.follow(&client, &name, from).await {
                Ok(execution) => read(execution, &name, &sender).await,
                Err(error) => Err(error),
            };
            let _ = sender.send(Piece::Complete(name, ended)).await;
        }));
    }

    fn follow_packages(&mut self) {
        let Some(client) = self.client.clone() else {
            return;
        };
        let (sender, task) = (self.sender.clone(), self.begun);
        let (request, requests) = mpsc::channel(1);
        let reader = self.readers.spawn(openstack::under_same_permit(async move {
            if let Ok(execution) = package_log(&client).await {
                read_packages(execution, task, requests, &sender).await;
            }
            let _ = sender.send(Piece::Package(task, None)).await;
        }));
        let mask = self.log.mask.clone();
        self.packages = Some(PackageLog::new(task, reader, request, mask));
    }

    async fn output(&mut self, name: &str, output: &Output) {
        if !self.followed.contains_key(name) || self.is_cut(output).await {
            return;
        }
        let Some(followed) = self.followed.get_mut(name) else {
            return;
        };
        let (stream, lines, bytes) = match output {
            Output::Out(bytes) => (LogStream::Stdout, &mut followed.out, bytes),
            Output::Err(bytes) => (LogStream::Stderr, &mut followed.err, bytes),
        };
        let whole = lines.take(bytes);
        let unfinished = lines.unfinished(Instant::now());
        let position = lines.position();
        self.say(name, stream, whole, position).await;
        if let Some(text) = unfinished {
            self.show_unfinished(name, stream, &text, position).await;
        }
    }

    async fn completed(&mut self, name: String, ended: Result<(), SshError>) {
        let Some(followed) = self.followed.get_mut(&name) else {
            return;
        };
        match ended {
            Ok(()) => {
                let rest = [
                    (
                        LogStream::Stdout,
                        followed.out.rest(),
                        followed.out.position(),
                    ),
                    (
                        LogStream::Stderr,
                        followed.err.rest(),
                        followed.err.position(),
                    ),
                ];
                for (stream, rest, position) in rest {
                    self.say(&name, stream, rest.into_iter().collect(), position)
                        .await;
                }
                self.followed.remove(&name);
                self.ended.insert(name, WHOLE);
            }
            Err(error) => self.lost(&error).await,
        }
    }

    async fn package(&mut self, task: u64, output: Option<Output>) {
        if let Some(output) = &output
            && self.is_cut(output).await
        {
            return;
        }
        let packages = self.packages.as_mut().filter(|one| one.is_of(task));
        let (Some(packages), Some(current)) = (packages, &mut self.current) else {
            return;
        };
        let lines = match output {
            Some(Output::Out(bytes)) => packages.take(&bytes),
            Some(Output::Err(_)) => Vec::new(),
            None => packages.end().into_iter().collect(),
        };
        if lines.is_empty() {
            return;
        }
        current.silence = SILENCE;
        current.say_at = Instant::now() + SILENCE;
        let source = LogSource {
            stream: LogStream::Stdout,
            ..current.source.clone()
        };
        let lines = lines.into_iter().map(|line| (LogLevel::Info, line));
        self.log.say(source, lines).await;
    }

    /// Logs whole lines of an execution, and the position after them.
    async fn say(&mut self, name: &str, stream: LogStream, lines: Vec<String>, position: u64) {
        if lines.is_empty() {
            return;
        }
        if let Some((source, level, position)) = self.heard(name, stream, position) {
            self.log.say_output(source, level, &lines, position).await;
        }
    }

    /// Logs the state of a line of an execution that has not ended, and the position before it.
    async fn show_unfinished(&mut self, name: &str, stream: LogStream, text: &str, position: u64) {
        if let Some((source, level, position)) = self.heard(name, stream, position) {
            let log = &self.log;
            log.say_unfinished(source, level, text, position).await;
        }
    }

    /// Source, level and position of new output. The task is not silent then.
    fn heard(
        &mut self,
        name: &str,
        stream: LogStream,
        position: u64,
    ) -> Option<(LogSource, LogLevel, LogPosition)> {
        let (followed, folder) = (self.followed.get(name)?, self.folder.as_ref()?);
        if let Some(current) = &mut self.current {
            current.silence = SILENCE;
            current.say_at = Instant::now() + SILENCE;
        }
        let source = LogSource {
            stream,
            ..followed.source.clone()
        };
        let level = match stream {
            LogStream::Stderr => LogLevel::Warning,
            _ => LogLevel::Info,
        };
        let position = LogPosition {
            job: folder.job(name),
            bytes: position,
        };
        Some((source, level, position))
    }

    /// Measures output, and waits where it comes too fast. True if the quota is used up: nothing more is followed then.
    async fn is_cut(&mut self, output: &Output) -> bool {
        let (Output::Out(bytes) | Output::Err(bytes)) = output;
        if let Permit::Last(notice) = self.meter.take(bytes.len()).await {
            self.log
                .warn(notice.trim_start_matches("[WARNING]: "))
                .await;
            self.is_over = true;
            self.readers.abort_all();
        }
        self.is_over
    }

    /// The connection is lost: from now on output comes with the results of tasks.
    async fn lost(&mut self, error: &SshError) {
        if self.client.take().is_none() || self.is_over {
            return;
        }
        for (name, followed) in self.followed.drain() {
            self.ended.insert(name, followed.positions());
        }
        let text =
            format!("Live output was interrupted: it appears at the end of each task ({error})");
        self.log.warn(text).await;
    }
}

#[cfg(test)]
mod tests;
