//! Roles that cannot end well, and fail at once with the reason at their step: one that asks for a password, which nobody can
//! type, and one for another platform.

use super::*;

/// A server with a component of this item.
fn with(item: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.73.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  {item}:
    type: Stackloom::Catalog::{item}
    properties: {{host: {{get_resource: web}}}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn roles_that_ask_for_a_password_or_are_made_for_another_platform_fail_at_once() {
    let bench = on_docker_with(ITEMS, "engine-asking", "172.31.73.0/24", BOOT).await;
    let started = bench.start(&with("asking")).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "asking:configure");
    assert!(error.contains("Ask for a password"), "{error}");
    let mut events = events.iter();
    let is_question =
        |event: &Event| matches!(&event.body, EventBody::Log(line) if line.text == "Password:");
    assert!(events.any(is_question), "the log has its question");

    let changes = engine::Changes {
        template: with("foreign"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let (engine, deployment) = (&bench.engine, &started.deployment);
    let update = engine.update(&bench.actor, deployment, changes).await;
    let (run, _) = story(&bench, &update.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "foreign:configure");
    assert!(
        error.contains("Install the web server of Enterprise Linux"),
        "{error}"
    );
    assert!(error.contains("The role supports EL."), "{error}");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}
