//! The retry rules, and a failure of each call in turn, once and always.

use std::collections::BTreeSet;

use api::{RunState, StepState};
use futures::future::join_all;
use lab::{CallFault, Damage, Fault, ServerFault, ServerTrouble};

use crate::{
    bench::{Bench, NET, TWO_SERVERS, steps},
    rare::with_a_pair,
    sweep::{ALL_KINDS, Choice, Nth, all, at, changing_calls, todays},
    update::to,
};

fn making_networks(fault: CallFault) -> Fault {
    Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/networks*".into()),
        ..fault
    })
}

#[tokio::test]
async fn a_refused_creation_is_tried_once_more() {
    let bench = Bench::new().await;
    bench.lab.faults().add(making_networks(CallFault {
        status: Some(500),
        times: Some(1),
        ..CallFault::default()
    }));
    let (started, run) = bench.deploy(NET).await;
    assert_eq!(
        (run.state, steps(&run)["front:create"]),
        (RunState::Succeeded, (StepState::Succeeded, 2))
    );
    let lines = bench.log_lines(&run).await;
    let attempts = lines.iter().filter(|line| line.starts_with("Attempt "));
    assert_eq!(attempts.collect::<Vec<_>>(), ["Attempt 2"], "{lines:?}");
    bench.undeploy(&started.deployment).await;

    bench.lab.faults().add(making_networks(CallFault {
        status: Some(500),
        ..CallFault::default()
    }));
    let (_, run) = bench.deploy(NET).await;
    assert_eq!(
        (run.state, steps(&run)["front:create"]),
        (RunState::Failed, (StepState::Failed, 2))
    );
}

#[tokio::test]
async fn an_unreachable_cloud_is_tried_six_times() {
    for fault in [
        CallFault {
            status: Some(503),
            ..CallFault::default()
        },
        CallFault {
            status: Some(500),
            body: Some("The backend server is unreachable".into()),
            ..CallFault::default()
        },
        CallFault {
            damage: Some(Damage::CutBefore),
            ..CallFault::default()
        },
    ] {
        let bench = Bench::new().await;
        bench.lab.faults().add(making_networks(fault.clone()));
        let (started, run) = bench.deploy(NET).await;
        assert_eq!(
            steps(&run)["front:create"],
            (StepState::Failed, 6),
            "{fault:?}: {run:#?}"
        );
        bench.lab.faults().clear();
        bench.undeploy(&started.deployment).await;

        bench.lab.faults().add(making_networks(CallFault {
            times: Some(5),
            ..fault
        }));
        let (_, run) = bench.deploy(NET).await;
        assert_eq!(steps(&run)["front:create"], (StepState::Succeeded, 6));
    }
}

#[tokio::test]
async fn a_lost_response_creates_nothing_twice() {
    let bench = Bench::new().await;
    bench.lab.faults().add(making_networks(CallFault {
        damage: Some(Damage::CutAfter),
        times: Some(1),
        ..CallFault::default()
    }));
    let (started, run) = bench.deploy(NET).await;
    assert_eq!(steps(&run)["front:create"], (StepState::Succeeded, 2));
    assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_secret_with_a_lost_response_is_found_by_its_marker() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("key-manager".into()),
        method: Some("POST".into()),
        nth: Some(2),
        damage: Some(Damage::CutAfter),
        ..CallFault::default()
    }));
    let secrets = "heat_template_version: 2021-04-16
resources:
  first: {type: OS::Barbican::Secret, properties: {name: note, payload: hush}}
  second: {type: OS::Barbican::Secret, properties: {name: note, payload: hush}, depends_on: first}
";
    let (started, run) = bench.deploy(secrets).await;
    assert_eq!(steps(&run)["second:create"], (StepState::Succeeded, 2));
    assert_eq!(bench.left().len(), 2, "{:?}", bench.left());
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_group_of_the_same_name_is_not_adopted() {
    let bench = Bench::new().await;
    let groups = |names: &[&str]| {
        let groups: Vec<String> = names
            .iter()
            .map(|name| {
                format!("  {name}: {{type: OS::Nova::ServerGroup, properties: {{name: near}}}}\n")
            })
            .collect();
        format!(
            "heat_template_version: 2021-04-16\nresources:\n{}",
            groups.concat()
        )
    };
    let (started, _) = bench.deploy(&groups(&["first", "second"])).await;
    assert_eq!(bench.left().len(), 2);

    // A resource whose creation was refused has no effect on others, and its deletion deletes none of them.
    let refused = CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        status: Some(400),
        ..CallFault::default()
    };
    bench.lab.faults().add(Fault::Call(refused));
    let all = groups(&["first", "second", "third"]);
    let run = bench.update(&started.deployment, to(&all)).await;
    assert_eq!(run.state, RunState::Failed);
    bench.lab.faults().clear();
    let run = bench
        .update(&started.deployment, to(&groups(&["first", "second"])))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left().len(), 2);

    // A resource whose response was lost is found.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        damage: Some(Damage::CutAfter),
        times: Some(1),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, to(&all)).await;
    assert_eq!(steps(&run)["third:create"], (StepState::Succeeded, 2));
    assert_eq!(bench.left().len(), 3);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_in_error_is_replaced_once() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Server(ServerFault {
        name: "*web*".into(),
        fault: ServerTrouble::Error,
        times: Some(1),
    }));
    let (started, run) = bench.deploy(TWO_SERVERS).await;
    assert_eq!(
        (run.state, steps(&run)["web:create"]),
        (RunState::Succeeded, (StepState::Succeeded, 2)),
        "{run:#?}"
    );
    assert_eq!(bench.lab.model(|model| model.servers.iter().count()), 2);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn no_resource_is_left_after_a_failure_at_one_of_todays_calls() {
    fails_at(TWO_SERVERS, todays).await;
}

#[tokio::test]
#[ignore = "many deployments"]
async fn no_resource_is_left_after_a_failure_at_any_call() {
    for template in [TWO_SERVERS, &with_a_pair()] {
        fails_at(template, all).await;
    }
}

/// A failure of each chosen one of the changing calls in turn, once.
async fn fails_at(template: &str, choice: Choice) {
    let bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    let deployment = bench.deployed(template).await;
    let changes = |calls: Vec<lab::Call>| {
        calls
            .into_iter()
            .filter(|call| call.method != "GET" && call.service != "identity")
            .count() as u64
    };
    let count = changes(bench.lab.faults().calls());
    bench.undeploy(&deployment).await;
    assert!(count > 8, "{count}");

    // Side by side: many of these runs wait for resources that might come late.
    let failures = [(500, "POST"), (409, "POST"), (500, "PUT")];
    let chosen: Vec<u64> = (1..=count)
        .filter(|nth| choice(usize::try_from(*nth).unwrap()))
        .collect();
    let each = failures
        .map(|(status, method)| Box::pin(fails_at_each_call(template, &chosen, status, method)));
    join_all(each).await;
}

async fn fails_at_each_call(template: &str, chosen: &[u64], status: u16, method: &str) {
    let bench = Bench::new().await;
    for nth in chosen.iter().copied() {
        bench.lab.faults().clear();
        let fault = CallFault {
            method: Some(method.into()),
            nth: Some(nth),
            status: Some(status),
            ..CallFault::default()
        };
        bench.lab.faults().add(Fault::Call(fault));
        let (started, run) = bench.deploy(template).await;
        assert_eq!(
            run.state,
            RunState::Succeeded,
            "one failure of {method} number {nth} is mended: {run:#?}"
        );
        bench.undeploy(&started.deployment).await;
        assert_eq!(
            bench.left(),
            Vec::<String>::new(),
            "after {method} number {nth} failed"
        );
    }
}

#[tokio::test]
async fn no_resource_is_left_after_a_failure_at_one_of_todays_calls_of_an_undeployment() {
    undeployment_fails_at(ALL_KINDS, todays).await;
}

#[tokio::test]
#[ignore = "many undeployments"]
async fn no_resource_is_left_after_a_failure_at_any_call_of_an_undeployment() {
    for template in [ALL_KINDS, &with_a_pair()] {
        undeployment_fails_at(template, all).await;
    }
}

/// Each chosen one of the changing calls of an undeployment fails once.
async fn undeployment_fails_at(template: &str, choice: Choice) {
    let bench = Bench::new().await;
    let deployment = bench.deployed(template).await;
    bench.lab.faults().clear_calls();
    bench.undeploy(&deployment).await;
    let calls = changing_calls(&bench);
    let deletions = calls.iter().filter(|(_, method, _)| method == "DELETE");
    assert!(deletions.count() >= 8, "{calls:?}");

    let calls = calls.into_iter().enumerate();
    let calls = calls.filter(|(number, _)| choice(*number));
    let chosen: Vec<Nth> = calls.map(|(_, call)| call).collect();
    let each = [500, 503].map(|status| Box::pin(undeployments_fail(template, &chosen, status)));
    join_all(each).await;
}

async fn undeployments_fail(template: &str, calls: &[Nth], status: u16) {
    let bench = Bench::new().await;
    for call in calls {
        let deployment = bench.deployed(template).await;
        let fault = CallFault {
            status: Some(status),
            ..CallFault::default()
        };
        bench.lab.faults().add(at(call, fault));
        let run = bench.undeploy(&deployment).await;
        bench.lab.faults().clear();
        assert_eq!(
            run.state,
            RunState::Succeeded,
            "one answer {status} to {call:?} is mended: {run:#?}"
        );
        let left = bench.left();
        assert_eq!(left, Vec::<String>::new(), "{status} at {call:?}");
    }
}

#[tokio::test]
async fn a_creation_that_is_always_refused_ends_the_run_with_its_cause() {
    creations_always_fail(ALL_KINDS, 400).await;
}

/// The usual test of all kinds of errors is in `kinds`.
#[tokio::test]
#[ignore = "many deployments"]
async fn a_creation_that_always_fails_ends_the_run_with_its_cause() {
    creations_always_fail(ALL_KINDS, 500).await;
}

#[tokio::test]
#[ignore = "many deployments"]
async fn a_rare_creation_that_always_fails_ends_the_run_with_its_cause() {
    for status in [400, 500] {
        creations_always_fail(&with_a_pair(), status).await;
    }
}

/// The path of a call, with `*` in the place of each id.
pub fn pattern(path: &str) -> String {
    let is_id =
        |part: &str| part.len() >= 32 && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let parts = path
        .split('/')
        .map(|part| if is_id(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Each kind of creating call of a deployment always has this answer.
async fn creations_always_fail(template: &str, status: u16) {
    let bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    let (started, run) = bench.deploy(template).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let calls = bench.lab.faults().calls().into_iter();
    // Router interfaces and routes are added to their router.
    let is_creation = |call: &lab::Call| call.method == "POST" || call.path.contains("/add_");
    let creations: BTreeSet<(String, String, String)> = calls
        .filter(|call| call.service != "identity" && is_creation(call))
        .map(|call| (call.service, call.method, pattern(&call.path)))
        .collect();
    assert!(creations.len() >= 8, "{creations:?}");
    bench.undeploy(&started.deployment).await;

    for (service, method, path) in &creations {
        let what = format!("{status} at {method} {path} of {service}");
        bench.lab.faults().add(Fault::Call(CallFault {
            service: Some(service.clone()),
            method: Some(method.clone()),
            path: Some(path.clone()),
            status: Some(status),
            ..CallFault::default()
        }));
        let (started, run) = bench.deploy(template).await;
        assert_eq!(run.state, RunState::Failed, "{what}: {run:#?}");
        let failed = run.steps.iter();
        let failed: Vec<_> = failed
            .filter(|step| step.state == StepState::Failed)
            .collect();
        assert!(!failed.is_empty(), "{what}: {run:#?}");
        for step in &failed {
            let error = step.error.as_deref().unwrap_or_default();
            assert!(
                error.contains("The lab was told to fail here"),
                "{what}: {error}"
            );
        }
        let reason = run.reason.as_deref().unwrap_or_default();
        assert!(
            failed.iter().any(|step| reason.contains(&step.id)),
            "{what}: {reason}"
        );
        assert_eq!(bench.sealed(store::SealedKind::Run).await, 0, "{what}");

        // The calls still fail.
        let run = bench.undeploy(&started.deployment).await;
        bench.lab.faults().clear();
        assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
        assert_eq!(bench.left(), Vec::<String>::new(), "{what}");
    }
}
