//! Software deployments on a server of a lab on Docker. Needs Docker, the lab's images and `stackloom-sandbox`:
//! `cargo test -p engine --test deployments -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "lab/bench.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests in memory, which use more of it"
)]
mod bench;
#[path = "lab/docker.rs"]
mod docker;

use api::{Event, EventBody, Run, RunState};
use docker::{BOOT, all_goes, is_logged, on_docker, story};
use serde_json::{Value, json};

/// Two scripts and a playbook on one server; the second script and the playbook read the output of the first.
fn template(greeting: &str, more: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
parameters:
  secret: {{type: string, hidden: true, default: sesame}}
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.53.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      networks: [{{network: {{get_resource: front}}}}]
  greet:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{{name: greeting}}, {{name: punctuation, default: '!'}}, {{name: secret}}]
      outputs: [{{name: said}}, {{name: never}}]
      config: |
        #!/bin/bash
        echo \"$deploy_action of $deploy_resource_name by $deploy_signal_transport\"
        echo \"careful: $secret\" >&2
        echo -n \"$greeting$punctuation {{{{ 7 }}}}\" > $heat_outputs_path.said
        echo \"$deploy_action $greeting\" >> /root/history
  first:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {{get_resource: greet}}
      server: {{get_resource: web}}
      signal_transport: HEAT_SIGNAL
      input_values: {{greeting: {greeting:?}, secret: {{get_param: secret}}}}
  read:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{{name: heard}}]
      config: 'echo \"heard: $heard\"'
  second:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {{get_resource: read}}
      server: {{get_resource: web}}
      input_values: {{heard: {{get_attr: [first, said]}}}}
  play:
    type: OS::Heat::SoftwareConfig
    properties:
      group: ansible
      inputs: [{{name: heard}}]
      outputs: [{{name: where}}]
      config: |
        - hosts: localhost
          connection: local
          tasks:
            - name: Write what was heard
              copy:
                content: \"{{{{ heard }}}} on {{{{ ansible_hostname }}}}\"
                dest: \"{{{{ heat_outputs_path }}}}.where\"
  third:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {{get_resource: play}}
      server: {{get_resource: web}}
      input_values: {{heard: {{get_attr: [first, said]}}}}
{more}outputs:
  heard: {{value: {{get_attr: [second, deploy_stdout]}}}}
  status: {{value: {{get_attr: [first, deploy_status_code]}}}}
  stdout: {{value: {{get_attr: [first, deploy_stdout]}}}}
  never: {{value: {{get_attr: [first, never]}}}}
  where: {{value: {{get_attr: [third, where]}}}}
"
    )
}

/// A component that leaves a file, and removes it again.
const COMPONENT: &str = "  component:
    type: OS::Heat::SoftwareComponent
    properties:
      configs:
        - {tool: script, actions: [CREATE], config: 'echo here > /root/component'}
        - {tool: script, actions: [DELETE], config: 'rm /root/component && echo \"component is removed, $deploy_action\"'}
  placed:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: component}, server: {get_resource: web}}
";

/// A script that shows the history, and whether the component's file is there.
const LOOK: &str = "  look:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'cat /root/history; ls /root/component 2>/dev/null; ls -A /var/lib/heat-config | grep -v look; true'}
  looked:
    type: OS::Heat::SoftwareDeployment
    depends_on: [second, third]
    properties: {config: {get_resource: look}, server: {get_resource: web}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_deployments_output_is_read_changed_and_removed() {
    let bench = on_docker("engine-deployments", "172.31.53.0/24", BOOT).await;

    let started = bench.start(&template("hello", COMPONENT)).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        !events
            .iter()
            .any(|event| format!("{event:?}").contains("sesame")),
        "a hidden input is in the log"
    );
    let outputs = async || {
        let id = &started.deployment;
        let deployment = bench.engine.deployment(&bench.tenant, id).await.unwrap();
        let outputs = deployment.outputs.into_iter();
        let values = outputs.map(|(name, output)| (name, output.value.unwrap_or_default()));
        values.collect::<serde_json::Map<String, Value>>()
    };
    assert_eq!(
        Value::Object(outputs().await),
        json!({
            "heard": "heard: hello! {{ 7 }}\n", "status": 0, "stdout": "CREATE of first by HEAT_SIGNAL\n", "never": null,
            "where": "hello! {{ 7 }} on shop-web",
        })
    );

    let update = async |template: String| {
        let changes = engine::Changes {
            template,
            cloud: bench::facts(),
            ..engine::Changes::default()
        };
        let update = bench
            .engine
            .update(&bench.actor, &started.deployment, changes);
        story(&bench, &update.await.unwrap().run).await
    };
    // Another input; the component goes, and the server stays.
    let (run, events) = update(template("bye", LOOK)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        is_logged(&events, "component is removed, DELETE"),
        "its removal runs on the server"
    );
    let changed = outputs().await;
    assert_eq!(changed["heard"], "heard: bye! {{ 7 }}\n");
    assert_eq!(changed["stdout"], "UPDATE of first by HEAT_SIGNAL\n");

    // What is on the server now.
    let again = LOOK.replace("'cat", "'date; cat");
    let (run, events) = update(template("bye", &again)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(is_logged(&events, "CREATE hello") && is_logged(&events, "UPDATE bye"));
    assert!(!is_logged(&events, "/root/component"));
    let steps: Vec<&str> = run.steps.iter().map(|step| step.id.as_str()).collect();
    assert!(
        !steps.contains(&"first:configure"),
        "nothing else runs: {steps:?}"
    );

    // A failure names the status and the last errors.
    let broken = LOOK.replace("'cat", "'echo no disk >&2; exit 3; cat");
    let (run, _) = update(template("bye", &broken)).await;
    assert_eq!(run.state, RunState::Failed);
    let failed = run.steps.iter().find(|step| step.id == "looked:configure");
    let error = failed.and_then(|step| step.error.as_deref()).unwrap();
    assert!(
        error.contains("`looked` failed on `web`: it ended with exit code 3: no disk"),
        "{error}"
    );

    all_goes(bench, &started.deployment).await;
}

/// A counter on the server, and a script that tells how far it has come when the server is suspended and resumed.
const COUNTER: &str = "  counting:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'nohup sh -c \"while :; do date >> /root/count; sleep 0.2; done\" >/dev/null 2>&1 &'}
  counter:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: counting}, server: {get_resource: web}}
  telling:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'echo \"$deploy_action at $(wc -l < /root/count), of process $(pgrep -o -f root/count)\"'}
  teller:
    type: OS::Heat::SoftwareDeployment
    depends_on: counter
    properties: {config: {get_resource: telling}, server: {get_resource: web}, actions: [SUSPEND, RESUME]}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn software_acts_before_its_server_is_suspended_and_after_it_is_resumed() {
    let bench = on_docker("engine-suspension", "172.31.55.0/24", BOOT).await;
    let started = bench.start(&template("hello", COUNTER)).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(!is_logged(&events, "at 0, of"), "it does not act on CREATE");
    let told = |events: &[Event], action: &str| {
        let mut lines = events.iter().filter_map(|event| match &event.body {
            EventBody::Log(line) => line.text.split(&format!("{action} at ")).nth(1),
            _ => None,
        });
        let line = lines.next_back().expect("it tells").to_owned();
        let (count, process) = line.split_once(", of process ").unwrap();
        let digits = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        };
        (digits(count).parse::<u64>().unwrap(), digits(process))
    };

    let (engine, actor, deployment) = (&bench.engine, &bench.actor, &started.deployment);
    let suspended = engine.suspend(actor, deployment).await.unwrap();
    let (run, events) = story(&bench, &suspended.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let before = told(&events, "SUSPEND");
    let servers = engine.live_servers(actor, deployment).await.unwrap();
    assert_eq!(servers[0].status.as_deref(), Some("SUSPENDED"));

    let resumed = engine.resume_deployment(actor, deployment).await.unwrap();
    let (run, events) = story(&bench, &resumed.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let after = told(&events, "RESUME");
    assert!(after.0 >= before.0, "it went on: {before:?}, {after:?}");
    assert_eq!(after.1, before.1, "the process is the same");

    all_goes(bench, deployment).await;
}

/// Configurations of the groups `puppet`, `cfn-init`, `os-apply-config` and `docker-compose`, on a server that installs
/// their programs first, and one of the group `salt`, whose program is missing. Docker is a stand-in that writes its
/// arguments to a file. It has Compose as a plugin only.
const TOOLS: &str = "  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.53.1.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      networks: [{network: {get_resource: front}}]
  programs:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      config: |
        #!/bin/sh
        set -e
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        apt-get install --yes --no-install-recommends puppet heat-cfntools python3-os-apply-config
        mkdir -p /usr/libexec/os-apply-config/templates/etc
        echo 'server {{ntp}}' > /usr/libexec/os-apply-config/templates/etc/ntp.conf
        printf '#!/bin/sh\\necho \"$@\" >> /root/compose\\n' > /usr/local/bin/docker
        chmod +x /usr/local/bin/docker
  installed:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: programs}, server: {get_resource: web}}
  manifest:
    type: OS::Heat::SoftwareConfig
    properties:
      group: puppet
      inputs: [{name: word}]
      outputs: [{name: result}]
      config: |
        file {'/root/puppet': ensure => file, content => $::word}
        file {\"${::heat_outputs_path}.result\": ensure => file, content => \"wrote ${::word}\"}
  by_puppet:
    type: OS::Heat::SoftwareDeployment
    depends_on: installed
    properties: {config: {get_resource: manifest}, server: {get_resource: web}, input_values: {word: hello}}
  init:
    type: OS::Heat::StructuredConfig
    properties:
      group: cfn-init
      inputs: [{name: bar}]
      config: {config: {files: {/root/cfn: {content: {get_input: bar}, mode: '000644'}}}}
  by_cfn_init:
    type: OS::Heat::StructuredDeployment
    depends_on: installed
    properties: {config: {get_resource: init}, server: {get_resource: web}, input_values: {bar: barmy}, signal_transport: NO_SIGNAL}
  metadata:
    type: OS::Heat::StructuredConfig
    properties: {group: os-apply-config, config: {ntp: 10.0.0.1}}
  by_os_apply_config:
    type: OS::Heat::StructuredDeploymentGroup
    depends_on: installed
    properties: {config: {get_resource: metadata}, servers: {web: {get_resource: web}}}
  services:
    type: OS::Heat::StructuredConfig
    properties: {group: docker-compose, config: {db: {image: redis}}}
  by_compose:
    type: OS::Heat::StructuredDeployment
    depends_on: installed
    properties: {config: {get_resource: services}, server: {get_resource: web}}
  look:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'cat /root/puppet /root/cfn /etc/ntp.conf; grep up /root/compose'}
  looked:
    type: OS::Heat::SoftwareDeployment
    depends_on: [by_puppet, by_cfn_init, by_os_apply_config, by_compose]
    properties: {config: {get_resource: look}, server: {get_resource: web}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn tools_run_their_configurations_and_a_missing_program_is_refused() {
    let bench = on_docker("engine-tools", "172.31.54.0/24", BOOT).await;
    let template = |more: &str| {
        format!(
            "heat_template_version: 2021-04-16\nresources:\n{TOOLS}{more}outputs:\n  found: {{value: {{get_attr: [looked, deploy_stdout]}}}}\n  \
             result: {{value: {{get_attr: [by_puppet, result]}}}}\n  \
             status: {{value: {{get_attr: [by_os_apply_config, deploy_status_codes]}}}}\n"
        )
    };

    let started = bench.start(&template("")).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = bench.engine.deployment(&bench.tenant, &started.deployment);
    let outputs = deployment.await.unwrap().outputs;
    assert_eq!(
        outputs["found"].value,
        Some(json!(
            "hellobarmyserver 10.0.0.1\ncompose --file \
             /var/lib/heat-config/heat-config-docker-compose/by_5fcompose/docker-compose.yml up -d --no-build\n"
        ))
    );
    assert_eq!(outputs["result"].value, Some(json!("wrote hello")));
    assert_eq!(outputs["status"].value, Some(json!({"web": 0})));

    let salt = "  state: {type: OS::Heat::SoftwareConfig, properties: {group: salt, config: 'a: {file.managed: [{name: /root/salt}]}'}}
  by_salt:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: state}, server: {get_resource: web}}
";
    let changes = engine::Changes {
        template: template(salt),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let (run, _) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed);
    let failed = run.steps.iter().find(|step| step.id == "by_salt:configure");
    let error = failed.and_then(|step| step.error.as_deref()).unwrap();
    assert!(
        error.contains("`salt-call` is not installed on this server"),
        "{error}"
    );

    all_goes(bench, &started.deployment).await;
}

/// A server that lets software in.
const SERVER: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.58.1.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      networks: [{network: {get_resource: front}}]
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn scripts_that_flood_their_server_are_ended() {
    let bench = on_docker("engine-floods", "172.31.58.0/24", BOOT).await;
    let is_ended = |run: &Run, step: &str| {
        assert_eq!(run.state, RunState::Failed, "{run:#?}");
        let failed = run.steps.iter().find(|one| one.id == step);
        let error = failed.and_then(|step| step.error.as_deref()).unwrap();
        assert!(error.contains("it wrote more than 16 MiB"), "{error}");
    };

    let deployment = "  flood: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'exec yes flood'}}
  flooded:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: flood}, server: {get_resource: web}}
";
    let started = bench.start(&format!("{SERVER}{deployment}")).await;
    let run = bench.end_of(&started.run).await;
    is_ended(&run, "flooded:configure");

    let item = "  work:
    type: Stackloom::Catalog::script
    properties: {host: {get_resource: web}, script: 'yes flood'}
";
    let changes = engine::Changes {
        template: format!("{SERVER}{item}"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let run = bench.end_of(&update.await.unwrap().run).await;
    is_ended(&run, "work:configure");

    all_goes(bench, &started.deployment).await;
}
