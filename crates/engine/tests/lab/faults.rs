//! The retry rules, and a failure of each call in turn.

use api::{RunState, StepState};
use lab::{CallFault, Damage, Fault, ServerFault, ServerTrouble};

use crate::{
    bench::{Bench, NET, TWO_SERVERS, steps},
    rare::with_a_pair,
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

/// A failure of each changing call in turn, once and permanently.
#[tokio::test]
async fn no_resource_is_left_after_a_failure_at_any_call() {
    fails_everywhere(TWO_SERVERS).await;
}

#[tokio::test]
async fn no_rare_resource_is_left_after_a_failure_at_any_call() {
    fails_everywhere(&with_a_pair()).await;
}

async fn fails_everywhere(template: &str) {
    let bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    let (started, run) = bench.deploy(template).await;
    assert_eq!(run.state, RunState::Succeeded);
    let changes = |calls: Vec<lab::Call>| {
        calls
            .into_iter()
            .filter(|call| call.method != "GET" && call.service != "identity")
            .count() as u64
    };
    let count = changes(bench.lab.faults().calls());
    bench.undeploy(&started.deployment).await;
    assert!(count > 8, "{count}");

    for nth in 1..=count {
        for (status, method) in [(500, "POST"), (409, "POST"), (500, "PUT")] {
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
}
