//! A failure of each changing call in turn. Then the run continues, or is rolled back, and all resources are deleted.
//! The usual tests take a third of the calls, another one each day, and the ignored tests all of them. The third of another day
//! is taken by its number, which a failing test prints: `STACKLOOM_SHARE=2 cargo test -p engine --test lab todays`.
//!
//! The template has a resource of each type that the lab can create. So leftovers reveal a driver that creates a
//! resource twice, or does not delete one.

use std::collections::BTreeMap;

use api::RunState;
use engine::Force;
use lab::{CallFault, Fault};

use crate::{
    bench::{Bench, number_in},
    rare::with_a_pair,
};

mod updates;

pub const ALL_KINDS: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  foot: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  routes:
    type: OS::Neutron::ExtraRouteSet
    depends_on: foot
    properties: {router: {get_resource: gate}, routes: [{destination: 10.9.0.0/24, nexthop: 10.0.1.9}]}
  doors: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp, port_range_min: 80, port_range_max: 80}]}}
  near: {type: OS::Nova::ServerGroup, properties: {policies: [affinity]}}
  random: {type: OS::Heat::RandomString}
  note: {type: OS::Barbican::Secret, properties: {payload: {get_attr: [random, value]}}}
  group:
    type: OS::Heat::ResourceGroup
    depends_on: sub
    properties:
      count: 2
      resource_def:
        type: OS::Nova::Server
        properties:
          name: 'web-%index%'
          image: debian-12
          flavor: m1.tiny
          networks: [{network: {get_resource: net}}]
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_attr: [group, resource.0]}, volume_id: {get_resource: disk}}
";

/// A choice among calls by their number.
pub type Choice = fn(usize) -> bool;

/// Number of days after which each call had its turn.
const SHARES: usize = 3;

thread_local! {
    /// The share of today, or of the environment. A test has a thread of its own, so each one prints it once.
    static SHARE: usize = {
        let share = number_in("STACKLOOM_SHARE").unwrap_or_else(|| {
            let days = jiff::Timestamp::now().as_second() / (24 * 3600);
            u64::try_from(days).unwrap()
        });
        let share = usize::try_from(share).unwrap() % SHARES;
        println!("to repeat with the same calls: STACKLOOM_SHARE={share}");
        share
    };
}

/// The calls of today.
pub fn todays(number: usize) -> bool {
    SHARE.with(|share| number % SHARES == *share)
}

/// All calls.
pub fn all(_: usize) -> bool {
    true
}

impl Bench {
    /// Number of calls with each method at the services since the last reset.
    fn changing(&self, method: &str) -> u64 {
        let calls = self.lab.faults().calls();
        calls
            .iter()
            .filter(|call| call.method == method && call.service != "identity")
            .count() as u64
    }

    /// Refuses the nth call of a changing method permanently.
    fn refuse(&self, method: &str, nth: u64) {
        for service in ["network", "compute", "block-storage", "key-manager"] {
            self.lab.faults().add(Fault::Call(CallFault {
                service: Some(service.into()),
                method: Some(method.into()),
                nth: Some(nth),
                status: Some(400),
                ..CallFault::default()
            }));
        }
    }

    /// Resumes a run if it has failed. In the end it must have succeeded.
    pub async fn goes_on(&self, run: &str, what: &str) {
        if self.engine.run(&self.tenant, run).await.unwrap().state == RunState::Failed {
            self.engine.resume(&self.actor, run).await.unwrap();
            self.until_state(run, RunState::Succeeded).await;
        }
        let run = self.engine.run(&self.tenant, run).await.unwrap();
        assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
    }
}

#[tokio::test]
async fn after_a_failure_at_one_of_todays_calls_a_run_is_resumed_and_undeployed() {
    Box::pin(is_refused_at(ALL_KINDS, todays)).await;
}

#[tokio::test]
async fn after_a_failure_at_one_of_todays_rare_calls_a_run_is_resumed_and_undeployed() {
    Box::pin(is_refused_at(&with_a_pair(), todays)).await;
}

#[tokio::test]
#[ignore = "many deployments"]
async fn after_a_failure_at_any_call_a_run_is_resumed_and_undeployed() {
    for template in [ALL_KINDS, &with_a_pair()] {
        Box::pin(is_refused_at(template, all)).await;
    }
}

async fn is_refused_at(template: &str, choice: Choice) {
    let bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    let (started, run) = bench.deploy(template).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let made = bench.changing("POST");
    let full = bench.left().len();
    bench.lab.faults().clear_calls();
    bench.undeploy(&started.deployment).await;
    let removed = bench.changing("DELETE");
    assert_eq!(bench.left(), Vec::<String>::new());
    assert!(made >= 9 && removed >= 8, "{made} {removed}");

    for nth in (1..=made.max(removed)).filter(|nth| choice(usize::try_from(*nth).unwrap())) {
        // Refusals are counted per service, so one run has several of them.
        bench.refuse("POST", nth);
        bench.refuse("PUT", nth);
        let (started, run) = bench.deploy(template).await;
        bench.lab.faults().clear();
        bench.goes_on(&run.id, &format!("call {nth}")).await;
        assert_eq!(bench.left().len(), full, "call {nth}: {:?}", bench.left());

        bench.refuse("DELETE", nth);
        bench.refuse("PUT", nth);
        let gone = bench
            .engine
            .undeploy(&bench.actor, &started.deployment, Force::No)
            .await
            .unwrap();
        bench.end_of(&gone.run).await;
        bench.lab.faults().clear();
        bench.goes_on(&gone.run, &format!("removal {nth}")).await;
        assert_eq!(bench.left(), Vec::<String>::new(), "after call {nth}");
    }
}

/// The process ends at each moment of a deployment and of its undeployment.
#[tokio::test]
async fn a_crash_at_any_call_creates_nothing_twice_and_leaves_nothing() {
    dies_everywhere(ALL_KINDS).await;
}

#[tokio::test]
async fn a_crash_at_any_rare_call_creates_nothing_twice_and_leaves_nothing() {
    dies_everywhere(&with_a_pair()).await;
}

async fn dies_everywhere(template: &str) {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(template).await;
    let full = bench.left();
    bench.undeploy(&started.deployment).await;
    for patience in [3, 10, 30, 60, 120] {
        let patience = std::time::Duration::from_millis(patience);
        let started = bench.start(template).await;
        let run = started.run.clone();
        for _ in 0..3 {
            tokio::time::timeout(patience, bench.end_of(&run))
                .await
                .ok();
            bench.crash().await;
        }
        let run = bench.end_of(&run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.left().len(), full.len(), "{:?}", bench.left());
        let gone = bench
            .engine
            .undeploy(&bench.actor, &started.deployment, Force::No)
            .await
            .unwrap();
        for _ in 0..3 {
            tokio::time::timeout(patience, bench.end_of(&gone.run))
                .await
                .ok();
            bench.crash().await;
        }
        let run = bench.end_of(&gone.run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.left(), Vec::<String>::new());
    }
}

/// The same template with changes in nearly all resources: some in place, some by replacement.
pub fn all_changed() -> String {
    let changes = [
        (
            "net: {type: OS::Neutron::Net}",
            "net: {type: OS::Neutron::Net, properties: {name: green}}",
        ),
        (
            "cidr: 10.0.1.0/24}}",
            "cidr: 10.0.1.0/24, dns_nameservers: [9.9.9.9]}}",
        ),
        ("destination: 10.9.0.0/24", "destination: 10.8.0.0/24"),
        (
            "port_range_min: 80, port_range_max: 80",
            "port_range_min: 81, port_range_max: 81",
        ),
        ("policies: [affinity]", "policies: [anti-affinity]"),
        ("payload: {get_attr: [random, value]}", "payload: another"),
        (
            "flavor: m1.tiny",
            "flavor: m1.tiny\n          user_data: '#!/bin/true'",
        ),
        ("size: 1", "size: 1, name: data"),
    ];
    let mut template = ALL_KINDS.to_owned();
    for (before, after) in changes {
        assert!(template.contains(before), "{before}");
        template = template.replace(before, after);
    }
    template + "  more: {type: OS::Neutron::Net}\n"
}

/// A changing call: its service, its method, and its number among the calls of this method at this service.
pub type Nth = (String, String, u64);

/// The changing calls at the services since the last reset.
pub fn changing_calls(bench: &Bench) -> Vec<Nth> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for call in bench.lab.faults().calls() {
        if call.method != "GET" && call.service != "identity" {
            let count = counts.entry((call.service, call.method)).or_default();
            *count += 1;
        }
    }
    let mut calls = Vec::new();
    for ((service, method), count) in counts {
        let all = (1..=count).map(|nth| (service.clone(), method.clone(), nth));
        calls.extend(all);
    }
    calls
}

/// A fault of this call.
pub fn at(call: &Nth, fault: CallFault) -> Fault {
    let (service, method, nth) = call.clone();
    Fault::Call(CallFault {
        service: Some(service),
        method: Some(method),
        nth: Some(nth),
        ..fault
    })
}
