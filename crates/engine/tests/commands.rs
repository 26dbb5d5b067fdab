//! Commands on servers of a lab on Docker. Needs Docker, the lab's images and `stackloom-sandbox`:
//! `cargo test -p engine --test commands -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "lab/bench.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests in memory, which use more of it"
)]
mod bench;
#[path = "lab/docker.rs"]
#[expect(dead_code, reason = "shared with tests that use more of it")]
mod docker;

use std::fmt::Write as _;

use api::{
    AllServers, CommandRequest, CommandServers, Event, EventBody, LogStream, Run, RunState,
    StepState,
};
use bench::Bench;
use docker::{BOOT, all_goes, on_docker};
use tokio::process::Command;

const SERVERS: [&str; 6] = ["gate", "s1", "s2", "s3", "s4", "s5"];

/// Name of the lab.
const LAB: &str = "engine-commands";

/// A script that lasts until [`Place::let_go`].
const HELD: &str = "echo begun; until [ -e /root/go ]; do sleep 0.2; done; echo done";

/// A bastion and five private servers, with some software on each: only servers with software have a login.
fn template() -> String {
    let mut text = String::from(
        "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.55.1.0/24}
  greet:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'echo hello'}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: s4}}}
  postgresql:
    type: Stackloom::Catalog::postgresql
    properties: {host: {get_resource: s5}, database: shop, user: shop, password: sesame-open}
",
    );
    for name in SERVERS {
        let public = match name {
            "gate" => "metadata: {stackloom: {public: true}}, ",
            _ => "",
        };
        let _ = writeln!(
            text,
            "  {name}: {{type: OS::Nova::Server, {public}properties: {{image: debian-12, flavor: m1.tiny, \
             user_data_format: SOFTWARE_CONFIG, networks: [{{network: {{get_resource: front}}}}]}}}}"
        );
        let _ = writeln!(
            text,
            "  greet_{name}: {{type: OS::Heat::SoftwareDeployment, properties: {{config: {{get_resource: greet}}, server: {{get_resource: {name}}}}}}}"
        );
    }
    text
}

/// A lab with the deployment.
struct Place {
    bench: Bench,
    deployment: String,
}

impl Place {
    async fn start(&self, request: CommandRequest) -> String {
        let (engine, actor) = (&self.bench.engine, &self.bench.actor);
        let started = engine.command(actor, &self.deployment, request).await;
        started.unwrap().run
    }

    async fn story(&self, run: &str) -> (Run, Vec<Event>) {
        let ended = self.bench.end_of(run).await;
        let events = self.bench.engine.events(&self.bench.tenant, run, 0, 10_000);
        let events = events.await.unwrap();
        for event in &events {
            let text = format!("{:?}", event.body);
            println!(
                "{} {}",
                event.time,
                text.chars().take(400).collect::<String>()
            );
        }
        (ended, events)
    }

    async fn run(&self, request: CommandRequest) -> (Run, Vec<Event>) {
        let run = self.start(request).await;
        self.story(&run).await
    }

    /// Ends [`HELD`] on a server.
    async fn let_go(&self, server: &str) {
        let (engine, tenant) = (&self.bench.engine, &self.bench.tenant);
        let shown = engine.deployment(tenant, &self.deployment).await.unwrap();
        let mut resources = shown.resources.into_iter();
        let server = resources.find(|one| one.name == server).unwrap();
        let container = format!("stackloom-{LAB}-server-{}", server.physical_id.unwrap());
        let touched = Command::new("docker")
            .args(["exec", &container, "touch", "/root/go"])
            .status()
            .await;
        assert!(touched.unwrap().success());
    }
}

fn script(text: &str) -> CommandRequest {
    CommandRequest {
        servers: Some(CommandServers::All(AllServers::All)),
        script: Some(text.into()),
        ..CommandRequest::default()
    }
}

fn on(names: &[&str], text: &str) -> CommandRequest {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    CommandRequest {
        servers: Some(CommandServers::Named(names)),
        ..script(text)
    }
}

fn of(component: &str, command: &str) -> CommandRequest {
    CommandRequest {
        component: Some(component.into()),
        command: Some(command.into()),
        ..CommandRequest::default()
    }
}

/// The output of the command's program, with its servers.
fn output(events: &[Event]) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for event in events {
        if let EventBody::Log(line) = &event.body
            && line.stream == LogStream::Stdout
        {
            lines.push((line.host.clone().unwrap_or_default(), line.text.clone()));
        }
    }
    lines.sort();
    lines
}

fn state_of(run: &Run, step: &str) -> StepState {
    run.steps.iter().find(|one| one.id == step).unwrap().state
}

fn error_of<'a>(run: &'a Run, step: &str) -> &'a str {
    let step = run.steps.iter().find(|one| one.id == step).unwrap();
    step.error.as_deref().unwrap_or_default()
}

/// The largest number of commands that ran at the same time.
fn most_at_once(events: &[Event]) -> usize {
    let (mut running, mut most) = (0_usize, 0);
    for event in events {
        if let EventBody::Step { step, state, .. } = &event.body
            && step.ends_with(":command")
        {
            match state {
                StepState::Running => running += 1,
                state if state.is_final() => running = running.saturating_sub(1),
                _ => {}
            }
            most = most.max(running);
        }
    }
    most
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_command_on_six_servers() {
    let bench = on_docker(LAB, "172.31.55.0/24", BOOT).await;
    let (started, run) = bench.deploy(&template()).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let mut place = Place {
        deployment: started.deployment,
        bench,
    };

    runs_on_all(&place).await;
    stops_at_the_first_failure(&place).await;
    floods_and_forks_are_ended(&place).await;
    cancelled_programs_are_gone(&place).await;
    forms(&place).await;
    commands_of_items(&place).await;
    a_crash_repeats_nothing(&mut place).await;
    commands_wait_for_each_other_on_a_server(&place).await;
    a_server_that_was_deleted_gets_no_command(&place).await;

    all_goes(place.bench, &place.deployment).await;
}

async fn runs_on_all(place: &Place) {
    let (run, events) = place
        .run(CommandRequest {
            parallel: 2,
            ..script("echo \"$(id -u) on $(hostname)\"; sleep 1")
        })
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let expected = SERVERS.map(|name| (name.to_owned(), format!("0 on shop-{name}")));
    assert_eq!(output(&events), expected);
    assert_eq!(most_at_once(&events), 2);
    let deployment = place
        .bench
        .engine
        .deployment(&place.bench.tenant, &place.deployment)
        .await
        .unwrap();
    assert_eq!(deployment.state, api::DeploymentState::Deployed);
    assert_ne!(deployment.last_run.as_deref(), Some(run.id.as_str()));
}

async fn stops_at_the_first_failure(place: &Place) {
    let fails_on_s1 = "[ \"$(hostname)\" != shop-s1 ] || { echo no disk >&2; exit 3; }; echo well";
    let (run, events) = place
        .run(CommandRequest {
            parallel: 1,
            max_failures: Some(1),
            ..script(fails_on_s1)
        })
        .await;
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(
        error_of(&run, "s1:command"),
        "it ended with exit code 3: no disk"
    );
    let reason = run.reason.as_deref().unwrap();
    assert!(
        reason.starts_with("the command failed on 1 of 6 servers: `s1`. It was not started on 4\n"),
        "{reason}"
    );
    assert_eq!(output(&events), [("gate".into(), "well".into())]);
    assert_eq!(state_of(&run, "s2:command"), StepState::Skipped);
    assert_eq!(state_of(&run, "bastion:close"), StepState::Succeeded);

    let (run, events) = place.run(script(fails_on_s1)).await;
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(output(&events).len(), 5, "the others go on");
}

/// Number of processes `sleep 1000` on a server. The pattern does not match itself.
const COUNT: &str = "grep -lzx '100[0]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";

async fn sleepers(place: &Place, server: &str) -> String {
    let (run, events) = place.run(on(&[server], COUNT)).await;
    assert_eq!(run.state, RunState::Succeeded);
    output(&events).remove(0).1
}

async fn floods_and_forks_are_ended(place: &Place) {
    let text = "case $(hostname) in
  shop-s1) exec yes 'a flood' ;;
  shop-s2) for i in $(seq 300); do (trap '' TERM; sleep 1000) & done; echo forked; wait ;;
  *) echo calm ;;
esac";
    // The flood fills the first page of events.
    let (run, _) = place
        .run(CommandRequest {
            timeout_seconds: 40,
            ..on(&["s1", "s2", "s3"], text)
        })
        .await;
    assert_eq!(run.state, RunState::Failed);
    let flood = error_of(&run, "s1:command");
    assert_eq!(
        flood,
        "it ended with exit code 125: it was ended: it wrote more than 16 MiB"
    );
    let forks = error_of(&run, "s2:command");
    assert!(forks.contains("it was not done after 40 s"), "{forks}");
    assert_eq!(state_of(&run, "s3:command"), StepState::Succeeded);
    // They ignore SIGTERM, and are ended some seconds after the step.
    let mut looks = 0;
    while sleepers(place, "s2").await != "0" {
        looks += 1;
        assert!(looks < 5, "the processes stay");
    }
    let (_, events) = place
        .run(on(&["s1"], "du -sm /var/lib/stackloom | cut -f1"))
        .await;
    assert_eq!(output(&events), [("s1".into(), "1".into())]);
}

async fn cancelled_programs_are_gone(place: &Place) {
    let run = place.start(script("echo begun; sleep 1000")).await;
    place
        .bench
        .until(&run, |event| matches!(&event.body, EventBody::Log(line) if line.text == "begun" && line.host.as_deref() == Some("s1")))
        .await;
    let (engine, tenant) = (&place.bench.engine, &place.bench.tenant);
    engine.cancel(tenant, &run).await.unwrap();
    let (run, _) = place.story(&run).await;
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(sleepers(place, "s1").await, "0");
}

async fn forms(place: &Place) {
    let (run, events) = place
        .run(CommandRequest {
            interpreter: Some("/usr/bin/python3".into()),
            as_root: false,
            ..on(
                &["s2"],
                "import getpass\nprint(getpass.getuser(), '{{ 7 }}')",
            )
        })
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(output(&events), [("s2".into(), "stackloom {{ 7 }}".into())]);
    let playbook = "- hosts: all\n  tasks:\n    - command: echo from {{ inventory_hostname }} as {{ ansible_user_id }}\n    - shell: echo apt reads $APT_CONFIG\n";
    let (run, events) = place
        .run(CommandRequest {
            script: None,
            playbook: Some(playbook.into()),
            ..on(&["s1", "s3"], "")
        })
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // Package managers of users' playbooks wait for their lock too.
    let apt = "apt reads /var/lib/stackloom/apt.conf";
    let expected = ["s1", "s3"].map(|name| {
        [apt.to_owned(), format!("from {name} as root")].map(|line| (name.to_owned(), line))
    });
    assert_eq!(output(&events), expected.concat());
}

async fn commands_of_items(place: &Place) {
    let (engine, actor) = (&place.bench.engine, &place.bench.actor);
    let unknown = engine.command(actor, &place.deployment, of("nginx", "relaod"));
    let why = unknown.await.unwrap_err().to_string();
    assert_eq!(
        why,
        "`nginx` has no command `relaod`; did you mean `reload`?; it has `reload` and `restart`"
    );
    for command in ["reload", "restart"] {
        let (run, _) = place.run(of("nginx", command)).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    }
    let psql = async |sql: &str| {
        let sql = format!("cd / && runuser -u postgres -- psql -qtA shop -c '{sql}'");
        let (run, events) = place.run(on(&["s5"], &sql)).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        output(&events)
    };
    psql("CREATE TABLE words (word text); INSERT INTO words VALUES ($$before$$)").await;
    let (run, events) = place.run(of("postgresql", "backup")).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let lines = output(&events);
    let (_, line) = lines
        .iter()
        .find(|(_, line)| line.contains(".dump"))
        .unwrap();
    let path = line.split(' ').next().unwrap();
    let (run, _) = place
        .run(on(&["s5"], &format!("pg_restore --list {path}")))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    psql("DELETE FROM words").await;
    let (run, events) = place.run(of("postgresql", "restore")).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let lines = output(&events);
    let restored = lines.iter().any(|(_, line)| line.contains(path));
    assert!(restored, "{lines:?}");
    assert_eq!(
        psql("SELECT word FROM words").await,
        [("s5".into(), "before".into())]
    );
}

async fn commands_wait_for_each_other_on_a_server(place: &Place) {
    let first = place.start(on(&["s1"], HELD)).await;
    let is = |event: &Event, text: &str| matches!(&event.body, EventBody::Log(line) if line.text == text);
    place.bench.until(&first, |event| is(event, "begun")).await;
    let second = place.start(on(&["s1", "s2"], "echo hello")).await;
    let waits = |event: &Event| {
        matches!(&event.body, EventBody::Log(line) if line.step == "s1:command"
            && line.text.starts_with("Waiting for `s1`: the step `s1:command` of another run works on it"))
    };
    place.bench.until(&second, waits).await;
    place.let_go("s1").await;
    let (second, events) = place.story(&second).await;
    assert_eq!(second.state, RunState::Succeeded, "{second:#?}");
    let hello = |name: &str| (name.to_owned(), "hello".to_owned());
    assert_eq!(output(&events), [hello("s1"), hello("s2")]);
    let (first, events) = place.story(&first).await;
    assert_eq!(first.state, RunState::Succeeded, "{first:#?}");
    assert_eq!(output(&events).len(), 2);
}

async fn a_server_that_was_deleted_gets_no_command(place: &Place) {
    // `s2` is first, and `s3` is deleted in the meantime.
    let command = CommandRequest {
        parallel: 1,
        ..on(&["s2", "s3"], HELD)
    };
    let command = place.start(command).await;
    let is = |event: &Event, text: &str| matches!(&event.body, EventBody::Log(line) if line.text == text);
    place
        .bench
        .until(&command, |event| is(event, "begun"))
        .await;
    let text = template();
    let rest = text
        .lines()
        .filter(|line| !line.starts_with("  s3:") && !line.starts_with("  greet_s3:"));
    let changes = engine::Changes {
        template: rest.collect::<Vec<_>>().join("\n"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let (engine, actor) = (&place.bench.engine, &place.bench.actor);
    let update = engine.update(actor, &place.deployment, changes);
    let update = update.await.unwrap().run;
    place
        .bench
        .until_step(&update, "s3:delete", StepState::Succeeded)
        .await;
    place.let_go("s2").await;
    let update = place.bench.end_of(&update).await;
    assert_eq!(update.state, RunState::Succeeded, "{update:#?}");
    let (command, _) = place.story(&command).await;
    assert_eq!(state_of(&command, "s2:command"), StepState::Succeeded);
    let gone = error_of(&command, "s3:command");
    assert!(
        gone.starts_with("`s3` is gone: a run has deleted it since the command was given"),
        "{gone}"
    );
}

async fn a_crash_repeats_nothing(place: &mut Place) {
    let text = "echo begun >> /root/begun; for i in $(seq 15); do echo line $i; sleep 1; done; echo begun $(wc -l < /root/begun) times";
    let run = place.start(on(&["s1", "s3"], text)).await;
    let is = |event: &Event, text: &str| matches!(&event.body, EventBody::Log(line) if line.text == text);
    place.bench.until(&run, |event| is(event, "line 4")).await;
    place.bench.crash().await;
    let (ended, events) = place.story(&run).await;
    assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
    let lines = output(&events);
    assert_eq!(lines.len(), 32, "{lines:?}");
    for name in ["s1", "s3"] {
        assert!(lines.contains(&(name.into(), "begun 1 times".into())));
    }
}
