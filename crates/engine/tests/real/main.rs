//! The engine with a real cloud: creation, deletion, and no leftovers, even if a service stops in between.
//!
//! The tests need a cloud (`cargo xtask contract --cloud real --clouds FILE`) and pass without one. The design is the
//! demo's infrastructure: a network behind a router, two servers, a floating IP, security groups, an attached volume, a
//! key pair whose private key is stored in the key manager.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod attributes;
mod beside_heat;
mod checked;
mod heat;
mod inventory;
mod life;
#[path = "../common/marked.rs"]
mod marked;
mod pieces;
mod place;
mod software;

use std::collections::BTreeMap;

use api::{EventBody, Run, RunState, StepState};
use place::{Place, real_cloud};
use serde_json::{Value, json};

const DEMO: &str = include_str!("demo.yaml");

/// Image, flavor and external network of the cloud.
async fn parameters(place: &Place) -> BTreeMap<String, Value> {
    let session = &place.actor.session;
    let images = session.image().image_list(&[("status", "active")]).await;
    let mut flavors = session.compute().flavor_list().await.unwrap();
    flavors.sort_by_key(|flavor| (flavor.ram, flavor.disk));
    let outside = session.network().external_networks().await.unwrap();
    BTreeMap::from([
        ("image".to_owned(), json!(images.unwrap()[0].id)),
        ("flavor".to_owned(), json!(flavors[0].name)),
        ("outside".to_owned(), json!(outside[0].id)),
    ])
}

fn assert_succeeded(run: &Run) {
    let failed: Vec<_> = run
        .steps
        .iter()
        .filter(|step| step.state != StepState::Succeeded)
        .map(|step| (&step.id, step.state, &step.error))
        .collect();
    assert_eq!(run.state, RunState::Succeeded, "{failed:#?}");
}

/// Runs a command line of `$STACKLOOM_CONTRACT_STOP` or `..._START`.
async fn run_command(variable: &str) {
    let line = std::env::var(variable).unwrap();
    let done = tokio::process::Command::new("sh")
        .args(["-c", &line])
        .stdout(std::process::Stdio::null())
        .status()
        .await;
    assert!(done.unwrap().success(), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_deployed_and_leaves_nothing() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, "contract-demo").await;
    let before = place.belongings().await;
    let started = place
        .deploy("contract-demo", DEMO, parameters(&place).await)
        .await;
    let begun = std::time::Instant::now();
    let run = place.end_of(&started.run, |_| {}).await;
    eprintln!("deployed in {:.1} s", begun.elapsed().as_secs_f32());
    assert_succeeded(&run);

    let shown = place.engine.deployment(&place.tenant, &started.deployment);
    let shown = shown.await.unwrap();
    let address = shown.outputs["address"].value.clone().unwrap();
    assert!(address.as_str().is_some_and(|text| !text.is_empty()));
    let there = place.belongings().await;
    for kind in ["server ", "volume ", "key pair ", "secret ", "FloatingIp "] {
        let more = |all: &[String]| all.iter().filter(|one| one.starts_with(kind)).count();
        assert!(more(&there) > more(&before), "no {kind} was made");
    }

    let ended = place.undeploy(&started.deployment).await;
    let begun = std::time::Instant::now();
    let run = place.end_of(&ended.run, |_| {}).await;
    eprintln!("undeployed in {:.1} s", begun.elapsed().as_secs_f32());
    assert_succeeded(&run);
    assert_eq!(place.belongings().await, before);
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "stops a service of the cloud: wants STACKLOOM_CONTRACT_STOP and _START"]
async fn a_run_waits_for_a_stopped_service() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, "contract-stop").await;
    let before = place.belongings().await;
    let started = place
        .deploy("contract-stop", DEMO, parameters(&place).await)
        .await;
    // The service is stopped during the creation of the first server, and started again after steps have failed because
    // of it. The run's events are the signals, instead of a clock.
    let (noticed, mut wake) = tokio::sync::mpsc::unbounded_channel();
    let outage = tokio::spawn(async move {
        assert_eq!(wake.recv().await, Some("server"));
        run_command("STACKLOOM_CONTRACT_STOP").await;
        while wake.recv().await.is_some_and(|what| what != "retrying") {}
        run_command("STACKLOOM_CONTRACT_START").await;
    });
    let run = place
        .end_of(&started.run, |event| {
            if let EventBody::Step { step, state, .. } = event {
                let what = match state {
                    StepState::Retrying => "retrying",
                    StepState::Running if step == "web:create" => "server",
                    _ => return,
                };
                // After the outage the receiver has been dropped.
                let _nobody = noticed.send(what);
            }
        })
        .await;
    drop(noticed);
    outage.await.unwrap();
    assert_succeeded(&run);
    assert!(
        run.steps.iter().any(|step| step.attempts > 1),
        "no step met the outage"
    );
    let ended = place.undeploy(&started.deployment).await;
    assert_succeeded(&place.end_of(&ended.run, |_| {}).await);
    assert_eq!(place.belongings().await, before);
    place.close().await;
}
