//! A failure of each call that changes something, in turn: the run goes on from there, and all of it goes.
//!
//! The template has something of each kind that the lab can make, so that a driver which makes a thing twice, or
//! forgets one, is found by what is left.

use api::RunState;
use engine::Force;
use lab::{CallFault, Fault};

use crate::bench::Bench;

const ALL_KINDS: &str = "heat_template_version: 2021-04-16
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

impl Bench {
    /// How often each method was called at the services since the calls were cleared.
    fn changing(&self, method: &str) -> u64 {
        let calls = self.lab.faults().calls();
        calls
            .iter()
            .filter(|call| call.method == method && call.service != "identity")
            .count() as u64
    }

    /// The nth call of a method that changes something is refused for good.
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

    async fn goes_on(&self, run: &str, what: &str) {
        if self.engine.run(&self.tenant, run).await.unwrap().state == RunState::Failed {
            self.engine.resume(&self.actor, run).await.unwrap();
            self.until_state(run, RunState::Succeeded).await;
        }
        let run = self.engine.run(&self.tenant, run).await.unwrap();
        assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
    }
}

#[tokio::test]
async fn wherever_it_fails_it_goes_on_and_all_of_it_goes() {
    let bench = Bench::new().await;
    bench.lab.faults().clear_calls();
    let (started, run) = bench.deploy(ALL_KINDS).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let made = bench.changing("POST");
    let full = bench.left().len();
    bench.lab.faults().clear_calls();
    bench.undeploy(&started.deployment).await;
    let removed = bench.changing("DELETE");
    assert_eq!(bench.left(), Vec::<String>::new());
    assert!(made >= 9 && removed >= 8, "{made} {removed}");

    for nth in 1..=made.max(removed) {
        // A refusal counts for each service alone, so one run meets several of them.
        bench.refuse("POST", nth);
        bench.refuse("PUT", nth);
        let (started, run) = bench.deploy(ALL_KINDS).await;
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

/// The process dies after each moment of a deployment and of its end.
#[tokio::test]
async fn whenever_the_process_dies_nothing_is_twice_and_nothing_is_left() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(ALL_KINDS).await;
    let full = bench.left();
    bench.undeploy(&started.deployment).await;
    for patience in [3, 10, 30, 60, 120] {
        let patience = std::time::Duration::from_millis(patience);
        let started = bench.start(ALL_KINDS).await;
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
