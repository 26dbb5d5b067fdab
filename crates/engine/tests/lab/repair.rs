//! Checks and repairs: resources that a user deleted, changed or switched off in the cloud.

use api::{Check, Finding, FindingKind, RepairRequest, RunState, Started, StepState};
use engine::{Changes, Error, NewDeployment, Preview, Result};
use hot::bundle::Bundle;
use lab::{CallFault, Fault};
use openstack::{
    Service,
    network::{Network, Port, SecurityGroup, SecurityGroupRule},
};
use serde_json::{Value, json};

use crate::bench::{Bench, facts, steps};

const SHOP: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  open:
    type: OS::Neutron::SecurityGroup
    properties: {rules: [{protocol: tcp, port_range_min: 80, port_range_max: 80}, {protocol: icmp}]}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, security_groups: [{get_resource: open}], fixed_ips: [{subnet: {get_resource: sub}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, metadata: {role: front}, networks: [{port: {get_resource: port}}]}
  data: {type: OS::Cinder::Volume, properties: {size: 1}}
  disk: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: data}}}
outputs:
  server: {value: {get_resource: web}}
";

impl Bench {
    pub async fn check(&self, deployment: &str) -> Check {
        self.engine.check(&self.actor, deployment).await.unwrap()
    }

    pub async fn try_repair(&self, deployment: &str, check: &Check) -> Result<Started> {
        let request = RepairRequest {
            check: check.id.clone(),
            ..RepairRequest::default()
        };
        let repaired = self
            .engine
            .repair(&self.actor, deployment, request, facts());
        repaired.await
    }

    /// Repairs, and returns the steps that were executed.
    async fn repair(&self, deployment: &str, check: &Check) -> Vec<String> {
        let started = self.try_repair(deployment, check).await.unwrap();
        let run = self.end_of(&started.run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        let again = self.check(deployment).await;
        assert_eq!(again.findings, [], "it is whole again");
        steps(&run).into_keys().collect()
    }

    /// The planned changes of a repair: action and resource.
    async fn planned_repair(&self, deployment: &str) -> Vec<String> {
        let preview = Preview {
            template: SHOP.into(),
            cloud: facts(),
            repairs: true,
            ..Preview::default()
        };
        let plan = self.engine.plan(&self.actor, preview, Some(deployment));
        let changes = plan.await.unwrap().changes.into_iter();
        let changed = changes.filter(|change| change.action != api::Action::None);
        changed
            .map(|change| format!("{:?} {}", change.action, change.resource))
            .collect()
    }

    async fn stop_server(&self, id: &str) {
        let compute = self.actor.session.compute();
        compute.server_set_power(id, "os-stop").await.unwrap();
        let stopped = async || compute.server_get(id).await.unwrap().status == "SHUTOFF";
        self.eventually("the server is stopped", stopped).await;
    }

    async fn id_of(&self, deployment: &str, resource: &str) -> String {
        let mut ids = self.ids(deployment).await;
        ids.remove(resource).unwrap()
    }
}

fn kinds(check: &Check) -> Vec<(&str, FindingKind)> {
    let findings = check.findings.iter();
    findings
        .map(|finding| (finding.resource.as_str(), finding.kind))
        .collect()
}

/// Property, value after the last run, and value in the cloud.
fn changed(finding: &Finding) -> Vec<(&str, Value, Value)> {
    let all = finding.differences.iter();
    all.map(|one| {
        let value = |value: &Option<Value>| value.clone().unwrap_or_default();
        (
            one.property.as_str(),
            value(&one.recorded),
            value(&one.found),
        )
    })
    .collect()
}

async fn shop() -> (Bench, String) {
    let bench = Bench::new().await;
    let deployment = bench.deployed(SHOP).await;
    (bench, deployment)
}

#[tokio::test]
async fn nothing_differs_after_a_deployment() {
    let (bench, deployment) = shop().await;
    let check = bench.check(&deployment).await;
    assert_eq!(check.findings, []);
    assert_eq!(check.checked, 7);
    assert_eq!(check.author, "demo");
    let refused = bench.try_repair(&deployment, &check).await.unwrap_err();
    assert!(matches!(refused, Error::NotPossibleNow(_)), "{refused}");
}

#[tokio::test]
async fn a_server_killed_behind_our_back_is_found_shown_and_repaired() {
    let (bench, deployment) = shop().await;
    let before = bench.ids(&deployment).await;
    let compute = bench.actor.session.compute();
    compute.server_delete(&before["web"]).await.unwrap();
    bench
        .eventually("the server is gone", async || {
            compute.server_get(&before["web"]).await.is_err()
        })
        .await;

    let check = bench.check(&deployment).await;
    let gone = FindingKind::Gone;
    assert_eq!(kinds(&check), [("disk", gone), ("web", gone)]);
    assert_eq!(bench.shown(&deployment).await.check, Some(check.clone()));
    assert_eq!(
        bench.planned_repair(&deployment).await,
        ["Create web", "Create disk"]
    );

    let done = bench.repair(&deployment, &check).await;
    assert!(done.contains(&"web:create".to_owned()), "{done:?}");
    let after = bench.ids(&deployment).await;
    assert_ne!(before["web"], after["web"]);
    for kept in ["net", "port", "data"] {
        assert_eq!(before[kept], after[kept], "{kept} stays");
    }
    let run = bench.undeploy(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_crash_during_a_repair_creates_the_server_once() {
    let (mut bench, deployment) = shop().await;
    let web = bench.id_of(&deployment, "web").await;
    bench
        .actor
        .session
        .compute()
        .server_delete(&web)
        .await
        .unwrap();
    let check = loop {
        let check = bench.check(&deployment).await;
        if kinds(&check).contains(&("web", FindingKind::Gone)) {
            break check;
        }
    };
    let started = bench.try_repair(&deployment, &check).await.unwrap();
    bench
        .until_step(&started.run, "web:create", api::StepState::Running)
        .await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.lab.model(|model| model.servers.len()), 1);
    assert_eq!(bench.check(&deployment).await.findings, []);
}

#[tokio::test]
async fn a_stopped_server_is_started_again() {
    let (bench, deployment) = shop().await;
    let web = bench.id_of(&deployment, "web").await;
    bench.stop_server(&web).await;
    let check = bench.check(&deployment).await;
    assert_eq!(kinds(&check), [("web", FindingKind::Changed)]);
    let status = ("status", json!("ACTIVE"), json!("SHUTOFF"));
    assert_eq!(changed(&check.findings[0]), [status]);
    let done = bench.repair(&deployment, &check).await;
    assert!(done.contains(&"web:update".to_owned()), "{done:?}");
    assert_eq!(bench.id_of(&deployment, "web").await, web);
}

#[tokio::test]
async fn values_changed_by_hand_are_named_and_restored() {
    let (bench, deployment) = shop().await;
    let ids = bench.ids(&deployment).await;
    let (compute, network) = (bench.actor.session.compute(), bench.actor.session.network());
    compute.server_rename(&ids["web"], "renamed").await.unwrap();
    compute
        .server_set_metadata(&ids["web"], &json!({"role": "back"}))
        .await
        .unwrap();
    let none = json!({"security_groups": []});
    network.update::<Port>(&ids["port"], &none).await.unwrap();
    let group: SecurityGroup = network.get(&ids["open"]).await.unwrap();
    let icmp = group.security_group_rules.iter();
    let mut icmp = icmp.filter(|rule| rule.protocol.as_deref() == Some("icmp"));
    let icmp = &icmp.next().unwrap().id;
    network.delete::<SecurityGroupRule>(icmp).await.unwrap();
    let ssh = json!({"security_group_id": ids["open"], "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
        "port_range_min": 22, "port_range_max": 22});
    network.create::<SecurityGroupRule>(&ssh).await.unwrap();

    let check = bench.check(&deployment).await;
    let kind = FindingKind::Changed;
    assert_eq!(
        kinds(&check),
        [("open", kind), ("port", kind), ("web", kind)]
    );
    let [open, port, web] = &check.findings[..] else {
        panic!("{check:#?}");
    };
    let rules = (
        "rules",
        json!(["ingress icmp from 0.0.0.0/0"]),
        json!(["ingress tcp 22 from 0.0.0.0/0"]),
    );
    assert_eq!(changed(open), [rules]);
    assert_eq!(
        changed(port),
        [("security_groups", json!([ids["open"]]), json!([]))]
    );
    let names: Vec<&str> = changed(web).iter().map(|one| one.0).collect();
    assert_eq!(names, ["name", "metadata"]);

    let done = bench.repair(&deployment, &check).await;
    assert_eq!(done, ["open:update", "port:update", "web:update"]);
    assert_eq!(bench.ids(&deployment).await, ids, "nothing was replaced");
}

#[tokio::test]
async fn a_server_in_error_is_replaced() {
    let (bench, deployment) = shop().await;
    let web = bench.id_of(&deployment, "web").await;
    let admin = bench.log_in("admin").await;
    let reset = admin
        .session
        .call(
            Service::Compute,
            "POST".parse().unwrap(),
            &["servers", &web, "action"],
        )
        .json(&json!({"os-resetState": {"state": "error"}}));
    reset.send().await.unwrap();
    let check = bench.check(&deployment).await;
    assert_eq!(kinds(&check), [("web", FindingKind::Broken)]);
    assert_eq!(
        bench.planned_repair(&deployment).await,
        ["Replace web", "Replace disk"]
    );
    bench.repair(&deployment, &check).await;
    assert_ne!(bench.id_of(&deployment, "web").await, web);
}

#[tokio::test]
async fn a_run_or_a_newer_check_makes_a_check_outdated() {
    let (bench, deployment) = shop().await;
    let web = bench.id_of(&deployment, "web").await;
    bench.stop_server(&web).await;
    let first = bench.check(&deployment).await;
    let second = bench.check(&deployment).await;
    let refused = bench.try_repair(&deployment, &first).await.unwrap_err();
    assert!(refused.to_string().contains("checked"), "{refused}");
    let started = bench.try_repair(&deployment, &second).await.unwrap();
    bench.end_of(&started.run).await;
    let refused = bench.try_repair(&deployment, &second).await.unwrap_err();
    assert!(matches!(refused, Error::Changed { .. }), "{refused}");
    assert_eq!(
        bench.planned_repair(&deployment).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_check_beside_a_run_leaves_out_what_the_run_works_on() {
    const NETS: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net, properties: {name: before}}
  back: {type: OS::Neutron::Net}
";
    let bench = Bench::new().await;
    let hooks = "resource_registry: {resources: {front: {hooks: pre-update}}}\n";
    let new = NewDeployment {
        name: "held".into(),
        template: NETS.into(),
        bundle: Bundle::new(
            [("hooks.yaml".to_owned(), hooks.to_owned())],
            ["hooks.yaml".to_owned()],
        ),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    let deployment = started.deployment;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let changes = Changes {
        template: NETS.replace("before", "after"),
        cloud: facts(),
        ..Changes::default()
    };
    let update = bench.engine.update(&bench.actor, &deployment, changes);
    let update = update.await.unwrap().run;
    bench
        .until_step(&update, "front:pre-update", StepState::Running)
        .await;
    // Both are gone, and one of them is the run's business.
    let network = bench.actor.session.network();
    for id in bench.ids(&deployment).await.values() {
        network.delete::<Network>(id).await.unwrap();
    }
    let check = bench.check(&deployment).await;
    assert_eq!(kinds(&check), [("back", FindingKind::Gone)]);
    assert_eq!((check.checked, check.left_out), (1, 1));
    assert_eq!(check.run.as_deref(), Some(update.as_str()));
    let refused = bench.try_repair(&deployment, &check).await.unwrap_err();
    assert!(matches!(refused, Error::Busy(_)), "{refused}");

    // What it has found is repaired when the run has ended.
    bench.engine.cancel(&bench.tenant, &update).await.unwrap();
    bench.end_of(&update).await;
    let started = bench.try_repair(&deployment, &check).await.unwrap();
    bench
        .until_step(&started.run, "back:create", StepState::Succeeded)
        .await;
}

#[tokio::test]
async fn a_resource_that_the_cloud_does_not_show_is_unknown_not_gone() {
    let (bench, deployment) = shop().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("GET".into()),
        status: Some(403),
        ..CallFault::default()
    }));
    let check = bench.check(&deployment).await;
    assert_eq!(kinds(&check), [("web", FindingKind::NotCompared)]);
}

#[tokio::test]
async fn another_project_can_neither_check_nor_repair() {
    let (bench, deployment) = shop().await;
    let check = bench.check(&deployment).await;
    let other = bench.log_in("other").await;
    let refused = bench.engine.check(&other, &deployment).await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
    let request = RepairRequest {
        check: check.id,
        ..RepairRequest::default()
    };
    let refused = bench
        .engine
        .repair(&other, &deployment, request, facts())
        .await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );
}
