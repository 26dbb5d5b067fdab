//! Rolling updates: the members of a group change in batches, and the others keep working.

use std::collections::BTreeSet;

use api::{CloudFacts, Event, EventBody, RunState, StepState};
use engine::{Changes, NewDeployment};
use hot::bundle::Bundle;
use serde_json::json;

use crate::{
    bench::Bench,
    update::{servers_fail, to},
};

/// Six servers, of which two may be away at a time.
const SIX: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: sub
    properties:
      min_size: 6
      max_size: 6
      rolling_updates: {max_batch_size: 2, min_in_service: 4}
      resource:
        type: OS::Nova::Server
        properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
";

/// A member of a group of nested templates.
const MEMBER: &str = "heat_template_version: 2021-04-16
parameters:
  net: {type: string}
  flavor: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: {get_param: flavor}, networks: [{network: {get_param: net}}]}
";

/// The members of six, two by two.
const BATCHES: [[&str; 2]; 3] = [["0", "1"], ["2", "3"], ["4", "5"]];

fn facts() -> CloudFacts {
    let facts = json!({
        "images": [{"id": "1", "name": "debian-12"}],
        "flavors": [{"id": "1", "name": "m1.tiny", "vcpus": 1, "ram_mib": 512, "disk_gib": 1},
                    {"id": "2", "name": "m1.small", "vcpus": 1, "ram_mib": 2048, "disk_gib": 20}],
        "external_networks": [{"id": "public", "name": "public"}],
    });
    serde_json::from_value(facts).unwrap()
}

/// The sets of members that were worked on at the same time, in the order of the events.
fn at_work(events: &[Event]) -> Vec<BTreeSet<String>> {
    let mut at_work = BTreeSet::new();
    let mut sets = Vec::new();
    for event in events {
        let EventBody::Step { step, state, .. } = &event.body else {
            continue;
        };
        let member = step
            .strip_prefix("web/")
            .and_then(|rest| rest.split([':', '/']).next());
        let Some(member) = member.filter(|_| !step.ends_with(":delete-old")) else {
            continue;
        };
        match state {
            StepState::Running => at_work.insert(member.to_owned()),
            StepState::Succeeded => at_work.remove(member),
            _ => continue,
        };
        sets.push(at_work.clone());
    }
    sets
}

/// True if members were worked on two at a time, batch by batch.
fn is_in_batches(events: &[Event]) -> bool {
    let mut pairs = at_work(events);
    pairs.retain(|set| set.len() >= 2);
    pairs.dedup();
    pairs == BATCHES.map(|batch| BTreeSet::from(batch.map(str::to_owned)))
}

impl Bench {
    fn active_servers(&self) -> usize {
        let servers = |model: &lab::services::Model| {
            let statuses = model.servers.iter().map(|server| server.shown_status());
            let up = statuses.filter(|status| matches!(*status, "ACTIVE" | "VERIFY_RESIZE"));
            up.count()
        };
        self.lab.model(servers)
    }

    /// Updates the six servers. Returns the run, its events, and the smallest number of servers that were up.
    async fn roll(&self, deployment: &str, template: &str) -> (api::Run, Vec<Event>, usize) {
        let changes = Changes {
            cloud: facts(),
            ..to(template)
        };
        let started = self.engine.update(&self.actor, deployment, changes);
        let started = started.await.unwrap();
        let ended = self.end_of(&started.run);
        tokio::pin!(ended);
        let mut fewest = self.active_servers();
        let run = loop {
            tokio::select! {
                run = &mut ended => break run,
                () = tokio::task::yield_now() => fewest = fewest.min(self.active_servers()),
            }
        };
        let events = self.engine.events(&self.tenant, &run.id, 0, 1000).await;
        (run, events.unwrap(), fewest)
    }
}

#[tokio::test]
async fn six_servers_are_updated_two_at_a_time() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(SIX).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.active_servers(), 6);
    let deployment = started.deployment.as_str();
    let before = bench.ids(deployment).await;

    // In place: a server that gets another size is away for a while.
    let small = SIX.replace("m1.tiny", "m1.small");
    let (run, events, fewest) = bench.roll(deployment, &small).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(deployment).await, before);
    assert!(fewest >= 4, "{fewest} were up");
    assert!(is_in_batches(&events), "{:?}", at_work(&events));

    // By successors: none is away.
    let other = small.replace("m1.small,", "m1.small, user_data: '#!/bin/true',");
    let (run, events, fewest) = bench.roll(deployment, &other).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(fewest, 6);
    let most = at_work(&events).iter().map(BTreeSet::len).max();
    assert_eq!(most, Some(2));
    let after = bench.ids(deployment).await;
    for member in BATCHES.as_flattened() {
        let name = format!("web/{member}");
        assert_ne!(after[&name], before[&name], "{name}");
    }
    bench.undeploy(deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn six_nested_templates_are_updated_two_at_a_time() {
    let bench = Bench::new().await;
    let (group, _) = SIX.split_once("        type: OS::Nova::Server").unwrap();
    let template = format!(
        "{group}        type: member.yaml\n        properties: {{flavor: m1.tiny, net: {{get_resource: net}}}}\n"
    );
    let new = NewDeployment {
        name: "nested".into(),
        template: template.clone(),
        bundle: Bundle::new([("member.yaml".to_owned(), MEMBER.to_owned())], []),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    let small = template.replace("m1.tiny", "m1.small");
    let (run, events, fewest) = bench.roll(&started.deployment, &small).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(fewest >= 4, "{fewest} were up");
    assert!(is_in_batches(&events), "{:?}", at_work(&events));
}

#[tokio::test]
async fn a_batch_that_fails_is_the_last() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(SIX).await;
    let deployment = started.deployment.as_str();
    let before = bench.ids(deployment).await;
    bench.lab.faults().add(servers_fail(20));
    let other = SIX.replace("m1.tiny,", "m1.tiny, user_data: '#!/bin/true',");
    let (run, events, fewest) = bench.roll(deployment, &other).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(fewest, 6, "the servers of before work");
    let touched: BTreeSet<String> = at_work(&events).into_iter().flatten().collect();
    assert_eq!(touched, BTreeSet::from(["0".to_owned(), "1".to_owned()]));

    bench.lab.faults().clear();
    let run = bench.rolls_back(deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(deployment).await, before);
}
