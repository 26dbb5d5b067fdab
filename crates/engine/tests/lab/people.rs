//! Administrators' resources in one deployment. The tests with a real cloud use the same template.

use api::{RunState, StepKind};
use lab::{CallFault, Fault};
use openstack::collection::id_of;
use openstack::identity::USERS;
use openstack::volume_types::QOS_SPECS;
use openstack::{Method, Service};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::marked::{MARKED, marked};
use crate::update::to;

const PEOPLE: &str = include_str!("../real/people.yaml");

async fn bench() -> Bench {
    let mut bench = Bench::new().await;
    bench.actor = bench.log_in("admin").await;
    bench.tenant = bench.actor.tenant.clone();
    bench
}

/// The kinds of the deployment's existing resources.
async fn there(bench: &Bench, deployment: &str) -> Vec<&'static str> {
    let all = marked(&bench.actor.session, deployment).await;
    let mut kinds: Vec<_> = all.into_iter().map(|(kind, _)| kind).collect();
    kinds.dedup();
    kinds
}

async fn grants(bench: &Bench, user: &str) -> usize {
    let path = ["role_assignments"];
    let call = bench
        .actor
        .session
        .call(Service::Identity, Method::GET, &path);
    let all: Vec<Value> = call.fetch("role_assignments").await.unwrap();
    let is_theirs = |one: &&Value| one["user"]["id"] == user;
    all.iter().filter(is_theirs).count()
}

#[tokio::test]
async fn each_type_is_created_updated_replaced_and_deleted() {
    let bench = bench().await;
    let (started, run) = bench.deploy(PEOPLE).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = started.deployment.as_str();
    assert_eq!(
        there(&bench, deployment).await,
        MARKED.map(|of| of.title).to_vec()
    );
    let before = bench.ids(deployment).await;

    let in_place = PEOPLE
        .replace("default: one", "default: two")
        .replace("ann@one.example", "ann@two.example")
        .replace("default: 5", "default: 6");
    let run = bench.update(deployment, to(&in_place)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // Role assignments are identified by their content, and one of them changed.
    let mut now = bench.ids(deployment).await;
    assert_ne!(
        now.insert("hers".into(), before["hers"].clone()),
        now.get("hers").cloned()
    );
    assert_eq!(now, before);
    let session = &bench.actor.session;
    let ann = session.records(&USERS).get(&before["ann"]).await.unwrap();
    assert_eq!(ann["email"], "ann@two.example");
    for (service, limit) in [
        (Service::Compute, "cores"),
        (Service::BlockStorage, "volumes"),
        (Service::Network, "network"),
        (Service::LoadBalancer, "load_balancer"),
    ] {
        let limits = session.quota_sets(service).get(&before["team"]).await;
        assert_eq!(limits.unwrap()[limit], 6);
    }
    let quick = async || session.records(&QOS_SPECS).list(&[]).await.unwrap();
    assert_eq!(quick().await[0]["specs"], json!({"speed": "two"}));
    let storage = session.block_storage();
    let gold = storage.qos_types(&id_of(&quick().await[0])).await.unwrap();
    assert_eq!(gold[0]["id"], before["gold"].as_str());
    // One role that `ann` had before, one that stayed, and one that replaced another.
    assert_eq!(grants(&bench, &before["ann"]).await, 3);

    let larger = in_place.replace("default: 64", "default: 128");
    let run = bench.update(deployment, to(&larger)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    for (name, id) in &bench.ids(deployment).await {
        let is_other = ["small", "hers"].contains(&name.as_str());
        assert_eq!(before[name] != *id, is_other, "{name}");
    }
    // Two flavors of one name cannot exist at once.
    let steps = run.steps.iter().filter(|step| step.kind != StepKind::Sweep);
    let order: Vec<&str> = steps.map(|step| step.id.as_str()).collect();
    assert_eq!(order, ["small:delete-old", "small:create"]);

    let run = bench.undeploy(deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(there(&bench, deployment).await, Vec::<&str>::new());
    assert!(quick().await.is_empty());
}

/// A resource that an update creates again gets all values of the template, not only the changed ones.
#[tokio::test]
async fn a_user_deleted_by_hand_gets_all_roles_and_groups_again() {
    let bench = bench().await;
    let (started, _) = bench.deploy(PEOPLE).await;
    let before = bench.ids(&started.deployment).await;
    assert_eq!(grants(&bench, &before["ann"]).await, 3);
    let session = &bench.actor.session;
    let users = session.records(&USERS);
    users.delete(&before["ann"]).await.unwrap();

    let again = PEOPLE.replace("ann@one.example", "ann@two.example");
    let run = bench.update(&started.deployment, to(&again)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let now = bench.ids(&started.deployment).await;
    assert_ne!(now["ann"], before["ann"]);
    assert_eq!(grants(&bench, &now["ann"]).await, 1);
    // The next update undoes changes by others: until then they were not noticed.
    let run = bench.update(&started.deployment, to(&again)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(grants(&bench, &now["ann"]).await, 3);
    let path = ["groups", &now["crew"], "users"];
    let call = session.call(Service::Identity, Method::GET, &path);
    let members: Vec<Value> = call.fetch("users").await.unwrap();
    assert_eq!(members.len(), 1);
    bench.undeploy(&started.deployment).await;
}

/// The next change removes roles that an unfinished change added, and restores roles that it removed.
#[tokio::test]
async fn roles_of_an_interrupted_change_do_not_stay() {
    let bench = bench().await;
    let with = |roles: &[&str]| {
        let items: Vec<String> = roles
            .iter()
            .map(|role| format!("{{role: {{get_resource: {role}}}, project: demo}}"))
            .collect();
        format!(
            "heat_template_version: 2021-04-16
resources:
  one: {{type: OS::Keystone::Role}}
  two: {{type: OS::Keystone::Role}}
  three: {{type: OS::Keystone::Role}}
  ann: {{type: OS::Keystone::User, properties: {{roles: [{}]}}}}
",
            items.join(", ")
        )
    };
    let deployment = bench.deployed(&with(&["one"])).await;
    let ids = bench.ids(&deployment).await;
    let has = async || {
        let path = ["role_assignments"];
        let call = bench
            .actor
            .session
            .call(Service::Identity, Method::GET, &path);
        let call = call.query([("user.id", ids["ann"].as_str())]);
        let all: Vec<Value> = call.fetch("role_assignments").await.unwrap();
        let names = ["one", "two", "three"].into_iter();
        let has = |name: &&str| {
            all.iter()
                .any(|one| one["role"]["id"] == ids[*name].as_str())
        };
        names.filter(has).collect::<Vec<_>>()
    };
    let fails = |method: &str, role: &str| {
        Fault::Call(CallFault {
            service: Some("identity".into()),
            method: Some(method.into()),
            path: Some(format!("*/roles/{}", ids[role])),
            status: Some(400),
            ..CallFault::default()
        })
    };
    bench.lab.faults().add(fails("PUT", "three"));
    let more = with(&["one", "two", "three"]);
    let run = bench.update(&deployment, to(&more)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(has().await, ["one", "two"]);
    bench.lab.faults().clear();
    let run = bench
        .update(&deployment, to(&with(&["one", "three"])))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(has().await, ["one", "three"]);

    bench.lab.faults().add(fails("DELETE", "three"));
    let run = bench.update(&deployment, to(&with(&[]))).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(has().await, ["three"]);
    bench.lab.faults().clear();
    let run = bench.update(&deployment, to(&with(&["one"]))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(has().await, ["one"]);
    bench.undeploy(&deployment).await;
}

#[tokio::test]
async fn a_refused_user_is_told_to_ask_an_administrator() {
    let bench = Bench::new().await;
    let (started, run) = bench
        .deploy(
            "heat_template_version: 2021-04-16\nresources: {watcher: {type: OS::Keystone::Role}}\n",
        )
        .await;
    assert_eq!(run.state, RunState::Failed);
    let set = format!("{run:?}");
    assert!(set.contains("have an administrator make it"), "{set}");
    bench.undeploy(&started.deployment).await;
}
