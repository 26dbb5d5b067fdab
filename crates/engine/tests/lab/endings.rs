//! All endings and interruptions of runs, and their continuation.

use std::time::Duration;

use api::{DeploymentState, EventBody, RunState, Started, StepState};
use engine::{Changes, Error, Force};
use lab::{CallFault, Fault, Lab};

use crate::{
    bench::{Bench, CATALOG, NET, PATIENCE, TWO_SERVERS, facts, steps},
    update::never_active,
};

fn calls(service: &str, method: &str, path: &str) -> CallFault {
    CallFault {
        service: Some(service.into()),
        method: Some(method.into()),
        path: Some(path.into()),
        ..CallFault::default()
    }
}

/// A run that waits for its first server, which does not become active.
async fn waiting_for_gate() -> (Bench, Started) {
    let bench = Bench::new().await;
    bench.lab.faults().add(never_active("*gate*"));
    let started = bench.start(TWO_SERVERS).await;
    bench
        .until_step(&started.run, "gate:create", StepState::Running)
        .await;
    (bench, started)
}

#[tokio::test]
async fn a_cancelled_run_stops_and_goes_on_from_there() {
    let bench = Bench::new().await;
    bench.lab.faults().add(never_active("*web*"));
    let started = bench.start(TWO_SERVERS).await;
    for (step, state) in [
        ("gate:create", StepState::Succeeded),
        ("web:create", StepState::Running),
    ] {
        bench.until_step(&started.run, step, state).await;
    }
    bench
        .engine
        .cancel(&bench.tenant, &started.run)
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(steps(&run)["web:create"].0, StepState::Cancelled);
    assert!(matches!(
        bench.engine.cancel(&bench.tenant, &started.run).await,
        Err(Error::NotPossibleNow(_))
    ));
    assert_eq!(bench.sealed(store::SealedKind::Run).await, 0);

    // The server stays in BUILD forever; an undeployment deletes it nevertheless.
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
}

#[tokio::test]
async fn a_resumed_run_does_only_the_remaining_steps() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        status: Some(400),
        ..calls("compute", "POST", "/v2.1/servers")
    }));
    let (started, run) = bench.deploy(TWO_SERVERS).await;
    assert_eq!(run.state, RunState::Failed);
    let reason = run.reason.unwrap();
    assert!(reason.contains(":create` failed"), "{reason}");
    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(deployment.state, DeploymentState::Failed);

    bench.lab.faults().clear();
    bench.lab.faults().clear_calls();
    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
    let made: Vec<_> = bench
        .lab
        .faults()
        .calls()
        .into_iter()
        .filter(|call| call.method == "POST" && call.service == "network")
        .collect();
    assert!(
        !made.iter().any(|call| call.path == "/v2.0/networks"),
        "{made:?}"
    );
    assert!(matches!(
        bench.engine.resume(&bench.actor, &started.run).await,
        Err(Error::NotPossibleNow(_))
    ));
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_crash_in_the_middle_makes_nothing_twice() {
    let mut bench = Bench::new().await;
    let started = bench.start(TWO_SERVERS).await;
    for _ in 0..6 {
        tokio::time::timeout(Duration::from_millis(25), bench.end_of(&started.run))
            .await
            .ok();
        bench.crash().await;
    }
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let servers = bench.lab.model(|model| model.servers.iter().count());
    assert_eq!(servers, 2);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_step_that_was_running_at_repeated_crashes_fails() {
    let (mut bench, started) = waiting_for_gate().await;
    // An operator may restart the server as often as they like.
    for _ in 0..4 {
        bench.crash().await;
    }
    bench.engine.shutdown().await;
    for _ in 0..3 {
        bench.start_and_kill().await;
    }
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(reason.contains("at each of the last 3 crashes"), "{reason}");

    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench
        .until_step(&started.run, "gate:create", StepState::Running)
        .await;
}

#[tokio::test]
async fn a_token_that_ends_pauses_the_run_and_a_login_continues_it() {
    let (bench, started) = waiting_for_gate().await;
    bench.actor.session.revoke().await.unwrap();
    bench.until_state(&started.run, RunState::Paused).await;
    let run = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
    assert!(run.reason.unwrap().contains("log in again"));

    let namesake = engine::Actor {
        tenant: bench.tenant.clone(),
        user: bench.actor.user.clone(),
        ..bench.log_in("other").await
    };
    let resumed = bench.engine.resume_paused(&namesake).await.unwrap();
    assert!(resumed.is_empty(), "the run of a user of the same name");

    let again = bench.log_in("demo").await;
    assert_eq!(
        bench.engine.resume_paused(&again).await.unwrap(),
        [started.run.as_str()]
    );
    bench
        .until_step(&started.run, "web:create", StepState::Succeeded)
        .await;
    bench
        .engine
        .cancel(&bench.tenant, &started.run)
        .await
        .unwrap();
    bench.end_of(&started.run).await;
    let gone = bench
        .engine
        .undeploy(&again, &started.deployment, Force::No)
        .await
        .unwrap();
    bench.end_of(&gone.run).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_restart_while_the_cloud_is_away_needs_no_login() {
    // Keystone answers with 500 while its own database is away.
    for status in [503, 500] {
        Box::pin(restart_while_keystone_answers(status)).await;
    }
}

async fn restart_while_keystone_answers(status: u16) {
    let (mut bench, started) = waiting_for_gate().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("identity".into()),
        path: Some("*/auth/tokens".into()),
        status: Some(status),
        ..CallFault::default()
    }));
    // The second restart finds the run paused.
    for _ in 0..2 {
        bench.crash().await;
        let run = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
        assert_eq!(run.state, RunState::Paused);
    }
    bench.lab.faults().clear_calls();
    let tried = async || {
        let calls = bench.lab.faults().calls().into_iter();
        let tries = calls.filter(|call| call.path.ends_with("/auth/tokens"));
        tries.count() >= 3
    };
    bench.eventually("the token is tried again", tried).await;
    bench.lab.faults().clear();
    let goes_on = async || {
        let run = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
        run.state == RunState::Running
    };
    bench.eventually("it goes on by itself", goes_on).await;
    let (engine, tenant) = (&bench.engine, &bench.tenant);
    engine.cancel(tenant, &started.run).await.unwrap();
    bench.end_of(&started.run).await;
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_restart_after_the_token_has_ended_pauses_and_a_paused_run_can_be_undeployed() {
    let (mut bench, started) = waiting_for_gate().await;
    bench.engine.shutdown().await;
    bench.actor.session.revoke().await.unwrap();
    bench.crash().await;
    bench.until_state(&started.run, RunState::Paused).await;

    bench.actor = bench.log_in("demo").await;
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
    assert_eq!(
        bench
            .engine
            .run(&bench.tenant, &started.run)
            .await
            .unwrap()
            .state,
        RunState::Cancelled
    );
}

#[tokio::test]
async fn a_forced_undeploy_reports_what_it_leaves() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(NET).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        status: Some(500),
        ..calls("network", "DELETE", "/v2.0/networks*")
    }));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(
        (run.state, steps(&run)["front:delete"]),
        (RunState::Failed, (StepState::Failed, 2))
    );
    let forced = bench
        .engine
        .undeploy(&bench.actor, &started.deployment, Force::Yes)
        .await
        .unwrap();
    let run = bench.end_of(&forced.run).await;
    assert_eq!(run.state, RunState::Succeeded);
    let reason = run.reason.unwrap();
    assert!(
        reason.starts_with("left in the cloud, delete by hand: `front` (OS::Neutron::Net, "),
        "{reason}"
    );
    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(deployment.state, DeploymentState::Undeployed);
    assert_eq!(bench.left().len(), 1);
}

#[tokio::test]
async fn one_run_at_a_time_works_on_a_deployment() {
    let bench = Bench::new().await;
    bench.lab.faults().add(never_active("*web*"));
    let started = bench.start(TWO_SERVERS).await;
    let undeploy = bench
        .engine
        .undeploy(&bench.actor, &started.deployment, Force::Yes)
        .await;
    assert!(matches!(undeploy, Err(Error::Busy(run)) if run == started.run));
    let (engine, actor, id) = (&bench.engine, &bench.actor, &started.deployment);
    let back = engine.roll_back(actor, id, &facts()).await;
    assert!(matches!(back, Err(Error::Busy(run)) if run == started.run));
    let plan = engine.roll_back_plan(actor, id, &facts()).await;
    assert!(matches!(plan, Err(Error::Busy(run)) if run == started.run));
    let (engine, tenant) = (&bench.engine, &bench.tenant);
    engine.cancel(tenant, &started.run).await.unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn a_viewer_who_comes_in_the_middle_of_a_crash_misses_nothing() {
    let mut bench = Bench::new().await;
    let started = bench.start(TWO_SERVERS).await;
    bench
        .until_step(&started.run, "front:create", StepState::Running)
        .await;
    bench.crash().await;
    bench.end_of(&started.run).await;
    let events = bench
        .engine
        .events(&bench.tenant, &started.run, 0, 10_000)
        .await
        .unwrap();
    assert!(
        events
            .iter()
            .enumerate()
            .all(|(index, event)| event.seq == index as u64 + 1)
    );
    let finals = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::Run { state, .. } if state.is_final()))
        .count();
    assert_eq!(finals, 1);
}

/// True if the bastion allows SSH from the orchestrator.
fn is_bastion_open(bench: &Bench) -> bool {
    bench.lab.model(|model| {
        let mut rules = model.security_group_rules.iter();
        rules.any(|rule| format!("{rule:?}").contains("ssh for the run"))
    })
}

#[tokio::test]
async fn a_paused_run_that_is_given_up_leaves_no_bastion_open() {
    for rolls_back in [true, false] {
        let lab = Lab::memory().await.unwrap();
        let mut bench = Bench::with_catalog(lab, CATALOG.as_ref(), PATIENCE, PATIENCE).await;
        let (started, _) = bench.deploy(NET).await;
        bench.lab.faults().add(never_active("*web*"));
        let software = TWO_SERVERS.replace(
            "outputs:",
            "  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}\noutputs:",
        );
        let changes = Changes {
            template: software,
            cloud: facts(),
            ..Changes::default()
        };
        let update = bench
            .engine
            .update(&bench.actor, &started.deployment, changes);
        let run = update.await.unwrap().run;
        bench
            .until_step(&run, "bastion:open", StepState::Succeeded)
            .await;
        bench.actor.session.revoke().await.unwrap();
        bench.until_state(&run, RunState::Paused).await;
        assert!(is_bastion_open(&bench));

        bench.actor = bench.log_in("demo").await;
        let (engine, actor) = (&bench.engine, &bench.actor);
        let next = if rolls_back {
            engine.roll_back(actor, &started.deployment, &facts()).await
        } else {
            engine.undeploy(actor, &started.deployment, Force::No).await
        };
        assert!(
            !is_bastion_open(&bench),
            "before the next run does anything"
        );
        let run = bench.end_of(&next.unwrap().run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    }
}

/// The run is stored, but its secrets are missing: its deployment does not stay busy forever.
#[tokio::test]
async fn a_run_that_cannot_begin_has_failed_and_can_be_resumed() {
    let bench = Bench::new().await;
    store::testing::sealed_lose_all(&bench.store).await;
    let refused = bench.try_deploy("shop", NET, Default::default()).await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );
    let deployment = bench
        .engine
        .deployments(&bench.tenant, engine::Page::ALL)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(deployment.state, DeploymentState::Failed);
    let run = deployment.last_run.unwrap();
    let reason = bench.end_of(&run).await.reason.unwrap();
    assert!(reason.contains("could not begin"), "{reason}");

    store::testing::sealed_restore(&bench.store).await;
    bench.engine.resume(&bench.actor, &run).await.unwrap();
    bench.until_state(&run, RunState::Succeeded).await;
    bench.undeploy(&deployment.id).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn of_two_changes_at_once_one_is_refused_and_told_of_the_other() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    let (engine, actor) = (&bench.engine, &bench.actor);
    let undeploy = || engine.undeploy(actor, &deployment, Force::No);
    match tokio::join!(undeploy(), undeploy()) {
        (Ok(first), Err(Error::Busy(run))) | (Err(Error::Busy(run)), Ok(first)) => {
            assert_eq!(run, first.run);
            bench.until_state(&run, RunState::Succeeded).await;
        }
        both => panic!("one of them: {both:?}"),
    }
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn of_two_resume_requests_one_succeeds() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        status: Some(400),
        ..calls("compute", "POST", "/v2.1/servers")
    }));
    let (started, run) = bench.deploy(TWO_SERVERS).await;
    assert_eq!(run.state, RunState::Failed);
    bench.lab.faults().clear();
    let resume = || bench.engine.resume(&bench.actor, &started.run);
    match tokio::join!(resume(), resume()) {
        (Ok(()), Err(Error::NotPossibleNow(_))) | (Err(Error::NotPossibleNow(_)), Ok(())) => {}
        both => panic!("one of them: {both:?}"),
    }
    bench.until_state(&started.run, RunState::Succeeded).await;
    assert_eq!(bench.lab.model(|model| model.servers.iter().count()), 2);
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// The process ends after a user has claimed a failed run and before the run is active.
#[tokio::test]
async fn a_restart_goes_on_with_a_run_that_was_claimed() {
    for has_token in [true, false] {
        let mut bench = Bench::new().await;
        bench.lab.faults().add(Fault::Call(CallFault {
            status: Some(400),
            ..calls("compute", "POST", "/v2.1/servers")
        }));
        if has_token {
            store::testing::sealed_keep_all(&bench.store).await;
        }
        let (started, run) = bench.deploy(TWO_SERVERS).await;
        assert_eq!(run.state, RunState::Failed);
        bench.lab.faults().clear();
        let (tenant, id) = (&bench.tenant, &started.deployment);
        let mut resumed = bench.store.begin("testing").await.unwrap();
        let claimed = resumed.deployment_reclaim(tenant, id, &run.id).await;
        assert_eq!(claimed.unwrap(), store::Outcome::Done);
        let queued = resumed.run_requeue(tenant, &run.id, run.state).await;
        assert_eq!(queued.unwrap(), store::Outcome::Done);
        resumed.commit().await.unwrap();
        bench.crash().await;
        if !has_token {
            let shown = bench.shown(&started.deployment).await;
            assert_eq!(shown.state, DeploymentState::Failed);
            bench
                .engine
                .resume(&bench.actor, &started.run)
                .await
                .unwrap();
        }
        bench.until_state(&started.run, RunState::Succeeded).await;
    }
}
