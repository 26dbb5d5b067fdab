//! Updates that replace the active run.

use api::{DeploymentState, RunState, Started, StepState};
use engine::{Changes, Error, Result};
use lab::{CallFault, Fault};

use crate::{
    bench::{Bench, NET, TWO_NETS, TWO_SERVERS, facts, steps},
    update::never_active,
};

/// A third network, which waits for both servers.
fn with_a_last_step() -> String {
    TWO_SERVERS.replace(
        "outputs:",
        "  last: {type: OS::Neutron::Net, depends_on: [gate, web]}\noutputs:",
    )
}

/// The same with another third network.
fn changed() -> String {
    with_a_last_step().replace("  last:", "  other:")
}

impl Bench {
    async fn instead(&self, started: &Started, template: &str) -> Result<Started> {
        let changes = Changes {
            template: template.to_owned(),
            cloud: facts(),
            instead_of: Some(started.run.clone()),
            ..Changes::default()
        };
        let replaced = self
            .engine
            .update(&self.actor, &started.deployment, changes);
        replaced.await
    }

    /// A deployment whose run is at work on `web`, until the lab is told to go on.
    async fn at_work(&self) -> Started {
        self.lab.faults().add(Fault::Call(CallFault {
            service: Some("compute".into()),
            method: Some("POST".into()),
            path: Some("/v2.1/servers".into()),
            delay_ms: 1_500,
            ..CallFault::default()
        }));
        let started = self.start(&with_a_last_step()).await;
        let is_at_work = StepState::Running;
        self.until_step(&started.run, "web:create", is_at_work)
            .await;
        started
    }

    async fn networks(&self, deployment: &str) -> Vec<String> {
        let resources = self.shown(deployment).await.resources.into_iter();
        let networks = resources.filter(|one| one.resource_type == "OS::Neutron::Net");
        networks.map(|one| one.name).collect()
    }
}

#[tokio::test]
async fn the_run_at_work_ends_after_its_steps_and_the_update_goes_on_from_there() {
    let bench = Bench::new().await;
    let started = bench.at_work().await;
    let next = bench.instead(&started, &changed()).await.unwrap();
    assert_ne!(next.run, started.run);

    let replaced = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
    assert_eq!(replaced.state, RunState::Cancelled);
    assert_eq!(replaced.replaced_by.as_deref(), Some("demo"));
    assert!(
        replaced
            .reason
            .as_deref()
            .unwrap()
            .starts_with("replaced: an update continues")
    );
    let ended = steps(&replaced);
    assert_eq!(
        ended["web:create"].0,
        StepState::Succeeded,
        "it was at work"
    );
    assert_eq!(ended["last:create"].0, StepState::Skipped);

    let run = bench.end_of(&next.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        steps(&run).into_keys().collect::<Vec<_>>(),
        ["other:create"]
    );
    assert_eq!(
        bench.networks(&started.deployment).await,
        ["front", "other"]
    );
    assert_eq!(bench.servers(), 2);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn an_update_that_cannot_be_planned_stops_nothing() {
    let bench = Bench::new().await;
    let started = bench.at_work().await;
    let broken = changed().replace("OS::Neutron::Net,", "OS::Neutron::Nett,");
    let refused = bench.instead(&started, &broken).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let run = bench.end_of(&started.run).await;
    assert_eq!((run.state, run.replaced_by), (RunState::Succeeded, None));
    // The run has ended by now: the update is one like any other.
    let next = bench.instead(&started, &changed()).await.unwrap();
    let run = bench.end_of(&next.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // A run that is over is no run to replace.
    let late = bench.instead(&started, &changed()).await;
    assert!(matches!(late, Err(Error::Changed { .. })), "{late:?}");
}

#[tokio::test]
async fn only_a_deployment_or_an_update_gives_way() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(NET).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("DELETE".into()),
        delay_ms: 1_500,
        ..CallFault::default()
    }));
    let undeploy = bench
        .engine
        .undeploy(&bench.actor, &started.deployment, engine::Force::No);
    let undeploy = undeploy.await.unwrap();
    let other = bench.instead(&started, TWO_NETS).await;
    assert!(matches!(other, Err(Error::Busy(run)) if run == undeploy.run));
    let refused = bench.instead(&undeploy, TWO_NETS).await;
    assert!(
        matches!(&refused, Err(Error::NotPossibleNow(why)) if why.contains("is an undeployment")),
        "{refused:?}"
    );
    let run = bench.end_of(&undeploy.run).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
}

#[tokio::test]
async fn a_restart_in_between_ends_the_run_and_harms_nothing() {
    let mut bench = Bench::new().await;
    bench.lab.faults().add(never_active("*web*"));
    let started = bench.start(&with_a_last_step()).await;
    bench
        .until_step(&started.run, "web:create", StepState::Running)
        .await;
    let (engine, actor) = (bench.engine.clone(), bench.actor.clone());
    let (deployment, run) = (started.deployment.clone(), started.run.clone());
    let waiting = tokio::spawn(async move {
        let changes = Changes {
            template: changed(),
            cloud: facts(),
            instead_of: Some(run),
            ..Changes::default()
        };
        engine.update(&actor, &deployment, changes).await
    });
    bench.until_state(&started.run, RunState::Cancelling).await;
    // One update waits for a run.
    let second = bench.instead(&started, &changed()).await;
    assert!(
        matches!(&second, Err(Error::NotPossibleNow(why)) if why.contains("of demo takes the place")),
        "{second:?}"
    );
    bench.crash().await;
    let lost = waiting.await.unwrap();
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(
        bench.shown(&started.deployment).await.state,
        DeploymentState::Failed
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
