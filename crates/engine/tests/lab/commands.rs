//! Commands on servers. The lab in memory has no sshd, so a command waits for its bastion for as long as these tests need it.

use std::time::Duration;

use api::{
    AllServers, CommandKind, CommandRequest, CommandServers, EventBody, Run, RunKind, RunState,
    Started, StepState,
};
use engine::Error;
use lab::Lab;
use store::{Page, SealedKind};

use crate::bench::{Bench, CATALOG, PATIENCE, TWO_SERVERS, steps};

/// Software on the private server, which no run can reach here.
pub fn software() -> String {
    TWO_SERVERS.replace(
        "outputs:",
        "  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}\noutputs:",
    )
}

/// A bench with a deployment whose servers exist and whose software failed. `ssh_timeout` is that of the commands.
pub async fn bench(ssh_timeout: Duration) -> (Bench, String) {
    let begun = async {
        let lab = Lab::memory().await.unwrap();
        let bench = Bench::with_catalog(lab, CATALOG.as_ref(), PATIENCE, ssh_timeout).await;
        let started = bench.start(&software()).await;
        for step in ["web:create", "bastion:open"] {
            bench
                .until_step(&started.run, step, StepState::Succeeded)
                .await;
        }
        let cancelled = bench.engine.cancel(&bench.tenant, &started.run).await;
        cancelled.unwrap();
        bench.end_of(&started.run).await;
        (bench, started.deployment)
    };
    Box::pin(begun).await
}

const PAGE: Page = Page {
    limit: 100,
    offset: 0,
};

pub fn script(text: &str) -> CommandRequest {
    CommandRequest {
        servers: Some(CommandServers::All(AllServers::All)),
        script: Some(text.into()),
        ..CommandRequest::default()
    }
}

fn on(names: &[&str]) -> CommandRequest {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    CommandRequest {
        servers: Some(CommandServers::Named(names)),
        ..script("echo")
    }
}

fn of_nginx(command: &str) -> CommandRequest {
    CommandRequest {
        component: Some("nginx".into()),
        command: Some(command.into()),
        ..CommandRequest::default()
    }
}

impl Bench {
    pub async fn command(
        &self,
        deployment: &str,
        request: CommandRequest,
    ) -> Result<Started, Error> {
        let actor = &self.actor;
        self.engine.command(actor, deployment, request).await
    }

    /// A command that waits for its bastion.
    pub async fn waiting_command(&self, deployment: &str) -> String {
        let started = self.command(deployment, script("echo hello")).await;
        let run = started.unwrap().run;
        self.until_step(&run, "gate:ssh", StepState::Running).await;
        run
    }

    /// Everything of a deployment that a change would change.
    pub async fn standing(&self, id: &str) -> impl PartialEq + std::fmt::Debug + use<> {
        let shown = self.engine.deployment(&self.tenant, id).await.unwrap();
        (
            shown.state,
            shown.last_run,
            shown.updated,
            shown.resources,
            shown.outputs,
        )
    }

    pub async fn ssh_rules(&self) -> usize {
        self.lab.model(|model| {
            let rules = model.security_group_rules.iter();
            let of_bastions = rules.filter(|rule| format!("{rule:?}").contains("ssh for the run"));
            of_bastions.count()
        })
    }
}

#[tokio::test]
async fn a_command_leaves_its_deployment_as_it_is_and_its_script_nowhere() {
    let (bench, deployment) = bench(Duration::from_secs(1)).await;
    let before = bench.standing(&deployment).await;
    let request = CommandRequest {
        title: Some(" Say a word ".into()),
        max_failures: Some(1),
        ..script("echo sesame")
    };
    let started = bench.command(&deployment, request).await.unwrap();
    let run: Run = bench.end_of(&started.run).await;
    // Nobody answers at the bastion.
    assert_eq!(
        (run.kind, run.state),
        (RunKind::Command, RunState::Failed),
        "{run:?}"
    );
    let reason = run.reason.clone().unwrap();
    assert!(
        reason.contains("gate:ssh") && reason.contains("run the command again"),
        "{reason}"
    );
    let states: Vec<_> = steps(&run).into_iter().collect();
    let is = |id: &str, state, attempts| (id.to_owned(), (state, attempts));
    assert_eq!(
        states,
        [
            is("bastion:close", StepState::Succeeded, 1),
            is("bastion:open", StepState::Succeeded, 1),
            is("gate:command", StepState::Skipped, 0),
            is("gate:ssh", StepState::Failed, 1),
            is("web:command", StepState::Skipped, 0),
        ]
    );
    let command = run.command.unwrap();
    assert_eq!(
        (command.title.as_str(), command.kind, command.servers),
        ("Say a word", CommandKind::Script, 2)
    );
    assert_eq!((command.bytes, command.max_failures), (11, Some(1)));
    assert_eq!(bench.standing(&deployment).await, before);
    assert_eq!(bench.ssh_rules().await, 0);
    assert_eq!(bench.sealed(SealedKind::Run).await, 0);

    let all = bench.engine.runs(&bench.tenant, &deployment, PAGE);
    let all = all.await.unwrap();
    assert_eq!(all[0].id, started.run);
    let events = bench.engine.events(&bench.tenant, &started.run, 0, 1000);
    let shown = format!("{:?} {all:?}", events.await.unwrap());
    assert!(!shown.contains("sesame"));
    let row = bench.store.run_find(&bench.tenant, &started.run).await;
    assert!(!row.unwrap().unwrap().workflow.contains("sesame"));

    let resumed = bench.engine.resume(&bench.actor, &started.run).await;
    assert!(
        resumed
            .unwrap_err()
            .to_string()
            .contains("a command is not resumed")
    );
    let undeployed = bench.undeploy(&deployment).await;
    assert_eq!(undeployed.state, RunState::Succeeded);
    let refused = bench.command(&deployment, script("echo")).await;
    assert_eq!(refused.unwrap_err().code(), "not-possible-now");
}

#[tokio::test]
async fn a_command_goes_on_after_a_crash_with_its_script() {
    let (mut bench, deployment) = bench(PATIENCE).await;
    let run = bench.waiting_command(&deployment).await;
    assert_eq!(bench.sealed(SealedKind::Run).await, 1);
    bench.crash().await;
    let events = async || {
        let events = bench.engine.events(&bench.tenant, &run, 0, 1000).await;
        let starts = events.unwrap().into_iter().filter(|event| {
            matches!(&event.body, EventBody::Log(line) if line.text.contains("Waiting for SSH on `gate`"))
        });
        starts.count()
    };
    bench
        .eventually("the step is started again", async || events().await == 2)
        .await;
    assert_eq!(bench.sealed(SealedKind::Run).await, 1);
    bench.engine.cancel(&bench.tenant, &run).await.unwrap();
    assert_eq!(bench.end_of(&run).await.state, RunState::Cancelled);
    assert_eq!(bench.sealed(SealedKind::Run).await, 0);
    assert_eq!(bench.ssh_rules().await, 0);
}

#[tokio::test]
async fn invalid_commands_are_refused_and_nothing_is_stored() {
    let (bench, deployment) = bench(PATIENCE).await;
    let count = async || {
        let runs = bench.engine.runs(&bench.tenant, &deployment, PAGE);
        runs.await.unwrap().len()
    };
    let before = count().await;
    let both = CommandRequest {
        playbook: Some("- hosts: all".into()),
        ..script("echo")
    };
    for (request, why) in [
        (
            on(&["wbe"]),
            "`wbe` is no server of this deployment; did you mean `web`?",
        ),
        (on(&["nginx"]), "`nginx` is no server"),
        (on(&[]), "no server is chosen"),
        (CommandRequest::default(), "exactly one of"),
        (both, "exactly one of"),
        (script(" "), "the script is empty"),
        (script(&"x".repeat(70_000)), "at most 65536"),
        (
            CommandRequest {
                servers: None,
                ..script("echo")
            },
            "`servers` is missing",
        ),
        (
            CommandRequest {
                parallel: 0,
                ..script("echo")
            },
            "`parallel` is 0",
        ),
        (
            CommandRequest {
                parallel: 1000,
                ..script("echo")
            },
            "from 1 to 50",
        ),
        (
            CommandRequest {
                max_failures: Some(0),
                ..script("echo")
            },
            "`max_failures` is 0",
        ),
        (
            CommandRequest {
                timeout_seconds: 1_000_000,
                ..script("echo")
            },
            "`timeout_seconds` is 1000000",
        ),
        (
            CommandRequest {
                title: Some("x".repeat(100)),
                ..script("echo")
            },
            "`title` has more",
        ),
        (
            CommandRequest {
                interpreter: Some("sh -c".into()),
                ..script("echo")
            },
            "is no path",
        ),
        (
            of_nginx("reload"),
            "`nginx` is no component of this deployment",
        ),
        (
            CommandRequest {
                component: Some("web".into()),
                ..of_nginx("reload")
            },
            "`web` has no command",
        ),
        (
            CommandRequest {
                servers: on(&["web"]).servers,
                ..of_nginx("reload")
            },
            "runs on its host",
        ),
    ] {
        let refused = bench.command(&deployment, request).await.unwrap_err();
        assert_eq!(refused.code(), "command-invalid", "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert_eq!(count().await, before);
    let stranger = bench.log_in("other").await;
    let refused = bench
        .engine
        .command(&stranger, &deployment, script("echo"))
        .await;
    assert_eq!(refused.unwrap_err().code(), "not-found");
}

#[tokio::test]
async fn a_deployment_without_a_bastion_takes_no_commands() {
    let bench = Bench::new().await;
    let deployment = bench.deployed(TWO_SERVERS).await;
    let refused = bench.command(&deployment, on(&["web"])).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "not-possible-now");
    assert!(refused.to_string().contains("no bastion"), "{refused}");
}
