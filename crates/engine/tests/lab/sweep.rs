//! A failure of each changing call in turn. Then the run continues, or is rolled back, and all resources are deleted.
//! The usual tests take a third of the calls, another one each day, and the ignored tests all of them. The third of another day
//! is taken by its number, which a failing test prints: `STACKLOOM_SHARE=2 cargo test -p engine --test lab todays`.
//!
//! The template has a resource of each type that the lab can create. So leftovers reveal a driver that creates a
//! resource twice, or does not delete one.

use std::collections::BTreeMap;

use api::RunState;
use engine::Force;
use futures::future::join_all;
use lab::{CallFault, Damage, Fault, ServerFault, ServerTrouble};

use crate::{
    bench::{Bench, number_in},
    rare::with_a_pair,
    update::{never_active, to},
};

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

/// Two templates, one of which is deployed.
struct Swing {
    bench: Bench,
    deployment: String,
    before: String,
    after: String,
    /// The project's resources with each template.
    left: [Vec<String>; 2],
    /// The calls of an update from the first to the second template.
    calls: Vec<Nth>,
}

impl Swing {
    /// Updates to the second template and back once.
    async fn new() -> Swing {
        let bench = Bench::new().await;
        let (before, after) = (ALL_KINDS.to_owned(), all_changed());
        let (started, run) = bench.deploy(&before).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        let mut swing = Swing {
            deployment: started.deployment,
            left: [Vec::new(), Vec::new()],
            calls: Vec::new(),
            bench,
            before,
            after,
        };
        swing.left[0] = swing.belongings();
        swing.bench.lab.faults().clear_calls();
        swing.leads_to(&swing.after).await;
        swing.calls = changing_calls(&swing.bench);
        swing.left[1] = swing.belongings();
        assert_ne!(swing.left[0], swing.left[1]);
        swing.leads_to(&swing.before).await;
        swing.is_at(0, "there and back").await;
        swing
    }

    async fn leads_to(&self, template: &str) {
        let run = self.bench.update(&self.deployment, to(template)).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    }

    /// The existing resources, without their incarnation.
    fn belongings(&self) -> Vec<String> {
        let plain = |name: &String| match name.split_once('#') {
            Some((name, number)) => {
                format!(
                    "{name}{}",
                    number.trim_start_matches(|c: char| c.is_ascii_digit())
                )
            }
            None => name.clone(),
        };
        let mut left: Vec<String> = self.bench.left().iter().map(plain).collect();
        left.sort();
        left
    }

    /// Checks that the cloud has one side's resources, and that another update to its template changes nothing.
    async fn is_at(&self, side: usize, what: &str) {
        assert_eq!(self.belongings(), self.left[side], "{what}");
        let template = [&self.before, &self.after][side];
        let run = self.bench.update(&self.deployment, to(template)).await;
        assert!(run.steps.is_empty(), "{what}: {run:#?}");
        let shown = self.bench.shown(&self.deployment).await;
        assert_eq!(shown.template, *template, "{what}");
    }

    /// An update with faults, continued or rolled back, and then an update back to the start.
    async fn survives(&self, faults: Vec<Fault>, goes_back: bool, what: &str) {
        for fault in faults {
            self.bench.lab.faults().add(fault);
        }
        let run = self.bench.update(&self.deployment, to(&self.after)).await;
        self.bench.lab.faults().clear();
        let side = match (run.state, goes_back) {
            (RunState::Failed, true) => {
                let back = self.bench.rolls_back(&self.deployment).await;
                assert_eq!(
                    back.state,
                    RunState::Succeeded,
                    "back from {what}: {back:#?}"
                );
                0
            }
            _ => {
                self.bench.goes_on(&run.id, what).await;
                1
            }
        };
        self.is_at(side, what).await;
        if side == 1 {
            self.leads_to(&self.before).await;
        }
    }

    async fn end(self) {
        self.is_at(0, "in the end").await;
        self.bench.undeploy(&self.deployment).await;
        assert_eq!(self.bench.left(), Vec::<String>::new());
    }
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

#[tokio::test]
async fn an_update_refused_at_one_of_todays_calls_is_resumed_or_rolled_back() {
    Box::pin(update_is_refused_at(todays)).await;
}

#[tokio::test]
#[ignore = "many updates"]
async fn an_update_refused_at_any_call_is_resumed_or_rolled_back() {
    Box::pin(update_is_refused_at(all)).await;
}

/// Each chosen call is refused, and so is the next one, which can be the same call again.
async fn update_is_refused_at(choice: Choice) {
    let swing = Swing::new().await;
    assert!(swing.calls.len() >= 20, "{:?}", swing.calls);
    let refused = || CallFault {
        status: Some(400),
        ..CallFault::default()
    };
    let calls = swing.calls.iter().enumerate();
    for (number, call) in calls.filter(|(number, _)| choice(*number)) {
        let again = (call.0.clone(), call.1.clone(), call.2 + 1);
        let faults = vec![at(call, refused()), at(&again, refused())];
        let goes_back = number % 2 == 0;
        let what = format!("{call:?}, back: {goes_back}");
        swing.survives(faults, goes_back, &what).await;
    }
    swing.end().await;
}

#[tokio::test]
async fn an_update_survives_a_transient_fault_at_each_of_todays_calls() {
    update_survives_transient_faults_at(todays).await;
}

#[tokio::test]
#[ignore = "many updates"]
async fn an_update_survives_a_transient_fault_at_any_call() {
    update_survives_transient_faults_at(all).await;
}

/// At each chosen call, one of several faults occurs once: transient ones pass, and nothing is created twice.
async fn update_survives_transient_faults_at(choice: Choice) {
    // Side by side: many of these runs wait for resources that might come late.
    let both = [false, true];
    join_all(both.map(|goes_back| Box::pin(survives_transient_faults(goes_back, choice)))).await;
}

/// A fault at every second of the chosen calls.
async fn survives_transient_faults(goes_back: bool, choice: Choice) {
    let swing = Swing::new().await;
    let status = |status: u16| CallFault {
        status: Some(status),
        ..CallFault::default()
    };
    let damage = |damage: Damage| CallFault {
        damage: Some(damage),
        ..CallFault::default()
    };
    let troubles = [
        damage(Damage::CutAfter),
        status(500),
        damage(Damage::CutBefore),
        status(409),
        damage(Damage::WrongJson),
        status(503),
        CallFault {
            delay_ms: 150,
            ..CallFault::default()
        },
    ];
    let calls = swing.calls.iter().enumerate();
    let calls = calls.filter(|(number, _)| choice(*number));
    for (number, call) in calls.skip(usize::from(goes_back)).step_by(2) {
        let trouble = &troubles[number % troubles.len()];
        let what = format!("{call:?}: {trouble:?}");
        let faults = vec![at(call, trouble.clone())];
        swing.survives(faults, goes_back, &what).await;
    }
    swing.end().await;
}

/// The successors of servers never become ready, or fail as soon as they are ready.
#[tokio::test]
async fn an_update_with_a_failed_successor_is_resumed_or_rolled_back() {
    let swing = Swing::new().await;
    for (trouble, times) in [
        (ServerTrouble::Error, 1),
        (ServerTrouble::Error, 2),
        (ServerTrouble::Error, 4),
        (ServerTrouble::Dies(0), 2),
        (ServerTrouble::Dies(20), 2),
    ] {
        for goes_back in [true, false] {
            let fault = Fault::Server(ServerFault {
                name: "web-*".into(),
                fault: trouble,
                times: Some(times),
            });
            let what = format!("{trouble:?} {times} times, back: {goes_back}");
            swing.survives(vec![fault], goes_back, &what).await;
        }
    }
    swing.end().await;
}

/// A user cancels the wait for a successor that never becomes ready; then continues, or rolls back.
#[tokio::test]
async fn a_successor_that_never_comes_is_cancelled() {
    let swing = Swing::new().await;
    let bench = &swing.bench;
    for goes_back in [true, false] {
        bench.lab.faults().add(never_active("web-*"));
        let update = bench
            .engine
            .update(&bench.actor, &swing.deployment, to(&swing.after));
        let run = update.await.unwrap().run;
        bench
            .until(&run, |event| {
                matches!(&event.body, api::EventBody::Log(api::LogLine { text, .. }) if text.contains("BUILD"))
            })
            .await;
        bench.engine.cancel(&bench.tenant, &run).await.unwrap();
        let ended = bench.end_of(&run).await;
        assert_eq!(ended.state, RunState::Cancelled, "{ended:#?}");
        bench.lab.faults().clear();
        let ended = if goes_back {
            bench.rolls_back(&swing.deployment).await
        } else {
            // For the engine it can still become ready, unless a user deletes it.
            let hanging = || {
                bench.lab.model(|model| {
                    let servers = model.servers.iter();
                    let hang = servers.filter(|server| server.status.as_str() == "BUILD");
                    hang.map(|server| server.id.clone()).collect::<Vec<_>>()
                })
            };
            // Waits for the late server.
            bench
                .eventually("one hangs", async || hanging().len() == 1)
                .await;
            let compute = bench.actor.session.compute();
            compute.server_delete(&hanging()[0]).await.unwrap();
            bench.update(&swing.deployment, to(&swing.after)).await
        };
        assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
        swing
            .is_at(usize::from(!goes_back), "after it was cancelled")
            .await;
        if !goes_back {
            swing.leads_to(&swing.before).await;
        }
    }
    swing.end().await;
}
