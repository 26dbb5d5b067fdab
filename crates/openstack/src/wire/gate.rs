//! How many calls that change something a service gets at once.
//!
//! Services keep all in one database, and have few processors beside what is asked of them. Calls that meet
//! there hold each other up, and where they meet on the same rows all but one begin again: on a small cloud
//! eight floating IPs made at once cost half as much again as two at a time, and take longer. A large
//! cloud, or one far away, serves many at once in the time of one. Which of both it is, is seen from the answers:
//!
//! * how long a kind of call takes at its best is remembered, for some hundred answers: then it begins
//!   anew, since clouds become slower, too;
//! * calls that come back about as fast as that, although others were under way, have room beside
//!   them: one more is let in;
//! * calls that take about twice as long only stood in each other's way: one less.
//!
//! It begins with few, so that what is remembered is no crowd's time. Who must wait, waits in line: of those that
//! wait, who [goes before](goes_before) others is let in first, else who came first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Method, Url};
use tokio::sync::oneshot;

/// So many are always let in.
const FEW: usize = 2;
/// Share of the best time in what a call took: above, there is room for more.
const ROOMY: f64 = 0.75;
/// Below, there are too many.
const CROWDED: f64 = 0.5;
/// After so many answers it begins anew.
const ANSWERS_MAX: usize = 250;
/// Kinds of calls that are remembered; those of all resource types fit in.
const KINDS_MAX: usize = 128;

tokio::task_local! {
    static RANK: u32;
}

/// What `work` asks of a cloud goes before what others with a lower rank ask, where there is a line. Without, the
/// rank is 0.
///
/// Who finishes what was begun should go before who begins: half-made things are of no use to anybody, and services
/// do work again for what is changed while they build it (a floating IP that is given to a port after a server was
/// plugged into it makes Nova ask for the server's whole network once more).
pub async fn goes_before<F: Future>(rank: u32, work: F) -> F::Output {
    RANK.scope(rank, work).await
}

/// One service's gate.
#[derive(Debug)]
pub(crate) struct Gate(Mutex<Doorkeeper>);

#[derive(Debug)]
struct Doorkeeper {
    flow: Flow,
    line: BinaryHeap<Waiting>,
    /// How many ever stood in line.
    came: u64,
}

/// Somebody in line. The first of them is the greatest.
#[derive(Debug)]
struct Waiting {
    place: (u32, Reverse<u64>),
    called: oneshot::Sender<Place>,
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

/// A place inside. Whoever has it is in; leaving is dropping, also for who was called and did not hear it.
#[derive(Debug)]
struct Place(Arc<Gate>);

/// Somebody who is in.
#[derive(Debug)]
pub(crate) struct Inside {
    place: Place,
    kind: String,
    entered: Instant,
}

impl Gate {
    /// At most `max` at once, whatever the answers say.
    pub(crate) fn new(max: usize) -> Gate {
        Gate(Mutex::new(Doorkeeper {
            flow: Flow::new(max),
            line: BinaryHeap::new(),
            came: 0,
        }))
    }

    /// Waits until there is room.
    pub(crate) async fn enter(self: &Arc<Self>, method: &Method, url: &Url) -> Inside {
        Inside {
            place: self.place().await,
            kind: kind(method, url),
            entered: Instant::now(),
        }
    }

    async fn place(self: &Arc<Self>) -> Place {
        let call = {
            let mut keeper = self.keeper();
            // Where there is room, nobody is in line.
            if keeper.flow.enter() {
                return Place(self.clone());
            }
            let (called, call) = oneshot::channel();
            keeper.came += 1;
            let rank = RANK.try_with(|rank| *rank).unwrap_or_default();
            let place = (rank, Reverse(keeper.came));
            keeper.line.push(Waiting { place, called });
            call
        };
        call.await
            .expect("whoever is taken from the line is called or has gone away")
    }

    /// Calls as many in as there is room for.
    fn call_in(self: &Arc<Self>) {
        loop {
            let called = {
                let mut keeper = self.keeper();
                // Who gave up waiting takes nobody's place.
                while keeper
                    .line
                    .peek()
                    .is_some_and(|first| first.called.is_closed())
                {
                    keeper.line.pop();
                }
                if keeper.line.is_empty() || !keeper.flow.enter() {
                    return;
                }
                keeper.line.pop()
            };
            // Not under the lock: a place that nobody takes is left at once.
            if let Some(waiting) = called {
                drop(waiting.called.send(Place(self.clone())));
            }
        }
    }

    fn keeper(&self) -> MutexGuard<'_, Doorkeeper> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// The service has done what was asked: the time that it took counts.
    pub(crate) fn well_answered(&self) {
        let took = self.entered.elapsed();
        self.place.0.keeper().flow.learn(&self.kind, took);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.keeper().flow.inside -= 1;
        self.0.call_in();
    }
}

/// What is known of a service's pace. Pure.
#[derive(Debug)]
struct Flow {
    max: usize,
    limit: usize,
    inside: usize,
    /// Seconds.
    best: HashMap<String, f64>,
    /// Answers since it began.
    answers: usize,
    /// Answers since the limit was moved.
    since: usize,
}

impl Flow {
    fn new(max: usize) -> Flow {
        Flow {
            max: max.max(1),
            limit: FEW.min(max.max(1)),
            inside: 0,
            best: HashMap::new(),
            answers: 0,
            since: 0,
        }
    }

    fn enter(&mut self) -> bool {
        let room = self.inside < self.limit;
        self.inside += usize::from(room);
        room
    }

    fn learn(&mut self, kind: &str, took: Duration) {
        let took = took.as_secs_f64().max(0.001);
        self.answers += 1;
        if self.answers > ANSWERS_MAX {
            *self = Flow {
                inside: self.inside,
                ..Flow::new(self.max)
            };
        }
        if self.best.len() >= KINDS_MAX && !self.best.contains_key(kind) {
            self.best.clear();
        }
        let best = self.best.entry(kind.to_owned()).or_insert(took);
        *best = best.min(took);
        let share = *best / took;
        self.since += 1;
        // Only a full house tells something about its size, and only those tell who came in since.
        if self.inside < self.limit || self.since < self.limit {
            return;
        }
        if share > ROOMY && self.limit < self.max {
            self.limit += 1;
            self.since = 0;
        } else if share < CROWDED && self.limit > FEW {
            self.limit -= 1;
            self.since = 0;
        }
    }
}

/// `POST ports`, `DELETE ports`, `PUT add_router_interface`: the last of the path's words that is no id.
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

    /// A service whose calls take `time(inside)` milliseconds, kept full; where the limit ends up.
    fn settles(max: usize, time: impl Fn(usize) -> f64) -> usize {
        let mut flow = Flow::new(max);
        for _ in 0..ANSWERS_MAX * 3 - 50 {
            while flow.enter() {}
            let took = Duration::from_secs_f64(time(flow.inside) / 1000.0);
            flow.learn("POST ports", took);
            flow.inside -= 1;
        }
        flow.limit
    }

    #[test]
    fn the_limit_of_concurrent_calls_adapts_to_the_service() {
        // Far away, or large: company costs nothing.
        assert_eq!(settles(16, |_| 200.0), 16);
        // Two processors: from the third on, each waits for the others.
        let two = settles(16, |inside| 200.0 * (inside as f64 / 2.0).max(1.0));
        assert!((3..=4).contains(&two), "{two}");
        // Eight.
        let eight = settles(32, |inside| 200.0 * (inside as f64 / 8.0).max(1.0));
        assert!((9..=16).contains(&eight), "{eight}");
        // One.
        let one = settles(16, |inside| 200.0 * inside as f64);
        assert!((2..=3).contains(&one), "{one}");
        // A person's word is the last.
        assert_eq!(settles(1, |_| 200.0), 1);
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
        let gate = Arc::new(Gate::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = gate.enter(&Method::POST, &url).await;
        let mut second = std::pin::pin!(gate.enter(&Method::POST, &url));
        let waiting = polled_once(second.as_mut()).await;
        assert!(waiting.is_none(), "there was no room");
        // One who gives up waiting takes nobody's place.
        {
            let mut third = std::pin::pin!(gate.enter(&Method::POST, &url));
            assert!(polled_once(third.as_mut()).await.is_none());
        }
        drop(first);
        let inside = tokio::time::timeout(Duration::from_secs(10), second).await;
        inside.expect("it is let in").well_answered();
    }

    #[tokio::test]
    async fn calls_of_running_operations_go_before_new_ones() {
        let gate = Arc::new(Gate::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = gate.enter(&Method::POST, &url).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = tokio::task::JoinSet::new();
        for (name, rank) in [
            ("begins", 1),
            ("begins, too", 1),
            ("finishes", 2),
            ("nobody", 0),
        ] {
            let (gate, url, order) = (gate.clone(), url.clone(), order.clone());
            let work = async move {
                let _inside = gate.enter(&Method::POST, &url).await;
                order.lock().unwrap().push(name);
            };
            let mut work = Box::pin(goes_before(rank, work));
            assert!(polled_once(work.as_mut()).await.is_none());
            all.spawn(work);
        }
        drop(first);
        all.join_all().await;
        let order = order.lock().unwrap();
        assert_eq!(*order, ["finishes", "begins", "begins, too", "nobody"]);
    }

    #[tokio::test]
    async fn a_cancelled_call_frees_its_place() {
        let gate = Arc::new(Gate::new(1));
        let url: Url = "http://h/ports".parse().unwrap();
        let first = gate.enter(&Method::POST, &url).await;
        {
            let mut second = std::pin::pin!(gate.enter(&Method::POST, &url));
            assert!(polled_once(second.as_mut()).await.is_none());
            drop(first);
        }
        let third = gate.enter(&Method::POST, &url);
        let inside = tokio::time::timeout(Duration::from_secs(10), third).await;
        inside.expect("the place is free again").well_answered();
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
