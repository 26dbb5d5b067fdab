//! A task that runs passes on request, and repeats those that failed.
//!
//! A caller requests a pass and waits for the end of the first one that starts after the request. Requests that come
//! close together share a pass. A pass runs even if its caller is dropped. A failed pass is repeated with increasing
//! pauses until one succeeds.

use std::fmt::Display;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// The first pause before a failed pass is repeated. Each further pause is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The ticket that ends the task.
const LAST: u64 = u64::MAX;

/// The tickets of requested passes and of finished ones.
#[derive(Debug, Default)]
pub struct Passes {
    requested: watch::Sender<u64>,
    finished: watch::Sender<u64>,
}

impl Passes {
    /// Waits for the end of a pass that starts now or later. If it fails, it is repeated later.
    pub async fn request(&self) {
        let mut ticket = 0;
        self.requested.send_modify(|requested| {
            *requested = requested.saturating_add(1);
            ticket = *requested;
        });
        self.until(ticket).await;
    }

    /// Ends the task, after the pass that is running.
    pub async fn end(&self) {
        self.requested.send_replace(LAST);
        self.until(LAST).await;
    }

    async fn until(&self, ticket: u64) {
        // The sender lives as long as `self`.
        let mut finished = self.finished.subscribe();
        let _ = finished.wait_for(|finished| *finished >= ticket).await;
    }

    /// Runs passes as they are requested, until the end.
    pub async fn run<P, E: Display>(&self, pass: impl Fn() -> P)
    where
        P: Future<Output = Result<(), E>>,
    {
        let mut requested = self.requested.subscribe();
        let mut pause: Option<Duration> = None;
        loop {
            // The first request can come before this task starts.
            let ticket = *requested.borrow_and_update();
            if ticket == LAST {
                self.finished.send_replace(LAST);
                return;
            }
            if ticket > *self.finished.borrow() || pause.is_some() {
                pause = match pass().await {
                    Ok(()) => None,
                    Err(error) => {
                        tracing::error!(%error, "a pass failed and will be repeated");
                        let next = pause.map_or(PAUSE_MIN, |pause| pause * 2);
                        Some(next.min(PAUSE_MAX))
                    }
                };
                self.finished.send_replace(ticket);
            }
            // The sender lives as long as `self`, so `changed` does not fail.
            match pause {
                None => drop(requested.changed().await),
                Some(pause) => drop(timeout(pause, requested.changed()).await),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::kit::passes::*;

    /// A desired and an actual value, and passes that make them equal. Each takes a while, and the first few fail.
    struct Bench {
        tasks: Passes,
        desired: AtomicU32,
        actual: AtomicU32,
        passes: AtomicU32,
        failures: Mutex<u32>,
    }

    impl Bench {
        fn new(failures: u32) -> Self {
            Self {
                tasks: Passes::default(),
                desired: AtomicU32::new(0),
                actual: AtomicU32::new(0),
                passes: AtomicU32::new(0),
                failures: Mutex::new(failures),
            }
        }

        async fn run(&self) {
            let pass = || async {
                let desired = self.desired.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(10)).await;
                self.passes.fetch_add(1, Ordering::SeqCst);
                let mut failures = self.failures.lock().unwrap();
                if *failures > 0 {
                    *failures -= 1;
                    return Err("a wire is missing");
                }
                self.actual.store(desired, Ordering::SeqCst);
                Ok(())
            };
            self.tasks.run(pass).await;
        }

        async fn comes_to(&self, wanted: u32) {
            while self.actual.load(Ordering::SeqCst) != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }

        async fn change(&self, to: u32) {
            self.desired.store(to, Ordering::SeqCst);
            self.tasks.request().await;
        }
    }

    #[tokio::test]
    async fn a_change_is_applied_before_its_response_and_concurrent_changes_share_a_pass() {
        let bench = Bench::new(0);
        let changes = async {
            futures::future::join_all((1..=50).map(|to| bench.change(to))).await;
            assert_eq!(bench.actual.load(Ordering::SeqCst), 50);
            assert!(bench.passes.load(Ordering::SeqCst) <= 2);
            bench.change(51).await;
            assert_eq!(bench.actual.load(Ordering::SeqCst), 51);
            bench.tasks.end().await;
        };
        tokio::join!(bench.run(), changes);
    }

    #[tokio::test]
    async fn a_failed_pass_is_repeated_without_a_further_change() {
        let bench = Bench::new(3);
        let changes = async {
            bench.change(1).await;
            assert_eq!(bench.actual.load(Ordering::SeqCst), 0, "nobody is kept");
            bench.comes_to(1).await;
            bench.tasks.end().await;
        };
        tokio::join!(bench.run(), changes);
    }

    #[tokio::test]
    async fn a_change_is_applied_though_its_client_disconnects() {
        let bench = Bench::new(0);
        let changes = async {
            {
                let mut hasty = Box::pin(bench.change(1));
                assert!(futures::poll!(&mut hasty).is_pending());
            }
            bench.comes_to(1).await;
            bench.tasks.end().await;
            // A request after the end returns immediately.
            bench.tasks.request().await;
        };
        tokio::join!(bench.run(), changes);
    }
}
