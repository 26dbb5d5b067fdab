//! Updates: in place, by successors, and rolled back.

use std::collections::BTreeMap;

use api::{CloudFacts, Deployment, ResourceState, Run, RunState, StepKind};
use engine::Changes;
use lab::{CallFault, Fault, ServerFault, ServerTrouble};

use crate::bench::{Bench, TWO_SERVERS, facts, steps};

/// A server with its own port in a network.
pub const ONE_SERVER: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
outputs:
  address: {value: {get_attr: [web, first_address]}}
";

pub fn another_server() -> String {
    ONE_SERVER.replace(
        "flavor: m1.tiny,",
        "flavor: m1.tiny, user_data: '#!/bin/true',",
    )
}

pub fn another_network() -> String {
    ONE_SERVER.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, properties: {availability_zone_hints: [nova]}}",
    )
}

pub fn to(template: &str) -> Changes {
    Changes {
        template: template.into(),
        cloud: facts(),
        ..Changes::default()
    }
}

pub fn servers_fail(times: u64) -> Fault {
    Fault::Server(ServerFault {
        name: "*web*".into(),
        fault: ServerTrouble::Error,
        times: Some(times),
    })
}

/// One server with such a name stays in BUILD.
pub fn never_active(name: &str) -> Fault {
    Fault::Server(ServerFault {
        name: name.into(),
        fault: ServerTrouble::NeverActive,
        times: Some(1),
    })
}

impl Bench {
    pub async fn update(&self, deployment: &str, changes: Changes) -> Run {
        let started = self
            .engine
            .update(&self.actor, deployment, changes)
            .await
            .unwrap();
        self.end_of(&started.run).await
    }

    pub async fn shown(&self, deployment: &str) -> Deployment {
        self.engine
            .deployment(&self.tenant, deployment)
            .await
            .unwrap()
    }

    pub async fn ids(&self, deployment: &str) -> BTreeMap<String, String> {
        let shown = self.shown(deployment).await;
        let ids = shown.resources.into_iter();
        ids.map(|one| (one.name, one.physical_id.unwrap_or_default()))
            .collect()
    }

    pub fn servers(&self) -> usize {
        self.lab.model(|model| model.servers.iter().count())
    }
}

pub fn order(run: &Run) -> Vec<&str> {
    let steps = run.steps.iter();
    let mut steps: Vec<_> = steps.filter(|step| step.kind != StepKind::Sweep).collect();
    steps.sort_by(|one, other| one.ended.cmp(&other.ended));
    steps.into_iter().map(|step| step.id.as_str()).collect()
}

#[tokio::test]
async fn a_resource_updated_in_place_keeps_its_id() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    let changed = ONE_SERVER
        .replace(
            "flavor: m1.tiny,",
            "flavor: m1.tiny, name: front, metadata: {role: web},",
        )
        .replace(
            "cidr: 10.0.1.0/24",
            "cidr: 10.0.1.0/24, dns_nameservers: [9.9.9.9]",
        )
        .replace(
            "OS::Neutron::Net}",
            "OS::Neutron::Net, properties: {name: green}}",
        );
    let run = bench.update(&started.deployment, to(&changed)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let all = [("net:update", ()), ("sub:update", ()), ("web:update", ())].map(|(id, ())| id);
    assert_eq!(steps(&run).into_keys().collect::<Vec<_>>(), all);
    assert_eq!(bench.ids(&started.deployment).await, before);
    bench.lab.model(|model| {
        let server = model.servers.iter().next().unwrap();
        assert_eq!(
            (server.name.as_str(), server.metadata["role"].as_str()),
            ("front", "web")
        );
        assert!(model.networks.iter().any(|network| network.name == "green"));
    });
    // The same template again changes nothing.
    let run = bench.update(&started.deployment, to(&changed)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_successor_comes_before_its_predecessor_goes_and_keeps_the_address() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.shown(&started.deployment).await;
    let run = bench
        .update(&started.deployment, to(&another_server()))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["web:create", "web:delete-old"]);
    let after = bench.shown(&started.deployment).await;
    let id = |shown: &Deployment, name: &str| {
        let one = shown.resources.iter().find(|one| one.name == name);
        one.unwrap().physical_id.clone().unwrap()
    };
    assert_ne!(id(&before, "web"), id(&after, "web"));
    assert_eq!(id(&before, "web_port"), id(&after, "web_port"));
    assert_eq!(
        before.outputs["address"].value,
        after.outputs["address"].value
    );
    assert_eq!(
        after.resources.len(),
        before.resources.len(),
        "no copy is left"
    );
    assert_eq!(bench.servers(), 1);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn dependents_move_over_to_a_successor() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    let run = bench
        .update(&started.deployment, to(&another_network()))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let after = bench.ids(&started.deployment).await;
    assert_eq!(
        before["web"], after["web"],
        "it is plugged into another port"
    );
    for moved in ["net", "sub", "web_port"] {
        assert_ne!(before[moved], after[moved], "{moved}");
    }
    bench.lab.model(|model| {
        let server = model.servers.iter().next().unwrap();
        assert_eq!(server.ports, [after["web_port"].clone()]);
    });
    assert!(
        bench
            .left()
            .iter()
            .all(|left| !left.contains(&before["net"])),
        "{:?}",
        bench.left()
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// The process ends at each moment of an update that replaces a network and a server in it.
#[tokio::test]
async fn a_crash_in_the_middle_of_a_replacement_makes_nothing_twice() {
    let mut bench = Bench::new().await;
    let both = another_network().replace(
        "flavor: m1.tiny,",
        "flavor: m1.tiny, user_data: '#!/bin/true',",
    );
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    let run = bench
        .engine
        .update(&bench.actor, &started.deployment, to(&both))
        .await
        .unwrap()
        .run;
    for _ in 0..8 {
        tokio::time::timeout(std::time::Duration::from_millis(20), bench.end_of(&run))
            .await
            .ok();
        bench.crash().await;
    }
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let after = bench.ids(&started.deployment).await;
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert!(
        before
            .values()
            .all(|id| !after.values().any(|other| other == id))
    );
    assert_eq!(bench.servers(), 1);
    assert_eq!(
        bench.lab.model(|model| model
            .ports
            .iter()
            .filter(|port| port.device_id == after["web"])
            .count()),
        1
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A failure of each changing call in turn. Then the run is continued or rolled back, and undeployed.
#[tokio::test]
async fn no_resource_is_left_after_an_update_failed_at_any_call() {
    let bench = Bench::new().await;
    let after = TWO_SERVERS
        .replace(
            "  web:\n",
            "  web:\n    metadata: {stackloom: {public: true}}\n",
        )
        .replace(
            "OS::Neutron::Net}",
            "OS::Neutron::Net, properties: {name: n}}",
        )
        .replacen(
            "flavor: m1.tiny,",
            "flavor: m1.tiny, user_data: '#!/bin/true',",
            1,
        );
    let (started, _) = bench.deploy(TWO_SERVERS).await;
    bench.lab.faults().clear_calls();
    let run = bench.update(&started.deployment, to(&after)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let calls = bench.lab.faults().calls();
    let count = calls
        .iter()
        .filter(|call| call.method != "GET" && call.service != "identity")
        .count() as u64;
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
    assert!(count >= 5, "{calls:?}");

    for nth in 1..=count {
        for (method, back) in [("POST", true), ("PUT", false), ("DELETE", true)] {
            bench.lab.faults().clear();
            let deployment = bench.deployed(TWO_SERVERS).await;
            bench.lab.faults().add(Fault::Call(CallFault {
                method: Some(method.into()),
                nth: Some(nth),
                status: Some(400),
                times: Some(2),
                ..CallFault::default()
            }));
            let run = bench.update(&deployment, to(&after)).await;
            bench.lab.faults().clear();
            if run.state == RunState::Failed {
                let run = if back {
                    let cloud: CloudFacts = facts();
                    let back = bench
                        .engine
                        .roll_back(&bench.actor, &deployment, &cloud)
                        .await
                        .unwrap();
                    bench.end_of(&back.run).await
                } else {
                    bench.update(&deployment, to(&after)).await
                };
                assert_eq!(
                    run.state,
                    RunState::Succeeded,
                    "{method} number {nth}, back: {back}: {run:#?}"
                );
            }
            assert_eq!(bench.servers(), 2, "{method} number {nth}");
            bench.undeploy(&deployment).await;
            assert_eq!(
                bench.left(),
                Vec::<String>::new(),
                "after {method} number {nth} failed"
            );
        }
    }
}

/// A user's key pair with its own name, which must be unique.
fn key_pair(public_key: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  key: {{type: OS::Nova::KeyPair, properties: {{name: mine, public_key: {public_key}}}}}
"
    )
}

const ONE_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const OTHER_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA6rWI3G1sz07DnfFlrouTcysQlj2P+jpNSOEWD9OJ3X";

#[tokio::test]
async fn a_successor_is_known_when_its_predecessor_goes_first() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&key_pair(ONE_KEY)).await;
    let run = bench.update(&deployment, to(&key_pair(OTHER_KEY))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["key:delete-old", "key:create"]);
    let shown = bench.shown(&deployment).await;
    let all: Vec<_> = shown
        .resources
        .iter()
        .map(|one| (one.name.as_str(), one.state, one.physical_id.as_deref()))
        .collect();
    assert_eq!(all, [("key", ResourceState::Ready, Some("mine"))]);
    assert_eq!(bench.left(), ["keypair mine"]);
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// As in Heat, a property that is removed from the template gets its default.
#[tokio::test]
async fn a_removed_property_gets_its_default() {
    let bench = Bench::new().await;
    let net = |properties: &str| {
        format!(
            "heat_template_version: 2021-04-16\nresources:\n  front: {{type: OS::Neutron::Net, properties: {{{properties}}}}}\n"
        )
    };
    let (started, _) = bench.deploy(&net("name: n, admin_state_up: false")).await;
    let is_up = || {
        bench.lab.model(|model| {
            let mut networks = model.networks.iter();
            networks.find(|one| one.name == "n").unwrap().admin_state_up
        })
    };
    assert!(!is_up());
    let run = bench.update(&started.deployment, to(&net("name: n"))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["front:update"]);
    assert!(is_up());
    let run = bench.update(&started.deployment, to(&net("name: n"))).await;
    assert!(run.steps.is_empty(), "{run:#?}");
}
