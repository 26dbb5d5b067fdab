//! Requests that the cloud carries out after their responses were lost. In the end nothing exists twice, and nothing is
//! left.

use std::time::Duration;

use api::{EventBody, RunState, Stray};
use engine::Force;
use lab::{CallFault, Damage, Fault};
use openstack::network::{Network, Port};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

use crate::{
    bench::{Bench, NET, TWO_NETS},
    sweep::ALL_KINDS,
    update::to,
};

/// Six servers, each with its own port and two floating IPs, of which one is associated with the port.
fn six_servers() -> String {
    let mut template = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
"
    .to_owned();
    for number in 1..=6 {
        template.push_str(&format!(
            "  port{number}: {{type: OS::Neutron::Port, depends_on: sub, properties: {{network: {{get_resource: net}}}}}}
  web{number}: {{type: OS::Nova::Server, properties: {{image: debian-12, flavor: m1.tiny, networks: [{{port: {{get_resource: port{number}}}}}]}}}}
  to{number}: {{type: OS::Neutron::FloatingIP, depends_on: foot, properties: {{floating_network: public, port_id: {{get_resource: port{number}}}}}}}
  spare{number}: {{type: OS::Neutron::FloatingIP, depends_on: port{number}, properties: {{floating_network: public}}}}
"
        ));
    }
    template
}

/// Delays each creation by this number of milliseconds.
fn creations_commit_after(milliseconds: u64) -> [Fault; 2] {
    ["network", "compute"].map(|service| {
        Fault::Call(CallFault {
            service: Some(service.into()),
            method: Some("POST".into()),
            commits_after_ms: Some(milliseconds),
            ..CallFault::default()
        })
    })
}

fn network_post(path: &str, fault: CallFault) -> Fault {
    Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some(format!("/v2.0/{path}")),
        ..fault
    })
}

impl Bench {
    /// Waits until this number of creations is in flight.
    async fn until_in_flight(&self, run: &str, wanted: usize) {
        let under_way = async || {
            let steps = self.store.step_list(&self.tenant, run).await.unwrap();
            let under_way = steps.iter().filter(|step| {
                step.kind == api::StepKind::Create && step.state == api::StepState::Running
            });
            under_way.count() >= wanted
        };
        self.eventually("creations are in flight", under_way).await;
    }

    async fn strays(&self, deployment: &str) -> Vec<Stray> {
        let mut strays = self.engine.strays(&self.actor, deployment).await.unwrap();
        strays.sort_by(|one, other| one.resource.cmp(&other.resource));
        strays
    }

    /// Adds another resource of the same creation, like a late request.
    async fn twin_of<E: openstack::network::Entity>(
        &self,
        deployment: &str,
        resource: &str,
        fields: serde_json::Value,
    ) -> String {
        let id = self.ids(deployment).await[resource].clone();
        let network = self.actor.session.network();
        let there: E = network.get(&id).await.unwrap();
        let mut fields = fields;
        fields["description"] = there.description().unwrap().into();
        let twin: E = network.create(&fields).await.unwrap();
        twin.id().to_owned()
    }

    async fn logs(&self, run: &str) -> String {
        let events = self.engine.events(&self.tenant, run, 0, 10_000).await;
        let texts = events
            .unwrap()
            .into_iter()
            .filter_map(|event| match event.body {
                EventBody::Log(api::LogLine { text, .. }) => Some(text),
                _ => None,
            });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Requests without a response, which are carried out late.
fn late_creation() -> CallFault {
    CallFault {
        damage: Some(Damage::CutBefore),
        is_held: true,
        ..CallFault::default()
    }
}

/// The first requests time out, later ones are refused: the step fails. The first ones are carried out during the last
/// one, after the step's search for their results.
fn fails_with_late_creations(service: &str, path: &str) -> Vec<Fault> {
    let refused = |releases_held: bool| CallFault {
        status: Some(400),
        releases_held,
        ..CallFault::default()
    };
    let faults = [
        late_creation(),
        late_creation(),
        refused(false),
        refused(true),
    ];
    in_order(service, path, faults)
}

/// Each fault for one creation, in this order.
fn in_order(service: &str, path: &str, faults: impl IntoIterator<Item = CallFault>) -> Vec<Fault> {
    faults
        .into_iter()
        .zip(1..)
        .map(|(fault, nth)| {
            Fault::Call(CallFault {
                service: Some(service.into()),
                method: Some("POST".into()),
                path: Some(path.into()),
                nth: Some(nth),
                ..fault
            })
        })
        .collect()
}

#[tokio::test]
async fn a_crash_during_creations_leaves_each_resource_once() {
    let template = six_servers();
    let mut bench = Bench::new().await;
    let (started, run) = bench.deploy(&template).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let full = bench.left().len();
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());

    for seed in 0..10 {
        let mut random = StdRng::seed_from_u64(seed);
        creations_commit_after(100)
            .into_iter()
            .for_each(|fault| bench.lab.faults().add(fault));
        let started = bench.start(&template).await;
        bench
            .until_in_flight(&started.run, random.random_range(4..=6))
            .await;
        // A sleep instead of a condition, because the moment has to vary.
        tokio::time::sleep(Duration::from_millis(random.random_range(0..150))).await;
        bench.crash().await;
        let run = bench.end_of(&started.run).await;
        bench.lab.faults().clear();
        assert_eq!(run.state, RunState::Succeeded, "seed {seed}: {run:#?}");
        let strays = bench.strays(&started.deployment).await;
        assert_eq!(strays, Vec::<Stray>::new(), "seed {seed}");
        assert_eq!(bench.left().len(), full, "seed {seed}: {:?}", bench.left());

        let run = bench.undeploy(&started.deployment).await;
        assert_eq!(run.state, RunState::Succeeded, "seed {seed}: {run:#?}");
        assert_eq!(bench.left(), Vec::<String>::new(), "seed {seed}");
    }
}

/// The run is undeployed right after the restart, while requests are still pending.
#[tokio::test]
async fn a_crash_a_cancel_and_an_undeploy_leave_nothing() {
    let template = six_servers();
    let mut bench = Bench::new().await;
    for force in [Force::No, Force::Yes] {
        creations_commit_after(150)
            .into_iter()
            .for_each(|fault| bench.lab.faults().add(fault));
        let started = bench.start(&template).await;
        bench.until_in_flight(&started.run, 5).await;
        bench.crash().await;
        bench
            .engine
            .cancel(&bench.tenant, &started.run)
            .await
            .unwrap();
        bench.end_of(&started.run).await;
        let undeploy = bench
            .engine
            .undeploy(&bench.actor, &started.deployment, force);
        let gone = undeploy.await.unwrap().run;
        let run = bench.end_of(&gone).await;
        bench.lab.faults().clear();
        assert_eq!(run.state, RunState::Succeeded, "{force:?}: {run:#?}");
        assert_eq!(bench.left(), Vec::<String>::new(), "{force:?}: {run:#?}");
    }
}

/// The engine keeps running, and a connection breaks or a proxy times out: the request is carried out nevertheless,
/// later.
#[tokio::test]
async fn a_request_carried_out_after_its_timeout_creates_nothing_twice() {
    let cut = CallFault {
        damage: Some(Damage::CutBefore),
        ..CallFault::default()
    };
    let given_up = CallFault {
        status: Some(504),
        ..CallFault::default()
    };
    for fault in [cut, given_up] {
        let bench = Bench::new().await;
        bench.lab.faults().add(network_post(
            "networks*",
            CallFault {
                commits_after_ms: Some(300),
                times: Some(2),
                ..fault
            },
        ));
        let (started, run) = bench.deploy(TWO_NETS).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.left().len(), 2, "{:?}", bench.left());
        let log = bench.logs(&run.id).await;
        assert!(log.contains("may still carry out requests"), "{log}");
        bench.undeploy(&started.deployment).await;
        assert_eq!(bench.left(), Vec::<String>::new());
    }
}

/// A marked resource is not in the list yet when the step searches for it again.
#[tokio::test]
async fn a_stale_list_creates_nothing_twice() {
    let bench = Bench::new().await;
    bench.lab.faults().add(network_post(
        "networks*",
        CallFault {
            damage: Some(Damage::CutAfter),
            times: Some(1),
            ..CallFault::default()
        },
    ));
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("GET".into()),
        lags_ms: 300,
        ..CallFault::default()
    }));
    let deployment = bench.deployed(NET).await;
    assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A failed run leaves one resource for the next attempt to adopt, and no more.
#[tokio::test]
async fn a_failed_run_leaves_one_resource_to_adopt() {
    let bench = Bench::new().await;
    for fault in fails_with_late_creations("network", "/v2.0/networks*") {
        bench.lab.faults().add(fault);
    }
    let (started, run) = bench.deploy(NET).await;
    bench.lab.faults().clear();
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
    let [stray] = &bench.strays(&started.deployment).await[..] else {
        panic!("one thing is left");
    };
    let why = stray.why_kept.as_deref().unwrap_or_default();
    assert!(why.contains("the next run"), "{why}");

    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    assert_eq!(
        bench.ids(&started.deployment).await["front"],
        stray.physical_id
    );
    assert_eq!(bench.strays(&started.deployment).await, Vec::new());
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn an_undeploy_removes_strays_and_names_those_that_it_cannot_remove() {
    let bench = Bench::new().await;
    for force in [Force::No, Force::Yes] {
        let (started, _) = bench.deploy(NET).await;
        let stray = bench
            .twin_of::<Network>(&started.deployment, "front", json!({"name": "twin"}))
            .await;
        let shown = bench.strays(&started.deployment).await;
        let wanted = Stray {
            resource_type: "OS::Neutron::Net".into(),
            physical_id: stray.clone(),
            name: Some("twin".into()),
            resource: "front".into(),
            why_kept: None,
        };
        assert_eq!(shown, [wanted]);

        bench.lab.faults().add(Fault::Call(CallFault {
            service: Some("network".into()),
            method: Some("DELETE".into()),
            path: Some(format!("*{stray}*")),
            status: Some(409),
            ..CallFault::default()
        }));
        let undeploy = bench
            .engine
            .undeploy(&bench.actor, &started.deployment, force);
        let gone = undeploy.await.unwrap().run;
        let run = bench.end_of(&gone).await;
        bench.lab.faults().clear();
        let reason = run.reason.clone().unwrap_or_default();
        assert!(
            reason.contains("OS::Neutron::Net") && reason.contains(&stray),
            "{reason}"
        );
        match force {
            Force::No => {
                assert_eq!(run.state, RunState::Failed, "{run:#?}");
                bench.engine.resume(&bench.actor, &gone).await.unwrap();
                bench.until_state(&gone, RunState::Succeeded).await;
                assert_eq!(bench.left(), Vec::<String>::new());
            }
            Force::Yes => {
                assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
                assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
            }
        }
    }
}

/// A stray blocks a deletion, and can come from a request of unknown outcome.
#[tokio::test]
async fn a_deletion_that_a_stray_prevents_is_tried_again() {
    let with_port = NET.to_owned()
        + "  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}}
  port: {type: OS::Neutron::Port, depends_on: sub, properties: {network: {get_resource: front}}}
";
    let empty = "heat_template_version: 2021-04-16\nresources: {}\n";
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(&with_port).await;
    let network = bench.ids(&started.deployment).await["front"].clone();
    let stray = bench
        .twin_of::<Port>(&started.deployment, "port", json!({"network_id": network}))
        .await;
    let creations = bench
        .store
        .creation_list(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let port = creations.iter().find(|one| one.key.name == "port").unwrap();
    let later = jiff::Timestamp::now() + Duration::from_secs(60);
    store::testing::creation_set_uncertain(&bench.store, &started.deployment, port, later).await;
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, to(empty));
    let run = update.await.unwrap().run;
    bench
        .until(&run, |event| {
            matches!(&event.body, EventBody::Log(api::LogLine { text, .. }) if text.contains("Deleted") && text.contains(&stray))
        })
        .await;
    bench
        .until_step(&run, "front:delete", api::StepState::Succeeded)
        .await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn retained_resources_and_those_of_others_are_not_swept() {
    let bench = Bench::new().await;
    let retained = TWO_NETS.replace(
        "front: {type: OS::Neutron::Net}",
        "front: {type: OS::Neutron::Net, deletion_policy: Retain}",
    );
    let network = bench.actor.session.network();
    // The same name, and another deployment's marker.
    for description in ["", "stackloom:0192f0c1-0000-7000-8000-000000000000/back"] {
        let fields = json!({"name": "shop-back", "description": description});
        network.create::<Network>(&fields).await.unwrap();
    }
    let (started, _) = bench.deploy(&retained).await;
    let front = bench.ids(&started.deployment).await["front"].clone();
    let only_back = TWO_NETS.replace("  front: {type: OS::Neutron::Net}\n", "");
    bench.update(&started.deployment, to(&only_back)).await;
    let shown = bench.strays(&started.deployment).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].physical_id, front);
    let why = shown[0].why_kept.as_deref().unwrap_or_default();
    assert!(why.contains("Retain"), "{why}");
    // Another deployment has adopted one of its resources.
    let adopted = bench
        .twin_of::<Network>(&started.deployment, "back", json!({"name": "adopted"}))
        .await;
    let adopts = NET.replace(
        "OS::Neutron::Net}",
        &format!("OS::Neutron::Net, external_id: {adopted}}}"),
    );
    let other = bench
        .try_deploy("other", &adopts, Default::default())
        .await
        .unwrap();
    bench.end_of(&other.run).await;

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left().len(), 4, "{:?}", bench.left());
    for id in [front, adopted] {
        network.get::<Network>(&id).await.unwrap();
    }
}

/// A volume that was restored from a backup has the marker of the original.
#[tokio::test]
async fn a_resource_with_a_copied_marker_is_reported_and_not_removed() {
    let disk = "heat_template_version: 2021-04-16
resources:
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
";
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(disk).await;
    let storage = bench.actor.session.block_storage();
    let there = storage
        .volume_get(&bench.ids(&started.deployment).await["disk"])
        .await
        .unwrap();
    let fields = json!({"size": 1, "name": "restored", "metadata": there.metadata});
    let restored = storage.volume_create(&fields, None).await.unwrap().id;
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let reason = run.reason.unwrap_or_default();
    assert!(
        reason.contains(&restored) && reason.contains("backup"),
        "{reason}"
    );
    storage.volume_get(&restored).await.unwrap();
}

/// Marked resources of all types in the templates are found by their marker: the journal has lost all ids, and still
/// they are deleted.
#[tokio::test]
async fn every_resource_with_a_marker_is_found_without_the_journal() {
    for template in [ALL_KINDS.to_owned(), crate::rare::with_a_pair()] {
        let bench = Bench::new().await;
        let deployment = bench.deployed(&template).await;
        // These types have no marker: they connect other resources or are inside them, or have no object in the cloud.
        // They are deleted by the journal's ids. The same applies to a volume, whose marker is no evidence, and to an
        // address scope with its pool, whose marker is removed when it gets its name.
        let has_no_mark = "OS::Neutron::RouterInterface OS::Neutron::ExtraRoute OS::Neutron::ExtraRouteSet OS::Neutron::RBACPolicy \
            OS::Neutron::FloatingIPPortForward OS::Cinder::VolumeAttachment OS::Heat::RandomString OS::Heat::ResourceGroup OS::Cinder::Volume OS::Neutron::AddressScope OS::Neutron::SubnetPool";
        let has_no_mark: Vec<&str> = has_no_mark.split_whitespace().collect();
        let (store, id) = (&bench.store, &deployment);
        let mut lost = Vec::new();
        for row in store.resource_list_all(&bench.tenant, id).await.unwrap() {
            if !has_no_mark.contains(&row.spec.resource_type.as_str()) {
                store::testing::resource_forget(store, id, &row.name).await;
                lost.push(row.name);
            }
        }
        lost.sort();
        let strays = bench.strays(&deployment).await;
        let found: Vec<&String> = strays.iter().map(|stray| &stray.resource).collect();
        assert_eq!(found, lost.iter().collect::<Vec<_>>());
        let run = bench.undeploy(&deployment).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.left(), Vec::<String>::new());
    }
}

/// Late creations of an update, whose successors have markers of their own, during the update and during its roll-back.
#[tokio::test]
async fn a_successor_created_late_exists_once() {
    let before = "heat_template_version: 2021-04-16
resources:
  near: {type: OS::Nova::ServerGroup, properties: {policies: [affinity]}}
";
    let after = before.replace("[affinity]", "[anti-affinity]");
    let bench = Bench::new().await;
    let deployment = bench.deployed(before).await;
    // The change fails and is rolled back.
    for fault in fails_with_late_creations("compute", "*/os-server-groups*") {
        bench.lab.faults().add(fault);
    }
    let run = bench.update(&deployment, to(&after)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    bench.lab.faults().clear();
    let run = bench.rolls_back(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
    assert_eq!(bench.strays(&deployment).await, Vec::new());
    // The first request times out and is carried out with the second one, and the change continues.
    let second = CallFault {
        releases_held: true,
        ..CallFault::default()
    };
    for fault in in_order("compute", "*/os-server-groups*", [late_creation(), second]) {
        bench.lab.faults().add(fault);
    }
    let run = bench.update(&deployment, to(&after)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left().len(), 1, "{:?}", bench.left());
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
