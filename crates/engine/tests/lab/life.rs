//! A deployment's life: creation, reads, changes, deletion.

use std::collections::BTreeMap;

use api::{DeploymentState, EventBody, ResourceState, RunState, StepState};
use engine::{Changes, Error, Force, Preview};
use serde_json::json;

use crate::bench::{Bench, NET, TWO_NETS, TWO_SERVERS, facts, steps};

#[tokio::test]
async fn a_design_is_deployed_shown_and_undeployed_without_a_trace() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(TWO_SERVERS).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        run.steps
            .iter()
            .all(|step| step.state == StepState::Succeeded
                && step.attempts == 1
                && step.started.is_some())
    );
    assert_eq!(
        bench.sealed(store::SealedKind::Run).await,
        0,
        "the token is gone with the run"
    );

    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(deployment.state, DeploymentState::Deployed);
    assert!(
        deployment.resources.iter().all(
            |resource| resource.state == ResourceState::Ready && resource.physical_id.is_some()
        )
    );
    assert!(
        deployment.resources.iter().any(|resource| resource.derived),
        "passes added what is needed"
    );
    let address = deployment.outputs["address"]
        .value
        .as_ref()
        .and_then(|value| value.as_str())
        .unwrap()
        .to_owned();
    assert!(address.starts_with("10.0.1."), "{address}");
    assert!(!bench.left().is_empty());

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(
        (deployment.state, deployment.resources.len()),
        (DeploymentState::Undeployed, 0)
    );
    assert_eq!(
        bench
            .engine
            .runs(&bench.tenant, &started.deployment, engine::Page::ALL)
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_name_is_free_again_once_its_deployment_is_gone() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(NET).await;
    let again = bench.try_deploy("shop", NET, BTreeMap::new()).await;
    assert!(matches!(again, Err(Error::NameTaken(name)) if name == "shop"));
    bench.undeploy(&started.deployment).await;
    bench.deploy(NET).await;
    assert_eq!(
        bench
            .engine
            .deployments(&bench.tenant, engine::Page::ALL)
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_run_that_cannot_start_stores_nothing() {
    let bench = Bench::new().await;
    for name in ["", "-x", "a b", "ä", &"x".repeat(64)] {
        assert!(
            matches!(
                bench.try_deploy(name, NET, BTreeMap::new()).await,
                Err(Error::BadName(_))
            ),
            "{name}"
        );
    }
    let broken = NET.replace("OS::Neutron::Net", "OS::Neutron::Nett");
    let Err(Error::Refused(diagnostics)) = bench.try_deploy("shop", &broken, BTreeMap::new()).await
    else {
        panic!("it is refused")
    };
    assert!(!diagnostics.is_empty());
    assert!(
        bench
            .engine
            .deployments(&bench.tenant, engine::Page::ALL)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn another_project_finds_nothing() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(NET).await;
    let other = bench.log_in("other").await;
    let tenant = &other.tenant;
    assert!(
        bench
            .engine
            .deployments(tenant, engine::Page::ALL)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(matches!(
        bench.engine.deployment(tenant, &started.deployment).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench
            .engine
            .runs(tenant, &started.deployment, engine::Page::ALL)
            .await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench.engine.run(tenant, &started.run).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench.engine.events(tenant, &started.run, 0, 10).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench.engine.cancel(tenant, &started.run).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench.engine.resume(&other, &started.run).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench
            .engine
            .undeploy(&other, &started.deployment, Force::Yes)
            .await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        bench
            .engine
            .update(&other, &started.deployment, Changes::default())
            .await,
        Err(Error::NotFound { .. })
    ));
    let preview = Preview {
        template: NET.into(),
        cloud: facts(),
        ..Preview::default()
    };
    let plan = bench
        .engine
        .plan(&other, preview, Some(&started.deployment));
    assert!(matches!(plan.await, Err(Error::NotFound { .. })));
    assert!(bench.engine.stream(tenant, &started.run, 0).await.is_err());
}

#[tokio::test]
async fn an_update_creates_and_deletes_only_differences() {
    let bench = Bench::new().await;
    let (started, _) = bench.deploy(NET).await;
    let before = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let update = |template: &str| Changes {
        template: template.into(),
        cloud: facts(),
        ..Changes::default()
    };
    let run = bench
        .engine
        .update(&bench.actor, &started.deployment, update(TWO_NETS))
        .await
        .unwrap()
        .run;
    let run = bench.end_of(&run).await;
    assert_eq!(
        steps(&run),
        BTreeMap::from([("back:create".to_owned(), (StepState::Succeeded, 1))])
    );
    let after = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let id_of = |deployment: &api::Deployment, name: &str| {
        deployment
            .resources
            .iter()
            .find(|one| one.name == name)
            .unwrap()
            .physical_id
            .clone()
    };
    assert_eq!(
        id_of(&before, "front"),
        id_of(&after, "front"),
        "what is the same is left alone"
    );

    let run = bench
        .engine
        .update(&bench.actor, &started.deployment, update(NET))
        .await
        .unwrap()
        .run;
    assert_eq!(
        steps(&bench.end_of(&run).await),
        BTreeMap::from([("back:delete".to_owned(), (StepState::Succeeded, 1))])
    );
    let run = bench
        .engine
        .update(&bench.actor, &started.deployment, update(NET))
        .await
        .unwrap()
        .run;
    assert_eq!(
        bench.end_of(&run).await.state,
        RunState::Succeeded,
        "nothing to do is soon done"
    );
}

#[tokio::test]
async fn a_hidden_parameter_is_nowhere_in_clear() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
resources:
  front: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
outputs:
  told: {value: {get_param: word}}
";
    let parameters = BTreeMap::from([("word".to_owned(), json!("xyzzy-4711"))]);
    let started = bench
        .try_deploy("shop", template, parameters)
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert!(
        deployment.outputs["told"].error.is_some(),
        "an output is no way around it"
    );
    for table in ["deployments", "runs", "steps", "sealed"] {
        let found: Vec<String> = store::testing::table(&bench.store, table)
            .await
            .into_iter()
            .filter(|row| row.contains("xyzzy-4711"))
            .collect();
        assert!(found.is_empty(), "{table}: {found:?}");
    }
    for event in bench
        .engine
        .events(&bench.tenant, &started.run, 0, 1000)
        .await
        .unwrap()
    {
        if let EventBody::Log(api::LogLine { text, .. }) = event.body {
            assert!(!text.contains("xyzzy-4711"), "{text}");
        }
    }
    // The name of a network is not secret: a user's text there is in its attributes.
    bench.undeploy(&started.deployment).await;
    assert_eq!(
        (
            bench.sealed(store::SealedKind::Run).await,
            bench.sealed(store::SealedKind::Vault).await
        ),
        (0, 0)
    );
}
