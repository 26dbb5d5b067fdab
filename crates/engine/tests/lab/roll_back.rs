//! Failed changes: continued, or rolled back by a user or automatically.

use std::collections::BTreeMap;

use api::{DeploymentState, Event, EventBody, OnFailure, ResourceState, Run, RunState, StepState};
use engine::{Changes, Error};
use lab::{CallFault, Fault};

use crate::{
    bench::{Bench, PATIENCE, facts, refusal, steps},
    update::{ONE_SERVER, another_network, another_server, never_active, servers_fail, to},
};

impl Bench {
    /// Rolls back on request, and waits.
    pub async fn rolls_back(&self, deployment: &str) -> Run {
        let facts = facts();
        let back = self.engine.roll_back(&self.actor, deployment, &facts).await;
        self.end_of(&back.unwrap().run).await
    }

    /// The automatic run after another one, when it has ended.
    async fn follower(&self, deployment: &str, run: &str) -> Run {
        // It is the deployment's last run as soon as it is stored.
        let last = async || self.shown(deployment).await.last_run.unwrap();
        self.eventually("another run follows", async || last().await != run)
            .await;
        self.end_of(&last().await).await
    }
}

#[tokio::test]
async fn a_failed_update_is_rolled_back_to_what_worked() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    let nothing = bench
        .engine
        .roll_back(&bench.actor, &started.deployment, &facts())
        .await;
    assert!(
        matches!(nothing, Err(Error::NotPossibleNow(_))),
        "{nothing:?}"
    );

    bench.lab.faults().add(servers_fail(2));
    let run = bench
        .update(&started.deployment, to(&another_server()))
        .await;
    assert_eq!(
        (run.state, steps(&run)["web:create"].0),
        (RunState::Failed, StepState::Failed)
    );
    let failed = bench.shown(&started.deployment).await;
    assert_eq!(
        (failed.state, failed.can_roll_back),
        (DeploymentState::Failed, true)
    );
    let web = failed
        .resources
        .iter()
        .find(|one| one.name == "web@1")
        .unwrap();
    assert_eq!(
        (web.state, web.physical_id.as_deref()),
        (ResourceState::Ready, Some(before["web"].as_str()))
    );

    let back = bench
        .engine
        .roll_back(&bench.actor, &started.deployment, &facts())
        .await
        .unwrap();
    let run = bench.end_of(&back.run).await;
    assert_eq!(
        (run.state, run.rolls_back),
        (RunState::Succeeded, true),
        "{run:#?}"
    );
    assert_eq!(
        bench.ids(&started.deployment).await,
        before,
        "the same server with the same port"
    );
    assert_eq!(bench.servers(), 1);
    let shown = bench.shown(&started.deployment).await;
    assert_eq!(
        (shown.state, shown.template.as_str()),
        (DeploymentState::Deployed, ONE_SERVER)
    );
    bench
        .lab
        .model(|model| assert_eq!(model.servers.iter().next().unwrap().ports.len(), 1));
    let run = bench.update(&started.deployment, to(ONE_SERVER)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_failed_update_is_continued_with_the_same_or_another_template() {
    for again in [another_server(), another_network()] {
        let bench = Bench::new().await;
        let (started, _) = bench.deploy(ONE_SERVER).await;
        bench.lab.faults().add(servers_fail(2));
        let run = bench
            .update(&started.deployment, to(&another_server()))
            .await;
        assert_eq!(run.state, RunState::Failed);
        let run = bench.update(&started.deployment, to(&again)).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(bench.servers(), 1);
        let shown = bench.shown(&started.deployment).await;
        assert!(
            shown
                .resources
                .iter()
                .all(|one| one.state == ResourceState::Ready && !one.name.contains('@')),
            "{shown:#?}"
        );
        bench.undeploy(&started.deployment).await;
        assert_eq!(bench.left(), Vec::<String>::new());
    }
}

fn or_back(template: &str) -> Changes {
    Changes {
        on_failure: OnFailure::Rollback,
        ..to(template)
    }
}

#[tokio::test]
async fn a_failed_update_rolls_back_automatically_if_requested() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().add(servers_fail(2));
    let run = bench
        .update(&started.deployment, or_back(&another_server()))
        .await;
    assert_eq!(run.state, RunState::Failed);
    assert!(run.reason.unwrap().contains("is now rolled back"));
    let back = bench.follower(&started.deployment, &run.id).await;
    assert_eq!(
        (back.state, back.rolls_back),
        (RunState::Succeeded, true),
        "{back:#?}"
    );
    assert_eq!(bench.ids(&started.deployment).await, before);
    assert_eq!(
        bench.sealed(store::SealedKind::Run).await,
        0,
        "no token is left of either"
    );
}

#[tokio::test]
async fn a_requested_roll_back_starts_after_a_restart() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().add(servers_fail(8));
    let run = bench
        .engine
        .update(
            &bench.actor,
            &started.deployment,
            or_back(&another_server()),
        )
        .await
        .unwrap()
        .run;
    bench
        .until_step(&run, "web:create", StepState::Running)
        .await;
    bench.crash().await;
    let failed = bench.end_of(&run).await;
    assert_eq!(failed.state, RunState::Failed, "{failed:#?}");
    let back = bench.follower(&started.deployment, &run).await;
    assert_eq!(
        (back.state, back.rolls_back, back.author.as_str()),
        (RunState::Succeeded, true, "demo"),
        "{back:#?}"
    );
    assert_eq!(bench.ids(&started.deployment).await, before);
    assert_eq!(bench.sealed(store::SealedKind::Run).await, 0);
}

/// The process ends after the failure is stored and before the roll-back is stored.
#[tokio::test]
async fn a_roll_back_that_did_not_start_starts_with_the_server() {
    let mut bench = Bench::new().await;
    let (started, _) = bench.deploy(ONE_SERVER).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().add(servers_fail(2));
    let run = bench
        .update(&started.deployment, to(&another_server()))
        .await;
    assert_eq!(run.state, RunState::Failed);
    // The rows at that moment: the request, and its sealed token.
    let wish = serde_json::to_string(&facts()).unwrap();
    store::testing::run_set_roll_back(&bench.store, &run.id, Some(&wish)).await;
    let sealed = bench.store.sealed_put(
        &bench.tenant,
        store::SealedKind::Run,
        &run.id,
        "of another key",
    );
    sealed.await.unwrap();
    // A token that cannot be opened: a user decides, and no sealed record is left.
    bench.crash_despite_lost_keys().await;
    bench
        .until_it_says(&run.id, "the login for which the run acted has ended")
        .await;
    assert_eq!(bench.sealed(store::SealedKind::Run).await, 0);
    assert_eq!(
        bench.shown(&started.deployment).await.last_run.as_deref(),
        Some(run.id.as_str())
    );
    let back = bench
        .engine
        .roll_back(&bench.actor, &started.deployment, &facts())
        .await
        .unwrap();
    bench.end_of(&back.run).await;
    assert_eq!(bench.ids(&started.deployment).await, before);
}

impl Bench {
    /// Pauses a run that creates a server: its user's token ends. The user logs in again.
    async fn pause(&mut self, run: &str) {
        self.until_step(run, "web:create", StepState::Running).await;
        self.actor.session.revoke().await.unwrap();
        self.until_state(run, RunState::Paused).await;
        self.actor = self.log_in("demo").await;
    }

    /// A deployment and its paused update.
    async fn paused_update(&mut self) -> (String, String) {
        let deployment = self.deployed(ONE_SERVER).await;
        self.lab.faults().add(never_active("*web*"));
        let changes = to(&another_server());
        let update = self.engine.update(&self.actor, &deployment, changes).await;
        let update = update.unwrap().run;
        self.pause(&update).await;
        (deployment, update)
    }

    async fn is_paused(&self, run: &str) -> bool {
        let run = self.engine.run(&self.tenant, run).await.unwrap();
        run.state == RunState::Paused
    }
}

#[tokio::test]
async fn a_refused_roll_back_leaves_the_paused_change() {
    let mut bench = Bench::new().await;
    let (deployment, update) = bench.paused_update().await;
    let reviewed = Some("of another plan".to_owned());
    let back = bench
        .engine
        .roll_back_reviewed(&bench.actor, &deployment, &facts(), reviewed)
        .await;
    assert!(matches!(back, Err(Error::PlanChanged)), "{back:?}");
    assert!(bench.is_paused(&update).await);

    bench.crash_with(|config| config.project_runs = 0).await;
    let back = bench
        .engine
        .roll_back(&bench.actor, &deployment, &facts())
        .await;
    assert!(matches!(back, Err(Error::ProjectFull { .. })), "{back:?}");
    assert!(bench.is_paused(&update).await);

    // The reserve is for a database file.
    if !bench.store.is_shared() {
        let full = |config: &mut engine::Config| config.disk_reserve_bytes = u64::MAX;
        bench.crash_with(full).await;
        let back = bench
            .engine
            .roll_back(&bench.actor, &deployment, &facts())
            .await;
        assert!(matches!(back, Err(Error::DiskAlmostFull)), "{back:?}");
        assert!(bench.is_paused(&update).await);
    }

    bench.crash().await;
    let run = bench.rolls_back(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn a_first_deployment_stays_paused_because_nothing_precedes_it() {
    let mut bench = Bench::new().await;
    bench.lab.faults().add(never_active("*web*"));
    let started = bench.start(ONE_SERVER).await;
    bench.pause(&started.run).await;
    let back = bench
        .engine
        .roll_back(&bench.actor, &started.deployment, &facts())
        .await;
    let why = refusal(back);
    assert!(why.contains("never was complete"), "{why}");
    assert!(bench.is_paused(&started.run).await);
}

#[tokio::test]
async fn a_failed_run_names_the_possible_next_actions() {
    let bench = Bench::new().await;
    bench.lab.faults().add(servers_fail(2));
    let (started, run) = bench.deploy(ONE_SERVER).await;
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("Resume the run") && !reason.contains("roll back"),
        "{reason}"
    );
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    bench.lab.faults().add(servers_fail(2));
    let run = bench
        .update(&started.deployment, to(&another_server()))
        .await;
    let reason = run.reason.unwrap();
    for way in ["Resume the run", "update again", "roll back", "undeploy"] {
        assert!(reason.contains(way), "{way}: {reason}");
    }
}

/// The template with a hidden parameter as the name of a network, and with a server that will be replaced.
fn with_word(template: &str) -> String {
    template.replace(
        "resources:\n",
        "parameters:
  word: {type: string, hidden: true, default: x}
resources:
  called: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
",
    )
}

fn silent(service: &str) -> Fault {
    Fault::Call(CallFault {
        service: Some(service.into()),
        status: Some(503),
        ..CallFault::default()
    })
}

impl Bench {
    /// Fails an update with a new value of the hidden parameter. From then on the key manager does not respond. Returns
    /// the deployment, its resources before, and the run.
    async fn fails_without_key_manager(&self) -> (String, BTreeMap<String, String>, String) {
        let started = self.start(&with_word(ONE_SERVER)).await;
        self.end_of(&started.run).await;
        let before = self.ids(&started.deployment).await;
        self.lab.faults().add(servers_fail(2));
        let changes = Changes {
            parameters: BTreeMap::from([("word".to_owned(), "other".into())]),
            ..or_back(&with_word(&another_server()))
        };
        let update = self
            .engine
            .update(&self.actor, &started.deployment, changes);
        let run = update.await.unwrap().run;
        self.lab.faults().add(silent("key-manager"));
        let failed = self.end_of(&run).await;
        assert_eq!(failed.state, RunState::Failed, "{failed:#?}");
        (started.deployment, before, run)
    }

    /// Waits until the run's reason contains a text.
    async fn until_it_says(&self, run: &str, wanted: &str) {
        self.until_event_stored(run, |event| {
            matches!(&event.body, EventBody::Run { reason: Some(reason), .. } if reason.contains(wanted))
        })
        .await;
        let shown = self.engine.run(&self.tenant, run).await.unwrap();
        let reason = shown.reason.unwrap_or_default();
        assert!(reason.contains(wanted), "{reason}");
        assert!(!reason.contains("is now rolled back"), "{reason}");
    }

    /// Waits for a stored event, even after the end of the run.
    async fn until_event_stored(&self, run: &str, is_it: impl Fn(&Event) -> bool) {
        self.eventually("the event comes in time", async || {
            let events = self.engine.events(&self.tenant, run, 0, 10_000).await;
            let events = events.unwrap();
            let dense = events.iter().zip(1..).all(|(event, seq)| event.seq == seq);
            assert!(dense, "{events:?}");
            events.iter().any(&is_it)
        })
        .await;
    }

    /// Checks that the roll-back follows and restores everything.
    async fn comes_back(&self, deployment: &str, run: &str, before: &BTreeMap<String, String>) {
        let back = self.follower(deployment, run).await;
        assert_eq!(
            (back.state, back.rolls_back),
            (RunState::Succeeded, true),
            "{back:#?}"
        );
        assert_eq!(self.ids(deployment).await, *before);
    }

    async fn wishes(&self) -> i64 {
        store::testing::run_count_to_roll_back(&self.store).await
    }
}

#[tokio::test]
async fn a_roll_back_waits_for_a_cloud_that_does_not_answer() {
    let bench = Bench::new().await;
    let (deployment, before, run) = bench.fails_without_key_manager().await;
    bench.until_it_says(&run, "cannot begin yet").await;
    assert_eq!(
        (
            bench.wishes().await,
            bench.sealed(store::SealedKind::Run).await
        ),
        (1, 1)
    );
    bench.lab.faults().clear();
    bench.comes_back(&deployment, &run, &before).await;
    assert_eq!(
        (
            bench.wishes().await,
            bench.sealed(store::SealedKind::Run).await
        ),
        (0, 0)
    );
}

/// The server starts while Keystone hangs, and the roll-back follows later.
#[tokio::test]
async fn a_restart_neither_waits_for_nor_loses_a_roll_back() {
    let mut bench = Bench::new().await;
    let (deployment, before, run) = bench.fails_without_key_manager().await;
    bench.until_it_says(&run, "cannot begin yet").await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("identity".into()),
        delay_ms: 2 * u64::try_from(PATIENCE.as_millis()).unwrap(),
        ..CallFault::default()
    }));
    // Neither the start nor the shutdown waits for a hanging call.
    for _ in 0..2 {
        let restart = tokio::time::timeout(PATIENCE, bench.crash());
        restart.await.expect("nobody waits for Keystone");
    }
    bench.lab.faults().clear();
    bench.lab.faults().add(silent("identity"));
    bench.crash().await;
    bench.until_it_says(&run, "cannot begin yet").await;
    assert_eq!(
        (
            bench.wishes().await,
            bench.sealed(store::SealedKind::Run).await
        ),
        (1, 1)
    );
    bench.lab.faults().clear();
    bench.comes_back(&deployment, &run, &before).await;
}

#[tokio::test]
async fn a_roll_back_that_cannot_start_is_reported() {
    let mut bench = Bench::new().await;
    let (deployment, before, run) = bench.fails_without_key_manager().await;
    bench.until_it_says(&run, "cannot begin yet").await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("identity".into()),
        path: Some("*auth/tokens*".into()),
        status: Some(404),
        ..CallFault::default()
    }));
    bench.crash().await;
    bench
        .until_it_says(
            &run,
            "could not begin: the login for which the run acted has ended. Roll it back by hand",
        )
        .await;
    assert_eq!(
        (
            bench.wishes().await,
            bench.sealed(store::SealedKind::Run).await
        ),
        (0, 0)
    );
    bench.lab.faults().clear();
    let shown = bench.shown(&deployment).await;
    assert_eq!(shown.last_run.as_deref(), Some(run.as_str()));
    bench.rolls_back(&deployment).await;
    assert_eq!(bench.ids(&deployment).await, before);
}

/// A user who resumes the run takes over: the waiting roll-back is cancelled.
#[tokio::test]
async fn a_users_action_ends_the_wait_for_a_roll_back() {
    let bench = Bench::new().await;
    let (deployment, _, run) = bench.fails_without_key_manager().await;
    bench.until_it_says(&run, "cannot begin yet").await;
    let gone = bench
        .engine
        .undeploy(&bench.actor, &deployment, engine::Force::No)
        .await;
    bench.lab.faults().clear();
    let gone = bench.end_of(&gone.unwrap().run).await;
    assert_eq!(gone.state, RunState::Succeeded, "{gone:#?}");
    assert_eq!(
        (
            bench.wishes().await,
            bench.sealed(store::SealedKind::Run).await
        ),
        (0, 0)
    );
    let runs = bench
        .engine
        .runs(&bench.tenant, &deployment, engine::Page::ALL)
        .await
        .unwrap();
    assert_eq!(runs.len(), 3, "none of them leads back: {runs:#?}");
}

/// A volume cannot shrink: it keeps its size, and that does not block the rest of the roll-back.
#[tokio::test]
async fn an_extended_volume_does_not_block_a_roll_back() {
    let bench = Bench::new().await;
    let with_disk = |server: &str, size: u32| {
        server.replace(
            "outputs:",
            &format!(
                "  disk: {{type: OS::Cinder::Volume, properties: {{size: {size}}}}}\noutputs:"
            ),
        )
    };
    let (started, _) = bench.deploy(&with_disk(ONE_SERVER, 1)).await;
    let before = bench.ids(&started.deployment).await;
    bench.lab.faults().add(servers_fail(2));
    let run = bench
        .update(&started.deployment, to(&with_disk(&another_server(), 2)))
        .await;
    assert_eq!(
        (run.state, steps(&run)["disk:update"].0),
        (RunState::Failed, StepState::Succeeded)
    );
    let run = bench.rolls_back(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.ids(&started.deployment).await, before);
    let volumes = bench.actor.session.block_storage().volume_list(&[]).await;
    assert_eq!(volumes.unwrap()[0].size, 2);
    let run = bench
        .update(&started.deployment, to(&with_disk(ONE_SERVER, 1)))
        .await;
    assert!(run.steps.is_empty(), "{run:#?}");
}
