//! Faults that tests arm, and a log of calls.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// An injected fault.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// In API calls.
    Call(CallFault),
    /// In servers.
    Server(ServerFault),
    /// In volumes.
    Volume(VolumeFault),
    /// In actions on servers and load balancers.
    Action(ActionFault),
    /// In quotas.
    Quota(QuotaFault),
}

/// A fault in calls: a filter for the calls, and the effects. Effects can be combined.
///
/// A call is processed in this order: it waits for [`commits_after_ms`](Self::commits_after_ms), is executed, waits for
/// [`delay_ms`](Self::delay_ms), and is answered. Once its body has arrived, a call is executed even if the client
/// closes the connection or dies, as in a real service. [`status`](Self::status) and [`Damage::CutBefore`] respond
/// without executing the call; together with `commits_after_ms` they respond immediately and the call is executed
/// later.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallFault {
    /// `identity`, `compute`, `network`, `image`, `block-storage`, `key-manager`, `load-balancer`. `None` matches all.
    pub service: Option<String>,
    /// `GET`, ... `None` matches all.
    pub method: Option<String>,
    /// The path behind the service's prefix, as in `/v2.0/networks*`; `*` matches any text. `None` matches all.
    pub path: Option<String>,
    /// Only the n-th matching call, counted from 1. `None` matches all.
    pub nth: Option<u64>,
    /// Maximum number of calls. `None` is unlimited.
    pub times: Option<u64>,
    /// Milliseconds between execution and response: a change that takes effect immediately and is confirmed late.
    pub delay_ms: u64,
    /// Milliseconds between the call's arrival and its execution: a change that takes effect late, on the state of that
    /// later moment. `None` executes the call immediately, or not at all if another effect prevents it.
    pub commits_after_ms: Option<u64>,
    /// Respond immediately, with [`status`](Self::status) or without a response, and execute the call when a fault with
    /// [`releases_held`](Self::releases_held) matches another call: a change that takes effect late, at a defined
    /// moment.
    pub is_held: bool,
    /// Execute all held calls before this call.
    pub releases_held: bool,
    /// Milliseconds during which lists omit a new resource. A GET by id finds it immediately.
    ///
    /// On a real cloud, lists lag where the API reads from a database replica, and there a GET by id can miss the
    /// resource too. Only resources from a POST with an id in its response, made while such a fault was armed, are
    /// omitted.
    pub lags_ms: u64,
    /// Respond with this status instead of executing the call.
    pub status: Option<u16>,
    /// The response body. `None` uses the service's usual one.
    pub body: Option<String>,
    /// Additional response headers, such as `Retry-After`.
    pub headers: BTreeMap<String, String>,
    /// Damage to the response.
    pub damage: Option<Damage>,
}

/// Damage to a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// The connection ends without a response, before the call is executed. The call is executed later if
    /// `commits_after_ms` is set, else not at all.
    CutBefore,
    /// The call is executed, and the connection ends before the whole response is sent.
    CutAfter,
    /// The call is executed, and the response body is not JSON.
    WrongJson,
}

/// A fault in servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerFault {
    /// Name of the servers; `*` matches any text.
    pub name: String,
    /// The effect.
    pub fault: ServerTrouble,
    /// Maximum number of servers. `None` is unlimited.
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
    /// It is ACTIVE, but has no SSH daemon.
    NoSsh,
    /// It is ACTIVE, and fails after this many milliseconds.
    Dies(u64),
}

/// A fault in volumes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VolumeFault {
    /// Name of the volumes; `*` matches any text.
    pub name: String,
    /// The effect.
    pub fault: VolumeTrouble,
    /// Maximum number of volumes. `None` is unlimited.
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
/// The call itself succeeds (except `attach_interface`, which Nova executes before it responds). The failure leaves the
/// same state as in Nova, Cinder or Octavia: after `resize` the old flavor and status, after `attach_volume` an
/// available volume, after `detach_volume` and `detach_interface` the attachment, after `rebuild` and `delete` a server
/// in ERROR. Load balancers go to ERROR. The server's instance action records the failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActionFault {
    /// Name of the server or load balancer; `*` matches any text.
    pub name: String,
    /// Name of the action; `*` matches any text. For a server it is the name of the instance action: `resize`,
    /// `revertResize`, `rebuild`, `attach_volume`, `detach_volume`, `attach_interface`, `detach_interface`,
    /// `createImage`, `stop`, `delete`, ... For a load balancer it is `create`, `update` or `delete`, of the load
    /// balancer or a part of it.
    pub action: String,
    /// Maximum number of failing actions. `None` is unlimited.
    #[serde(default)]
    pub times: Option<u64>,
}

/// A hidden quota: Nova refuses further servers of a project although its limits show room.
///
/// It simulates quota consumed by others after the limits were read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuotaFault {
    /// Maximum number of servers of a project.
    pub instances: i64,
}

/// A received call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The service.
    pub service: String,
    /// `GET`, ...
    pub method: String,
    /// The path behind the service's prefix.
    pub path: String,
}

/// The armed faults and the log of calls.
#[derive(Debug, Default)]
pub struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    armed: Vec<Armed>,
    calls: Vec<Call>,
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    /// Ids of resources that were created while lists lag, with the time.
    births: HashMap<String, Instant>,
    held: Vec<Held>,
}

/// A call that is answered and not yet executed.
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

/// Maximum length of the log of calls. The counts continue.
const CALLS_MAX: usize = 200_000;

impl Faults {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Arms a fault.
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

    /// Disarms all faults and drops held calls.
    pub fn clear(&self) {
        let mut state = self.state();
        state.armed.clear();
        state.births.clear();
        state.held.clear();
    }

    /// Holds a call until [`Faults::release`].
    pub(crate) fn hold(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.state().held.push(Held(Box::pin(call)));
    }

    /// Executes all held calls, in the order of their arrival.
    pub(crate) async fn release(&self) {
        let held = std::mem::take(&mut self.state().held);
        for call in held {
            call.0.await;
        }
    }

    /// Whether any list lags, so that new ids must be recorded.
    pub(crate) fn lists_lag(&self) -> bool {
        let lags = |armed: &Armed| matches!(&armed.fault, Fault::Call(fault) if fault.lags_ms > 0);
        self.state().armed.iter().any(lags)
    }

    /// Records the ids of resources that have just been created.
    pub(crate) fn record_created(&self, ids: impl IntoIterator<Item = String>) {
        let now = Instant::now();
        let births = ids.into_iter().map(|id| (id, now));
        self.state().births.extend(births);
    }

    /// Whether a resource was created less than `age` ago.
    pub(crate) fn is_younger(&self, id: &str, age: Duration) -> bool {
        let state = self.state();
        state
            .births
            .get(id)
            .is_some_and(|born| born.elapsed() < age)
    }

    /// Records a call, and returns its fault.
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

    /// The fault of a new server with this name.
    pub fn on_server(&self, name: &str) -> Option<ServerTrouble> {
        self.next_effect(|fault| match fault {
            Fault::Server(fault) if matches(&fault.name, name) => Some((fault.times, fault.fault)),
            _ => None,
        })
    }

    /// The fault of a new volume with this name.
    pub fn on_volume(&self, name: &str) -> Option<VolumeTrouble> {
        self.next_effect(|fault| match fault {
            Fault::Volume(fault) if matches(&fault.name, name) => Some((fault.times, fault.fault)),
            _ => None,
        })
    }

    /// Whether an action on a server or load balancer with this name fails.
    pub fn fails(&self, name: &str, action: &str) -> bool {
        let struck = self.next_effect(|fault| match fault {
            Fault::Action(fault)
                if matches(&fault.name, name) && matches(&fault.action, action) =>
            {
                Some((fault.times, ()))
            }
            _ => None,
        });
        struck.is_some()
    }

    /// The maximum number of servers of a project, if a fault limits it.
    pub fn instances_max(&self) -> Option<i64> {
        self.next_effect(|fault| match fault {
            Fault::Quota(fault) => Some((None, fault.instances)),
            _ => None,
        })
    }

    /// The effect of the first armed fault that applies and has not reached its maximum. `applies` returns that maximum
    /// and the effect.
    fn next_effect<R>(&self, applies: impl Fn(&Fault) -> Option<(Option<u64>, R)>) -> Option<R> {
        let mut state = self.state();
        state.armed.iter_mut().find_map(|armed| {
            let (times, effect) = applies(&armed.fault)?;
            times.is_none_or(|times| armed.done < times).then(|| {
                armed.done += 1;
                effect
            })
        })
    }

    /// The number of calls, by service and method.
    pub fn counts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        self.state().counts.clone()
    }

    /// The calls in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Clears the log and the counts.
    pub fn clear_calls(&self) {
        let mut state = self.state();
        state.calls.clear();
        state.counts.clear();
    }
}

/// Whether a text matches a pattern in which `*` is any text.
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
