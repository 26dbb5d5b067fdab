//! Servers and software that change: what uses them is incomplete if a run ends before its own step.

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

/// A proxy in front of a web server. A volume comes between their steps.
fn proxied(listen_port: u16, size: u8) -> String {
    let page = format!("listen_port: {listen_port}, page_text:");
    let disk = format!(
        "  disk: {{type: OS::Cinder::Volume, depends_on: nginx, properties: {{size: {size}}}}}\noutputs:"
    );
    PAGE.replace("10.44.", "10.81.")
        .replacen("haproxy\n", "haproxy\n    depends_on: disk\n", 1)
        .replacen("page_text:", &page, 1)
        .replacen("outputs:", &disk, 1)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_proxy_follows_its_web_server_although_an_update_failed_between_them() {
    let bench = on_docker("engine-follows", "172.31.81.0/24", BOOT).await;
    let started = bench.start(&proxied(80, 1)).await;
    let id = &started.deployment;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let update = async || {
        let changes = engine::Changes {
            template: proxied(8080, 2),
            cloud: bench::facts(),
            ..engine::Changes::default()
        };
        let started = bench.engine.update(&bench.actor, id, changes).await;
        story(&bench, &started.unwrap().run).await.0
    };
    let state = |run: &Run, id: &str| run.steps.iter().find(|step| step.id == id).unwrap().state;

    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some("POST".into()),
        path: Some("*/action".into()),
        status: Some(403),
        ..CallFault::default()
    }));
    let failed = update().await;
    assert_eq!(failed.state, RunState::Failed, "{failed:#?}");
    assert_eq!(state(&failed, "nginx:configure"), StepState::Succeeded);
    assert_eq!(state(&failed, "proxy:configure"), StepState::Skipped);

    // Its health check asks for the web server at the new port.
    bench.lab.faults().clear();
    let ended = update().await;
    assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
    assert!(ended.steps.iter().all(|step| step.id != "nginx:configure"));
    assert_eq!(state(&ended, "proxy:configure"), StepState::Succeeded);
    all_goes(bench, id).await;
}
