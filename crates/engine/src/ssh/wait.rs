//! The attempts until a login to a server succeeds.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};
use zeroize::Zeroizing;

use super::{Client, Gateway, Route, SshError};

/// First pause between two attempts. Pauses grow by half.
const PAUSE_FIRST: Duration = Duration::from_millis(300);
/// Longest pause between two attempts.
const PAUSE_LONGEST: Duration = Duration::from_secs(3);
/// Time limit of one attempt.
const ATTEMPT: Duration = Duration::from_secs(12);
/// Minimum time of an attempt, so that even the last one can succeed.
const ATTEMPT_LEAST: Duration = Duration::from_secs(1);
/// Time after which an unchanged refusal is news again.
const REPEAT: Duration = Duration::from_secs(15);

/// The attempts until a login to a server succeeds.
pub struct Wait<'a> {
    route: Route,
    private_key: Zeroizing<String>,
    gateway: &'a Gateway,
    /// The attempts that the project may make at the same time.
    slots: Arc<Semaphore>,
    /// Held while the wait lasts, so that each attempt finds the bastion's connection open.
    gate: Option<Arc<Client>>,
    until: Instant,
    pause: Duration,
    attempts: u32,
    /// The refusal of the last news, and its time.
    last: Option<(String, Instant)>,
}

/// Progress of a [`Wait`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitProgress {
    /// A refusal that differs from the one of the previous news, or has lasted since. The wait continues.
    NotYet(String),
    /// The server ran a command.
    LoggedIn,
    /// The time limit has passed, after this refusal.
    TimeIsUp(String),
    /// A server, named here, showed another host key. Nothing was sent to it.
    HostKey(String),
}

impl<'a> Wait<'a> {
    /// A wait that ends after `patience`. Each attempt takes one of the slots; the time in their queue does not count.
    pub fn new(
        route: Route,
        private_key: Zeroizing<String>,
        gateway: &'a Gateway,
        slots: Arc<Semaphore>,
        patience: Duration,
    ) -> Wait<'a> {
        Wait {
            route,
            private_key,
            gateway,
            slots,
            gate: None,
            until: Instant::now() + patience,
            pause: PAUSE_FIRST,
            attempts: 0,
            last: None,
        }
    }

    /// Number of attempts so far.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Time until the wait ends.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Tries until there is news. An unchanged refusal is news every 15 s, so that the log of a booting server shows
    /// the wait without a line for each attempt.
    pub async fn news(&mut self) -> WaitProgress {
        loop {
            let queued = Instant::now();
            let slot = self.slots.clone().acquire_owned().await;
            self.until += queued.elapsed();
            let left = self.until.saturating_duration_since(Instant::now());
            let limit = left.clamp(ATTEMPT_LEAST, ATTEMPT);
            self.attempts += 1;
            let attempt = timeout(limit, self.attempt()).await;
            drop(slot);
            let error = match attempt {
                Ok(Ok(())) => return WaitProgress::LoggedIn,
                Ok(Err(error)) => error,
                Err(_elapsed) => self.route.host.silent(limit),
            };
            if let SshError::HostKey { server } = error {
                return WaitProgress::HostKey(server);
            }
            let text = error.to_string();
            if Instant::now() + self.pause >= self.until {
                return WaitProgress::TimeIsUp(text);
            }
            sleep(self.pause).await;
            self.pause = self.pause.mul_f32(1.5).min(PAUSE_LONGEST);
            let is_known =
                |(known, time): &(String, Instant)| *known == text && time.elapsed() < REPEAT;
            if !self.last.as_ref().is_some_and(is_known) {
                self.last = Some((text.clone(), Instant::now()));
                return WaitProgress::NotYet(text);
            }
        }
    }

    async fn attempt(&mut self) -> Result<(), SshError> {
        let (route, key) = (&self.route, &self.private_key);
        self.gate = match &route.bastion {
            Some(bastion) => Some(self.gateway.client(bastion, &route.user, key).await?),
            None => None,
        };
        let client = Client::connect_through(self.gate.as_deref(), route, key).await?;
        match client.execute("true").await?.code().await? {
            0 => Ok(()),
            code => Err(SshError::Broken {
                server: route.host.name.clone(),
                why: format!("`true` ended with exit code {code}"),
            }),
        }
    }
}
