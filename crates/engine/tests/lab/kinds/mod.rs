//! Each step of a deployment, of its undeployment, and of the runs in between ([`later`]) meets each kind of error, once and
//! always.
//!
//! An error that occurs once is mended by the run itself. With one that occurs always, the run ends with its cause, and
//! goes on when the cloud works again. Each resource exists once, and nothing is left.

use std::collections::BTreeSet;

use api::{Run, RunState, StepState};
use futures::future::join_all;
use lab::{Call, CallFault, Damage, Fault};

use crate::{bench::Bench, faults::pattern, sweep::ALL_KINDS};

mod later;

/// Time limit of a call, in seconds.
const TIMEOUT: u64 = 3;

/// Labs side by side, since runs wait for resources that might come late.
const LANES: usize = 3;

/// A kind of error.
struct Kind {
    name: &'static str,
    fault: CallFault,
    /// The cloud does what was asked, and only the answer is lost. Then the next attempt finds it done.
    is_carried_out: bool,
}

impl Kind {
    fn all() -> Vec<Kind> {
        let status = |name, status| Kind {
            name,
            fault: CallFault {
                status: Some(status),
                ..CallFault::default()
            },
            is_carried_out: false,
        };
        let damage = |name, damage| Kind {
            name,
            fault: CallFault {
                damage: Some(damage),
                ..CallFault::default()
            },
            is_carried_out: damage != Damage::CutBefore,
        };
        let time_out = Kind {
            name: "no answer in time",
            fault: CallFault {
                delay_ms: 2 * 1000 * TIMEOUT,
                ..CallFault::default()
            },
            is_carried_out: true,
        };
        vec![
            status("a conflict", 409),
            status("too many requests", 429),
            status("an internal error", 500),
            status("an unavailable service", 503),
            time_out,
            damage("a connection that is reset", Damage::CutBefore),
            damage("half an answer", Damage::CutAfter),
            damage("an answer that is no JSON", Damage::WrongJson),
        ]
    }
}

/// A kind of calls: service, method and path.
type Calls = (String, String, String);

impl Bench {
    /// Calls of this kind meet an error from now on, all of them or a number of times.
    fn arm(&self, (service, method, path): &Calls, kind: &Kind, times: Option<u64>) {
        self.lab.faults().add(Fault::Call(CallFault {
            service: Some(service.clone()),
            method: Some(method.clone()),
            path: Some(path.clone()),
            times,
            ..kind.fault.clone()
        }));
    }
}

/// A lab, with the calls that create and delete the resources of [`ALL_KINDS`].
struct Trial {
    bench: Bench,
    /// Number of resources.
    full: usize,
    creations: Vec<Calls>,
    deletions: Vec<Calls>,
}

impl Trial {
    async fn new() -> Trial {
        let bench = Bench::with_call_timeout(TIMEOUT).await;
        let deployment = bench.deployed(ALL_KINDS).await;
        // Router interfaces and routes are added to their router, and removed from it.
        let is_creation = |call: &Call| call.method == "POST" || call.path.contains("/add_");
        let creations = calls(&bench, is_creation);
        let full = bench.left().len();
        bench.lab.faults().clear_calls();
        bench.undeploy(&deployment).await;
        let is_deletion = |call: &Call| call.method == "DELETE" || call.path.contains("/remove_");
        let deletions = calls(&bench, is_deletion);
        assert!(creations.len() >= 8, "{creations:?}");
        assert!(deletions.len() >= 8, "{deletions:?}");
        Trial {
            bench,
            full,
            creations,
            deletions,
        }
    }

    /// Number of pairs of a creation and a deletion.
    fn pairs(&self) -> usize {
        self.creations.len().max(self.deletions.len())
    }

    fn pair(&self, number: usize) -> [&Calls; 2] {
        [&self.creations, &self.deletions].map(|calls| &calls[number % calls.len()])
    }

    fn is_complete(&self, what: &str) {
        let left = self.bench.left();
        assert_eq!(left.len(), self.full, "{what}: {left:?}");
    }

    fn is_empty(&self, what: &str) {
        assert_eq!(self.bench.left(), Vec::<String>::new(), "{what}");
    }

    /// One call of each of the two kinds of calls fails.
    async fn once(&self, number: usize, kind: &Kind) {
        let [creation, deletion] = self.pair(number);
        let what = format!("{} once at {creation:?}", kind.name);
        self.bench.arm(creation, kind, Some(1));
        let (started, run) = self.bench.deploy(ALL_KINDS).await;
        self.bench.lab.faults().clear();
        assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
        self.is_complete(&what);

        let what = format!("{} once at {deletion:?}", kind.name);
        self.bench.arm(deletion, kind, Some(1));
        let run = self.bench.undeploy(&started.deployment).await;
        self.bench.lab.faults().clear();
        assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
        self.is_empty(&what);
    }

    /// All of these calls fail, until the cloud works again.
    async fn always(&self, number: usize, kind: &Kind) {
        let [creation, deletion] = self.pair(number);
        let what = format!("{} always at {creation:?}", kind.name);
        self.bench.arm(creation, kind, None);
        let (started, run) = self.bench.deploy(ALL_KINDS).await;
        ends_with_its_cause(&run, kind, &what);
        assert_eq!(self.bench.sealed(store::SealedKind::Run).await, 0, "{what}");
        self.bench.lab.faults().clear();
        self.bench.goes_on(&run.id, &what).await;
        self.is_complete(&what);

        let what = format!("{} always at {deletion:?}", kind.name);
        self.bench.arm(deletion, kind, None);
        let run = self.bench.undeploy(&started.deployment).await;
        ends_with_its_cause(&run, kind, &what);
        assert_eq!(self.bench.sealed(store::SealedKind::Run).await, 0, "{what}");
        self.bench.lab.faults().clear();
        self.bench.goes_on(&run.id, &what).await;
        self.is_empty(&what);
    }
}

/// The kinds of calls since the last reset.
fn calls(bench: &Bench, is_wanted: impl Fn(&Call) -> bool) -> Vec<Calls> {
    let all = bench.lab.faults().calls().into_iter();
    let wanted = all.filter(|call| call.service != "identity" && is_wanted(call));
    let kinds: BTreeSet<Calls> = wanted
        .map(|call| (call.service, call.method, pattern(&call.path)))
        .collect();
    kinds.into_iter().collect()
}

fn ends_with_its_cause(run: &Run, kind: &Kind, what: &str) {
    if kind.is_carried_out && run.state == RunState::Succeeded {
        return;
    }
    assert_eq!(run.state, RunState::Failed, "{what}: {run:#?}");
    let failed = run.steps.iter();
    let failed: Vec<_> = failed
        .filter(|step| step.state == StepState::Failed)
        .collect();
    let reason = run.reason.as_deref().unwrap_or_default();
    assert!(
        failed.iter().any(|step| reason.contains(&step.id)),
        "{what}: {reason}"
    );
    for step in failed {
        let error = step.error.as_deref().unwrap_or_default();
        assert!(!error.is_empty(), "{what}: {run:#?}");
    }
}

/// The trials of some kinds of errors at all calls, in one lab of several.
async fn lane(lane: usize, kinds_of: impl Fn(usize) -> Vec<(usize, bool)>) {
    let (trial, kinds) = (Trial::new().await, Kind::all());
    for number in (lane..trial.pairs()).step_by(LANES) {
        for (kind, is_lasting) in kinds_of(number) {
            let kind = &kinds[kind % kinds.len()];
            if is_lasting {
                trial.always(number, kind).await;
            } else {
                trial.once(number, kind).await;
            }
        }
    }
}

/// Each call meets one kind of error once and another one always, and each kind is met.
#[tokio::test]
async fn each_step_meets_a_kind_of_error_once_and_always() {
    let lanes = (0..LANES).map(|number| {
        Box::pin(lane(number, |number| {
            vec![(number, false), (number + 3, true)]
        }))
    });
    join_all(lanes).await;
}

#[tokio::test]
#[ignore = "many deployments"]
async fn each_step_meets_each_kind_of_error_once() {
    let each = |_: usize| -> Vec<(usize, bool)> {
        (0..Kind::all().len()).map(|kind| (kind, false)).collect()
    };
    join_all((0..LANES).map(|number| Box::pin(lane(number, each)))).await;
}

#[tokio::test]
#[ignore = "many deployments"]
async fn each_step_meets_each_kind_of_error_always() {
    let each = |_: usize| -> Vec<(usize, bool)> {
        (0..Kind::all().len()).map(|kind| (kind, true)).collect()
    };
    join_all((0..LANES).map(|number| Box::pin(lane(number, each)))).await;
}
