//! Terminals: a shell on a server for a person, in a separate task.
//!
//! A terminal is a user of the bastion's rule. Its task writes the row, opens the rule, logs in, carries bytes both ways,
//! and closes the rule at every ending: the shell exits, the person leaves or logs out, nothing happens for a long time,
//! the login is about to expire, or the server stops. The session's token is sealed in the row meanwhile, so that another
//! server can close the rule after a crash.
//!
//! Content passes through and is neither stored nor logged. Output that the viewer does not take stays at the server:
//! [`EVENTS`] pieces wait here, then the connection is not read, and the program in the terminal waits. Input is bounded
//! likewise.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use openstack::Session;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use zeroize::Zeroizing;

use crate::{
    Config, Error, Result, Tenant,
    bastion::{Entrance, Rule, RuleUser},
    lease::Tenure,
    slots::Slots,
    ssh::{self, Route, Shell, SshError},
};

pub use crate::ssh::Size;

/// Events that wait for the viewer.
const EVENTS: usize = 8;
/// Inputs that wait for the server.
const INPUTS: usize = 8;
/// Time limit of the login. A cloud takes seconds to put a new rule into effect.
const LOGIN: Duration = Duration::from_secs(25);
/// Pause between two attempts to log in.
const LOGIN_PAUSE: Duration = Duration::from_millis(300);
/// Time before the token's expiry at which a terminal ends, so that the token can still close the rule.
const BEFORE_EXPIRY: Duration = Duration::from_secs(60);

/// A terminal. Dropping it ends the shell and closes the rule.
pub struct Terminal {
    events: mpsc::Receiver<TerminalEvent>,
    input: mpsc::Sender<TerminalInput>,
    _stop: DropGuard,
}

/// An event of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// The shell is ready.
    Opened,
    /// Output of the shell.
    Output(Bytes),
    /// The last event.
    Ended(TerminalEnd),
}

/// The reason for the end of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// The shell has ended with this code. `None` if its connection ended first.
    Exited(Option<u32>),
    /// The terminal had neither input nor output within the time limit.
    Idle(Duration),
    /// The login has ended, or is about to expire.
    LoggedOut,
    /// The server stops, or has lost its lease.
    ServerStops,
    /// The terminal was not opened, or its connection failed. The text is for users.
    Failed(String),
}

/// Input of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    /// Typed or pasted text.
    Bytes(Bytes),
    /// The viewer has another size.
    Resize(Size),
}

impl Terminal {
    /// The next event. `None` after the last one. Can be dropped between two polls without a loss.
    pub async fn next(&mut self) -> Option<TerminalEvent> {
        self.events.recv().await
    }

    /// A handle for input. Its `send` waits while the server accepts none, and fails after the end.
    pub fn input(&self) -> mpsc::Sender<TerminalInput> {
        self.input.clone()
    }
}

/// The open terminals of this server, and their limits.
pub(crate) struct Terminals {
    project: Slots<Tenant>,
    project_limit: usize,
    person: Slots<(Tenant, String)>,
    person_limit: usize,
    idle: Duration,
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    session: Session,
    log_out: CancellationToken,
    /// Cancelled when the rule is closed.
    closed: CancellationToken,
}

/// Slots that a terminal holds while it is open.
pub(crate) type Place = [OwnedSemaphorePermit; 2];

/// The input of a terminal's task.
pub(crate) struct NewTerminal {
    pub id: String,
    pub rule: Rule,
    /// The session's token, sealed.
    pub sealed: String,
    pub entrance: Entrance,
    pub route: Route,
    pub private_key: Zeroizing<String>,
    pub size: Size,
}

impl Terminals {
    pub fn new(config: &Config) -> Terminals {
        Terminals {
            project: Slots::new(config.project_terminals),
            project_limit: config.project_terminals,
            person: Slots::new(config.person_terminals),
            person_limit: config.person_terminals,
            idle: config.terminal_idle,
            open: Mutex::default(),
        }
    }

    /// Takes a slot of the project and one of the person.
    ///
    /// # Errors
    /// If one of them has no slot left.
    pub fn enter(&self, tenant: &Tenant, user_id: &str) -> Result<Place> {
        let full = |what, limit: usize| Error::ProjectFull {
            what,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
        };
        let person = self.person.of(&(tenant.clone(), user_id.to_owned()));
        let person = person.try_acquire_owned();
        let person = person.map_err(|_| full("open terminals of yours", self.person_limit))?;
        let project = self.project.of(tenant).try_acquire_owned();
        let project = project.map_err(|_| full("open terminals", self.project_limit))?;
        Ok([person, project])
    }

    /// Ends the terminals of a login, and waits until their rules are closed.
    pub async fn log_out(&self, session: &Session) {
        let token = session.token().expose();
        let of_login: Vec<CancellationToken> = {
            let open = self.lock();
            let of_login = open
                .values()
                .filter(|open| open.session.token().expose() == token);
            of_login
                .map(|open| {
                    open.log_out.cancel();
                    open.closed.clone()
                })
                .collect()
        };
        for closed in of_login {
            closed.cancelled().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the task of a terminal.
pub(crate) fn start(new: NewTerminal, terminals: &Arc<Terminals>, place: Place) -> Terminal {
    let (events, received) = mpsc::channel(EVENTS);
    let (sender, input) = mpsc::channel(INPUTS);
    let core = new.rule.core.clone();
    let tenure = core.lease.tenure();
    let (left, log_out) = (CancellationToken::new(), CancellationToken::new());
    let closed = CancellationToken::new();
    let open = Open {
        session: new.rule.session.clone(),
        log_out: log_out.clone(),
        closed: closed.clone(),
    };
    terminals.lock().insert(new.id.clone(), open);
    let terminals = terminals.clone();
    let endings = Endings {
        left: left.clone(),
        log_out,
        stopping: core.stopping.clone(),
        lease_lost: tenure.end_token(),
        expires: before_expiry(&new.rule.session),
    };
    let work = async move {
        let idle = terminals.idle;
        let end = new.run(endings, idle, &tenure, &events, input).await;
        terminals.lock().remove(&new.id);
        closed.cancel();
        drop(place);
        // The engine does not wait for the viewer, who may have left.
        tokio::spawn(async move { events.send(TerminalEvent::Ended(end)).await });
    };
    core.tasks.spawn(work);
    Terminal {
        events: received,
        input: sender,
        _stop: left.drop_guard(),
    }
}

/// The reasons for an end that do not come from the shell.
struct Endings {
    left: CancellationToken,
    log_out: CancellationToken,
    stopping: CancellationToken,
    lease_lost: CancellationToken,
    expires: Instant,
}

impl Endings {
    async fn wait(&self) -> TerminalEnd {
        tokio::select! {
            // Nobody reads the reason.
            () = self.left.cancelled() => TerminalEnd::LoggedOut,
            () = self.log_out.cancelled() => TerminalEnd::LoggedOut,
            () = sleep_until(self.expires) => TerminalEnd::LoggedOut,
            () = self.stopping.cancelled() => TerminalEnd::ServerStops,
            () = self.lease_lost.cancelled() => TerminalEnd::ServerStops,
        }
    }
}

fn before_expiry(session: &Session) -> Instant {
    let left = session.expires_at().duration_since(Timestamp::now());
    let left = Duration::try_from(left).unwrap_or_default();
    Instant::now() + left.saturating_sub(BEFORE_EXPIRY)
}

impl NewTerminal {
    /// Runs the terminal, from the opening of the bastion's rule to its closing.
    async fn run(
        &self,
        endings: Endings,
        idle: Duration,
        tenure: &Arc<Tenure>,
        events: &mpsc::Sender<TerminalEvent>,
        input: mpsc::Receiver<TerminalInput>,
    ) -> TerminalEnd {
        let user = RuleUser::Person {
            id: &self.id,
            sealed: &self.sealed,
        };
        // Not interrupted: a rule that the cloud creates after its closing would stay.
        let opening = self.rule.open(&self.entrance, user);
        let opened = openstack::while_permitted(tenure.clone(), opening).await;
        let end = match opened {
            Err(error) => TerminalEnd::Failed(format!("the bastion was not opened: {error}")),
            Ok(()) => {
                let serve = self.serve(idle, events, input);
                tokio::select! {
                    biased;
                    end = endings.wait() => end,
                    end = openstack::while_permitted(tenure.clone(), serve) => end,
                }
            }
        };
        let closing = self.rule.close(&self.id, None);
        if let Err(error) = openstack::while_permitted(tenure.clone(), closing).await {
            tracing::warn!(%error, deployment.id = self.rule.deployment, "a bastion stays open after a terminal; it is closed later");
        }
        end
    }

    async fn serve(
        &self,
        idle: Duration,
        events: &mpsc::Sender<TerminalEvent>,
        input: mpsc::Receiver<TerminalInput>,
    ) -> TerminalEnd {
        match self.log_in().await {
            Ok(shell) => carry(shell, events, input, idle).await,
            Err(why) => TerminalEnd::Failed(why),
        }
    }

    /// Tries until the time limit: a new rule, or a server that is booting, takes seconds.
    async fn log_in(&self) -> Result<Shell, String> {
        let until = Instant::now() + LOGIN;
        loop {
            let error = match timeout(until - Instant::now(), self.shell()).await {
                Ok(Ok(shell)) => return Ok(shell),
                Ok(Err(error)) => error,
                Err(_elapsed) => {
                    let server = &self.route.host.name;
                    return Err(format!(
                        "`{server}` did not answer over SSH within {} s. See its console log",
                        LOGIN.as_secs()
                    ));
                }
            };
            let can_pass = matches!(
                error,
                SshError::Unreachable { .. }
                    | SshError::NotForwarded { .. }
                    | SshError::Silent { .. }
                    | SshError::Broken { .. }
            );
            if let SshError::Denied { .. } = error {
                return Err(format!(
                    "{error}. Only the bastion and servers that were created with software have this login"
                ));
            }
            if !can_pass || Instant::now() + LOGIN_PAUSE >= until {
                return Err(error.to_string());
            }
            sleep(LOGIN_PAUSE).await;
        }
    }

    async fn shell(&self) -> Result<Shell, SshError> {
        let client = ssh::connect_alone(&self.route, &self.private_key).await?;
        Shell::open(client, self.size).await
    }
}

/// Carries bytes both ways until the shell ends or nothing happens for the time `idle`.
async fn carry(
    shell: Shell,
    events: &mpsc::Sender<TerminalEvent>,
    mut input: mpsc::Receiver<TerminalInput>,
    idle: Duration,
) -> TerminalEnd {
    let Shell {
        output: mut from,
        input: to,
    } = shell;
    let activity = Activity::now();
    let outwards = async {
        // The receiver is gone only if the viewer has left, which ends the terminal.
        let _ = events.send(TerminalEvent::Opened).await;
        loop {
            match from.next().await {
                Ok(Some(bytes)) => {
                    activity.note();
                    let _ = events.send(TerminalEvent::Output(bytes)).await;
                }
                Ok(None) => return TerminalEnd::Exited(from.code()),
                Err(error) => return TerminalEnd::Failed(error.to_string()),
            }
        }
    };
    let inwards = async {
        while let Some(input) = input.recv().await {
            activity.note();
            let sent = match input {
                TerminalInput::Bytes(bytes) => to.write(bytes).await,
                TerminalInput::Resize(size) => to.resize(size).await,
            };
            if sent.is_err() {
                // The output ends, too, and has the exit code.
                break;
            }
        }
        std::future::pending::<TerminalEnd>().await
    };
    tokio::select! {
        end = outwards => end,
        end = inwards => end,
        () = activity.ceases_for(idle) => TerminalEnd::Idle(idle),
    }
}

/// The time of the last input or output.
struct Activity {
    begun: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn now() -> Activity {
        Activity {
            begun: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    fn note(&self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    async fn ceases_for(&self, idle: Duration) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let end = self.begun + last + idle;
            if Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}
