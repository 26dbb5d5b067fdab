//! Snapshots of volumes, which are detached while they return to one.

use lab::Damage;
use openstack::block_storage::Volume;

use super::*;

/// Two servers, and a volume that `web` has.
fn with_volume() -> String {
    TWO_SERVERS.replace(
        "outputs:\n",
        "  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: disk}}}
outputs:\n",
    )
}

/// A request for the return of a volume that Cinder answers in another way.
fn revert(fault: CallFault) -> Fault {
    Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some("POST".into()),
        path: Some("*/action".into()),
        nth: Some(1),
        ..fault
    })
}

impl Bench {
    async fn volume(&self, id: &str) -> Volume {
        let storage = self.actor.session.block_storage();
        storage.volume_get(id).await.unwrap()
    }

    /// The number of times that volumes were to return to a snapshot.
    fn reverts(&self) -> usize {
        let calls = self.lab.faults().calls().into_iter();
        calls
            .filter(|call| call.path.contains("/volumes/") && call.path.ends_with("/action"))
            .count()
    }
}

#[tokio::test]
async fn a_volume_returns_to_its_newest_snapshot_and_its_server_has_it_again() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(&with_volume()).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = started.deployment;
    let ids = bench.ids(&deployment).await;
    let device = async || {
        bench.volume(&ids["disk"]).await.attachments[0]
            .device
            .clone()
    };
    let before = device().await;
    let scope = bench.engine.snapshot_scope(&bench.tenant, &deployment);
    let scope = scope.await.unwrap();
    assert_eq!(scope.kept, ["disk", "gate", "web"]);
    assert_eq!(scope.left_alone, []);

    let older = bench.take(&deployment, "older").await;
    let newer = bench.take(&deployment, "newer").await;
    for run in [&older, &newer] {
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    }
    let listed = bench.snapshots(&deployment).await;
    let restored = |index: usize| listed[index].restored().collect::<Vec<_>>();
    assert_eq!(restored(0), ["disk", "gate", "web"]);
    assert_eq!(restored(1), ["gate", "web"]);
    let why = "a newer snapshot contains it, which must be deleted first";
    assert_eq!(left_alone(&listed[1]), [("disk", why)]);

    let run = bench.restore(&deployment, &newer.id).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let web = run.steps.iter().find(|step| step.id == "web:restore");
    assert_eq!(web.unwrap().after, ["disk:restore"]);
    assert_eq!(bench.reverts(), 1);
    let volume = bench.volume(&ids["disk"]).await;
    assert_eq!(volume.attachments[0].server_id, ids["web"]);
    assert!(!volume.metadata.contains_key("stackloom-detached"));
    assert_eq!(device().await, before);
    assert_eq!(bench.ids(&deployment).await, ids);
    assert_eq!(bench.check(&deployment).await.findings, []);

    bench.delete(&deployment, &newer.id).await.unwrap();
    let listed = bench.snapshots(&deployment).await;
    assert_eq!(listed[0].restored().count(), 3);
    // The volume goes when Cinder has deleted its snapshots.
    let run = bench.undeploy(&deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
}

#[tokio::test]
async fn a_volume_that_a_crash_left_detached_is_attached_again() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(&with_volume()).await;
    let deployment = started.deployment;
    let ids = bench.ids(&deployment).await;
    let taken = bench.take(&deployment, "one").await;
    bench.lab.faults().add(revert(CallFault {
        delay_ms: 3_600_000,
        ..CallFault::default()
    }));
    let engine = &bench.engine;
    let restored = engine.restore_snapshot(&bench.actor, &deployment, &taken.id);
    let started = restored.await.unwrap();
    let is_back =
        async || bench.reverts() == 1 && bench.volume(&ids["disk"]).await.status == "available";
    bench.eventually("the volume is back, alone", is_back).await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let volume = bench.volume(&ids["disk"]).await;
    assert_eq!(volume.attachments[0].server_id, ids["web"]);
    assert!(!volume.metadata.contains_key("stackloom-detached"));
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_volume_that_its_server_has_again_does_not_return_twice() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(&with_volume()).await;
    let deployment = started.deployment;
    let ids = bench.ids(&deployment).await;
    let taken = bench.take(&deployment, "one").await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        path: Some("*/os-volume_attachments".into()),
        nth: Some(1),
        delay_ms: 3_600_000,
        ..CallFault::default()
    }));
    let engine = &bench.engine;
    let restored = engine.restore_snapshot(&bench.actor, &deployment, &taken.id);
    let started = restored.await.unwrap();
    let is_attached =
        async || bench.reverts() == 1 && bench.volume(&ids["disk"]).await.status == "in-use";
    bench
        .eventually("its server has it again", is_attached)
        .await;
    bench.crash().await;
    // The server has written on it since.
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.reverts(), 1);
    let volume = bench.volume(&ids["disk"]).await;
    assert_eq!(volume.attachments[0].server_id, ids["web"]);
    assert!(!volume.metadata.contains_key("stackloom-detached"));

    // Another restoration returns it.
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.reverts(), 2);
}

#[tokio::test]
async fn a_volume_does_not_return_twice_if_only_the_last_answer_is_lost() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&with_volume()).await;
    let ids = bench.ids(&deployment).await;
    let taken = bench.take(&deployment, "one").await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some("DELETE".into()),
        path: Some("*/metadata/stackloom-detached".into()),
        nth: Some(1),
        damage: Some(Damage::CutAfter),
        ..CallFault::default()
    }));
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(
        (run.state, steps(&run)["disk:restore"]),
        (RunState::Succeeded, (StepState::Succeeded, 2)),
        "{run:#?}"
    );
    assert_eq!(bench.reverts(), 1);
    let volume = bench.volume(&ids["disk"]).await;
    assert_eq!(volume.attachments[0].server_id, ids["web"]);

    // Another restoration returns it.
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.reverts(), 2);
}

#[tokio::test]
async fn a_volume_that_cannot_return_stays_with_its_server() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(&with_volume()).await;
    let deployment = started.deployment;
    let ids = bench.ids(&deployment).await;
    let taken = bench.take(&deployment, "one").await;
    let is_attached = async || bench.volume(&ids["disk"]).await.status == "in-use";

    // Nova does not detach it.
    bench.lab.faults().add(failure("detach_volume"));
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("`disk` was not restored: it was not detached from server"),
        "{reason}"
    );
    assert!(is_attached().await);
    bench.lab.faults().clear();

    // Cinder does not return it.
    bench.lab.faults().add(revert(CallFault {
        status: Some(403),
        ..CallFault::default()
    }));
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    bench.eventually("it is attached again", is_attached).await;
    let volume = bench.volume(&ids["disk"]).await;
    assert!(!volume.metadata.contains_key("stackloom-detached"));
    bench.lab.faults().clear();
    let run = bench.restore(&deployment, &taken.id).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}
