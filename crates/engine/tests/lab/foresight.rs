//! Problems that a plan should detect, and parameters that an environment sets.

use std::collections::BTreeMap;

use api::RunState;
use engine::{Changes, Error, NewDeployment};
use hot::bundle::Bundle;
use openstack::{Service, Session};
use serde_json::{Value, json};

use crate::bench::{Bench, NET, facts};

/// A bench whose user has a catalogue without the service.
async fn without(service: Service) -> Bench {
    let mut bench = Bench::new().await;
    let mut cloud = bench.actor.session.cloud().clone();
    let nowhere = vec!["nowhere".to_owned()];
    cloud.service_interfaces.insert(service, nowhere);
    let token = bench.actor.session.token().clone();
    bench.actor.session = Session::from_token(&cloud, token).await.unwrap();
    bench
}

#[tokio::test]
async fn a_resource_that_was_never_created_is_undeployed_without_its_service() {
    let bench = without(Service::Network).await;
    // The services are unknown, so the template is accepted.
    let (started, run) = bench.deploy(NET).await;
    assert_eq!(run.state, RunState::Failed);
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench.engine.deployment(&bench.tenant, &started.deployment);
    assert_eq!(shown.await.unwrap().state, api::DeploymentState::Undeployed);
}

#[tokio::test]
async fn a_design_that_needs_a_missing_service_is_refused() {
    let bench = Bench::new().await;
    let mut cloud = facts();
    cloud.services = Some(["compute".to_owned()].into());
    let new = NewDeployment {
        name: "shop".into(),
        template: NET.into(),
        cloud,
        ..NewDeployment::default()
    };
    let refused = bench.engine.deploy(&bench.actor, new).await.unwrap_err();
    let Error::Refused(diagnostics) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(diagnostics[0].code, "service-missing");
    let deployments = bench
        .engine
        .deployments(&bench.tenant, engine::Page::ALL)
        .await
        .unwrap();
    assert!(deployments.is_empty());
}

const WORD: &str = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: template}
resources:
  said: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
outputs:
  word: {value: {get_attr: [said, value]}}
";

fn environment(word: &str) -> Bundle {
    let text = format!("parameters: {{word: {word}}}\n");
    Bundle::new([("env.yaml".to_owned(), text)], ["env.yaml".to_owned()])
}

fn given(word: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("word".to_owned(), json!(word))])
}

/// The same steps as with `openstack stack create` and `update --existing` on a real Heat (Zed), with the same
/// messages.
#[tokio::test]
async fn an_environment_wins_over_the_request_and_a_later_request_over_the_old_environment() {
    let bench = Bench::new().await;
    let new = NewDeployment {
        name: "shop".into(),
        template: WORD.into(),
        bundle: environment("fromenv"),
        parameters: given("fromcli"),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    bench.end_of(&started.run).await;
    let word = async || {
        let id = &started.deployment;
        let shown = bench.engine.deployment(&bench.tenant, id).await.unwrap();
        shown.outputs["word"].value.clone().unwrap()
    };
    assert_eq!(word().await, "fromenv");

    let update = async |bundle: Option<Bundle>, parameters: BTreeMap<String, Value>| {
        let changes = Changes {
            template: WORD.into(),
            bundle,
            parameters,
            cloud: facts(),
            ..Changes::default()
        };
        let update = bench
            .engine
            .update(&bench.actor, &started.deployment, changes);
        let run = bench.end_of(&update.await.unwrap().run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        word().await
    };
    assert_eq!(update(None, given("patched")).await, "patched");
    assert_eq!(update(None, BTreeMap::new()).await, "patched");
    assert_eq!(
        update(Some(environment("fromenv2")), BTreeMap::new()).await,
        "fromenv2"
    );
    assert_eq!(
        update(Some(environment("fromenv")), given("both")).await,
        "fromenv"
    );
    // Overridden values do not return when the environment is removed: the template's default applies.
    assert_eq!(
        update(Some(Bundle::default()), BTreeMap::new()).await,
        "template"
    );
}
