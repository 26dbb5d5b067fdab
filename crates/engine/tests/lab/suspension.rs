//! Suspension of deployments, and their resumption.

use api::{
    CommandRequest, CommandServers, DeploymentState, PowerAction, ResourceState, Run, RunState,
    StepState,
};
use engine::Changes;
use lab::{ActionFault, CallFault, Fault};

use crate::{
    bench::{Bench, TWO_SERVERS, facts, refusal, steps},
    update::order,
};

/// `web` depends on `gate`.
fn chain() -> String {
    TWO_SERVERS.replace(
        "  web:\n    type: OS::Nova::Server\n",
        "  web:\n    type: OS::Nova::Server\n    depends_on: gate\n",
    )
}

/// A call for an action of a server that is carried out, and whose response never comes.
pub fn lost_answer(nth: u64) -> Fault {
    Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("POST".into()),
        path: Some("*/action".into()),
        nth: Some(nth),
        delay_ms: 3_600_000,
        ..CallFault::default()
    })
}

impl Bench {
    async fn suspend(&self, deployment: &str) -> Run {
        let started = self.engine.suspend(&self.actor, deployment).await.unwrap();
        self.end_of(&started.run).await
    }

    async fn wake(&self, deployment: &str) -> Run {
        let started = self.engine.resume_deployment(&self.actor, deployment);
        self.end_of(&started.await.unwrap().run).await
    }

    async fn state(&self, deployment: &str) -> DeploymentState {
        self.shown(deployment).await.state
    }

    /// The states of the servers, as Nova has them: `gate`, `web`.
    async fn in_cloud(&self, deployment: &str) -> [String; 2] {
        let servers = self.engine.live_servers(&self.actor, deployment).await;
        let states = servers.unwrap().into_iter();
        let states: Vec<String> = states.map(|one| one.status.unwrap_or_default()).collect();
        states.try_into().unwrap()
    }

    /// The servers that are recorded as suspended.
    async fn recorded(&self, deployment: &str) -> Vec<String> {
        let resources = self.shown(deployment).await.resources.into_iter();
        let suspended = resources.filter(|one| one.state == ResourceState::Suspended);
        suspended.map(|one| one.name).collect()
    }

    async fn try_update(&self, deployment: &str) -> engine::Result<api::Started> {
        let changes = Changes {
            template: chain(),
            cloud: facts(),
            ..Changes::default()
        };
        self.engine.update(&self.actor, deployment, changes).await
    }

    /// Number of calls for actions of servers.
    pub fn actions(&self) -> usize {
        let calls = self.lab.faults().calls().into_iter();
        calls.filter(|call| call.path.ends_with("/action")).count()
    }
}

#[tokio::test]
async fn a_server_without_a_login_tells_why_it_has_no_terminal() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    let servers = bench.engine.live_servers(&bench.actor, &deployment).await;
    let why = servers.unwrap().remove(0).no_terminal.unwrap_or_default();
    assert!(why.starts_with("the deployment has no bastion"), "{why}");
    let gone = bench.undeploy(&deployment).await;
    assert_eq!(gone.state, RunState::Succeeded);
}

#[tokio::test]
async fn servers_are_suspended_and_resumed_in_the_order_of_their_dependencies() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    let before = bench.shown(&deployment).await;

    let run = bench.suspend(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(
        (run.kind, run.reason.as_deref()),
        (api::RunKind::Suspend, None)
    );
    assert_eq!(order(&run), ["web:suspend", "gate:suspend"]);
    assert_eq!(bench.state(&deployment).await, DeploymentState::Suspended);
    assert_eq!(
        bench.in_cloud(&deployment).await,
        ["SUSPENDED", "SUSPENDED"]
    );
    assert_eq!(bench.recorded(&deployment).await, ["gate", "web"]);
    let listed = bench.engine.deployments(&bench.tenant, engine::Page::ALL);
    assert_eq!(listed.await.unwrap()[0].state, DeploymentState::Suspended);

    let run = bench.wake(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(order(&run), ["gate:resume", "web:resume"]);
    assert_eq!(bench.state(&deployment).await, DeploymentState::Deployed);
    assert_eq!(bench.in_cloud(&deployment).await, ["ACTIVE", "ACTIVE"]);
    let after = bench.shown(&deployment).await;
    assert_eq!(after.resources, before.resources);
    assert_eq!(
        after.outputs["address"].value,
        before.outputs["address"].value
    );
    // The next update finds nothing to do.
    let started = bench.try_update(&deployment).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!((run.state, steps(&run).len()), (RunState::Succeeded, 0));
}

#[tokio::test]
async fn what_needs_the_servers_is_refused_until_they_are_resumed() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    let actor = &bench.actor;
    let resumed = bench.engine.resume_deployment(actor, &deployment).await;
    assert_eq!(refusal(resumed), "`shop` is not suspended");
    bench.suspend(&deployment).await;

    let why = "`shop` is suspended. Resume it first";
    assert_eq!(refusal(bench.try_update(&deployment).await), why);
    let command = CommandRequest {
        servers: Some(CommandServers::Named(vec!["web".into()])),
        script: Some("true".into()),
        ..CommandRequest::default()
    };
    let command = bench.engine.command(actor, &deployment, command).await;
    assert_eq!(refusal(command), why);
    let power = PowerAction::Reboot;
    let power = bench.engine.server_power(actor, &deployment, "web", power);
    assert_eq!(refusal(power.await), why);
    let size = engine::terminal::Size {
        columns: 80,
        rows: 24,
    };
    let terminal = bench.engine.open_terminal(actor, &deployment, "web", size);
    assert_eq!(refusal(terminal.await.map(drop)), why);
    let again = bench.engine.suspend(actor, &deployment).await;
    assert_eq!(refusal(again), "`shop` is suspended already");

    // Nothing is broken, but what is gone is.
    let check = bench.engine.check(actor, &deployment).await.unwrap();
    assert_eq!(check.findings, []);
    let web = bench.ids(&deployment).await["web"].clone();
    let compute = actor.session.compute();
    compute.server_delete(&web).await.unwrap();
    let is_gone = async || bench.servers() == 1;
    bench.eventually("the server is gone", is_gone).await;
    let check = bench.engine.check(actor, &deployment).await.unwrap();
    let found: Vec<_> = check
        .findings
        .iter()
        .map(|one| (&*one.resource, one.kind))
        .collect();
    assert_eq!(found, [("web", api::FindingKind::Gone)]);

    let run = bench.undeploy(&deployment).await;
    assert_eq!((run.state, bench.left()), (RunState::Succeeded, Vec::new()));
    let undeployed = bench.engine.suspend(actor, &deployment).await;
    assert!(refusal(undeployed).contains("is undeployed"));
}

#[tokio::test]
async fn a_deployment_without_servers_has_nothing_to_suspend() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(crate::bench::NET).await;
    let refused = bench
        .engine
        .suspend(&bench.actor, &started.deployment)
        .await;
    assert_eq!(refusal(refused), "`shop` has no servers to suspend");
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_suspension_suspends_each_server_once() {
    let mut bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    bench.lab.faults().clear_calls();
    bench.lab.faults().add(lost_answer(1));
    let started = bench
        .engine
        .suspend(&bench.actor, &deployment)
        .await
        .unwrap();
    let is_suspended = async || bench.in_cloud(&deployment).await[1] == "SUSPENDED";
    bench.eventually("`web` is suspended", is_suspended).await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.actions(), 2);
    assert_eq!(bench.state(&deployment).await, DeploymentState::Suspended);
    assert_eq!(
        bench.in_cloud(&deployment).await,
        ["SUSPENDED", "SUSPENDED"]
    );

    // The same on the way back.
    bench.lab.faults().clear();
    bench.lab.faults().add(lost_answer(1));
    let started = bench.engine.resume_deployment(&bench.actor, &deployment);
    let started = started.await.unwrap();
    let is_active = async || bench.in_cloud(&deployment).await[0] == "ACTIVE";
    bench.eventually("`gate` runs", is_active).await;
    bench.crash().await;
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.actions(), 4);
    assert_eq!(bench.recorded(&deployment).await, Vec::<String>::new());
    bench.undeploy(&deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_suspension_goes_on_or_is_turned_round() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    bench.lab.faults().add(lost_answer(2));
    let started = bench
        .engine
        .suspend(&bench.actor, &deployment)
        .await
        .unwrap();
    let is_suspended = async || bench.in_cloud(&deployment).await == ["SUSPENDED", "SUSPENDED"];
    bench.eventually("both are suspended", is_suspended).await;
    for _ in 0..2 {
        bench
            .engine
            .cancel(&bench.tenant, &started.run)
            .await
            .unwrap();
    }
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(steps(&run)["gate:suspend"].0, StepState::Cancelled);
    let advice = "Resume the run to suspend the rest, resume the deployment";
    assert!(run.reason.unwrap().contains(advice));
    // Nobody knows what became of `gate`, so it counts as suspended.
    let shown = bench.shown(&deployment).await;
    assert_eq!(
        (shown.state, shown.can_roll_back),
        (DeploymentState::Failed, false)
    );
    assert_eq!(bench.recorded(&deployment).await, ["gate", "web"]);
    let refused = refusal(bench.try_update(&deployment).await);
    assert!(
        refused.contains("are suspended: `gate` and `web`"),
        "{refused}"
    );
    let facts = facts();
    let back = bench.engine.roll_back(&bench.actor, &deployment, &facts);
    assert!(refusal(back.await).contains("are suspended"));

    // The run goes on.
    bench.lab.faults().clear();
    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
    assert_eq!(bench.state(&deployment).await, DeploymentState::Suspended);
    let run = bench.wake(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.in_cloud(&deployment).await, ["ACTIVE", "ACTIVE"]);

    // Another one is turned round where it stands.
    bench.lab.faults().add(lost_answer(1));
    let started = bench
        .engine
        .suspend(&bench.actor, &deployment)
        .await
        .unwrap();
    let is_suspended = async || bench.in_cloud(&deployment).await[1] == "SUSPENDED";
    bench.eventually("`web` is suspended", is_suspended).await;
    for _ in 0..2 {
        bench
            .engine
            .cancel(&bench.tenant, &started.run)
            .await
            .unwrap();
    }
    bench.end_of(&started.run).await;
    bench.lab.faults().clear();
    let run = bench.wake(&deployment).await;
    assert_eq!(order(&run), ["web:resume"]);
    assert_eq!(bench.state(&deployment).await, DeploymentState::Deployed);
    assert_eq!(bench.in_cloud(&deployment).await, ["ACTIVE", "ACTIVE"]);
}

#[tokio::test]
async fn a_server_that_is_off_or_gone_does_not_stop_the_others() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    let power = PowerAction::Stop;
    let stopped = bench
        .engine
        .server_power(&bench.actor, &deployment, "web", power);
    stopped.await.unwrap();
    let is_off = async || bench.in_cloud(&deployment).await[1] == "SHUTOFF";
    bench.eventually("`web` is off", is_off).await;
    let run = bench.suspend(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("`web` was not suspended: it is SHUTOFF"),
        "{reason}"
    );
    assert_eq!(bench.recorded(&deployment).await, ["gate"]);

    let gate = bench.ids(&deployment).await["gate"].clone();
    let compute = bench.actor.session.compute();
    compute.server_delete(&gate).await.unwrap();
    let is_gone = async || bench.servers() == 1;
    bench.eventually("the server is gone", is_gone).await;
    let run = bench.wake(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("`gate` was not resumed: it is gone"),
        "{reason}"
    );
    assert_eq!(bench.in_cloud(&deployment).await, ["", "SHUTOFF"]);
    // A check finds both, for a repair.
    let check = bench.engine.check(&bench.actor, &deployment).await.unwrap();
    let found: Vec<_> = check.findings.iter().map(|one| &*one.resource).collect();
    assert_eq!(found, ["gate", "web"]);
}

#[tokio::test]
async fn a_refusal_of_the_cloud_is_told_with_its_reason() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(&chain()).await;
    bench.lab.faults().add(Fault::Action(ActionFault {
        name: "*web*".into(),
        action: "suspend".into(),
        times: None,
    }));
    let run = bench.suspend(&deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    let words = "`web` was not suspended:";
    assert!(reason.contains(words), "{reason}");
    assert!(reason.contains("It is still ACTIVE"), "{reason}");
    assert_eq!(bench.in_cloud(&deployment).await, ["ACTIVE", "ACTIVE"]);
    bench.lab.faults().clear();
    let run = bench.suspend(&deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}
