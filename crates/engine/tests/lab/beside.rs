//! Commands beside a change: neither waits for the other's end, and steps wait for servers that the other has locked. The lab in
//! memory has no sshd, so no command gets past its bastion, and the step that waits for the bastion locks a server in its place.

use api::{CommandRequest, CommandServers, EventBody, ResourceState, RunKind, RunState, StepState};
use engine::{Changes, Error, Force};
use store::LockingStep;

use crate::{
    bench::{Bench, PATIENCE, facts, steps},
    commands::{bench, script, software},
};

/// The step of a command that locks a server in these tests.
const STEP: &str = "gate:ssh";

impl Bench {
    /// Locks a server for a command. Returns the step that has locked it already.
    async fn lock(&self, command: &str, server: &str) -> Option<LockingStep> {
        let run = self.store.run_find(&self.tenant, command).await.unwrap();
        let held = (command, run.unwrap().fence);
        let lock = self.store.step_lock(&self.tenant, held, STEP, server);
        lock.await.unwrap()
    }

    async fn is_locked(&self, deployment: &str, server: &str) -> bool {
        let locks = self.store.step_list_locks(&self.tenant, deployment);
        locks.await.unwrap().iter().any(|one| one == server)
    }

    /// Lets the change that [`bench`] has cancelled go on until it works on its bastion.
    async fn resumed_change(&self, deployment: &str) -> String {
        let change = self.shown(deployment).await.last_run.unwrap();
        self.engine.resume(&self.actor, &change).await.unwrap();
        let is_locked = async || self.is_locked(deployment, "gate").await;
        self.eventually("the bastion is locked", is_locked).await;
        change
    }

    /// Starts an undeployment, and waits until it waits for `web`.
    async fn undeployment_that_waits(&self, deployment: &str) -> String {
        let undeploy = self.engine.undeploy(&self.actor, deployment, Force::No);
        let undeploy = undeploy.await.unwrap().run;
        self.until(&undeploy, |event| {
            matches!(&event.body, EventBody::Log(line) if line.step == "web:delete"
                && line.text.starts_with("Waiting for `web`: the step `gate:ssh` of another run works on it (command, by demo, "))
        })
        .await;
        undeploy
    }

    /// Cancels a run, which may have ended before, and returns its state.
    async fn cancelled(&self, run: &str) -> RunState {
        self.engine.cancel(&self.tenant, run).await.unwrap();
        let state = async || self.engine.run(&self.tenant, run).await.unwrap().state;
        let has_ended = async || state().await.is_final();
        self.eventually("the run ends", has_ended).await;
        state().await
    }
}

#[tokio::test]
async fn commands_run_beside_a_change_and_beside_each_other() {
    let (bench, deployment) = bench(PATIENCE).await;
    let before = bench.standing(&deployment).await;
    let first = bench.waiting_command(&deployment).await;
    let second = bench.waiting_command(&deployment).await;
    assert_eq!(bench.standing(&deployment).await, before);
    // Both orders: a change that starts beside commands, and a command that starts beside a change.
    let change = bench.resumed_change(&deployment).await;
    let third = bench.waiting_command(&deployment).await;
    assert_eq!(bench.ssh_rules().await, 1, "one for all of them");

    // There is one change at a time, and a server is not switched off under a command.
    let changes = Changes {
        template: software(),
        cloud: facts(),
        ..Changes::default()
    };
    let update = bench.engine.update(&bench.actor, &deployment, changes);
    assert!(matches!(update.await, Err(Error::Busy(run)) if run == change));
    assert_eq!(bench.cancelled(&change).await, RunState::Cancelled);
    let stop = api::PowerAction::Stop;
    let (engine, actor) = (&bench.engine, &bench.actor);
    let stopped = engine.server_power(actor, &deployment, "web", stop).await;
    assert!(matches!(stopped, Err(Error::Busy(_))), "{stopped:?}");

    assert_eq!(bench.ssh_rules().await, 1, "the commands need it");
    for run in [first, second, third] {
        assert_eq!(bench.cancelled(&run).await, RunState::Cancelled);
    }
    assert_eq!(bench.ssh_rules().await, 0);
    let shown = bench.shown(&deployment).await;
    assert_eq!(shown.last_run, Some(change));
}

#[tokio::test]
async fn a_deletion_waits_for_the_command_on_its_server_also_after_a_crash() {
    let (mut bench, deployment) = bench(PATIENCE).await;
    let command = bench.waiting_command(&deployment).await;
    assert_eq!(bench.lock(&command, "web").await, None);
    bench.crash().await;
    assert!(bench.is_locked(&deployment, "web").await);
    let undeploy = bench.undeployment_that_waits(&deployment).await;
    let waiting = bench.engine.run(&bench.tenant, &undeploy).await.unwrap();
    assert_eq!(steps(&waiting)["web:delete"].0, StepState::Running);

    // A server that is about to go gets no further command.
    let gone = bench.shown(&deployment).await.resources;
    let web = gone.iter().find(|one| one.name == "web").unwrap();
    assert_eq!(web.state, ResourceState::Removing);
    let command_on_web = CommandRequest {
        servers: Some(CommandServers::Named(vec!["web".into()])),
        ..script("echo")
    };
    let refused = bench.command(&deployment, command_on_web).await;
    let refused = refused.unwrap_err().to_string();
    let why = "`web` is being deleted by a run";
    assert!(refused.starts_with(why), "{refused}");

    assert_eq!(bench.cancelled(&command).await, RunState::Cancelled);
    let ended = bench.end_of(&undeploy).await;
    assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_change_that_waits_for_a_server_is_cancelled_at_once_and_the_command_goes_on() {
    let (bench, deployment) = bench(PATIENCE).await;
    let command = bench.waiting_command(&deployment).await;
    assert_eq!(bench.lock(&command, "web").await, None);
    let undeploy = bench.undeployment_that_waits(&deployment).await;
    assert_eq!(bench.cancelled(&undeploy).await, RunState::Cancelled);
    let run = bench.engine.run(&bench.tenant, &command).await.unwrap();
    assert_eq!(run.state, RunState::Running);
    assert!(bench.is_locked(&deployment, "web").await);
    assert_eq!(bench.cancelled(&command).await, RunState::Cancelled);
    assert!(!bench.is_locked(&deployment, "web").await);
    let undeployed = bench.undeploy(&deployment).await;
    assert_eq!(undeployed.state, RunState::Succeeded, "{undeployed:#?}");
}

#[tokio::test]
async fn a_command_gets_a_server_when_the_change_on_it_has_ended() {
    let (bench, deployment) = bench(PATIENCE).await;
    let change = bench.resumed_change(&deployment).await;
    let command = bench.waiting_command(&deployment).await;
    let other = bench.lock(&command, "gate").await.unwrap();
    assert_eq!(
        (other.run.as_str(), other.step.as_str(), other.kind),
        (change.as_str(), "gate:ssh", RunKind::Deploy)
    );
    assert_eq!(
        bench.lock(&command, "web").await,
        None,
        "it works on another one"
    );
    assert_eq!(bench.cancelled(&change).await, RunState::Cancelled);
    assert_eq!(bench.lock(&command, "gate").await, None);
    assert_eq!(bench.cancelled(&command).await, RunState::Cancelled);
}

#[tokio::test]
async fn a_deployment_is_not_removed_under_a_command() {
    let (bench, deployment) = bench(PATIENCE).await;
    let command = bench.waiting_command(&deployment).await;
    let undeployed = bench.undeploy(&deployment).await;
    assert_eq!(undeployed.state, RunState::Succeeded, "{undeployed:#?}");
    let removed = bench.engine.remove(&bench.tenant, &deployment).await;
    assert!(matches!(removed, Err(Error::Busy(run)) if run == command));
    assert_eq!(bench.cancelled(&command).await, RunState::Cancelled);
    bench
        .engine
        .remove(&bench.tenant, &deployment)
        .await
        .unwrap();
}
