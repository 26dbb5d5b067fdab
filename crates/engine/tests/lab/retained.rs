//! What stays in the cloud: because the template says so, or because there may be something in it.

use api::{RunState, StepState};
use lab::{CallFault, Damage, Fault};
use serde_json::json;

use crate::{
    bench::{Bench, NET, TWO_NETS, steps},
    update::{ONE_SERVER, servers_fail, to},
};

#[tokio::test]
async fn what_is_retained_stays_and_is_told() {
    let bench = Bench::new().await;
    let retained = NET.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, deletion_policy: Retain}",
    );
    let (started, _) = bench.deploy(&retained).await;
    let id = bench.ids(&started.deployment).await["front"].clone();
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded);
    let reason = run.reason.unwrap_or_default();
    assert!(
        reason.contains(&id) && reason.starts_with("left in the cloud"),
        "{reason}"
    );
    assert_eq!(bench.left().len(), 1);

    // And it can be taken over from there, without becoming ours.
    let adopted = NET.replace(
        "OS::Neutron::Net}",
        &format!("OS::Neutron::Net, external_id: {id}}}"),
    );
    let (started, run) = bench.deploy(&adopted).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await["front"], id);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left().len(), 1);
}

#[tokio::test]
async fn what_broke_once_it_was_there_is_not_removed() {
    let bench = Bench::new().await;
    let disk = |size: u32| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  disk: {{type: OS::Cinder::Volume, properties: {{size: {size}}}}}
"
        )
    };
    let (started, _) = bench.deploy(&disk(1)).await;
    let before = bench.ids(&started.deployment).await;
    let broken = json!({"id": before["disk"], "size": 1, "status": "error_extending"});
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some("GET".into()),
        path: Some("*volumes*".into()),
        status: Some(200),
        body: Some(json!({"volume": broken, "volumes": [broken]}).to_string()),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(
        (run.state, steps(&run)["disk:update"]),
        (RunState::Failed, (StepState::Failed, 1)),
        "{run:#?}"
    );
    let error = run.steps[0].error.clone().unwrap_or_default();
    assert!(
        error.contains("error_extending") && error.contains("It is not removed"),
        "{error}"
    );
    assert_eq!(bench.left().len(), 1);

    // Somebody repaired it.
    bench.lab.faults().clear();
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await, before);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Whatever comes under a name of which something was left in the cloud has a mark of its own, so that it is
/// neither taken for it nor removed with it.
#[tokio::test]
async fn what_is_retained_is_never_taken_back() {
    let bench = Bench::new().await;
    let retained = TWO_NETS.replace(
        "front: {type: OS::Neutron::Net}",
        "front: {type: OS::Neutron::Net, deletion_policy: Retain}",
    );
    let only_back = TWO_NETS.replace("  front: {type: OS::Neutron::Net}\n", "");
    let (started, _) = bench.deploy(&retained).await;
    let kept = bench.ids(&started.deployment).await["front"].clone();
    bench.update(&started.deployment, to(&only_back)).await;

    // The first answer says that it failed: whether it is there already is looked for by the mark.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/networks*".into()),
        status: Some(500),
        times: Some(1),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, to(TWO_NETS)).await;
    assert_eq!(
        steps(&run)["front:create"],
        (StepState::Succeeded, 2),
        "{run:#?}"
    );
    assert_ne!(bench.ids(&started.deployment).await["front"], kept);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), ["network shop-front"]);
    bench
        .lab
        .model(|model| assert!(model.networks.get(&kept).is_some()));
}

/// The cloud made it, broke it, and never told us its id.
#[tokio::test]
async fn a_wreck_goes_only_where_the_template_lets_it() {
    for (policy, is_left) in [("Delete", false), ("Retain", true)] {
        let bench = Bench::new().await;
        bench.lab.faults().add(servers_fail(1));
        bench.lab.faults().add(Fault::Call(CallFault {
            service: Some("compute".into()),
            method: Some("POST".into()),
            damage: Some(Damage::CutAfter),
            times: Some(1),
            ..CallFault::default()
        }));
        let template = ONE_SERVER.replace(
            "  web:\n",
            &format!("  web:\n    deletion_policy: {policy}\n"),
        );
        let (started, run) = bench.deploy(&template).await;
        if is_left {
            let error = steps(&run)["web:create"];
            assert_eq!(error.0, StepState::Failed, "{run:#?}");
            assert!(run.reason.unwrap().contains("`deletion_policy`"));
            assert_eq!(bench.servers(), 1, "the wreck, and no other");
        } else {
            assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
            assert_eq!(bench.servers(), 1);
            bench.undeploy(&started.deployment).await;
            assert_eq!(bench.left(), Vec::<String>::new());
        }
    }
}
