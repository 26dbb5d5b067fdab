//! A role that asks for a password: there is nobody to answer, and it ends at once.

use super::*;

const ITEMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/software/items");

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.73.1.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  asking:
    type: Stackloom::Catalog::asking
    properties: {host: {get_resource: web}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_role_that_asks_for_a_password_fails_at_once() {
    let bench = on_docker_with(ITEMS, "engine-asking", "172.31.73.0/24", BOOT).await;
    let started = bench.start(TEMPLATE).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "asking:configure");
    assert!(error.contains("Ask for a password"), "{error}");
    let mut events = events.iter();
    let is_question =
        |event: &Event| matches!(&event.body, EventBody::Log(line) if line.text == "Password:");
    assert!(events.any(is_question), "the log has its question");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}
