//! Wires that come to agree with the model, whatever was in the way.
//!
//! One task makes them agree, and nobody else: who has changed the model asks for a pass and waits for the end of the first one that
//! began after that. So what a pass is for is not what has changed, but what there is; changes that come close together share one; one whose caller hung up is
//! made all the same; and a pass that failed is made again, at first soon and then less often, until nothing is in the way.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::services::cloud::Cloud;
use crate::services::wires::wiring;
use crate::substrate::SubstrateError;

/// A pass that failed is made again after this time, and after twice as long each time.
const AGAIN: Duration = Duration::from_millis(200);
/// At least this often.
const AGAIN_AT_MOST: Duration = Duration::from_secs(5);

/// Asked for by this number, nobody asks any more.
const LAST: u64 = u64::MAX;

/// Who asked for passes, and which have been made.
#[derive(Debug, Default)]
pub struct Wires {
    asked: watch::Sender<u64>,
    made: watch::Sender<u64>,
}

impl Wires {
    /// Wait for the end of a pass that begins now or later. It may have failed: it will be made again.
    async fn pass(&self) {
        let mut ticket = 0;
        self.asked.send_modify(|asked| {
            *asked = asked.saturating_add(1);
            ticket = *asked;
        });
        self.until(ticket).await;
    }

    /// No pass begins any more; done when none is being made.
    async fn end(&self) {
        self.asked.send_replace(LAST);
        self.until(LAST).await;
    }

    async fn until(&self, ticket: u64) {
        // The sender is ours: it does not go away.
        let _ = self.made.subscribe().wait_for(|made| *made >= ticket).await;
    }

    /// Make passes as they are asked for, until the end.
    async fn keep<P>(&self, pass: impl Fn() -> P)
    where
        P: Future<Output = Result<(), SubstrateError>>,
    {
        let mut asked = self.asked.subscribe();
        let mut again = None;
        loop {
            // A first ask may have come before us.
            let upto = *asked.borrow_and_update();
            if upto == LAST {
                self.made.send_replace(LAST);
                return;
            }
            if upto > *self.made.borrow() || again.is_some() {
                again = match pass().await {
                    Ok(()) => None,
                    Err(error) => {
                        let pause: Duration = again.map_or(AGAIN, |pause: Duration| pause * 2);
                        tracing::error!(%error, "the wires do not agree with the model yet");
                        Some(pause.min(AGAIN_AT_MOST))
                    }
                };
                self.made.send_replace(upto);
            }
            // Neither can fail: we are one who holds the sender.
            match again {
                None => drop(asked.changed().await),
                Some(pause) => drop(timeout(pause, asked.changed()).await),
            }
        }
    }
}

impl Cloud {
    /// Make the wires agree with the model as it is now, or at least try: what fails is tried again without being asked.
    pub async fn wire(&self) {
        if self.substrate.has_wires() {
            self.wires.pass().await;
        }
    }

    /// Make wires agree whenever somebody asks; returns when the wiring has been stopped.
    pub async fn keep_wiring(&self) {
        let pass = || async { self.substrate.wire(&self.read(wiring)).await };
        self.wires.keep(pass).await;
    }

    /// Let go of the wires: from here on nothing is made. Waits for the end of what is being made.
    pub async fn stop_wiring(&self) {
        self.wires.end().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::services::keep_wiring::*;

    fn trouble() -> SubstrateError {
        SubstrateError::Missing("a wire".into())
    }

    /// What is wished, what is there, and a task that makes it so: each pass takes a while and the first few fail.
    struct Bench {
        wires: Wires,
        wished: AtomicU32,
        there: AtomicU32,
        passes: AtomicU32,
        failures: Mutex<u32>,
    }

    impl Bench {
        fn new(failures: u32) -> Self {
            Self {
                wires: Wires::default(),
                wished: AtomicU32::new(0),
                there: AtomicU32::new(0),
                passes: AtomicU32::new(0),
                failures: Mutex::new(failures),
            }
        }

        async fn keep(&self) {
            let pass = || async {
                let wished = self.wished.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(10)).await;
                self.passes.fetch_add(1, Ordering::SeqCst);
                let mut failures = self.failures.lock().unwrap();
                if *failures > 0 {
                    *failures -= 1;
                    return Err(trouble());
                }
                self.there.store(wished, Ordering::SeqCst);
                Ok(())
            };
            self.wires.keep(pass).await;
        }

        async fn comes_to(&self, wanted: u32) {
            while self.there.load(Ordering::SeqCst) != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }

        async fn change(&self, to: u32) {
            self.wished.store(to, Ordering::SeqCst);
            self.wires.pass().await;
        }
    }

    #[tokio::test]
    async fn each_change_is_there_when_its_caller_goes_on_and_neighbours_share_a_pass() {
        let bench = Bench::new(0);
        let changes = async {
            futures::future::join_all((1..=50).map(|to| bench.change(to))).await;
            assert_eq!(bench.there.load(Ordering::SeqCst), 50);
            assert!(bench.passes.load(Ordering::SeqCst) <= 2);
            bench.change(51).await;
            assert_eq!(bench.there.load(Ordering::SeqCst), 51);
            bench.wires.end().await;
        };
        tokio::join!(bench.keep(), changes);
    }

    #[tokio::test]
    async fn what_failed_is_made_again_though_nothing_changes_any_more() {
        let bench = Bench::new(3);
        let changes = async {
            bench.change(1).await;
            assert_eq!(bench.there.load(Ordering::SeqCst), 0, "nobody is kept");
            bench.comes_to(1).await;
            bench.wires.end().await;
        };
        tokio::join!(bench.keep(), changes);
    }

    #[tokio::test]
    async fn a_change_whose_caller_hangs_up_is_made_all_the_same() {
        let bench = Bench::new(0);
        let changes = async {
            {
                let mut hasty = Box::pin(bench.change(1));
                assert!(futures::poll!(&mut hasty).is_pending());
            }
            bench.comes_to(1).await;
            bench.wires.end().await;
            // Who asks after the end is not kept for ever.
            bench.wires.pass().await;
        };
        tokio::join!(bench.keep(), changes);
    }
}
