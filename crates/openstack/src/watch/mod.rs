//! Looking at many things that change, at the price of one.
//!
//! Five hundred servers that are being built are five hundred steps that wait. Each asks here how its
//! server is, as often as it likes; the questions that are open together are answered by one list
//! call. So the number of calls does not grow with the number of things:
//!
//! * **Gathering.** A question opens a short window; all that come within it, or while a call is under
//!   way, are answered by the next call. One that is alone, or has little company, gets a call of its own.
//! * **Pace.** The next call waits twice as long as the last one took. A cloud that is slow, because it
//!   works for us, is asked less often; at most a third of the time goes into asking. While calls tell nothing new,
//!   the pauses grow.
//! * **Servers on their way.** A list with details costs Nova as much as what it tells, and calls to Neutron
//!   besides. So while servers are being made or deleted, Nova is asked for the bare ids of those that still
//!   are ([`servers`]); only who is no longer among them is looked at.
//! * **Changes alone.** Nova is asked for what has changed since the last call (`changes-since`, which
//!   also tells of deleted servers), so a list costs what happened, and not what exists. A server that
//!   has not changed is answered for from memory, and looked at by itself now and then, for clouds that
//!   do not know the filter.
//! * **What is known already.** Who makes a thing has its state in hand: [`Watch::told`] keeps it for the
//!   first question, which then costs nothing. Most of Neutron's things are ready when they are made.
//!
//! An answer is never older than its question, but for unchanged servers as said above.

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
use crate::load_balancer::{Balanced, Part};
use crate::network::Entity;
use crate::{Error, Service, Session};

/// How long the first question waits for others.
const GATHERING: Duration = Duration::from_millis(40);
/// So many questions are still asked one by one.
const FEW: usize = 3;
/// Between two calls, however slow the cloud is.
const PACE_MAX: Duration = Duration::from_secs(4);
/// The first pause after a call that told nothing new; it doubles with each further one.
const QUIET_FIRST: Duration = Duration::from_millis(80);
/// The longest of these.
const QUIET_MAX: Duration = Duration::from_millis(640);
/// Neutron takes the ids in the address, which may be some 8,000 characters long.
const IDS_PER_CALL: usize = 100;

type Answered = Result<Option<Value>, Error>;

/// All questions of a session that are open.
#[derive(Debug, Default)]
pub struct Watch {
    desks: Mutex<HashMap<Source, Arc<Desk>>>,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Servers,
    Volumes,
    LoadBalancers,
    /// A collection of Neutron's: its path, and the word for many.
    Network(&'static str, &'static str),
}

/// The questions about one kind of thing.
#[derive(Debug, Default)]
struct Desk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: Vec<(String, oneshot::Sender<Answered>)>,
    /// Whether a task answers them.
    at_work: bool,
    /// What makers said; `Null` is gone.
    told: HashMap<String, Value>,
    /// When the last call ended, and how long it took.
    last: Option<(Instant, Duration)>,
    /// How many calls in a row told nothing new.
    quiet: u32,
    /// What is known of servers.
    servers: servers::Known,
}

impl Session {
    /// How things are that change, at the price of one call for many.
    pub fn watcher(&self) -> Watcher<'_> {
        Watcher(self)
    }
}

/// What looks at a session's things.
pub struct Watcher<'a>(pub(crate) &'a Session);

impl Watcher<'_> {
    /// How a server is; `None` if it is gone.
    pub async fn server(&self, id: &str) -> Result<Option<Server>, Error> {
        self.look(Source::Servers, id).await
    }

    /// How a volume is; `None` if it is gone.
    pub async fn volume(&self, id: &str) -> Result<Option<Volume>, Error> {
        self.look(Source::Volumes, id).await
    }

    /// How a load balancer is; `None` if it is gone.
    pub async fn load_balancer(&self, id: &str) -> Result<Option<Balanced>, Error> {
        self.look(Source::LoadBalancers, id).await
    }

    /// How one of Neutron's things is; `None` if it is gone.
    pub async fn network<E: Entity>(&self, id: &str) -> Result<Option<E>, Error> {
        self.look(Source::of::<E>(), id).await
    }

    /// How a record of a collection is; `None` if it is gone. Those of other services than Neutron are asked for one by one.
    pub async fn record(&self, of: &'static Collection, id: &str) -> Result<Option<Record>, Error> {
        match Source::of_collection(of) {
            Some(source) => self.look(source, id).await,
            None => match self.0.records(of).get(id).await {
                Err(error) if error.is_not_found() => Ok(None),
                found => found.map(Some),
            },
        }
    }

    /// This is how a record is: the first question about it is answered so. `None` if it is gone.
    pub fn told_record(&self, of: &'static Collection, id: &str, record: Option<&Record>) {
        if let Some(source) = Source::of_collection(of) {
            self.tell(source, id, &record);
        }
    }

    /// This is how it is: the first question about it is answered so.
    pub fn told<E: Entity>(&self, thing: &E) {
        self.tell(Source::of::<E>(), thing.id(), thing);
    }

    /// It is gone: the first question about it is answered so.
    pub fn told_gone<E: Entity>(&self, id: &str) {
        self.tell(Source::of::<E>(), id, &Value::Null);
    }

    fn tell(&self, source: Source, id: &str, thing: &impl Serialize) {
        if let Ok(thing) = serde_json::to_value(thing) {
            let desk = self.desk(source);
            desk.lock().told.insert(id.to_string(), thing);
        }
    }

    async fn look<T: DeserializeOwned>(
        &self,
        source: Source,
        id: &str,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.desk(source).ask(self.0, source, id).await? else {
            return Ok(None);
        };
        let thing = serde_json::from_value(value);
        thing.map(Some).map_err(|error| Error::Malformed {
            service: source.service(),
            method: "GET".into(),
            path: id.to_string(),
            why: error.to_string(),
            request_id: String::new(),
        })
    }

    fn desk(&self, source: Source) -> Arc<Desk> {
        let watch = self.0.extension::<Watch>();
        let mut desks = watch.desks.lock().unwrap_or_else(PoisonError::into_inner);
        desks.entry(source).or_default().clone()
    }
}

impl Source {
    fn of<E: Entity>() -> Source {
        Source::Network(E::PATH, E::MANY)
    }

    /// The source of a collection that can be asked for many ids at once.
    fn of_collection(of: &'static Collection) -> Option<Source> {
        (of.service == Service::Network).then_some(Source::Network(of.path, of.many))
    }

    fn service(self) -> Service {
        match self {
            Source::Servers => Service::Compute,
            Source::Volumes => Service::BlockStorage,
            Source::LoadBalancers => Service::LoadBalancer,
            Source::Network(..) => Service::Network,
        }
    }

    async fn one(self, session: &Session, id: &str) -> Answered {
        let found = match self {
            Source::Servers => plain(session.compute().server_get(id).await),
            Source::Volumes => plain(session.block_storage().volume_get(id).await),
            Source::LoadBalancers => {
                let balancing = session.load_balancer();
                plain(balancing.get(Part::LoadBalancer, id).await)
            }
            // A list of one is no dearer, and needs no word for one.
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

    /// All that are there, or that have changed since; others may be among them.
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
                plain_all(balancing.list(Part::LoadBalancer, &[]).await)
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
    found.map(|thing| serde_json::to_value(thing).unwrap_or(Value::Null))
}

fn plain_all<T: Serialize>(found: Result<Vec<T>, Error>) -> Result<Vec<Value>, Error> {
    found?.into_iter().map(|thing| plain(Ok(thing))).collect()
}

impl Desk {
    async fn ask(self: &Arc<Self>, session: &Session, source: Source, id: &str) -> Answered {
        let (sender, answer) = oneshot::channel();
        let idle = {
            let mut state = self.lock();
            if let Some(thing) = state.told.remove(id) {
                return Ok(Some(thing).filter(|thing| !thing.is_null()));
            }
            state.open.push((id.to_string(), sender));
            !std::mem::replace(&mut state.at_work, true)
        };
        if idle {
            let (desk, session) = (self.clone(), session.clone());
            tokio::spawn(async move { desk.work(&session, source).await });
        }
        // The task answers all; it can only be missing where the program ends.
        answer.await.unwrap_or_else(|_| {
            Err(Error::Connection {
                service: source.service(),
                method: "GET".into(),
                path: id.to_string(),
                wire: crate::Wire::Reset,
                why: "the look was given up".into(),
                request_id: String::new(),
            })
        })
    }

    /// Answers what is open, call by call, until nothing is.
    async fn work(&self, session: &Session, source: Source) {
        loop {
            let pause = self.lock().pause(Instant::now());
            tokio::time::sleep(pause).await;
            let open = {
                let mut state = self.lock();
                // Who has gone away needs no answer.
                state.open.retain(|(_, sender)| !sender.is_closed());
                if state.open.is_empty() {
                    state.at_work = false;
                    return;
                }
                std::mem::take(&mut state.open)
            };
            let ids: HashSet<&String> = open.iter().map(|(id, _)| id).collect();
            let ids: Vec<String> = ids.into_iter().cloned().collect();
            let started = Instant::now();
            let answers = self.fetch(session, source, &ids).await;
            self.lock().ended(started);
            for (id, sender) in open {
                let answer = match &answers {
                    Ok(found) => found.get(&id).cloned().unwrap_or(Ok(None)),
                    Err(error) => Err(error.clone()),
                };
                // Who asked may have gone away.
                let _gone = sender.send(answer);
            }
        }
    }

    async fn fetch(
        &self,
        session: &Session,
        source: Source,
        ids: &[String],
    ) -> Result<HashMap<String, Answered>, Error> {
        if source == Source::Servers {
            return self.servers(session, ids).await;
        }
        self.lock().quiet = 0;
        if ids.len() <= FEW {
            return Ok(one_by_one(session, source, ids).await);
        }
        let found = source.all(session, ids, None).await?;
        Ok(by_id(found))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Until the next call.
    fn pause(&self, now: Instant) -> Duration {
        let Some((ended, took)) = self.last else {
            return GATHERING;
        };
        let quiet = match self.quiet {
            0 => Duration::ZERO,
            calls => (QUIET_FIRST * (1 << (calls - 1).min(8))).min(QUIET_MAX),
        };
        let next = ended + (took * 2).min(PACE_MAX).max(quiet);
        next.saturating_duration_since(now).max(GATHERING)
    }

    fn ended(&mut self, started: Instant) {
        self.last = Some((Instant::now(), started.elapsed()));
    }
}

async fn one_by_one(
    session: &Session,
    source: Source,
    ids: &[String],
) -> HashMap<String, Answered> {
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

fn by_id(found: Vec<Value>) -> HashMap<String, Answered> {
    let with_id = |thing: Value| Some((thing["id"].as_str()?.to_string(), Ok(Some(thing))));
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
