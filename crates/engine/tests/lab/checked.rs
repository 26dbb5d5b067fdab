//! Requests that the cloud accepts and then does not carry out. The step fails with the reason, and working resources
//! stay.

use std::collections::BTreeMap;

use api::{Event, EventBody, Run, RunState, StepState};
use engine::Changes;
use lab::{ActionFault, CallFault, Fault};
use serde_json::json;

use crate::bench::{Bench, steps};
use crate::update::{ONE_SERVER, to};

/// Actions on the server `web` that are accepted and then fail.
fn fails(action: &str, times: Option<u64>) -> Fault {
    Fault::Action(ActionFault {
        name: "*web*".into(),
        action: action.into(),
        times,
    })
}

/// A fault that returns a response without carrying out the call.
fn answered(service: &str, method: &str, path: &str, status: u16, body: &str) -> CallFault {
    CallFault {
        service: Some(service.into()),
        method: Some(method.into()),
        path: Some(path.into()),
        status: Some(status),
        body: Some(body.into()),
        ..CallFault::default()
    }
}

/// An update of the server to a larger flavor.
fn larger() -> Changes {
    let mut changes = to(&ONE_SERVER.replace("flavor: m1.tiny,", "flavor: m1.small,"));
    let small = json!({"id": "2", "name": "m1.small", "vcpus": 1, "ram_mib": 1024, "disk_gib": 10});
    let flavors = changes.cloud.flavors.get_or_insert_default();
    flavors.push(serde_json::from_value(small).unwrap());
    changes
}

fn with_resources(resources: &str) -> String {
    ONE_SERVER.replace("outputs:", &format!("{resources}outputs:"))
}

fn with_a_disk() -> String {
    with_resources(
        "  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}
",
    )
}

fn error_of(run: &Run, step: &str) -> String {
    let found = run.steps.iter().find(|one| one.id == step);
    found.unwrap().error.clone().unwrap_or_default()
}

impl Bench {
    fn flavor_of_the_server(&self) -> String {
        self.lab.model(|model| {
            let server = model.servers.iter().next().unwrap();
            model.flavors.get(&server.flavor_id).unwrap().name.clone()
        })
    }

    /// Number of resizes that Nova has accepted.
    fn resizes(&self) -> usize {
        self.lab.model(|model| {
            let server = model.servers.iter().next().unwrap();
            let actions = server.actions.iter();
            actions.filter(|action| action.action == "resize").count()
        })
    }
}

#[tokio::test]
async fn a_resize_that_is_refused_later_fails_and_the_server_runs_on() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().add(fails("resize", Some(1)));
    let run = bench.update(&started.deployment, larger()).await;
    assert_eq!(
        (run.state, steps(&run)["web:update"]),
        (RunState::Failed, (StepState::Failed, 1)),
        "{run:#?}"
    );
    let error = error_of(&run, "web:update");
    let event = format!("openstack server event show {} req-", before["web"]);
    for words in [
        "`web` was not resized to `m1.small`: ",
        "tells the reason to administrators only",
        &event,
        "It still has flavor `m1.tiny` and runs as before. Choose a flavor that a host can hold, and update again",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(
        bench.ids(&started.deployment).await,
        before,
        "nothing was removed"
    );
    assert_eq!(bench.flavor_of_the_server(), "m1.tiny");

    // The earlier failure does not affect the next update.
    let run = bench.update(&started.deployment, larger()).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.flavor_of_the_server(), "m1.small");
    assert_eq!(bench.ids(&started.deployment).await, before);
    // Then no change is left.
    let run = bench.update(&started.deployment, larger()).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Nova takes seconds for a confirmation when it is busy, and refuses a second one meanwhile.
#[tokio::test]
async fn a_resize_whose_confirmation_is_under_way_is_waited_for() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let refusal = r#"{"badRequest": {"code": 400, "message": "Instance has not been resized."}}"#;
    let path = "/v2.1/servers/*/action";
    bench.lab.faults().add(Fault::Call(CallFault {
        nth: Some(2),
        ..answered("compute", "POST", path, 400, refusal)
    }));
    let run = bench.update(&started.deployment, larger()).await;
    assert_eq!(
        (run.state, steps(&run)["web:update"]),
        (RunState::Succeeded, (StepState::Succeeded, 1)),
        "{run:#?}"
    );
    assert_eq!(bench.flavor_of_the_server(), "m1.small");
}

#[tokio::test]
async fn an_administrator_reads_novas_own_words() {
    let mut bench = Bench::new().await;
    bench.actor = bench.log_in("admin").await;
    bench.tenant = bench.actor.tenant.clone();
    let deployment = bench.deployed(ONE_SERVER).await;
    bench.lab.faults().add(fails("resize", None));
    let run = bench.update(&deployment, larger()).await;
    let error = error_of(&run, "web:update");
    let words = "`web` was not resized to `m1.small`: No valid host was found. No valid host found for resize. It still has";
    assert!(error.contains(words), "{error}");
}

#[tokio::test]
async fn a_resize_in_flight_at_a_crash_is_not_asked_for_again() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    bench.lab.faults().add(fails("resize", Some(1)));
    let run = bench.update(&started.deployment, larger()).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");

    // The second one is carried out, but its response is lost.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        path: Some("*/action".into()),
        times: Some(1),
        delay_ms: 3_600_000,
        ..CallFault::default()
    }));
    let updating = bench
        .engine
        .update(&bench.actor, &started.deployment, larger());
    let updating = updating.await.unwrap();
    bench
        .eventually("the server is resized", async || {
            bench.flavor_of_the_server() == "m1.small"
        })
        .await;
    bench.crash().await;
    let run = bench.end_of(&updating.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.flavor_of_the_server(), "m1.small");
    assert_eq!(bench.resizes(), 2, "the one that failed, and one more");
}

#[tokio::test]
async fn a_failed_attachment_of_a_volume_is_reported_with_its_reason() {
    let bench = Bench::new().await;
    bench.lab.faults().add(fails("attach_volume", None));
    let (started, run) = bench.deploy(&with_a_disk()).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "plug:create");
    assert!(error.contains("could not take it: Nova failed"), "{error}");
    bench.lab.faults().clear();
    let run = bench.update(&started.deployment, to(&with_a_disk())).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    // A volume that is still attached does not count as detached.
    bench.lab.faults().add(fails("detach_volume", None));
    let without = with_resources("  disk: {type: OS::Cinder::Volume, properties: {size: 1}}\n");
    let run = bench.update(&started.deployment, to(&without)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "plug:delete");
    assert!(error.contains("was not detached from server"), "{error}");
    assert!(
        error.contains("Unmount it in the server, then resume"),
        "{error}"
    );
    bench.lab.faults().clear();
    let run = bench.update(&started.deployment, to(&without)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

const TWO_PORTS: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  left: {type: OS::Neutron::Port, depends_on: sub, properties: {network: {get_resource: net}}}
  right: {type: OS::Neutron::Port, depends_on: sub, properties: {network: {get_resource: net}}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{port: {get_resource: left}}]}
";

/// The same with a server that must be replaced.
fn with_successor(template: &str) -> String {
    template.replace(
        "flavor: m1.tiny,",
        "flavor: m1.tiny, user_data: '#!/bin/true',",
    )
}

#[tokio::test]
async fn a_failed_detachment_of_a_port_is_reported() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_PORTS).await;
    let ids = bench.ids(&deployment).await;
    let other = TWO_PORTS.replace(
        "{port: {get_resource: left}}",
        "{port: {get_resource: right}}",
    );
    bench.lab.faults().add(fails("detach_interface", None));
    let run = bench.update(&deployment, to(&other)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:update");
    let words = format!("`web` still has port {}: ", ids["left"]);
    assert!(error.contains(&words), "{error}");
    bench.lab.faults().clear();
    let run = bench.update(&deployment, to(&other)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    // A successor does not wait forever for a port that its predecessor keeps.
    bench.lab.faults().add(fails("detach_interface", None));
    let run = bench.update(&deployment, to(&with_successor(&other))).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:create");
    assert!(error.contains("which its successor needs"), "{error}");
}

#[tokio::test]
async fn a_successor_does_not_wait_for_a_port_of_a_locked_server() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_PORTS).await;
    let ids = bench.ids(&deployment).await;
    let compute = bench.actor.session.compute();
    let answer = compute.server_set_power(&ids["web"], "lock").await;
    answer.unwrap();
    let successor = with_successor(TWO_PORTS);
    let run = bench.update(&deployment, to(&successor)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:create");
    let words = format!(
        "still has port {}, which its successor needs: ",
        ids["left"]
    );
    let locked = format!("Instance {} is locked", ids["web"]);
    assert!(error.contains(&words) && error.contains(&locked), "{error}");

    let answer = compute.server_set_power(&ids["web"], "unlock").await;
    answer.unwrap();
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    assert_ne!(bench.ids(&deployment).await["web"], ids["web"]);
    assert_eq!(bench.servers(), 1);
}

#[tokio::test]
async fn a_successor_waits_for_a_port_while_its_predecessor_has_a_task() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_PORTS).await;
    let id = bench.ids(&deployment).await["web"].clone();
    let compute = bench.actor.session.compute();
    let mut busy = compute.server_get(&id).await.unwrap();
    busy.task_state = Some("image_uploading".into());
    let shown = json!({"server": busy}).to_string();
    let path = format!("*/servers/{id}");
    let shows = answered("compute", "GET", &path, 200, &shown);
    let message = format!(
        "Cannot 'detach_interface' instance {id} while it is in task_state image_uploading"
    );
    let refusal = json!({"conflictingRequest": {"code": 409, "message": message}}).to_string();
    let refuses = answered("compute", "DELETE", "*/os-interface/*", 409, &refusal);
    for fault in [shows, refuses] {
        bench.lab.faults().add(Fault::Call(fault));
    }
    let changes = to(&with_successor(TWO_PORTS));
    let update = bench.engine.update(&bench.actor, &deployment, changes);
    let run = update.await.unwrap().run;
    let says_why =
        |event: &Event| matches!(&event.body, EventBody::Log(line) if line.text.contains(&message));
    bench.until(&run, says_why).await;
    bench.lab.faults().clear();
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.servers(), 1);
}

#[tokio::test]
async fn a_successor_gets_a_port_although_its_predecessor_had_a_task_at_the_first_request() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_PORTS).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        times: Some(1),
        body: None,
        ..answered("compute", "DELETE", "*/os-interface/*", 409, "")
    }));
    let successor = with_successor(TWO_PORTS);
    let run = bench.update(&deployment, to(&successor)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.servers(), 1);
}

#[tokio::test]
async fn a_successor_waits_for_a_port_of_a_predecessor_that_goes_at_that_moment() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_PORTS).await;
    let ids = bench.ids(&deployment).await;
    let path = format!("*/servers/{}", ids["web"]);
    for (method, path, status) in [
        ("DELETE", "*/os-interface/*", 409),
        ("GET", path.as_str(), 404),
    ] {
        bench.lab.faults().add(Fault::Call(CallFault {
            body: None,
            ..answered("compute", method, path, status, "")
        }));
    }
    let changes = to(&with_successor(TWO_PORTS));
    let update = bench.engine.update(&bench.actor, &deployment, changes);
    let run = update.await.unwrap().run;
    let waits = format!("port {} is being unplugged", ids["left"]);
    let says_so =
        |event: &Event| matches!(&event.body, EventBody::Log(line) if line.text.contains(&waits));
    bench.until(&run, says_so).await;
    bench.lab.faults().clear();
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn a_server_is_not_removed_before_its_snapshot_is_complete() {
    let bench = Bench::new().await;
    let template = ONE_SERVER.replace(
        "    type: OS::Nova::Server\n",
        "    type: OS::Nova::Server\n    deletion_policy: Snapshot\n",
    );
    let (started, _) = bench.deploy(&template).await;
    bench.lab.faults().add(fails("createImage", None));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:delete");
    assert!(
        error.contains("no snapshot of") && error.contains("Nova failed"),
        "{error}"
    );
    assert_eq!(bench.servers(), 1);
    bench.lab.faults().clear();
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.servers(), 0);
}

#[tokio::test]
async fn a_failed_deletion_of_a_server_is_reported() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    bench.lab.faults().add(fails("delete", None));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:delete");
    assert!(
        error.contains("was not deleted and is in state ERROR"),
        "{error}"
    );
    bench.lab.faults().clear();
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_extension_of_a_volume_is_reported_in_cinders_words() {
    let disk = |size: u32| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  disk: {{type: OS::Cinder::Volume, properties: {{size: {size}}}}}
"
        )
    };
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(&disk(1)).await;
    let id = bench.ids(&started.deployment).await["disk"].clone();
    let faults = bench.lab.faults();
    let message = |request: &str, text: &str| json!({"resource_uuid": id, "request_id": request, "user_message": text, "created_at": "2026-11-22T16:12:08.000000"});
    let messages = json!({"messages": [
        message("req-before", "extend volume:Something of the past."),
        message("req-ours", "extend volume:Could not find any available weighted backend."),
    ]});
    faults.add(Fault::Call(CallFault {
        headers: BTreeMap::from([("x-openstack-request-id".into(), "req-ours".into())]),
        ..answered("block-storage", "POST", "*/action", 202, "")
    }));
    faults.add(Fault::Call(answered(
        "block-storage",
        "GET",
        "*/messages*",
        200,
        &messages.to_string(),
    )));
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "disk:update");
    let words = "`disk` was not extended to 2 GiB: extend volume:Could not find any available weighted backend. It still has 1 GiB";
    assert!(error.contains(words), "{error}");

    // Without a message the step fails, too.
    faults.clear();
    faults.add(Fault::Call(answered(
        "block-storage",
        "POST",
        "*/action",
        202,
        "",
    )));
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "disk:update");
    assert!(error.contains("Cinder reports no reason"), "{error}");
    faults.clear();
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn a_change_that_octavia_drops_is_reported() {
    let balancer = |algorithm: &str| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.1.0/24}}}}
  lb: {{type: OS::Octavia::LoadBalancer, properties: {{vip_subnet: {{get_resource: sub}}}}}}
  pool:
    type: OS::Octavia::Pool
    properties: {{loadbalancer: {{get_resource: lb}}, protocol: HTTP, lb_algorithm: {algorithm}}}
"
        )
    };
    let bench = Bench::new().await;
    let deployment = bench.deployed(&balancer("ROUND_ROBIN")).await;
    let body = json!({"pool": {"id": "x"}}).to_string();
    let faults = bench.lab.faults();
    faults.add(Fault::Call(answered(
        "load-balancer",
        "PUT",
        "*/pools/*",
        200,
        &body,
    )));
    let changed = balancer("LEAST_CONNECTIONS");
    let run = bench.update(&deployment, to(&changed)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "pool:update");
    let words =
        "`pool` did not get `lb_algorithm` \"LEAST_CONNECTIONS\": Octavia accepted the change";
    assert!(
        error.contains(words) && error.contains("It still has \"ROUND_ROBIN\""),
        "{error}"
    );
    faults.clear();
    let run = bench.update(&deployment, to(&changed)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn a_server_boots_from_its_image_with_further_volumes() {
    let bench = Bench::new().await;
    let template = with_resources("  disk: {type: OS::Cinder::Volume, properties: {size: 1}}\n").replace(
        "flavor: m1.tiny,",
        "flavor: m1.tiny, block_device_mapping_v2: [{volume_id: {get_resource: disk}, boot_index: -1}],",
    );
    let deployment = bench.deployed(&template).await;
    let ids = bench.ids(&deployment).await;
    bench.lab.model(|model| {
        let volumes = model.volumes_of_server(&ids["web"]);
        let volumes: Vec<&str> = volumes
            .iter()
            .map(|(volume, _)| volume.id.as_str())
            .collect();
        assert_eq!(volumes, [ids["disk"].as_str()]);
    });
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_boot_volume_has_the_volume_type_of_its_device() {
    let bench = Bench::new().await;
    let template = ONE_SERVER.replace(
        "flavor: m1.tiny,",
        "flavor: m1.tiny, block_device_mapping_v2: [{image: debian-12, volume_size: 2, boot_index: 0, \
         delete_on_termination: true, volume_type: fast}],",
    );
    let deployment = bench.deployed(&template).await;
    let ids = bench.ids(&deployment).await;
    bench.lab.model(|model| {
        let volumes = model.volumes_of_server(&ids["web"]);
        assert_eq!(volumes[0].0.volume_type, "fast");
    });
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
