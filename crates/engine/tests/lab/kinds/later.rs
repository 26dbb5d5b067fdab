//! The runs that follow a deployment: suspension, resumption, scaling, repair, snapshot, restoration and roll-back.

use lab::{ServerFault, ServerTrouble};

use super::*;
use crate::{
    bench::facts,
    groups::size,
    sweep::{Choice, all, todays},
    update::to,
};

/// A group of one server, and a server with a volume.
const SHOP: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: sub
    properties:
      min_size: 1
      max_size: 2
      resource:
        type: OS::Nova::Server
        properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  store:
    type: OS::Nova::Server
    depends_on: sub
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  data: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: store}, volume_id: {get_resource: data}}}
";

/// Servers of [`SHOP`].
const SERVERS: usize = 2;

/// [`SHOP`] with another `store`.
fn changed() -> String {
    let store = "  store:
    type: OS::Nova::Server
    depends_on: sub
    properties: {";
    assert!(SHOP.contains(store));
    SHOP.replace(store, &format!("{store}user_data: '#!/bin/true', "))
}

/// A kind of run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Suspend,
    Resume,
    Grow,
    Shrink,
    Repair,
    Snapshot,
    Restore,
    RollBack,
}

/// Runs that lead back to the deployment as it was.
const ROUNDS: [&[Change]; 5] = [
    &[Change::Suspend, Change::Resume],
    &[Change::Grow, Change::Shrink],
    &[Change::Repair],
    &[Change::Snapshot, Change::Restore],
    &[Change::RollBack],
];

/// A lab with a deployment of [`SHOP`].
struct Shop {
    bench: Bench,
    deployment: String,
    /// Number of resources.
    full: usize,
    /// The changing calls of each run, with the number of its round.
    calls: Vec<(usize, Change, Calls)>,
}

impl Shop {
    async fn new() -> Shop {
        let bench = Bench::with_call_timeout(TIMEOUT).await;
        let deployment = bench.deployed(SHOP).await;
        let mut shop = Shop {
            full: bench.left().len(),
            bench,
            deployment,
            calls: Vec::new(),
        };
        for (round, changes) in ROUNDS.iter().enumerate() {
            for &change in *changes {
                Box::pin(shop.precede(change)).await;
                shop.bench.lab.faults().clear_calls();
                let run = Box::pin(shop.run(change)).await;
                assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
                let found = calls(&shop.bench, |call| call.method != "GET");
                assert!(!found.is_empty(), "{change:?} calls the cloud");
                let found = found.into_iter();
                shop.calls.extend(found.map(|call| (round, change, call)));
                Box::pin(shop.has_effect(change, "undisturbed")).await;
            }
        }
        shop
    }

    /// Makes a repair or a roll-back necessary, before it is started.
    async fn precede(&self, change: Change) {
        let (bench, id) = (&self.bench, &self.deployment);
        match change {
            Change::Repair => {
                let store = bench.ids(id).await["store"].clone();
                let compute = bench.actor.session.compute();
                compute.server_delete(&store).await.unwrap();
                let is_gone = async || compute.server_get(&store).await.is_err();
                bench.eventually("the server is gone", is_gone).await;
                let check = bench.check(id).await;
                assert!(check.has_damage(), "{check:#?}");
            }
            Change::RollBack => {
                bench.lab.faults().add(Fault::Server(ServerFault {
                    name: "*store*".into(),
                    fault: ServerTrouble::Error,
                    times: Some(2),
                }));
                let run = bench.update(id, to(&changed())).await;
                bench.lab.faults().clear();
                assert_eq!(run.state, RunState::Failed, "{run:#?}");
            }
            _ => {}
        }
    }

    /// Starts a run, and waits for its end.
    async fn run(&self, change: Change) -> Run {
        let (bench, id) = (&self.bench, self.deployment.as_str());
        let (engine, actor) = (&bench.engine, &bench.actor);
        let started = match change {
            Change::Suspend => engine.suspend(actor, id).await,
            Change::Resume => engine.resume_deployment(actor, id).await,
            Change::Grow => bench.try_scale(id, size(2)).await,
            Change::Shrink => bench.try_scale(id, size(1)).await,
            Change::Repair => {
                let check = bench.shown(id).await.check.unwrap();
                bench.try_repair(id, &check).await
            }
            Change::Snapshot => engine.take_snapshot(actor, id, "shop").await,
            Change::Restore => {
                let snapshot = bench.snapshots(id).await.remove(0);
                engine.restore_snapshot(actor, id, &snapshot.id).await
            }
            Change::RollBack => engine.roll_back(actor, id, &facts()).await,
        };
        let started = started.unwrap_or_else(|refused| panic!("{change:?}: {refused}"));
        bench.end_of(&started.run).await
    }

    /// A round in which one kind of call meets an error, always or a number of times.
    async fn trial(&self, number: usize, kind: &Kind, times: Option<u64>) {
        let (round, unlucky, calls) = &self.calls[number];
        for &change in ROUNDS[*round] {
            let what = format!("{change:?}: {} at {calls:?}, times: {times:?}", kind.name);
            Box::pin(self.precede(change)).await;
            if change == *unlucky {
                self.bench.arm(calls, kind, times);
            }
            let run = Box::pin(self.run(change)).await;
            self.bench.lab.faults().clear();
            if run.state != RunState::Succeeded {
                // If Cinder refuses to restore a volume, its server gets it back at once, and the run fails.
                let may_fail = times.is_none() || change == Change::Restore;
                assert!(change == *unlucky && may_fail, "{what}: {run:#?}");
                ends_with_its_cause(&run, kind, &what);
                self.goes_on(change, &run, &what).await;
            }
            Box::pin(self.has_effect(change, &what)).await;
        }
    }

    /// The cloud works again: a failed run is resumed, or another one takes its place.
    async fn goes_on(&self, change: Change, failed: &Run, what: &str) {
        match change {
            Change::Snapshot | Change::Restore => {
                if change == Change::Snapshot {
                    self.bench.delete_snapshots(&self.deployment, what).await;
                }
                let run = Box::pin(self.run(change)).await;
                assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
            }
            _ => self.bench.goes_on(&failed.id, what).await,
        }
    }

    /// Checks what a run has made of the deployment.
    async fn has_effect(&self, change: Change, what: &str) {
        let (bench, id) = (&self.bench, self.deployment.as_str());
        assert_eq!(bench.sealed(store::SealedKind::Run).await, 0, "{what}");
        match change {
            Change::Suspend => {
                let are_suspended = bench.lab.model(|model| {
                    let mut servers = model.servers.iter();
                    servers.all(|server| server.status.as_str() == "SUSPENDED")
                });
                assert!(are_suspended, "{what}");
            }
            Change::Grow => assert_eq!(bench.servers(), SERVERS + 1, "{what}"),
            Change::Snapshot => {
                let taken = bench.snapshots(id).await.remove(0);
                // The servers and the volume.
                assert_eq!(taken.restored().count(), SERVERS + 1, "{what}: {taken:#?}");
            }
            Change::Resume
            | Change::Shrink
            | Change::Repair
            | Change::Restore
            | Change::RollBack => {
                bench.delete_snapshots(id, what).await;
                let is_as_before = async || bench.left().len() == self.full;
                bench.eventually(what, is_as_before).await;
                let check = bench.check(id).await;
                assert_eq!(check.findings, [], "{what}");
            }
        }
    }

    async fn ends(&self) {
        let run = self.bench.undeploy(&self.deployment).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(self.bench.left(), Vec::<String>::new());
    }
}

/// The trials of some kinds of errors at the chosen calls, in one lab of several.
async fn lane(lane: usize, choice: Choice, kinds_of: impl Fn(usize) -> Vec<(usize, bool)>) {
    let (shop, kinds) = (Box::pin(Shop::new()).await, Kind::all());
    let numbers = (0..shop.calls.len()).filter(|number| choice(*number));
    for number in numbers.skip(lane).step_by(LANES) {
        for (kind, is_lasting) in kinds_of(number) {
            let times = (!is_lasting).then_some(1);
            Box::pin(shop.trial(number, &kinds[kind % kinds.len()], times)).await;
        }
    }
    shop.ends().await;
}

/// Each of today's calls meets one kind of error once and another one always.
#[tokio::test]
async fn each_of_todays_steps_of_a_later_run_meets_a_kind_of_error_once_and_always() {
    let lanes = (0..LANES).map(|number| {
        Box::pin(lane(number, todays, |number| {
            vec![(number, false), (number + 3, true)]
        }))
    });
    join_all(lanes).await;
}

/// All calls meet all kinds of errors, once or always.
async fn every_call_meets_every_kind(is_lasting: bool) {
    let each = |_: usize| -> Vec<(usize, bool)> {
        (0..Kind::all().len())
            .map(|kind| (kind, is_lasting))
            .collect()
    };
    join_all((0..LANES).map(|number| Box::pin(lane(number, all, each)))).await;
}

#[tokio::test]
#[ignore = "many runs"]
async fn each_step_of_a_later_run_meets_each_kind_of_error_once() {
    every_call_meets_every_kind(false).await;
}

#[tokio::test]
#[ignore = "many runs"]
async fn each_step_of_a_later_run_meets_each_kind_of_error_always() {
    every_call_meets_every_kind(true).await;
}
