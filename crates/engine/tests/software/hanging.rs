//! A role that never ends: its step fails at the time limit, and what it started on the server is ended.

use super::*;

/// Enough for an ordinary role on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A server with this software.
fn with(software: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.76.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
{software}"
    )
}

const HANGING: &str = "  hanging:
    type: Stackloom::Catalog::hanging
    properties: {host: {get_resource: web}}
";

/// Succeeds when no process of the hanging role is left. The pattern does not match itself.
const LOOKING: &str = r"  looking_config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      config: |
        #!/bin/bash
        for _ in $(seq 60); do
          grep -qzx '432[1]' /proc/[0-9]*/cmdline 2>/dev/null || exit 0
          sleep 0.5
        done
        exit 1
  looking:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: looking_config}, server: {get_resource: web}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_role_that_hangs_is_ended_at_its_time_limit() {
    let lab = docker_lab("engine-hanging", "172.31.76.0/24").await;
    let limited = |config: &mut engine::Config| config.software_timeout = LIMIT;
    let bench = Bench::with_config(lab, ITEMS.as_ref(), EVENT, BOOT, limited).await;
    let started = bench.start(&with(HANGING)).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "hanging:configure");
    assert!(
        error.contains("it was not done after 60 s, its time limit"),
        "{error}"
    );
    assert!(is_bastion_closed(&bench));

    // The server takes other software as if nothing had been.
    let changes = engine::Changes {
        template: with(LOOKING),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes)
        .await
        .unwrap();
    let (run, _) = story(&bench, &update.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    all_goes(bench, &started.deployment).await;
}
