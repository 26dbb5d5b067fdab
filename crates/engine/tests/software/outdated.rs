//! A server that gets another address: its software is incomplete until its own step.

use api::{ServiceState, StepState};
use lab::CallFault;

use super::*;

/// A private server with software. Its networks are these.
fn with_networks(networks: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.79.1.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  web:
    type: OS::Nova::Server
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{networks}]}}
  service:
    type: Stackloom::Catalog::slow
    properties: {{host: {{get_resource: web}}, attempts: 0}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn software_that_is_not_reached_after_another_address_is_failed() {
    let bench = on_docker_with(ITEMS, "engine-outdated", "172.31.79.0/24", BOOT).await;
    let network = "{network: {get_resource: front}}";
    let started = bench.start(&with_networks(network)).await;
    let id = &started.deployment;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let service = async || {
        let shown = bench.engine.deployment(&bench.tenant, id).await.unwrap();
        shown.services[0].state
    };
    assert_eq!(service().await, ServiceState::Healthy);

    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        path: Some("*/os-interface".into()),
        status: Some(403),
        ..CallFault::default()
    }));
    let changes = engine::Changes {
        template: with_networks(&format!("{network}, {network}")),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench.engine.update(&bench.actor, id, changes);
    let (run, _) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let state = |id: &str| run.steps.iter().find(|step| step.id == id).unwrap().state;
    assert_eq!(state("web:update"), StepState::Failed);
    assert_eq!(state("service:configure"), StepState::Skipped);
    assert_eq!(service().await, ServiceState::Failed);
    assert!(is_bastion_closed(&bench));
    all_goes(bench, id).await;
}
