//! The bastion's rule and its users: runs and terminals. The lab in memory has no sshd, so a terminal tries to log in
//! for as long as these tests need it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use api::{RunState, Started, StepState};
use engine::{
    Error,
    terminal::{Size, Terminal},
};
use lab::{CallFault, Fault, Lab};

use crate::{
    bench::{Bench, CATALOG, PATIENCE, TWO_SERVERS},
    commands::software,
};

const SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

async fn bench(ssh_timeout: Duration) -> Bench {
    let lab = Lab::memory().await.unwrap();
    Bench::with_catalog(lab, CATALOG.as_ref(), PATIENCE, ssh_timeout).await
}

/// A bench with a run that has opened the bastion and waits for a server.
async fn with_a_run() -> (Bench, Started) {
    let bench = bench(PATIENCE).await;
    let started = bench.start(&software()).await;
    for step in ["bastion:open", "web:create"] {
        bench
            .until_step(&started.run, step, StepState::Succeeded)
            .await;
    }
    (bench, started)
}

/// A bench with a deployment whose run has ended.
async fn without_a_run() -> (Bench, Started) {
    let bench = bench(Duration::from_secs(1)).await;
    let (started, run) = bench.deploy(&software()).await;
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(bench.rules(), 0);
    (bench, started)
}

impl Bench {
    /// Number of rules that let SSH into bastions.
    fn rules(&self) -> usize {
        self.lab.model(|model| {
            let rules = model.security_group_rules.iter();
            let of_bastions = rules.filter(|rule| format!("{rule:?}").contains("ssh for the run"));
            of_bastions.count()
        })
    }

    async fn has_terminal(&self) -> bool {
        let user_id = &self.actor.session.user().id;
        let has = self.store.bastion_has_terminal(&self.tenant, user_id);
        has.await.unwrap()
    }

    /// A terminal that is about to log in.
    async fn terminal(&self, started: &Started) -> Terminal {
        let terminal = self
            .engine
            .open_terminal(&self.actor, &started.deployment, "gate", SIZE)
            .await
            .unwrap();
        self.eventually("the terminal enters", async || {
            self.has_terminal().await && self.rules() == 1
        })
        .await;
        terminal
    }

    async fn until_closed(&self) {
        self.eventually("the bastion is closed", async || {
            self.rules() == 0 && !self.has_terminal().await
        })
        .await;
    }

    /// Opens a terminal in another engine on this one's data, and kills that engine. Returns the terminal's token.
    async fn kill_with_terminal(&self, started: &Started) -> String {
        self.kill_with_terminals(&[started.deployment.as_str()])
            .await
    }

    /// The same with a terminal of each of these deployments.
    async fn kill_with_terminals(&self, deployments: &[&str]) -> String {
        self.engine.shutdown().await;
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let start = self.starter();
        let clouds = self.clouds();
        let deployments: Vec<String> = deployments.iter().map(|id| (*id).to_owned()).collect();
        let count = deployments.len();
        let open = async move {
            let engine = start.await;
            let actor = crate::bench::log_in(&clouds, "demo").await;
            let mut terminals = Vec::new();
            for deployment in &deployments {
                let opened = engine.open_terminal(&actor, deployment, "gate", SIZE);
                terminals.push(opened.await.unwrap());
            }
            let token = actor.session.token().expose().to_owned();
            (terminals, engine, token)
        };
        let (terminals, engine, token) = runtime.spawn(open).await.unwrap();
        let are_open = async || self.rules() == count;
        self.eventually("the terminals open the bastions", are_open)
            .await;
        runtime.shutdown_background();
        drop((terminals, engine));
        token
    }
}

#[tokio::test]
async fn a_terminal_outlasts_a_cancelled_run() {
    let (bench, started) = with_a_run().await;
    let terminal = bench.terminal(&started).await;
    let (engine, tenant) = (&bench.engine, &bench.tenant);
    engine.cancel(tenant, &started.run).await.unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Cancelled);
    assert_eq!(bench.rules(), 1, "the terminal still needs the rule");
    drop(terminal);
    bench.until_closed().await;
}

#[tokio::test]
async fn a_run_outlasts_a_terminal() {
    let (bench, started) = with_a_run().await;
    drop(bench.terminal(&started).await);
    bench
        .eventually("the terminal leaves", async || !bench.has_terminal().await)
        .await;
    assert_eq!(bench.rules(), 1, "the run still needs the rule");
    let (engine, tenant) = (&bench.engine, &bench.tenant);
    engine.cancel(tenant, &started.run).await.unwrap();
    bench.end_of(&started.run).await;
    assert_eq!(bench.rules(), 0);
}

#[tokio::test]
async fn a_run_comes_and_goes_while_a_terminal_is_open() {
    let (bench, started) = without_a_run().await;
    let first = bench.terminal(&started).await;
    let second = bench.terminal(&started).await;
    let undeployed = bench.undeploy(&started.deployment);
    drop(first);
    assert_eq!(undeployed.await.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
    drop(second);
    bench.until_closed().await;
}

#[tokio::test]
async fn a_resumed_run_leaves_the_terminals_rule() {
    let (bench, started) = without_a_run().await;
    let terminal = bench.terminal(&started).await;
    let (engine, actor) = (&bench.engine, &bench.actor);
    engine.resume(actor, &started.run).await.unwrap();
    bench
        .eventually("the run fails again", async || {
            let run = engine.run(&bench.tenant, &started.run).await.unwrap();
            run.state == RunState::Failed
        })
        .await;
    assert_eq!(bench.rules(), 1);
    drop(terminal);
    bench.until_closed().await;
}

#[tokio::test]
async fn after_a_crash_the_terminals_sealed_token_closes_the_bastion() {
    let (mut bench, started) = without_a_run().await;
    bench.kill_with_terminal(&started).await;
    assert_eq!(bench.rules(), 1);
    bench.crash().await;
    bench.until_closed().await;
}

#[tokio::test]
async fn after_a_crash_a_slow_cloud_keeps_no_other_bastion_open() {
    const LATE: Duration = Duration::from_secs(4);
    let (bench, first) = without_a_run().await;
    let second = bench.try_deploy("blog", &software(), BTreeMap::new()).await;
    let second = second.unwrap();
    assert_eq!(bench.end_of(&second.run).await.state, RunState::Failed);
    let deployments = [first.deployment.as_str(), second.deployment.as_str()];
    bench.kill_with_terminals(&deployments).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("DELETE".into()),
        delay_ms: u64::try_from(LATE.as_millis()).unwrap(),
        ..CallFault::default()
    }));
    let start = tokio::spawn(bench.starter());
    bench
        .eventually("a bastion is closed", async || bench.rules() < 2)
        .await;
    let begun = Instant::now();
    bench
        .eventually("the other one is closed", async || bench.rules() == 0)
        .await;
    assert!(begun.elapsed() < LATE / 2, "{:?}", begun.elapsed());
    drop(start.await.unwrap());
}

#[tokio::test]
async fn a_bastion_whose_token_has_ended_is_closed_by_the_next_login() {
    let (mut bench, started) = without_a_run().await;
    let token = bench.kill_with_terminal(&started).await;
    bench.revoke(&token).await;
    bench.crash().await;
    bench
        .eventually("the token is refused", async || !bench.has_terminal().await)
        .await;
    assert_eq!(bench.rules(), 1);
    bench.engine.close_bastions(&bench.actor).await.unwrap();
    assert_eq!(bench.rules(), 0);
}

#[tokio::test]
async fn a_logout_closes_the_bastion_before_the_token_may_end() {
    let (bench, started) = without_a_run().await;
    let mut terminal = bench.terminal(&started).await;
    assert!(bench.engine.needs_token(&bench.actor).await.unwrap());
    let again = bench.log_in("demo").await;
    bench.engine.close_terminals(&again).await;
    assert_eq!(bench.rules(), 1, "a terminal of another login");
    bench.engine.close_terminals(&bench.actor).await;
    assert_eq!(bench.rules(), 0);
    assert!(!bench.engine.needs_token(&bench.actor).await.unwrap());
    let end = terminal.next().await.unwrap();
    assert_eq!(format!("{end:?}"), "Ended(LoggedOut)");
}

#[tokio::test]
async fn a_person_has_a_limited_number_of_terminals() {
    let (bench, started) = without_a_run().await;
    let open = async || {
        let (engine, actor) = (&bench.engine, &bench.actor);
        engine
            .open_terminal(actor, &started.deployment, "gate", SIZE)
            .await
    };
    let mut terminals = Vec::new();
    for _ in 0..engine::config::PERSON_TERMINALS {
        terminals.push(open().await.unwrap());
    }
    let refused = open().await.err();
    assert!(
        matches!(refused, Some(Error::ProjectFull { limit: 10, .. })),
        "{refused:?}"
    );
    terminals.pop();
    bench
        .eventually("a place is free", async || open().await.is_ok())
        .await;
    drop(terminals);
    bench.until_closed().await;
}

#[tokio::test]
async fn what_cannot_have_a_terminal_says_why() {
    let (bench, started) = without_a_run().await;
    let why = async |server: &str| {
        let (engine, actor) = (&bench.engine, &bench.actor);
        let opened = engine
            .open_terminal(actor, &started.deployment, server, SIZE)
            .await;
        opened.err().unwrap().to_string()
    };
    assert_eq!(
        why("front").await,
        "there is no server `front` in this project"
    );
    let ids = bench.ids(&started.deployment).await;
    let compute = bench.actor.session.compute();
    compute.server_delete(&ids["gate"]).await.unwrap();
    bench
        .eventually("the server is gone", async || {
            bench
                .lab
                .model(|model| !model.servers.iter().any(|one| one.id == ids["gate"]))
        })
        .await;
    let text = why("gate").await;
    assert!(text.contains("`gate` is gone from the cloud"), "{text}");

    let other = bench.log_in("other").await;
    let refused = bench
        .engine
        .open_terminal(&other, &started.deployment, "gate", SIZE)
        .await;
    assert!(matches!(refused.err(), Some(Error::NotFound { .. })));

    let plain = bench.try_deploy("plain", TWO_SERVERS, Default::default());
    let plain = plain.await.unwrap();
    bench.end_of(&plain.run).await;
    let refused = bench
        .engine
        .open_terminal(&bench.actor, &plain.deployment, "web", SIZE)
        .await;
    let text = refused.err().unwrap().to_string();
    assert!(text.contains("the deployment has no bastion"), "{text}");
    assert_eq!(bench.rules(), 0);
}
