//! Resources that stay in the cloud, because the template retains them or because they can contain data.

use api::{EventBody, RunState, StepState};
use lab::{CallFault, Damage, Fault};
use openstack::load_balancer::OctaviaType;
use serde_json::json;

use crate::{
    bench::{Bench, NET, TWO_NETS, steps},
    update::{ONE_SERVER, servers_fail, to},
};

#[tokio::test]
async fn a_retained_resource_stays_and_is_reported() {
    let bench = Bench::new().await;
    let retained = NET.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, deletion_policy: Retain}",
    );
    let (started, _) = bench.deploy(&retained).await;
    let id = bench.ids(&started.deployment).await["front"].clone();
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded);
    let reason = run.reason.unwrap_or_default();
    assert!(
        reason.contains(&id) && reason.starts_with("left in the cloud"),
        "{reason}"
    );
    assert_eq!(bench.left().len(), 1);

    // Another template can use it without owning it.
    let adopted = NET.replace(
        "OS::Neutron::Net}",
        &format!("OS::Neutron::Net, external_id: {id}}}"),
    );
    let deployment = bench.deployed(&adopted).await;
    assert_eq!(bench.ids(&deployment).await["front"], id);
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left().len(), 1);
}

#[tokio::test]
async fn a_retained_resource_that_failed_after_creation_is_not_removed() {
    let bench = Bench::new().await;
    let disk = |size: u32| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  disk: {{type: OS::Cinder::Volume, properties: {{size: {size}}}}}
"
        )
    };
    let (started, _) = bench.deploy(&disk(1)).await;
    let before = bench.ids(&started.deployment).await;
    let broken = json!({"id": before["disk"], "size": 1, "status": "error_extending"});
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some("GET".into()),
        path: Some("*volumes*".into()),
        status: Some(200),
        body: Some(json!({"volume": broken, "volumes": [broken]}).to_string()),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(
        (run.state, steps(&run)["disk:update"]),
        (RunState::Failed, (StepState::Failed, 1)),
        "{run:#?}"
    );
    let error = run.steps[0].error.clone().unwrap_or_default();
    assert!(
        error.contains("error_extending") && error.contains("It is not removed"),
        "{error}"
    );
    assert_eq!(bench.left().len(), 1);

    // An administrator has repaired it.
    bench.lab.faults().clear();
    let run = bench.update(&started.deployment, to(&disk(2))).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await, before);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A new resource with the name of a retained one has its own marker, so that it is neither mistaken for it nor deleted
/// with it.
#[tokio::test]
async fn a_retained_resource_is_never_adopted_again() {
    let bench = Bench::new().await;
    let retained = TWO_NETS.replace(
        "front: {type: OS::Neutron::Net}",
        "front: {type: OS::Neutron::Net, deletion_policy: Retain}",
    );
    let only_back = TWO_NETS.replace("  front: {type: OS::Neutron::Net}\n", "");
    let (started, _) = bench.deploy(&retained).await;
    let front = bench.ids(&started.deployment).await["front"].clone();
    bench.update(&started.deployment, to(&only_back)).await;

    // The first response is an error: the search for the marker shows if the resource exists.
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/networks*".into()),
        status: Some(500),
        times: Some(1),
        ..CallFault::default()
    }));
    let run = bench.update(&started.deployment, to(TWO_NETS)).await;
    assert_eq!(
        steps(&run)["front:create"],
        (StepState::Succeeded, 2),
        "{run:#?}"
    );
    assert_ne!(bench.ids(&started.deployment).await["front"], front);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), ["network shop-front"]);
    bench
        .lab
        .model(|model| assert!(model.networks.get(&front).is_some()));
}

/// The cloud created it with an error, and its id never arrived.
#[tokio::test]
async fn a_failed_resource_is_deleted_only_if_its_policy_allows() {
    for (policy, is_left) in [("Delete", false), ("Retain", true)] {
        let bench = Bench::new().await;
        bench.lab.faults().add(servers_fail(1));
        bench.lab.faults().add(Fault::Call(CallFault {
            service: Some("compute".into()),
            method: Some("POST".into()),
            damage: Some(Damage::CutAfter),
            times: Some(1),
            ..CallFault::default()
        }));
        let template = ONE_SERVER.replace(
            "  web:\n",
            &format!("  web:\n    deletion_policy: {policy}\n"),
        );
        let (started, run) = bench.deploy(&template).await;
        if is_left {
            let error = steps(&run)["web:create"];
            assert_eq!(error.0, StepState::Failed, "{run:#?}");
            assert!(run.reason.unwrap().contains("`deletion_policy`"));
            assert_eq!(bench.servers(), 1, "the wreck, and no other");
        } else {
            assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
            assert_eq!(bench.servers(), 1);
            bench.undeploy(&started.deployment).await;
            assert_eq!(bench.left(), Vec::<String>::new());
        }
    }
}

/// A load balancer whose listener is retained.
fn balanced(listener: &str, balancer: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net, deletion_policy: {balancer}}}
  sub: {{type: OS::Neutron::Subnet, deletion_policy: {balancer}, properties: {{network: {{get_resource: net}}, cidr: 10.0.1.0/24}}}}
  lb: {{type: OS::Octavia::LoadBalancer, deletion_policy: {balancer}, properties: {{vip_subnet: {{get_resource: sub}}}}}}
  door:
    type: OS::Octavia::Listener
    deletion_policy: {listener}
    properties: {{loadbalancer: {{get_resource: lb}}, protocol: HTTP, protocol_port: 80}}
  pool:
    type: OS::Octavia::Pool
    properties: {{loadbalancer: {{get_resource: lb}}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}}
  member:
    type: OS::Octavia::PoolMember
    properties: {{pool: {{get_resource: pool}}, address: 10.0.1.9, protocol_port: 80}}
"
    )
}

impl Bench {
    /// Waits until the run has ended without success this many times.
    async fn until_ends(&self, run: &str, times: usize) {
        let ends = std::sync::atomic::AtomicUsize::new(0);
        self.until(run, |event| {
            let is_end = matches!(
                &event.body,
                EventBody::Run {
                    state: RunState::Failed,
                    ..
                }
            );
            let before = ends.fetch_add(is_end.into(), std::sync::atomic::Ordering::Relaxed);
            before + usize::from(is_end) == times
        })
        .await;
    }

    /// Number of remaining resources whose text contains a word.
    fn left_of(&self, what: &str) -> usize {
        let left = self.left();
        left.iter().filter(|one| one.contains(what)).count()
    }
}

/// A load balancer's deletion includes its parts, so it is refused while one of its listeners is retained.
#[tokio::test]
async fn a_retained_listener_is_not_deleted_with_its_load_balancer() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&balanced("Retain", "Delete")).await;
    let before = bench.ids(&deployment).await;
    let run = bench.undeploy(&deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let step = run
        .steps
        .iter()
        .find(|step| step.id == "lb:delete")
        .unwrap();
    let error = step.error.clone().unwrap_or_default();
    assert!(
        error.contains(&before["door"]) && error.contains("keep the load balancer too"),
        "{error}"
    );
    assert_eq!(
        (bench.left_of("listener"), bench.left_of("pool")),
        (1, 0),
        "{:?}",
        bench.left()
    );

    // The load balancer is retained too, and the run succeeds.
    let run = bench
        .update(&deployment, to(&balanced("Retain", "Retain")))
        .await;
    assert_eq!(
        run.state,
        RunState::Failed,
        "the port number is taken by what was kept: {run:#?}"
    );
    let run = bench.undeploy(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(run.reason.unwrap().contains(&before["lb"]));
    assert_eq!(
        (bench.left_of("listener"), bench.left_of("pool")),
        (1, 0),
        "{:?}",
        bench.left()
    );
}

/// A tag marks it as retained. If its containers are retained too, that tag is never needed.
#[tokio::test]
async fn a_retained_resource_in_error_does_not_block_an_undeploy() {
    for (balancer, ends) in [
        ("Retain", RunState::Succeeded),
        ("Delete", RunState::Failed),
    ] {
        let bench = Bench::new().await;
        let (started, _) = bench.deploy(&balanced("Retain", balancer)).await;
        bench.lab.faults().add(Fault::Call(CallFault {
            service: Some("load-balancer".into()),
            method: Some("PUT".into()),
            status: Some(409),
            ..CallFault::default()
        }));
        let run = bench.undeploy(&started.deployment).await;
        assert_eq!(run.state, ends, "{balancer}: {run:#?}");
        assert_eq!(bench.left_of("listener"), 1, "{:?}", bench.left());
    }
}

/// The member is removed from the template before the undeployment.
#[tokio::test]
async fn a_pool_member_retained_once_stays_retained() {
    let bench = Bench::new().await;
    let with = balanced("Delete", "Delete").replace(
        "type: OS::Octavia::PoolMember\n",
        "type: OS::Octavia::PoolMember\n    deletion_policy: Retain\n",
    );
    let (without, _) = with.split_once("  member:").unwrap();
    let (started, _) = bench.deploy(&with).await;
    let run = bench.update(&started.deployment, to(without)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert_eq!(bench.left_of("member"), 1, "{:?}", bench.left());
    // A user deletes it, and resumes.
    let balancing = bench.actor.session.load_balancer();
    let pools = balancing.list(OctaviaType::Pool, &[]).await.unwrap();
    let pool = OctaviaType::Member(&pools[0].id);
    let members = balancing.list(pool, &[]).await.unwrap();
    assert_eq!(members[0].tags, ["kept-by-deletion-policy"]);
    balancing.delete(pool, &members[0].id).await.unwrap();
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

const DISK: &str = "heat_template_version: 2021-04-16
resources:
  disk: {type: OS::Cinder::Volume, deletion_policy: Snapshot, properties: {size: 1}}
";

/// The lab has no backup service, so its responses are faked.
fn backups(nth: Option<u64>, method: &str, body: serde_json::Value) -> Fault {
    Fault::Call(CallFault {
        service: Some("block-storage".into()),
        method: Some(method.into()),
        path: Some("*/backups*".into()),
        nth,
        status: Some(if method == "GET" { 200 } else { 202 }),
        body: Some(body.to_string()),
        ..CallFault::default()
    })
}

#[tokio::test]
async fn a_snapshot_policy_keeps_a_backup_of_a_volume() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(DISK).await;
    let id = bench.ids(&started.deployment).await["disk"].clone();
    // The run's id is in the name, so the run fails once before.
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    // The backup of the attempt after this many failures.
    let backup = |ends: u32, status: &str| {
        let run = &run.id[run.id.len() - 8..];
        let name = format!("shop-disk-backup-{}-{run}-{ends}", &id[..8]);
        json!({"id": "b-1", "name": name, "volume_id": id, "status": status, "fail_reason": "no room"})
    };
    let listed = |ends: u32, status: &str| json!({"backups": [backup(ends, status)]});
    // One backup fails and is deleted, the user resumes, and the next one takes a while.
    let faults = bench.lab.faults();
    let ordered = json!({"backup": backup(1, "creating")});
    faults.add(backups(Some(1), "GET", json!({"backups": []})));
    faults.add(backups(Some(2), "GET", listed(1, "error")));
    faults.add(backups(None, "POST", ordered.clone()));
    faults.add(backups(None, "DELETE", json!({})));
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_ends(&run.id, 2).await;
    let failed = bench.engine.run(&bench.tenant, &run.id).await.unwrap();
    let error = failed.steps[0].error.clone().unwrap_or_default();
    assert!(error.contains("no room"), "{error}");
    assert_eq!(bench.left().len(), 1);

    faults.clear();
    faults.add(backups(Some(1), "GET", listed(1, "available")));
    faults.add(backups(Some(2), "GET", listed(2, "creating")));
    faults.add(backups(Some(3), "GET", listed(2, "available")));
    faults.add(backups(None, "POST", ordered));
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Users have written to the volume since: the older backup has old data.
#[tokio::test]
async fn an_older_backup_is_not_taken_for_the_retained_one() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(DISK).await;
    let id = bench.ids(&started.deployment).await["disk"].clone();
    let older = ["", "-0a1b2c3d"].map(|of| {
        let name = format!("shop-disk-backup-{}{of}", &id[..8]);
        json!({"id": "b-1", "name": name, "volume_id": id, "status": "available"})
    });
    bench
        .lab
        .faults()
        .add(backups(None, "GET", json!({"backups": older})));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = run.steps[0].error.clone().unwrap_or_default();
    assert!(error.contains("no backup service"), "another one: {error}");
    assert_eq!(bench.left().len(), 1);
}

/// Heat returns the same error, in this case only.
#[tokio::test]
async fn a_cloud_without_backups_keeps_the_volume() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(DISK).await;
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(
        (run.state, steps(&run)["disk:delete"]),
        (RunState::Failed, (StepState::Failed, 1))
    );
    let error = run.steps[0].error.clone().unwrap_or_default();
    assert!(error.contains("no backup service"), "{error}");
    assert_eq!(bench.left().len(), 1);
    let changed = DISK.replace("Snapshot", "Delete");
    bench.update(&started.deployment, to(&changed)).await;
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
