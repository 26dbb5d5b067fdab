//! The lease of this server: the time for which it may act on the runs that it holds.
//!
//! The database stores the lease ([`store::Operator::server_renew`]) and rejects writes of other servers. A cloud knows
//! no leases, so the server checks its remaining lease before every change in a cloud. The lease counts from the moment
//! before the last renewal was sent, on a clock that continues while the machine sleeps or the process is stopped. A
//! successor waits longer than that: lease plus time-out of a request ([`Lease::patience`]).
//!
//! A lost lease ends a [`Tenure`], and with it all tasks of all runs at once, like a crash. The server then joins
//! again, under a new id, and claims free runs.
//!
//! No library that we found (November 2026) does this. We need PostgreSQL and SQLite, a fencing number in every write to
//! the journal, and a holder that knows its remaining lease before each call. All of these keep work in tables or a server
//! of their own, while our runs are durable in our journal:
//! - graphile_worker 0.14 and sqlxmq 0.6 (PostgreSQL): a job is ended by its id, by any worker.
//! - underway 0.2 (PostgreSQL): a heartbeat per task; fencing by attempt is not in a release yet.
//! - apalis 1.0 (both databases): a heartbeat per worker; a result is stored if the task still names the worker.
//! - runledger 0.12 (PostgreSQL): changes are fenced by run, attempt and worker.
//! - durare 0.5 and cloacina 0.12 (both databases): recovery is fenced, the storing of a step by its runner's id or not.
//! - Restate's SDK: the journal is in Restate's own server.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

/// Renewals in the time of a lease.
const RENEWALS: u32 = 5;

/// Longest pause between two looks at the database.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The lease, through all tenures.
pub struct Lease {
    length: Duration,
    request_timeout: Duration,
    tenure: Mutex<Arc<Tenure>>,
    losses: AtomicU64,
}

/// The time from a join until the lease is lost or given up.
pub struct Tenure {
    /// End of the lease if it is not renewed, on [`now`]'s clock.
    until: AtomicU64,
    ended: CancellationToken,
}

/// Milliseconds since the machine was started, suspension included.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = Duration::from_secs(now.tv_sec.unsigned_abs());
    millis(seconds) + now.tv_nsec.unsigned_abs() / 1_000_000
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A moment before a renewal is sent.
#[derive(Clone, Copy)]
pub struct Sent(u64);

impl Sent {
    /// This moment.
    pub fn now() -> Sent {
        Sent(now())
    }

    /// The time since then, including the suspension of the machine.
    pub fn elapsed(self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.0))
    }
}

impl Lease {
    /// A lease that does not run yet. `request_timeout` is the maximum duration of a request to a cloud.
    pub fn new(length: Duration, request_timeout: Duration) -> Lease {
        Lease {
            length,
            request_timeout,
            tenure: Mutex::new(Arc::new(Tenure::ended())),
            losses: AtomicU64::new(0),
        }
    }

    /// The time for which a server may act without hearing from the database.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// The time without a renewal after which other servers may take the runs.
    pub fn patience(&self) -> Duration {
        self.length + self.request_timeout
    }

    /// The pause between two renewals.
    pub fn pause(&self) -> Duration {
        (self.length / RENEWALS).min(LOOK_EVERY)
    }

    /// Begins a tenure, when the server has joined.
    pub fn begin(&self, sent: Sent) {
        let tenure = Tenure {
            until: AtomicU64::new(sent.0 + millis(self.length)),
            ended: CancellationToken::new(),
        };
        *self.lock() = Arc::new(tenure);
    }

    /// Ends the tenure, because the lease is lost.
    pub fn lose(&self) {
        self.tenure().end();
        self.losses.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of losses since the start.
    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    /// The present tenure, or the last one.
    pub fn tenure(&self) -> Arc<Tenure> {
        self.lock().clone()
    }

    /// Notes a renewal.
    pub fn renewed(&self, sent: Sent) {
        let until = sent.0 + millis(self.length);
        self.lock().until.fetch_max(until, Ordering::AcqRel);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Tenure>> {
        self.tenure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenure {
    fn ended() -> Tenure {
        let ended = CancellationToken::new();
        ended.cancel();
        Tenure {
            until: AtomicU64::new(0),
            ended,
        }
    }

    /// Ends it: all tasks of runs that began in it stop.
    pub fn end(&self) {
        self.ended.cancel();
    }

    /// A token that is cancelled with its end.
    pub fn end_token(&self) -> CancellationToken {
        self.ended.child_token()
    }

    /// The remaining time. `None` if the tenure has ended.
    pub fn rest(&self) -> Option<Duration> {
        let rest = self.until.load(Ordering::Acquire).saturating_sub(now());
        if rest == 0 {
            self.end();
        }
        (!self.ended.is_cancelled()).then(|| Duration::from_millis(rest))
    }
}

impl openstack::Permit for Tenure {
    fn remaining(&self) -> Option<Duration> {
        self.rest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_tenure_counts_from_before_the_last_renewal_and_never_comes_back() {
        let lease = Lease::new(10 * SECOND, 60 * SECOND);
        assert_eq!(
            lease.tenure().rest(),
            None,
            "nothing is held before the server joins"
        );
        assert_eq!(lease.patience(), 70 * SECOND);

        let sent = Sent(Sent::now().0 - 8000);
        lease.begin(sent);
        let tenure = lease.tenure();
        assert!(tenure.rest().unwrap() <= 2 * SECOND);
        lease.renewed(Sent::now());
        assert!(tenure.rest().unwrap() > 9 * SECOND);

        // The process was stopped for longer than its lease.
        tenure.until.store(Sent::now().0, Ordering::Release);
        assert_eq!(tenure.rest(), None);
        assert!(tenure.end_token().is_cancelled());
        lease.renewed(Sent::now());
        assert_eq!(tenure.rest(), None, "a late renewal does not revive it");
        lease.begin(Sent::now());
        assert_eq!(tenure.rest(), None);
        assert!(lease.tenure().rest().is_some());
    }
}
