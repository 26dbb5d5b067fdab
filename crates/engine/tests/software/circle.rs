//! Two components that need each other's addresses.

use api::StepState;

use super::*;

/// Two components on two servers. Each is healthy when the other one answers on its port.
fn template(port: u16) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.33.1.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  inner:
    type: OS::Nova::Server
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  left:
    type: Stackloom::Catalog::pair
    properties: {{host: {{get_resource: gate}}, port: {port}, peers: [{{get_resource: right}}]}}
  right:
    type: Stackloom::Catalog::pair
    properties: {{host: {{get_resource: inner}}, peers: [{{get_resource: left}}]}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn two_components_that_need_each_others_addresses_get_healthy() {
    let bench = on_docker_with(ITEMS, "engine-circle", "172.31.33.0/24", BOOT).await;
    let started = bench.start(&template(8001)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    // A changed port reaches the other one, although neither waits for the other.
    let changes = engine::Changes {
        template: template(8002),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let (run, _) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    for id in ["left:configure", "right:configure"] {
        let step = run.steps.iter().find(|step| step.id == id);
        assert_eq!(step.unwrap().state, StepState::Succeeded, "{id}");
    }
    all_goes(bench, &started.deployment).await;
}
