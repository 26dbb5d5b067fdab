//! Polling of many resources with few requests.
//!
//! A run that builds 500 servers has 500 steps that poll. Each step queries this module as often as it likes; the open
//! queries of all steps are answered by one list request, so the number of requests does not grow with the number of
//! resources:
//!
//! * **Batches.** A query waits 40 ms for others. All queries that arrive in this time, or while a request is under way,
//!   are answered by the next request. Up to three resources are read one by one.
//! * **Pace.** The pause between two requests is twice the time that the cloud worked on the last one, so it spends at most a
//!   third of the time on them. This work is the duration beyond the shortest one of this service: of a distant cloud, most of
//!   the duration is the way there and back. The pauses grow while the answers contain nothing new.
//! * **Servers in transition.** A detailed list is expensive for Nova, and causes requests to Neutron. While servers are being
//!   built or deleted, Nova lists only the ids of servers in that state ([`servers`]); servers that have left the list are
//!   read while the next list is made.
//! * **Changes only.** The list of servers uses `changes-since`, which also returns deleted servers, so its cost depends on what
//!   changed and not on what exists. The answer for an unchanged server comes from memory; it is read by itself now and
//!   then, for clouds that ignore the filter.
//! * **Known states.** The answer to a creation already has the resource's state: [`Poller::set`] keeps it for the first query, which
//!   then costs no request. Most Neutron resources are ready when they are created.
//!
//! An answer is never older than its query, except for unchanged servers as described above.

mod servers;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::block_storage::Volume;
use crate::collection::{Collection, Record};
use crate::compute::Server;
use crate::load_balancer::{OctaviaResource, OctaviaType};
use crate::network::Entity;
use crate::{Error, Service, Session};

/// Time that the first query of a batch waits for others.
const GATHERING: Duration = Duration::from_millis(40);
/// Maximum number of resources that are read one by one.
const FEW: usize = 3;
/// Maximum pause between two requests, however slow the cloud is.
const PACE_MAX: Duration = Duration::from_secs(4);
/// Pause after a first request without news; it doubles with each further one.
const QUIET_FIRST: Duration = Duration::from_millis(80);
/// Maximum of these pauses.
const QUIET_MAX: Duration = Duration::from_millis(640);
/// Maximum number of ids in one URL of Neutron, which may have about 8,000 characters.
pub const IDS_PER_CALL: usize = 100;

type Found = Result<Option<Value>, Error>;
/// An id, and where its answer goes.
type Query = (String, oneshot::Sender<Found>);

/// The open queries of a session.
#[derive(Debug, Default)]
pub struct Polls {
    queues: Mutex<HashMap<Source, Arc<Queue>>>,
}

/// The collection that answers a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Servers,
    Volumes,
    LoadBalancers,
    /// A collection of Neutron: path and plural.
    Network(&'static str, &'static str),
}

/// The open queries for one collection.
#[derive(Debug, Default)]
struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: Vec<Query>,
    /// True while a task answers them.
    is_active: bool,
    /// States set by [`Poller::set`]; `Null` for a deleted resource.
    known: HashMap<String, Value>,
    /// End of the last request, and the cloud's work on it.
    last: Option<(Instant, Duration)>,
    /// Number of successive requests without news.
    quiet: u32,
    /// Servers in transition.
    servers: servers::Transitions,
}

impl Session {
    /// The state of resources that change, with one request for many.
    pub fn poller(&self) -> Poller<'_> {
        Poller(self)
    }
}

/// Queries for the state of resources.
pub struct Poller<'a>(pub(crate) &'a Session);

impl Poller<'_> {
    /// A server; `None` if it does not exist.
    pub async fn server(&self, id: &str) -> Result<Option<Server>, Error> {
        self.get(Source::Servers, id).await
    }

    /// A volume; `None` if it does not exist.
    pub async fn volume(&self, id: &str) -> Result<Option<Volume>, Error> {
        self.get(Source::Volumes, id).await
    }

    /// A load balancer; `None` if it does not exist.
    pub async fn load_balancer(&self, id: &str) -> Result<Option<OctaviaResource>, Error> {
        self.get(Source::LoadBalancers, id).await
    }

    /// A resource of Neutron; `None` if it does not exist.
    pub async fn network<E: Entity>(&self, id: &str) -> Result<Option<E>, Error> {
        self.get(Source::of::<E>(), id).await
    }

    /// A record of a collection; `None` if it does not exist. Records of services other than Neutron are read one by one.
    pub async fn record(&self, of: &'static Collection, id: &str) -> Result<Option<Record>, Error> {
        match Source::of_collection(of) {
            Some(source) => self.get(source, id).await,
            None => match self.0.records(of).get(id).await {
                Err(error) if error.is_not_found() => Ok(None),
                found => found.map(Some),
            },
        }
    }

    /// Sets the answer to the next query for a record; `None` if it was deleted.
    pub fn set_record(&self, of: &'static Collection, id: &str, record: Option<&Record>) {
        if let Some(source) = Source::of_collection(of) {
            self.keep(source, id, &record);
        }
    }

    /// Sets the answer to the next query for a resource.
    pub fn set<E: Entity>(&self, entity: &E) {
        self.keep(Source::of::<E>(), entity.id(), entity);
    }

    fn keep(&self, source: Source, id: &str, entity: &impl Serialize) {
        if let Ok(entity) = serde_json::to_value(entity) {
            let queue = self.queue(source);
            queue.lock().known.insert(id.to_string(), entity);
        }
    }

    async fn get<T: DeserializeOwned>(&self, source: Source, id: &str) -> Result<Option<T>, Error> {
        let Some(value) = self.queue(source).query(self.0, source, id).await? else {
            return Ok(None);
        };
        let entity = serde_json::from_value(value);
        entity.map(Some).map_err(|error| Error::Malformed {
            service: source.service(),
            method: "GET".into(),
            path: id.to_string(),
            why: error.to_string(),
            request_id: String::new(),
        })
    }

    fn queue(&self, source: Source) -> Arc<Queue> {
        let polls = self.0.extension::<Polls>();
        let mut queues = polls.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(source).or_default().clone()
    }
}

impl Source {
    fn of<E: Entity>() -> Source {
        Source::Network(E::PATH, E::MANY)
    }

    /// The source of a collection whose list takes several ids as a filter.
    fn of_collection(of: &'static Collection) -> Option<Source> {
        (of.service == Service::Network).then_some(Source::Network(of.path, of.list_key))
    }

    fn service(self) -> Service {
        match self {
            Source::Servers => Service::Compute,
            Source::Volumes => Service::BlockStorage,
            Source::LoadBalancers => Service::LoadBalancer,
            Source::Network(..) => Service::Network,
        }
    }

    async fn one(self, session: &Session, id: &str) -> Found {
        let found = match self {
            Source::Servers => plain(session.compute().server_get(id).await),
            Source::Volumes => plain(session.block_storage().volume_get(id).await),
            Source::LoadBalancers => {
                let balancing = session.load_balancer();
                plain(balancing.get(OctaviaType::LoadBalancer, id).await)
            }
            // A list of one costs the same, and its singular need not be known.
            Source::Network(..) => {
                let ids = [id.to_string()];
                let found = self.all(session, &ids, None).await?;
                return Ok(found.into_iter().next());
            }
        };
        match found {
            Err(error) if error.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }

    /// All existing resources, or those changed since a time; the result may contain others.
    async fn all(
        self,
        session: &Session,
        ids: &[String],
        since: Option<Timestamp>,
    ) -> Result<Vec<Value>, Error> {
        match self {
            Source::Servers => {
                let since = since.map(|since| format!("{since:.0}"));
                let query: Vec<(&str, &str)> = since
                    .iter()
                    .map(|since| ("changes-since", since.as_str()))
                    .collect();
                plain_all(session.compute().server_list(&query).await)
            }
            Source::Volumes => plain_all(session.block_storage().volume_list(&[]).await),
            Source::LoadBalancers => {
                let balancing = session.load_balancer();
                plain_all(balancing.list(OctaviaType::LoadBalancer, &[]).await)
            }
            Source::Network(path, many) => {
                let mut found = Vec::new();
                for ids in ids.chunks(IDS_PER_CALL) {
                    let query: Vec<(&str, &str)> =
                        ids.iter().map(|id| ("id", id.as_str())).collect();
                    let path: Vec<&str> = path.split('/').collect();
                    let call = session
                        .call(Service::Network, Method::GET, &path)
                        .query(query);
                    let page: Vec<Value> = call.list(many).await?;
                    found.extend(page);
                }
                Ok(found)
            }
        }
    }
}

fn plain<T: Serialize>(found: Result<T, Error>) -> Result<Value, Error> {
    found.map(|entity| serde_json::to_value(entity).unwrap_or(Value::Null))
}

fn plain_all<T: Serialize>(found: Result<Vec<T>, Error>) -> Result<Vec<Value>, Error> {
    found?.into_iter().map(|entity| plain(Ok(entity))).collect()
}

impl Queue {
    async fn query(self: &Arc<Self>, session: &Session, source: Source, id: &str) -> Found {
        let (sender, answer) = oneshot::channel();
        let idle = {
            let mut state = self.lock();
            if let Some(entity) = state.known.remove(id) {
                return Ok(Some(entity).filter(|entity| !entity.is_null()));
            }
            state.open.push((id.to_string(), sender));
            !std::mem::replace(&mut state.is_active, true)
        };
        if idle {
            let (queue, session) = (self.clone(), session.clone());
            tokio::spawn(async move { queue.work(&session, source).await });
        }
        // The task answers every query, unless the program ends.
        answer.await.unwrap_or_else(|_| {
            Err(Error::Connection {
                service: source.service(),
                method: "GET".into(),
                path: id.to_string(),
                wire: crate::ConnectionFailure::Reset,
                why: "the query was cancelled".into(),
                request_id: String::new(),
            })
        })
    }

    /// Answers the open queries, a request for each batch, until none is left.
    async fn work(self: &Arc<Self>, session: &Session, source: Source) {
        loop {
            let pause = self.lock().pause(Instant::now());
            tokio::time::sleep(pause).await;
            let mut open = {
                let mut state = self.lock();
                // Cancelled queries need no answer.
                state.open.retain(|(_, sender)| !sender.is_closed());
                if state.open.is_empty() {
                    state.is_active = false;
                    return;
                }
                std::mem::take(&mut state.open)
            };
            if source == Source::Servers {
                let listed = self.answer_unchanged(session, &mut open).await;
                if open.is_empty() {
                    continue;
                }
                if listed {
                    // Servers that have left their transition are read while the next list is made.
                    let (queue, session) = (self.clone(), session.clone());
                    tokio::spawn(async move { queue.answer(&session, source, open).await });
                    continue;
                }
            }
            self.answer(session, source, open).await;
        }
    }

    /// Answers the queries for servers whose transition goes on, and keeps the others. Returns whether the cloud was asked.
    async fn answer_unchanged(&self, session: &Session, open: &mut Vec<Query>) -> bool {
        let started = Instant::now();
        let answers = self.unchanged(session, &ids(open)).await;
        let calls = answers.as_ref().map_or(1, |(_, calls)| *calls);
        if calls > 0 {
            self.ended(session, Source::Servers, started, calls);
        }
        let left: Vec<Query> = std::mem::take(open);
        for (id, sender) in left {
            let answer = match &answers {
                Ok((found, _)) => found.get(&id).cloned(),
                Err(error) => Some(Err(error.clone())),
            };
            match answer {
                // The query may have been cancelled.
                Some(answer) => drop(sender.send(answer)),
                None => open.push((id, sender)),
            }
        }
        let mut state = self.lock();
        state.quiet = if open.is_empty() { state.quiet + 1 } else { 0 };
        calls > 0
    }

    /// Answers queries with a request for all of them.
    async fn answer(&self, session: &Session, source: Source, open: Vec<Query>) {
        let started = Instant::now();
        let answers = self.fetch(session, source, &ids(&open)).await;
        let calls = answers.as_ref().map_or(1, |(_, calls)| *calls);
        self.ended(session, source, started, calls);
        for (id, sender) in open {
            let answer = match &answers {
                Ok((found, _)) => found.get(&id).cloned().unwrap_or(Ok(None)),
                Err(error) => Err(error.clone()),
            };
            // The query may have been cancelled.
            let _gone = sender.send(answer);
        }
    }

    /// The answers, and the number of calls that were made one after the other.
    async fn fetch(
        &self,
        session: &Session,
        source: Source,
        ids: &[String],
    ) -> Result<(HashMap<String, Found>, u32), Error> {
        if source == Source::Servers {
            return self.changed(session, ids).await;
        }
        if ids.len() <= FEW {
            return Ok((one_by_one(session, source, ids).await, 1));
        }
        let found = source.all(session, ids, None).await?;
        Ok((by_id(found), 1))
    }

    /// Records the end of calls that were made one after the other.
    fn ended(&self, session: &Session, source: Source, started: Instant, calls: u32) {
        let ways = session.quickest(source.service()) * calls;
        self.lock().ended(started, ways);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Pause before the next request.
    fn pause(&self, now: Instant) -> Duration {
        let Some((ended, work)) = self.last else {
            return GATHERING;
        };
        let quiet = match self.quiet {
            0 => Duration::ZERO,
            calls => (QUIET_FIRST * (1 << (calls - 1).min(8))).min(QUIET_MAX),
        };
        let next = ended + (work * 2).min(PACE_MAX).max(quiet);
        next.saturating_duration_since(now).max(GATHERING)
    }

    /// `ways` is the time that requests and responses were on their way.
    fn ended(&mut self, started: Instant, ways: Duration) {
        let work = started.elapsed().saturating_sub(ways);
        self.last = Some((Instant::now(), work));
    }
}

fn ids(open: &[Query]) -> Vec<String> {
    let ids: HashSet<&String> = open.iter().map(|(id, _)| id).collect();
    ids.into_iter().cloned().collect()
}

async fn one_by_one(session: &Session, source: Source, ids: &[String]) -> HashMap<String, Found> {
    let mut calls = tokio::task::JoinSet::new();
    for id in ids.iter().cloned() {
        let session = session.clone();
        calls.spawn(async move {
            let answer = source.one(&session, &id).await;
            (id, answer)
        });
    }
    let mut answers = HashMap::new();
    while let Some(ended) = calls.join_next().await {
        if let Ok((id, answer)) = ended {
            answers.insert(id, answer);
        }
    }
    answers
}

fn by_id(found: Vec<Value>) -> HashMap<String, Found> {
    let with_id = |entity: Value| Some((entity["id"].as_str()?.to_string(), Ok(Some(entity))));
    found.into_iter().filter_map(with_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_cloud_is_polled_less_often() {
        let mut state = State::default();
        let now = Instant::now();
        assert_eq!(state.pause(now), GATHERING);
        state.last = Some((now, Duration::from_millis(500)));
        assert_eq!(state.pause(now), Duration::from_secs(1));
        assert_eq!(state.pause(now + Duration::from_secs(3)), GATHERING);
        state.last = Some((now, Duration::from_secs(60)));
        assert_eq!(state.pause(now), PACE_MAX);
    }

    #[test]
    fn the_way_to_a_distant_cloud_is_no_work_of_it() {
        let mut state = State::default();
        let began = Instant::now() - Duration::from_secs(2);
        state.ended(began, Duration::from_secs(60));
        assert_eq!(state.pause(Instant::now()), GATHERING);
        state.ended(began, Duration::from_millis(500));
        let pause = state.pause(Instant::now());
        assert!(pause > Duration::from_secs(2), "{pause:?}");
        assert!(pause < PACE_MAX, "{pause:?}");
    }

    #[test]
    fn polls_without_news_become_rare() {
        let now = Instant::now();
        let after = |quiet: u32| {
            let last = Some((now, Duration::from_millis(10)));
            State {
                quiet,
                last,
                ..State::default()
            }
            .pause(now)
        };
        assert_eq!(after(0), GATHERING);
        assert_eq!(after(1), QUIET_FIRST);
        assert_eq!(after(2), QUIET_FIRST * 2);
        assert_eq!(after(90), QUIET_MAX);
    }
}
