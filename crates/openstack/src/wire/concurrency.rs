//! Limit of concurrent changing requests to a service.
//!
//! A service keeps its rows in one database, and small clouds have few processors. Concurrent changes delay each other, and
//! changes of the same rows are repeated by the service: on a small cloud, eight floating IPs created at once cost half as
//! much processor time again as two at a time, and take longer. A large or distant cloud serves many requests in the time of one.
//! The limit follows the response times:
//!
//! * The shortest time of each kind of request is kept for 1,000 responses. Then it is measured again, since a cloud may become
//!   slower. A response that takes long at the smallest limit is a new shortest time at once: the cause is not our concurrency.
//! * At first, responses that take about the shortest time at full concurrency double the limit, as in the slow start of TCP. The
//!   first that takes longer halves it again, and ends this.
//! * From then on they raise it by one.
//! * Responses that take about twice the shortest time lower the limit by one.
//!
//! The limit starts small, so that the shortest times are not measured under contention. Waiting requests start by
//! [priority](with_priority), then in order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Method, Url};
use tokio::sync::oneshot;

/// Smallest limit.
const LIMIT_MIN: usize = 2;
/// Ratio of the shortest time to a response's time above which the limit is raised.
const RAISE_ABOVE: f64 = 0.75;
/// Ratio below which the limit is lowered.
const LOWER_BELOW: f64 = 0.5;
/// Number of responses after which measuring starts again. The start costs about as much time as three requests.
const ANSWERS_MAX: usize = 1000;
/// Maximum number of kinds of requests; those of all resource types fit.
const KINDS_MAX: usize = 128;

tokio::task_local! {
    static PRIORITY: u32;
}

/// Gives the requests of `work` a priority among waiting requests. Without it, the priority is 0.
///
/// Work that completes resources should have priority over work that starts new ones: half-built resources are of no use, and services
/// repeat work for what changes while they build it (a floating IP given to a port after a server was plugged into it makes
/// Nova query the server's whole network once more).
pub async fn with_priority<F: Future>(priority: u32, work: F) -> F::Output {
    PRIORITY.scope(priority, work).await
}

/// The limiter of one service.
#[derive(Debug)]
pub(crate) struct Limiter(Mutex<State>);

#[derive(Debug)]
struct State {
    limit: Limit,
    waiting: BinaryHeap<Waiting>,
    /// Number of requests that ever waited.
    arrivals: u64,
}

/// A waiting request. The next one to start is the greatest.
#[derive(Debug)]
struct Waiting {
    place: (u32, Reverse<u64>),
    admitted: oneshot::Sender<Slot>,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.place == other.place
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

/// A place among the concurrent requests; freed when dropped, also if the request was cancelled meanwhile.
#[derive(Debug)]
struct Slot(Arc<Limiter>);

/// Permission for one request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    slot: Slot,
    kind: String,
}

impl Limiter {
    /// A limiter with a fixed maximum of `max` concurrent requests.
    pub(crate) fn new(max: usize) -> Limiter {
        Limiter(Mutex::new(State {
            limit: Limit::new(max),
            waiting: BinaryHeap::new(),
            arrivals: 0,
        }))
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(self: &Arc<Self>, method: &Method, url: &Url) -> Permit {
        Permit {
            slot: self.slot().await,
            kind: kind(method, url),
        }
    }

    async fn slot(self: &Arc<Self>) -> Slot {
        let admission = {
            let mut state = self.state();
            // While slots are free, nobody waits.
            if state.limit.acquire() {
                return Slot(self.clone());
            }
            let (admitted, admission) = oneshot::channel();
            state.arrivals += 1;
            let priority = PRIORITY.try_with(|priority| *priority).unwrap_or_default();
            let place = (priority, Reverse(state.arrivals));
            state.waiting.push(Waiting { place, admitted });
            admission
        };
        admission
            .await
            .expect("a request is taken from the queue only with its permit")
    }

    /// Starts waiting requests while slots are free.
    fn admit(self: &Arc<Self>) {
        loop {
            let admitted = {
                let mut state = self.state();
                // A cancelled request takes no slot.
                while state
                    .waiting
                    .peek()
                    .is_some_and(|first| first.admitted.is_closed())
                {
                    state.waiting.pop();
                }
                if state.waiting.is_empty() || !state.limit.acquire() {
                    return;
                }
                state.waiting.pop()
            };
            // Not under the lock: the slot of a cancelled request is freed at once.
            if let Some(waiting) = admitted {
                drop(waiting.admitted.send(Slot(self.clone())));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Records the time from the request to its successful response, without any wait before.
    pub(crate) fn record(&self, took: Duration) {
        self.slot.0.state().limit.learn(&self.kind, took);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.state().limit.active -= 1;
        self.0.admit();
    }
}

/// The limit, and the response times it follows. Pure.
#[derive(Debug)]
struct Limit {
    max: usize,
    size: usize,
    /// True until the first slow response.
    starts: bool,
    active: usize,
    /// Shortest time by kind, in seconds.
    best: HashMap<String, f64>,
    /// Responses since measuring started.
    answers: usize,
    /// Responses since the limit changed.
    since: usize,
}

impl Limit {
    fn new(max: usize) -> Limit {
        Limit {
            max: max.max(1),
            size: LIMIT_MIN.min(max.max(1)),
            starts: true,
            active: 0,
            best: HashMap::new(),
            answers: 0,
            since: 0,
        }
    }

    fn acquire(&mut self) -> bool {
        let room = self.active < self.size;
        self.active += usize::from(room);
        room
    }

    fn learn(&mut self, kind: &str, took: Duration) {
        let took = took.as_secs_f64().max(0.001);
        self.answers += 1;
        if self.answers > ANSWERS_MAX {
            *self = Limit {
                active: self.active,
                ..Limit::new(self.max)
            };
        }
        if self.best.len() >= KINDS_MAX && !self.best.contains_key(kind) {
            self.best.clear();
        }
        let best = self.best.entry(kind.to_owned()).or_insert(took);
        *best = best.min(took);
        let share = *best / took;
        self.since += 1;
        // Only times at full concurrency say something about the limit, and only of requests started since it changed.
        if self.active < self.size || self.since < self.size {
            return;
        }
        let smallest = LIMIT_MIN.min(self.max);
        if self.size == smallest && share < LOWER_BELOW {
            self.best.insert(kind.to_owned(), took);
            return;
        }
        let is_fast = share > RAISE_ABOVE;
        let size = match self.starts {
            true if is_fast => self.size * 2,
            true => self.size / 2,
            false if is_fast => self.size + 1,
            false if share < LOWER_BELOW => self.size - 1,
            false => return,
        };
        self.starts &= is_fast;
        self.size = size.clamp(smallest, self.max);
        self.since = 0;
    }
}

/// `POST ports`, `DELETE ports`, `PUT add_router_interface`: method and last segment of the path that is not an id.
fn kind(method: &Method, url: &Url) -> String {
    let segments = url.path_segments();
    let mut words = segments.into_iter().flatten().filter(|word| {
        let is_version =
            word.starts_with('v') && word[1..].starts_with(|c: char| c.is_ascii_digit());
        !word.is_empty() && !is_version && !super::id::looks_like_id(word)
    });
    format!("{method} {}", words.next_back().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The final limit for a service whose requests take `time(concurrency)` milliseconds, at full concurrency.
    fn settled_limit(max: usize, time: impl Fn(usize) -> f64) -> usize {
        let mut limit = Limit::new(max);
        for _ in 0..ANSWERS_MAX * 3 - 50 {
            while limit.acquire() {}
            let took = Duration::from_secs_f64(time(limit.active) / 1000.0);
            limit.learn("POST ports", took);
            limit.active -= 1;
        }
        limit.size
    }

    #[test]
    fn the_limit_of_concurrent_calls_adapts_to_the_service() {
        // Distant or large: concurrency costs nothing.
        assert_eq!(settled_limit(16, |_| 200.0), 16);
        // Two processors.
        let two = settled_limit(16, |active| 200.0 * (active as f64 / 2.0).max(1.0));
        assert!((3..=4).contains(&two), "{two}");
        // Eight.
        let eight = settled_limit(32, |active| 200.0 * (active as f64 / 8.0).max(1.0));
        assert!((9..=16).contains(&eight), "{eight}");
        // One.
        let one = settled_limit(16, |active| 200.0 * active as f64);
        assert!((2..=3).contains(&one), "{one}");
        // The configured maximum holds.
        assert_eq!(settled_limit(1, |_| 200.0), 1);
    }

    #[test]
    fn a_large_cloud_gets_all_it_may_within_few_rounds() {
        let mut limit = Limit::new(16);
        let mut rounds = Vec::new();
        for _ in 0..5 {
            while limit.acquire() {}
            let round = limit.active;
            rounds.push(round);
            for _ in 0..round {
                // The next one starts as soon as a response is there.
                limit.learn("POST ports", Duration::from_millis(200));
                limit.active -= 1;
                limit.acquire();
            }
        }
        assert_eq!(rounds, [2, 4, 8, 16, 16]);
    }

    #[test]
    fn a_cloud_that_has_become_slower_is_measured_anew() {
        let mut limit = Limit::new(16);
        let mut answers = |number: usize, took: Duration| {
            for _ in 0..number {
                while limit.acquire() {}
                limit.learn("POST ports", took);
                limit.active -= 1;
            }
            limit.size
        };
        assert_eq!(answers(100, Duration::from_millis(200)), 16);
        // At first it looks like the effect of our requests.
        assert!(answers(40, Duration::from_millis(900)) < 8);
        assert_eq!(answers(400, Duration::from_millis(900)), 16);
    }

    #[test]
    fn calls_are_grouped_by_path_without_ids() {
        let of =
            |method: Method, path: &str| kind(&method, &format!("http://h{path}").parse().unwrap());
        let id = "3b0f4d1e-8a51-4b46-9a63-1f2f5c0f7a11";
        assert_eq!(of(Method::POST, "/network/v2.0/ports"), "POST ports");
        assert_eq!(
            of(Method::DELETE, &format!("/v2.0/ports/{id}")),
            "DELETE ports"
        );
        assert_eq!(
            of(
                Method::PUT,
                &format!("/v2.0/routers/{id}/add_router_interface")
            ),
            "PUT add_router_interface"
        );
    }

    #[tokio::test]
    async fn a_waiting_call_starts_when_another_ends() {
        let limiter = Arc::new(Limiter::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = limiter.acquire(&Method::POST, &url).await;
        let mut second = std::pin::pin!(limiter.acquire(&Method::POST, &url));
        let waiting = polled_once(second.as_mut()).await;
        assert!(waiting.is_none(), "no slot was free");
        // A cancelled request takes no slot.
        {
            let mut third = std::pin::pin!(limiter.acquire(&Method::POST, &url));
            assert!(polled_once(third.as_mut()).await.is_none());
        }
        drop(first);
        let active = tokio::time::timeout(Duration::from_secs(10), second).await;
        active
            .expect("it gets a permit")
            .record(Duration::from_millis(1));
    }

    #[tokio::test]
    async fn calls_of_running_operations_go_before_new_ones() {
        let limiter = Arc::new(Limiter::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = limiter.acquire(&Method::POST, &url).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = tokio::task::JoinSet::new();
        for (name, priority) in [
            ("starts", 1),
            ("starts, too", 1),
            ("finishes", 2),
            ("none", 0),
        ] {
            let (limiter, url, order) = (limiter.clone(), url.clone(), order.clone());
            let work = async move {
                let _permit = limiter.acquire(&Method::POST, &url).await;
                order.lock().unwrap().push(name);
            };
            let mut work = Box::pin(with_priority(priority, work));
            assert!(polled_once(work.as_mut()).await.is_none());
            all.spawn(work);
        }
        drop(first);
        all.join_all().await;
        let order = order.lock().unwrap();
        assert_eq!(*order, ["finishes", "starts", "starts, too", "none"]);
    }

    #[tokio::test]
    async fn a_cancelled_call_frees_its_place() {
        let limiter = Arc::new(Limiter::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = limiter.acquire(&Method::POST, &url).await;
        {
            let mut second = std::pin::pin!(limiter.acquire(&Method::POST, &url));
            assert!(polled_once(second.as_mut()).await.is_none());
            drop(first);
        }
        let third = limiter.acquire(&Method::POST, &url);
        let active = tokio::time::timeout(Duration::from_secs(10), third).await;
        active
            .expect("the slot is free again")
            .record(Duration::from_millis(1));
    }

    /// Polls once.
    async fn polled_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
