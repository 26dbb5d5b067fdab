//! Configurations of software: resources of the record alone, replaced when they change.

use api::RunState;
use serde_json::json;

use crate::{bench::Bench, update::to};

const CONFIGS: &str = "heat_template_version: 2021-04-16
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: 'echo one', inputs: [{name: word}]}
  map: {type: OS::Heat::StructuredConfig, properties: {group: puppet, config: {a: {get_input: b}}}}
  component:
    type: OS::Heat::SoftwareComponent
    properties: {configs: [{tool: script, actions: [CREATE], config: {get_attr: [script, config]}}]}
outputs:
  script: {value: {get_attr: [script, config]}}
  map: {value: {get_attr: [map, config]}}
  component: {value: {get_attr: [component, configs]}}
";

#[tokio::test]
async fn configurations_need_no_cloud_and_are_replaced_when_they_change() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(CONFIGS).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
    let outputs = async || {
        let id = &started.deployment;
        let deployment = bench.engine.deployment(&bench.tenant, id).await.unwrap();
        deployment.outputs
    };
    let before = outputs().await;
    let value = |name: &str| before[name].value.clone().unwrap();
    assert_eq!(value("script"), "echo one");
    assert_eq!(value("map"), json!({"a": {"get_input": "b"}}));
    let configs = value("component");
    assert_eq!(
        (&configs[0]["config"], &configs[0]["tool"]),
        (&json!("echo one"), &json!("script"))
    );

    let ids = bench.ids(&started.deployment).await;
    let changed = CONFIGS.replace("echo one", "echo two");
    let run = bench.update(&started.deployment, to(&changed)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let after = bench.ids(&started.deployment).await;
    assert_ne!(ids["script"], after["script"]);
    assert_ne!(ids["component"], after["component"], "it has the text too");
    assert_eq!(ids["map"], after["map"]);
    let configs = outputs().await["component"].value.clone().unwrap();
    assert_eq!(configs[0]["config"], "echo two");

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}
