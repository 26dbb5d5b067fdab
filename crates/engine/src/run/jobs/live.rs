//! The live output of a step's tasks: a task of the engine that follows programs and package managers on the server, and says
//! which task still runs.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use api::{LogLevel, LogPosition, LogStream};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    JobFolder,
    folder::package_log,
    output::StreamLines,
    reader::{Piece, read, watch},
};
use crate::{
    run::log::{LogSource, StepLog},
    sandbox::{Lines, Meter, OutputLimits, Permit},
    ssh::{Client, Output, SshError},
};

/// Time without output until a log line says that the task still runs. It doubles each time.
const SILENCE: Duration = Duration::from_secs(10);
/// Longest time between two of these lines.
const SILENCE_LONGEST: Duration = Duration::from_secs(300);
/// Time for the rest of a program's output after its task has ended.
const REST: Duration = Duration::from_secs(10);
/// Time for the rest of a package manager's log.
const PACKAGE_REST: Duration = Duration::from_millis(300);
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
    End(Option<String>, oneshot::Sender<bool>),
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
        let driver = Driver {
            log,
            server,
            stored,
            meter: Meter::new(limits),
            is_over: false,
            tasks: HashMap::new(),
            current: None,
            followed: HashMap::new(),
            complete: HashSet::new(),
            unclaimed: Vec::new(),
            waiting: None,
            packages: None,
            package_lines: Lines::default(),
            packages_heard: false,
            readers: JoinSet::new(),
            sender,
        };
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

    /// A task has ended, or an item of its loop. Returns when the rest of its output is logged: true if all the output of its
    /// program was, or the package manager's log.
    pub async fn end(&self, program: Option<String>) -> bool {
        let (answer, answered) = oneshot::channel();
        let _ = self.orders.send(Order::End(program, answer)).await;
        answered.await.unwrap_or(false)
    }
}

struct Driver {
    log: StepLog,
    server: Option<(Arc<Client>, JobFolder)>,
    stored: Positions,
    meter: Meter,
    /// True if the quota is used up.
    is_over: bool,
    tasks: HashMap<String, LogSource>,
    current: Option<Current>,
    followed: HashMap<String, Followed>,
    complete: HashSet<String>,
    /// Executions of tasks that have not begun: a repeated step finds those of its predecessor.
    unclaimed: Vec<String>,
    waiting: Option<Waiting>,
    packages: Option<AbortHandle>,
    package_lines: Lines,
    /// True if the package manager has written into its log during the task.
    packages_heard: bool,
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

/// The end of a task, which waits for the rest of its output.
struct Waiting {
    program: Option<String>,
    until: Instant,
    answer: oneshot::Sender<bool>,
}

impl Driver {
    async fn drive(mut self, mut orders: mpsc::Receiver<Order>, mut pieces: mpsc::Receiver<Piece>) {
        if let Some((client, folder)) = self.server.clone() {
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
                if let Some(packages) = self.packages.take() {
                    packages.abort();
                }
                self.packages_heard = false;
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
            Order::End(program, answer) => {
                let rest = match (&program, &self.packages) {
                    (Some(name), _) if self.is_complete(name) => Duration::ZERO,
                    (Some(_), _) if self.server.is_some() => REST,
                    (None, Some(_)) => PACKAGE_REST,
                    _ => Duration::ZERO,
                };
                self.waiting = Some(Waiting {
                    program,
                    until: Instant::now() + rest,
                    answer,
                });
                if rest.is_zero() {
                    self.answer();
                }
            }
        }
    }

    /// Answers the end of a task.
    fn answer(&mut self) {
        if let Some(Waiting {
            program, answer, ..
        }) = self.waiting.take()
        {
            let is_whole = match program {
                Some(name) => self.is_complete(&name),
                None => self.packages_heard,
            };
            // The execution may have been stopped meanwhile.
            let _ = answer.send(is_whole);
        }
        // A loop goes on with its next item.
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
            let text = format!("still running, {seconds} s");
            self.log.say(source, [(LogLevel::Info, text)]).await;
        }
    }

    async fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Program(name) => self.follow(name),
            Piece::Output(name, output) => self.output(&name, &output).await,
            Piece::Complete(name, ended) => self.completed(name, ended).await,
            Piece::Package(output) => self.package(&output).await,
            Piece::Lost(error) => self.lost(&error).await,
        }
        if let Some(waiting) = &self.waiting
            && waiting
                .program
                .as_ref()
                .is_some_and(|name| self.is_complete(name))
        {
            self.answer();
        }
    }

    /// True if all of an execution's output is logged, or cut.
    fn is_complete(&self, name: &str) -> bool {
        self.is_over || self.complete.contains(name)
    }

    /// Follows an execution that has begun. One of which the predecessor of a repeated step has stored lines goes on at once; its
    /// task may be minutes away.
    fn follow(&mut self, name: String) {
        let Some((client, folder)) = self.server.clone() else {
            return;
        };
        if self.is_over || self.followed.contains_key(&name) {
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
                Ok(execution) => {
                    read(execution, &sender, |output| {
                        Piece::Output(name.clone(), output)
                    })
                    .await
                }
                Err(error) => Err(error),
            };
            let _ = sender.send(Piece::Complete(name, ended)).await;
        }));
    }

    fn follow_packages(&mut self) {
        let Some((client, _)) = self.server.clone() else {
            return;
        };
        let sender = self.sender.clone();
        self.packages = Some(self.readers.spawn(openstack::under_same_permit(async move {
            if let Ok(execution) = package_log(&client).await {
                // Its end is the task's, or the connection's, which the other reader tells.
                let _ = read(execution, &sender, Piece::Package).await;
            }
        })));
    }

    async fn output(&mut self, name: &str, output: &Output) {
        if self.is_cut(output).await {
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
                self.complete.insert(name);
            }
            Err(error) => self.lost(&error).await,
        }
    }

    async fn package(&mut self, output: &Output) {
        if self.is_cut(output).await {
            return;
        }
        let (Some(current), Output::Out(bytes)) = (&mut self.current, output) else {
            return;
        };
        current.silence = SILENCE;
        current.say_at = Instant::now() + SILENCE;
        let lines = self.package_lines.take(bytes);
        let lines = lines.iter().filter(|line| !line.trim().is_empty());
        let source = LogSource {
            stream: LogStream::Stdout,
            ..current.source.clone()
        };
        self.packages_heard = true;
        self.log
            .say(source, lines.map(|line| (LogLevel::Info, line)))
            .await;
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
        let (followed, (_, folder)) = (self.followed.get(name)?, self.server.as_ref()?);
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
        if self.is_over {
            return true;
        }
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
        if self.server.take().is_none() || self.is_over {
            return;
        }
        let text = format!("live output broke off ({error}); output comes at the end of each task");
        self.log.warn(text).await;
        if self.waiting.is_some() {
            self.answer();
        }
    }
}
