//! Faults that tests arm, and a log of calls.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Something that goes wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// With calls.
    Call(CallFault),
    /// With servers.
    Server(ServerFault),
    /// With volumes.
    Volume(VolumeFault),
    /// With actions on servers and load balancers.
    Action(ActionFault),
    /// With quotas.
    Quota(QuotaFault),
}

/// A fault of calls: the calls it strikes, and its effects. Effects can be combined.
///
/// A call takes its course in this order: it waits for [`commits_after_ms`](Self::commits_after_ms), is carried out, waits for
/// [`delay_ms`](Self::delay_ms), and is answered. Once its body has arrived, a call is carried out even if the client closes the
/// connection or dies, as by a real service. [`status`](Self::status) and [`Damage::CutBefore`] answer without carrying the call
/// out; together with `commits_after_ms` they answer at once and the call is carried out later.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallFault {
    /// `identity`, `compute`, `network`, `image`, `block-storage`, `key-manager`, `load-balancer`; all when not told.
    pub service: Option<String>,
    /// `GET`, ...; all when not told.
    pub method: Option<String>,
    /// The path behind the service's prefix, as in `/v2.0/networks*`; `*` is any text. All when not told.
    pub path: Option<String>,
    /// Only the n-th matching call, counted from 1; all when not told.
    pub nth: Option<u64>,
    /// At most so many times; for ever when not told.
    pub times: Option<u64>,
    /// Milliseconds between carrying the call out and its answer: a change that is made at once, but confirmed late.
    pub delay_ms: u64,
    /// Milliseconds between the call's arrival and carrying it out: a change that is made late. The state that the call finds is
    /// the state of that later moment. `None` carries the call out at once, or not at all where another effect says so.
    pub commits_after_ms: Option<u64>,
    /// Answer at once, with [`status`](Self::status) or without an answer, and carry the call out when a fault with
    /// [`releases_held`](Self::releases_held) strikes another call: a change that is made late, at a moment that is known.
    pub is_held: bool,
    /// Before this call, carry out all held calls.
    pub releases_held: bool,
    /// Milliseconds for which lists miss a new thing. A GET with its id finds it from the beginning.
    ///
    /// On a real cloud, lists lag where the API reads from a database replica, and there a GET by id can miss the thing as well.
    /// Only things that a POST has answered with an id while such a fault was set are missed.
    pub lags_ms: u64,
    /// Answer with this status instead of carrying the call out.
    pub status: Option<u16>,
    /// With this body; the service's usual one when not told.
    pub body: Option<String>,
    /// Further header fields, such as `Retry-After`.
    pub headers: BTreeMap<String, String>,
    /// Damage to the answer.
    pub damage: Option<Damage>,
}

/// Damage to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// The connection ends without an answer, before the call is carried out. It is carried out later if `commits_after_ms` says
    /// so, else not at all.
    CutBefore,
    /// The call is done, and the connection ends without the whole answer.
    CutAfter,
    /// The call is done, and the answer's body is not JSON.
    WrongJson,
}

/// Which servers, and what happens to them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerFault {
    /// Servers with this name; `*` is any text.
    pub name: String,
    /// The effect.
    pub fault: ServerTrouble,
    /// At most so many servers; all when not told.
    #[serde(default)]
    pub times: Option<u64>,
}

/// The effect on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerTrouble {
    /// It goes to ERROR instead of ACTIVE.
    Error,
    /// It stays in BUILD.
    NeverActive,
    /// It is ACTIVE, but nothing listens.
    NoSsh,
    /// It is ACTIVE, and after so many milliseconds it dies.
    Dies(u64),
}

/// Which volumes, and what happens to them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VolumeFault {
    /// Volumes with this name; `*` is any text.
    pub name: String,
    /// The effect.
    pub fault: VolumeTrouble,
    /// At most so many volumes; all when not told.
    #[serde(default)]
    pub times: Option<u64>,
}

/// The effect on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeTrouble {
    /// It goes to `error` instead of `available`.
    Error,
    /// It stays in `creating`.
    NeverAvailable,
}

/// Actions that are accepted and then fail.
///
/// The call is answered as if all went well (but for `attach_interface`, which Nova carries out before it answers). What is left
/// afterwards is what Nova, Cinder or Octavia leave: after `resize` the old flavor and the old status, after `attach_volume` an
/// available volume, after `detach_volume` and `detach_interface` what was plugged in, after `rebuild` and `delete` a server in
/// ERROR, of a load balancer ERROR. The server's instance action tells of the failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActionFault {
    /// Name of the server or load balancer; `*` is any text.
    pub name: String,
    /// Name of the action; `*` is any text. For a server it is that of the instance action: `resize`, `revertResize`, `rebuild`,
    /// `attach_volume`, `detach_volume`, `attach_interface`, `detach_interface`, `createImage`, `stop`, `delete`, ... For a load
    /// balancer it is `create`, `update` or `delete`, of the load balancer or a part of it, or `failover`.
    pub action: String,
    /// Number of actions that fail; all if absent.
    #[serde(default)]
    pub times: Option<u64>,
}

/// A quota that nobody can see: Nova refuses further servers of a project, though its limits show room.
///
/// On a real cloud, somebody else has used up the quota since the limits were read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuotaFault {
    /// Number of servers that a project may have.
    pub instances: i64,
}

/// One call that came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The service.
    pub service: String,
    /// `GET`, ...
    pub method: String,
    /// Behind the service's prefix.
    pub path: String,
}

/// The list of faults, and the log of calls.
#[derive(Debug, Default)]
pub struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    armed: Vec<Armed>,
    calls: Vec<Call>,
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    /// Ids of things that were made while lists lag, with the time.
    births: HashMap<String, Instant>,
    held: Vec<Held>,
}

/// A call that is answered and not yet carried out.
struct Held(Pin<Box<dyn Future<Output = ()> + Send>>);

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    seen: u64,
    done: u64,
}

/// The log of calls stops growing here; the counts go on.
const CALLS_MAX: usize = 200_000;

impl Faults {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Add one.
    pub fn add(&self, fault: Fault) {
        self.state().armed.push(Armed {
            fault,
            seen: 0,
            done: 0,
        });
    }

    /// The armed faults.
    pub fn list(&self) -> Vec<Fault> {
        self.state()
            .armed
            .iter()
            .map(|armed| armed.fault.clone())
            .collect()
    }

    /// Take all off the list.
    pub fn clear(&self) {
        let mut state = self.state();
        state.armed.clear();
        state.births.clear();
        state.held.clear();
    }

    /// Keep a call until [`Faults::release`].
    pub(crate) fn hold(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.state().held.push(Held(Box::pin(call)));
    }

    /// Carry out all held calls, in the order of their arrival.
    pub(crate) async fn release(&self) {
        let held = std::mem::take(&mut self.state().held);
        for call in held {
            call.0.await;
        }
    }

    /// Whether any list lags, so that births have to be noted.
    pub(crate) fn lists_lag(&self) -> bool {
        let lags = |armed: &Armed| matches!(&armed.fault, Fault::Call(fault) if fault.lags_ms > 0);
        self.state().armed.iter().any(lags)
    }

    /// Note the ids of things that have just been made.
    pub(crate) fn note_births(&self, ids: impl IntoIterator<Item = String>) {
        let now = Instant::now();
        let births = ids.into_iter().map(|id| (id, now));
        self.state().births.extend(births);
    }

    /// Whether a thing was made less than `age` ago.
    pub(crate) fn is_younger(&self, id: &str, age: Duration) -> bool {
        let state = self.state();
        state
            .births
            .get(id)
            .is_some_and(|born| born.elapsed() < age)
    }

    /// Note a call, and tell what goes wrong with it.
    pub fn on_call(&self, service: &str, method: &str, path: &str) -> Option<CallFault> {
        let mut state = self.state();
        *state
            .counts
            .entry(service.into())
            .or_default()
            .entry(method.into())
            .or_default() += 1;
        if state.calls.len() < CALLS_MAX {
            state.calls.push(Call {
                service: service.into(),
                method: method.into(),
                path: path.into(),
            });
        }
        let same = |wanted: &Option<String>, is: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(is))
        };
        let mut found = None;
        for armed in &mut state.armed {
            let Fault::Call(fault) = &armed.fault else {
                continue;
            };
            let here = same(&fault.service, service)
                && same(&fault.method, method)
                && fault
                    .path
                    .as_ref()
                    .is_none_or(|pattern| matches(pattern, path));
            if !here {
                continue;
            }
            armed.seen += 1;
            let due = fault.nth.is_none_or(|nth| nth == armed.seen)
                && fault.times.is_none_or(|times| armed.done < times);
            if due && found.is_none() {
                armed.done += 1;
                found = Some(fault.clone());
            }
        }
        found
    }

    /// The fault of a new server of this name.
    pub fn on_server(&self, name: &str) -> Option<ServerTrouble> {
        self.strike(|fault| match fault {
            Fault::Server(fault) if matches(&fault.name, name) => Some((fault.times, fault.fault)),
            _ => None,
        })
    }

    /// The fault of a new volume of this name.
    pub fn on_volume(&self, name: &str) -> Option<VolumeTrouble> {
        self.strike(|fault| match fault {
            Fault::Volume(fault) if matches(&fault.name, name) => Some((fault.times, fault.fault)),
            _ => None,
        })
    }

    /// Whether an action on a server or load balancer of this name fails.
    pub fn fails(&self, name: &str, action: &str) -> bool {
        let struck = self.strike(|fault| match fault {
            Fault::Action(fault)
                if matches(&fault.name, name) && matches(&fault.action, action) =>
            {
                Some((fault.times, ()))
            }
            _ => None,
        });
        struck.is_some()
    }

    /// The number of servers that a project may have, if a fault says so.
    pub fn instances_max(&self) -> Option<i64> {
        self.strike(|fault| match fault {
            Fault::Quota(fault) => Some((None, fault.instances)),
            _ => None,
        })
    }

    /// The effect of the first armed fault that applies and has not struck as often as it may. `applies` gives the number of
    /// times, and the effect.
    fn strike<R>(&self, applies: impl Fn(&Fault) -> Option<(Option<u64>, R)>) -> Option<R> {
        let mut state = self.state();
        state.armed.iter_mut().find_map(|armed| {
            let (times, effect) = applies(&armed.fault)?;
            times.is_none_or(|times| armed.done < times).then(|| {
                armed.done += 1;
                effect
            })
        })
    }

    /// How many calls, by service and method.
    pub fn counts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        self.state().counts.clone()
    }

    /// The calls in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Forget all calls.
    pub fn clear_calls(&self) {
        let mut state = self.state();
        state.calls.clear();
        state.counts.clear();
    }
}

/// Whether a text fits a pattern in which `*` is any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|at| tail.is_char_boundary(*at))
                .any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::faults::*;

    #[test]
    fn a_star_in_a_pattern_matches_any_text() {
        assert!(matches("/v2.0/networks*", "/v2.0/networks/1"));
        assert!(matches("*/action", "/v2.1/servers/1/action"));
        assert!(matches("*", ""));
        assert!(!matches("/v2.0/networks", "/v2.0/networks/1"));
        assert!(matches("/a/*/c*", "/a/b/c"));
    }

    #[test]
    fn only_the_nth_call_fails() {
        let faults = Faults::default();
        faults.add(Fault::Call(CallFault {
            service: Some("network".into()),
            nth: Some(2),
            status: Some(503),
            ..Default::default()
        }));
        let hit: Vec<bool> = ["network", "compute", "network", "network"]
            .map(|service| faults.on_call(service, "GET", "/").is_some())
            .into();
        assert_eq!(hit, [false, false, true, false]);
        assert_eq!(faults.counts()["network"]["GET"], 3);
    }
}
