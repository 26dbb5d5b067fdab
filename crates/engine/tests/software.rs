//! Software on a private server behind a bastion, in a lab on Docker. Needs Docker, the lab's images and
//! `stackloom-sandbox`: `cargo test -p engine --test software -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "lab/bench.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests in memory, which use more of it"
)]
mod bench;
#[path = "lab/docker.rs"]
mod docker;

#[path = "software/asking.rs"]
mod asking;
#[path = "software/authors.rs"]
mod authors;
#[path = "software/circle.rs"]
mod circle;
#[path = "software/following.rs"]
mod following;
#[path = "software/gate.rs"]
mod gate;
#[path = "software/hanging.rs"]
mod hanging;
#[path = "software/health.rs"]
mod health;
#[path = "software/host_key.rs"]
mod host_key;
#[path = "software/interrupted.rs"]
mod interrupted;
#[path = "software/items.rs"]
mod items;
#[path = "software/killed.rs"]
mod killed;
#[path = "software/live.rs"]
mod live;
#[path = "software/outdated.rs"]
mod outdated;
#[path = "software/removal.rs"]
mod removal;
#[path = "software/restores.rs"]
mod restores;
#[path = "software/scaling.rs"]
mod scaling;
#[path = "software/starters.rs"]
mod starters;
#[path = "software/upgrade.rs"]
mod upgrade;

use std::time::{Duration, Instant};

use api::{Event, EventBody, LogStream, Run, RunState};
use bench::Bench;
use docker::{BOOT, EVENT, all_goes, docker_lab, is_logged, on_docker, on_docker_with, story};
use lab::{Fault, ServerFault, ServerTrouble};
use serde_json::Value;

/// Catalogue items of these tests.
const ITEMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/software/items");

const PAGE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.44.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}, page_text: woven on a private server}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {host: {get_resource: gate}, backends: [{get_resource: nginx}]}
outputs:
  url: {value: {get_attr: [proxy, url]}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_page_from_a_private_server_behind_a_proxy() {
    let bench = on_docker("engine-page", "172.31.44.0/24", BOOT).await;
    let started = bench.start(PAGE).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let waits_for_page = |id: &str| {
        let step = run.steps.iter().find(|step| step.id == id).unwrap();
        step.after.iter().any(|before| before == "nginx:configure")
    };
    assert_eq!(
        ["proxy:install", "proxy:configure"].map(waits_for_page),
        [false, true]
    );
    let is_logged = |text: &str| {
        events.iter().any(|event| matches!(&event.body, EventBody::Log(api::LogLine { stream: LogStream::Ansible, text: line, .. }) if line.contains(text)))
    };
    assert!(
        is_logged("TASK [") && is_logged("RECAP web"),
        "Ansible is heard"
    );
    assert!(
        !events
            .iter()
            .any(|event| format!("{event:?}").contains("PRIVATE KEY"))
    );

    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let url = deployment.outputs["url"]
        .value
        .as_ref()
        .and_then(Value::as_str)
        .unwrap()
        .to_owned();
    let page = fetch(&url).await;
    assert!(page.contains("woven on a private server"), "{page}");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_server_killed_behind_our_back_is_found_and_repaired_with_its_software() {
    let bench = on_docker("engine-repair", "172.31.43.0/24", BOOT).await;
    let started = bench.start(&PAGE.replace("10.44.", "10.43.")).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = async || {
        let deployment = bench
            .engine
            .deployment(&bench.tenant, &started.deployment)
            .await;
        deployment.unwrap()
    };
    let check = async || {
        bench
            .engine
            .check(&bench.actor, &started.deployment)
            .await
            .unwrap()
    };
    let whole = check().await;
    assert_eq!(whole.findings, []);
    let before = shown().await;
    let url = before.outputs["url"].value.as_ref().and_then(Value::as_str);
    let url = url.unwrap().to_owned();

    let web = before.resources.iter().find(|one| one.name == "web");
    let web = web.unwrap().physical_id.clone().unwrap();
    let compute = bench.actor.session.compute();
    compute.server_delete(&web).await.unwrap();
    bench
        .eventually("the server is gone", async || {
            compute.server_get(&web).await.is_err()
        })
        .await;
    let found = check().await;
    let kinds = found.findings.iter();
    let kinds: Vec<_> = kinds.map(|one| (one.resource.as_str(), one.kind)).collect();
    let expected = [
        ("proxy", api::FindingKind::Unhealthy),
        ("web", api::FindingKind::Gone),
    ];
    assert_eq!(kinds, expected, "the proxy has lost its only server");

    let request = api::RepairRequest {
        check: found.id,
        ..api::RepairRequest::default()
    };
    let repaired = bench
        .engine
        .repair(&bench.actor, &started.deployment, request, bench::facts());
    let (run, _) = story(&bench, &repaired.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let page = fetch(&url).await;
    assert!(page.contains("woven on a private server"), "{page}");
    assert_eq!(check().await.findings, []);
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

/// A server with software and a user's own user data.
fn one_server(user_data: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.45.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties:
      image: debian-12
      flavor: m1.tiny
      networks: [{{network: {{get_resource: front}}}}]
      user_data: {user_data:?}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: web}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_server_that_never_answers_fails_the_run_in_time_and_shows_its_console() {
    let seconds = 10;
    let bench = on_docker(
        "engine-silent",
        "172.31.45.0/24",
        Duration::from_secs(seconds),
    )
    .await;
    bench.lab.faults().add(Fault::Server(ServerFault {
        name: "*web*".into(),
        fault: ServerTrouble::NoSsh,
        times: None,
    }));
    let started = bench.start(&one_server("#!/bin/sh\n")).await;
    bench
        .until_step(&started.run, "web:ssh", api::StepState::Running)
        .await;
    let waiting = Instant::now();
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed);
    assert!(
        waiting.elapsed() < Duration::from_secs(seconds + 90),
        "it took {:?}",
        waiting.elapsed()
    );
    let error = error_of(&run, "web:ssh");
    assert!(
        error.contains("could not be reached over SSH within 10 s")
            && error.contains("Log in to the VM"),
        "{error}"
    );
    assert!(
        events.iter().any(|event| matches!(&event.body, EventBody::Log(api::LogLine { stream: LogStream::Console, text, .. }) if text.contains("lab-boot"))),
        "the end of the console log is in the step's log"
    );
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_server_with_another_host_key_is_refused() {
    let bench = on_docker("engine-key", "172.31.46.0/24", BOOT).await;
    // Before sshd's first start, after cloud-init has written our key.
    let template = one_server(
        "#cloud-config\nbootcmd: [[sh, -c, \"printf '#!/bin/sh\\nrm -f /etc/ssh/ssh_host_ed25519_key*\\nexec /usr/bin/ssh-keygen \\\"$@\\\"\\n' > /usr/local/bin/ssh-keygen; chmod +x /usr/local/bin/ssh-keygen\"]]\n",
    );
    let started = bench.start(&template).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed);
    let error = error_of(&run, "web:ssh");
    assert!(
        error.contains("showed another SSH host key") && error.contains("Nothing was sent to it"),
        "{error}"
    );
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

/// Two scripts on one server; the second gets the output of the first.
fn scripts(second: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
parameters:
  word: {{type: string, hidden: true, default: sesame}}
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.47.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  first:
    type: Stackloom::Catalog::script
    properties:
      host: {{get_resource: web}}
      script: |
        set -eu
        words=(a b c)
        echo \"${{#words[@]}} {{{{ 7 * 7 }}}} $WORD\" | tee -a /root/first
        test -n \"$WORD\" && wc -l < /root/first
      secret_variables: {{WORD: {{get_param: word}}}}
  second:
    type: Stackloom::Catalog::script
    properties:
      host: {{get_resource: web}}
      arguments: [{{get_attr: [first, stdout]}}]
      script: {second:?}
outputs:
  said: {{value: {{get_attr: [second, stdout]}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn scripts_show_their_output_and_run_once() {
    let bench = on_docker("engine-script", "172.31.47.0/24", BOOT).await;
    let started = bench.start(&scripts("echo \"heard: $1\"")).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        is_logged(&events, "3 {{ 7 * 7 }} ***"),
        "Bash alone reads it"
    );
    assert!(
        !events
            .iter()
            .any(|event| format!("{event:?}").contains("sesame"))
    );
    let output = async || {
        let id = &started.deployment;
        let deployment = bench.engine.deployment(&bench.tenant, id).await.unwrap();
        deployment.outputs["said"].value.clone().unwrap()
    };
    assert_eq!(output().await, "heard: 3 {{ 7 * 7 }} ***\n1");

    let update = async |second: &str| {
        let changes = engine::Changes {
            template: scripts(second),
            cloud: bench::facts(),
            ..engine::Changes::default()
        };
        let update = bench
            .engine
            .update(&bench.actor, &started.deployment, changes);
        story(&bench, &update.await.unwrap().run).await
    };
    let (run, events) = update("echo so much >&2; exit 7").await;
    assert_eq!(run.state, RunState::Failed);
    let error = error_of(&run, "second:configure");
    assert!(error.contains("exit code 7: so much"), "{error} {run:#?}");
    assert!(
        !is_logged(&events, "3 {{ 7 * 7 }}"),
        "the first did not change and does not run"
    );
    let (run, _) = update("echo \"at last: $1\"").await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(output().await, "at last: 3 {{ 7 * 7 }} ***\n1");
    all_goes(bench, &started.deployment).await;
}

fn error_of<'a>(run: &'a Run, step: &str) -> &'a str {
    let step = run.steps.iter().find(|known| known.id == step);
    step.and_then(|step| step.error.as_deref())
        .unwrap_or_default()
}

fn is_bastion_closed(bench: &Bench) -> bool {
    bench.lab.model(|model| {
        !model
            .security_group_rules
            .iter()
            .any(|rule| format!("{rule:?}").contains("ssh for the run"))
    })
}

/// The answer to `GET /`.
async fn fetch(url: &str) -> String {
    ask(url, "GET / HTTP/1.0", "").await
}

/// The answer to one request over plain HTTP, with its head. A body is a form.
async fn ask(url: &str, request: &str, form: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .trim_end_matches(":80");
    let address = if host.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let kind = "application/x-www-form-urlencoded";
    let length = form.len();
    let text = format!(
        "{request}\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{form}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
