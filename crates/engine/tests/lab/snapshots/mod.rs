//! Snapshots of deployments, and their restoration.

use api::{DeploymentState, Run, RunKind, RunState, Snapshot, StepState};
use engine::{Error, Force};
use lab::{ActionFault, CallFault, Fault};
use openstack::image::Image;

use crate::{
    bench::{Bench, TWO_SERVERS, refusal, steps},
    suspension::lost_answer,
    update::to,
};

mod volumes;

/// An action of `web` that Nova accepts, and does not carry out.
fn failure(action: &str) -> Fault {
    Fault::Action(ActionFault {
        name: "*web*".into(),
        action: action.into(),
        times: None,
    })
}

/// Images that nobody may delete.
fn kept_images() -> Fault {
    Fault::Call(CallFault {
        service: Some("image".into()),
        method: Some("DELETE".into()),
        status: Some(403),
        ..CallFault::default()
    })
}

impl Bench {
    async fn take(&self, deployment: &str, name: &str) -> Run {
        let taken = self.engine.take_snapshot(&self.actor, deployment, name);
        self.end_of(&taken.await.unwrap().run).await
    }

    async fn restore(&self, deployment: &str, snapshot: &str) -> Run {
        let engine = &self.engine;
        let restored = engine.restore_snapshot(&self.actor, deployment, snapshot);
        self.end_of(&restored.await.unwrap().run).await
    }

    async fn delete(&self, deployment: &str, snapshot: &str) -> engine::Result<()> {
        let engine = &self.engine;
        engine
            .delete_snapshot(&self.actor, deployment, snapshot)
            .await
    }

    pub async fn snapshots(&self, deployment: &str) -> Vec<Snapshot> {
        let listed = self.engine.snapshots(&self.tenant, deployment);
        listed.await.unwrap()
    }

    /// Deletes all snapshots. Their parts would count as resources.
    pub async fn delete_snapshots(&self, deployment: &str, what: &str) {
        for snapshot in self.snapshots(deployment).await {
            let is_deleted = async || match self.delete(deployment, &snapshot.id).await {
                Ok(()) => true,
                // The cloud goes on with the work of a run that has failed or was cancelled.
                Err(Error::Unavailable(_)) => false,
                Err(refused) => panic!("{refused}, {what}"),
            };
            self.eventually("the snapshot is deleted", is_deleted).await;
        }
    }

    /// The images that were made of servers.
    async fn images(&self) -> Vec<Image> {
        let image = self.actor.session.image();
        let all = image.image_list(&[("visibility", "private")]).await;
        all.unwrap()
    }

    /// The image that a server has now.
    async fn image_of(&self, id: &str) -> String {
        let server = self.actor.session.compute().server_get(id).await.unwrap();
        server.other["image"]["id"].as_str().unwrap().to_owned()
    }
}

/// The resources that a restoration leaves alone, with their reasons.
fn left_alone(snapshot: &Snapshot) -> Vec<(&str, &str)> {
    let left = snapshot.left_alone.iter();
    left.map(|one| (one.resource.as_str(), one.why.as_str()))
        .collect()
}

#[tokio::test]
async fn servers_return_to_their_snapshot_and_all_else_stays() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    let before = bench.shown(&deployment).await;
    let ids = bench.ids(&deployment).await;

    let run = bench.take(&deployment, " before ").await;
    assert_eq!(
        (run.kind, run.state, run.reason.as_deref()),
        (RunKind::Snapshot, RunState::Succeeded, None)
    );
    let taken = bench.snapshots(&deployment).await;
    let [snapshot] = &taken[..] else {
        panic!("there is one: {taken:#?}");
    };
    assert_eq!(
        (snapshot.id.as_str(), snapshot.name.as_str()),
        (run.id.as_str(), "before")
    );
    assert!(!snapshot.is_being_taken && !snapshot.is_incomplete());
    let names: Vec<&str> = snapshot.restored().collect();
    assert_eq!(names, ["gate", "web"]);
    assert_eq!(snapshot.left_alone, []);

    let old = bench.image_of(&ids["web"]).await;
    let run = bench.restore(&deployment, &snapshot.id).await;
    assert_eq!(
        (run.kind, run.state),
        (RunKind::Restore, RunState::Succeeded),
        "{run:#?}"
    );
    for part in &snapshot.parts {
        let now = bench.image_of(&part.physical_id).await;
        assert_eq!(Some(&now), part.snapshot_id.as_ref());
        assert_ne!(now, old);
    }
    // Neither run is a change of the deployment.
    let after = bench.shown(&deployment).await;
    assert_eq!(after.resources, before.resources);
    assert_eq!(
        (after.state, after.last_run),
        (DeploymentState::Deployed, before.last_run)
    );
    let run = bench.update(&deployment, to(TWO_SERVERS)).await;
    assert_eq!((run.state, steps(&run).len()), (RunState::Succeeded, 0));

    // An undeployment leaves no image.
    let run = bench.undeploy(&deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
    assert_eq!(bench.images().await, []);
    assert_eq!(bench.snapshots(&deployment).await, []);
}

#[tokio::test]
async fn a_snapshot_whose_answer_is_lost_is_found_again() {
    let mut bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    bench.lab.faults().clear_calls();
    bench.lab.faults().add(lost_answer(1));
    let taken = bench.engine.take_snapshot(&bench.actor, &deployment, "one");
    let started = taken.await.unwrap();
    let are_made = async || bench.images().await.len() == 2;
    bench.eventually("both images are there", are_made).await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!((bench.actions(), bench.images().await.len()), (2, 2));
    let snapshot = bench.snapshots(&deployment).await.remove(0);
    assert_eq!(snapshot.restored().count(), 2);

    // A restoration is repeated.
    bench.lab.faults().clear();
    bench.lab.faults().add(lost_answer(1));
    let engine = &bench.engine;
    let restored = engine.restore_snapshot(&bench.actor, &deployment, &snapshot.id);
    let started = restored.await.unwrap();
    let are_rebuilt = async || {
        for part in &snapshot.parts {
            if Some(bench.image_of(&part.physical_id).await) != part.snapshot_id {
                return false;
            }
        }
        true
    };
    bench.eventually("both are rebuilt", are_rebuilt).await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");

    bench.delete(&deployment, &snapshot.id).await.unwrap();
    assert_eq!(bench.images().await, []);
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_snapshot_is_deleted_with_what_nobody_knows_of() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    bench.lab.faults().add(lost_answer(1));
    let taken = bench.engine.take_snapshot(&bench.actor, &deployment, "one");
    let started = taken.await.unwrap();
    let are_made = async || bench.images().await.len() == 2;
    bench.eventually("both images are there", are_made).await;
    // It excludes changes, and can neither be restored nor deleted before it ends.
    let busy = bench.delete(&deployment, &started.run).await;
    assert!(matches!(busy, Err(Error::Busy(run)) if run == started.run));
    assert!(bench.snapshots(&deployment).await[0].is_being_taken);
    for _ in 0..2 {
        let cancelled = bench.engine.cancel(&bench.tenant, &started.run);
        cancelled.await.unwrap();
    }
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert!(run.reason.unwrap().contains("The deployment is as before"));
    let states: Vec<StepState> = steps_of(&run.steps);
    assert!(states.contains(&StepState::Cancelled), "{states:?}");
    let shown = bench.shown(&deployment).await;
    assert_eq!(shown.state, DeploymentState::Deployed);
    let again = bench.engine.resume(&bench.actor, &started.run).await;
    assert!(refusal(again).contains("is not resumed"));

    let snapshot = bench.snapshots(&deployment).await.remove(0);
    assert!(snapshot.is_incomplete());
    let left = &snapshot.left_alone[0];
    assert_eq!(left.why, "its part of the snapshot is incomplete");
    bench.delete(&deployment, &snapshot.id).await.unwrap();
    assert_eq!(bench.images().await, []);
    assert_eq!(bench.snapshots(&deployment).await, []);
    let gone = bench.delete(&deployment, &snapshot.id).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

fn steps_of(steps: &[api::RunStep]) -> Vec<StepState> {
    steps.iter().map(|step| step.state).collect()
}

#[tokio::test]
async fn a_failure_of_the_cloud_leaves_the_deployment_as_it_was() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    bench.lab.faults().add(failure("createImage"));
    let run = bench.take(&deployment, "bad").await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(reason.contains("no snapshot of `web` was made"), "{reason}");
    let state = bench.shown(&deployment).await.state;
    assert_eq!(state, DeploymentState::Deployed);
    bench.delete(&deployment, &run.id).await.unwrap();
    assert_eq!(bench.images().await, []);

    bench.lab.faults().clear();
    let good = bench.take(&deployment, "good").await;
    assert_eq!(good.state, RunState::Succeeded, "{good:#?}");
    bench.lab.faults().add(failure("rebuild"));
    let run = bench.restore(&deployment, &good.id).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(reason.contains("`web` was not restored"), "{reason}");
    let check = bench.check(&deployment).await;
    assert!(check.has_damage(), "{check:#?}");
    // A server in error can be restored again.
    bench.lab.faults().clear();
    let run = bench.restore(&deployment, &good.id).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // What was found before it is outdated: a repair would replace the server.
    let shown = bench.shown(&deployment).await;
    assert!(shown.check.is_some() && shown.present_check().is_none());
    let refused = bench.try_repair(&deployment, &check).await;
    assert!(refusal(refused).contains("after its last check"));
    let again = bench.check(&deployment).await;
    assert_eq!(again.findings, []);

    // A deletion that has begun can only be repeated.
    bench.lab.faults().add(kept_images());
    let deleted = bench.delete(&deployment, &good.id).await;
    assert!(matches!(deleted, Err(Error::Cloud(_))), "{deleted:?}");
    let engine = &bench.engine;
    let refused = engine.restore_snapshot(&bench.actor, &deployment, &good.id);
    assert!(refusal(refused.await).contains("has begun"));
    assert!(bench.snapshots(&deployment).await[0].is_incomplete());
    bench.lab.faults().clear();
    bench.delete(&deployment, &good.id).await.unwrap();
    assert_eq!(bench.images().await, []);
}

#[tokio::test]
async fn what_cannot_be_restored_is_named_or_refused() {
    let bench = Bench::new().await;
    let with_disk = TWO_SERVERS.replace(
        "  web:\n",
        "  root: {type: OS::Cinder::Volume, properties: {size: 4, image: debian-12}}
  db:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}]
      block_device_mapping_v2: [{volume_id: {get_resource: root}, boot_index: 0}]
  web:\n",
    );
    let (started, run) = bench.deploy(&with_disk).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = started.deployment;
    let taken = bench.take(&deployment, "all").await;
    let snapshot = bench.snapshots(&deployment).await.remove(0);
    assert_eq!(snapshot.id, taken.id);
    assert_eq!(
        left_alone(&snapshot),
        [
            ("db", "it boots from a volume"),
            ("root", "a server boots from it"),
        ]
    );

    // A server that is removed takes its part with it.
    let web = with_disk.find("  web:\n").unwrap();
    let run = bench.update(&deployment, to(&with_disk[..web])).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let snapshot = bench.snapshots(&deployment).await.remove(0);
    assert_eq!(snapshot.restored().collect::<Vec<_>>(), ["gate"]);
    assert_eq!(bench.images().await.len(), 1);

    bench
        .engine
        .suspend(&bench.actor, &deployment)
        .await
        .unwrap();
    let is_suspended = async || bench.shown(&deployment).await.state == DeploymentState::Suspended;
    bench.eventually("it is suspended", is_suspended).await;
    let engine = &bench.engine;
    let refused = engine
        .take_snapshot(&bench.actor, &deployment, "late")
        .await;
    assert!(refusal(refused).contains("is suspended"));
    let refused = engine.restore_snapshot(&bench.actor, &deployment, &snapshot.id);
    assert!(refusal(refused.await).contains("is suspended"));
    let run = bench.undeploy(&deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
}

#[tokio::test]
async fn a_deployment_is_not_removed_while_its_snapshots_are_in_the_cloud() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    let taken = bench.take(&deployment, "kept").await;
    bench.lab.faults().add(kept_images());
    let engine = &bench.engine;
    let forced = engine.undeploy(&bench.actor, &deployment, Force::Yes).await;
    let run = bench.end_of(&forced.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.images().await.len(), 2);
    let refused = engine.remove(&bench.tenant, &deployment).await;
    assert!(refusal(refused).contains("its snapshots in the cloud: `kept`"));

    bench.lab.faults().clear();
    bench.delete(&deployment, &taken.id).await.unwrap();
    assert_eq!(bench.images().await, []);
    engine.remove(&bench.tenant, &deployment).await.unwrap();
}

#[tokio::test]
async fn a_deployment_without_servers_has_no_snapshots() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(crate::bench::NET).await;
    let refused = bench
        .engine
        .take_snapshot(&bench.actor, &started.deployment, "none");
    let why = refusal(refused.await);
    assert!(why.contains("no server with a disk of its own"), "{why}");
}
