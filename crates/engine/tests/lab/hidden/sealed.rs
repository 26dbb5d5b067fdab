//! Hidden values in environments and nested templates, and values that derive from them: sealed wherever they are
//! stored.

use super::*;

#[tokio::test]
async fn a_hidden_value_in_an_environment_is_not_stored_in_clear() {
    let bench = Bench::new().await;
    let bundle = |value: &str| {
        let text = format!("# ours\nparameters:\n  word: {value}\n");
        Bundle::new([("env.yaml".to_owned(), text)], ["env.yaml".to_owned()])
    };
    let started = bench.deploys_with(WORD, bundle("xyzzy-4711")).await;
    let stored = bench.database().await;
    assert!(!stored.contains("xyzzy"), "{stored}");
    let shown = bench.shown(&started.deployment).await;
    assert_eq!(
        shown.beside.files.unwrap()["env.yaml"],
        "# ours\nparameters:\n  word: null\n"
    );

    // With the same files the value stays, and an environment can change it.
    let run = bench.update(&started.deployment, to(WORD)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    let changes = Changes {
        bundle: Some(bundle("xyzzy-4712")),
        ..to(WORD)
    };
    let run = bench.update(&started.deployment, changes).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(bench.a_network_is_called("xyzzy-4712"));
    assert!(!bench.database().await.contains("xyzzy"));
}

/// The network of a nested template, whose name is in an environment.
#[tokio::test]
async fn a_hidden_default_of_a_nested_template_is_not_stored_in_clear() {
    const SITE: &str = "heat_template_version: 2021-04-16
resources:
  db: {type: db.yaml}
outputs:
  told: {value: {get_attr: [db, told]}}
";
    const DB: &str = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
conditions:
  long: {not: {equals: [{get_param: word}, '']}}
resources:
  front: {type: OS::Neutron::Net, condition: long, properties: {name: {get_param: word}}}
outputs:
  told: {value: {list_join: ['/', [{get_param: word}, {get_attr: [front, status]}]]}}
";
    let bench = Bench::new().await;
    let bundle = |value: &str| {
        let text = format!("parameter_defaults: {{word: {value}}}\n");
        let files = [("env.yaml", text.as_str()), ("db.yaml", DB)];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Bundle::new(files, ["env.yaml".to_owned()])
    };
    let preview = Preview {
        template: SITE.into(),
        bundle: Some(bundle("xyzzy-4711")),
        cloud: facts(),
        ..Preview::default()
    };
    let plan = bench
        .engine
        .plan(&bench.actor, preview, None)
        .await
        .unwrap();
    let answer = serde_json::to_string(&plan).unwrap();
    assert!(!answer.contains("xyzzy"), "{answer}");
    let started = bench.deploys_with(SITE, bundle("xyzzy-4711")).await;
    let shown = bench.shown(&started.deployment).await;
    assert_eq!(
        shown.beside.files.unwrap()["env.yaml"],
        "parameter_defaults: {word: null}\n"
    );
    assert_eq!(
        shown.outputs["told"].error.as_deref(),
        Some("parameter `word` has no value")
    );

    // Without files the value stays, for existing and for new resources; other files can change it.
    let run = bench.update(&started.deployment, to(SITE)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    let two = SITE.replace("outputs:", "  more: {type: db.yaml}\noutputs:");
    let run = bench.update(&started.deployment, to(&two)).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let called = |name: &str| {
        bench.lab.model(|model| {
            let networks = model.networks.iter();
            networks.filter(|one| one.name == name).count()
        })
    };
    assert_eq!(called("xyzzy-4711"), 2);
    let changes = Changes {
        bundle: Some(bundle("xyzzy-4712")),
        ..to(&two)
    };
    let run = bench.update(&started.deployment, changes).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!((called("xyzzy-4711"), called("xyzzy-4712")), (0, 2));
    let preview = Preview {
        template: two.clone(),
        cloud: facts(),
        ..Preview::default()
    };
    let plan = bench
        .engine
        .plan(&bench.actor, preview, Some(&started.deployment))
        .await
        .unwrap();
    let steps = plan.workflow.map(|workflow| workflow.steps.len());
    assert_eq!(steps, Some(0), "{:?}", plan.diagnostics);
    let stored = bench.database().await;
    assert!(!stored.contains("xyzzy"), "{stored}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Split, encoded or inside other text: values that derive from a secret are sealed completely.
#[tokio::test]
async fn every_value_derived_from_a_secret_is_sealed() {
    let bench = Bench::new().await;
    let template = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
resources:
  pieces: {type: OS::Heat::Value, properties: {value: {str_split: [',', {get_param: word}]}}}
  short: {type: OS::Heat::Value, properties: {value: {get_attr: [pieces, value, 0]}}}
  text: {type: OS::Heat::SoftwareConfig, properties: {config: {str_replace: {template: 'grüße pin=$p', params: {$p: {get_attr: [short, value]}}}}}}
  mail: {type: OS::Heat::MultipartMime, properties: {parts: [{config: {get_resource: text}}]}}
  open: {type: OS::Heat::Value, properties: {value: seen}}
outputs:
  short: {value: {get_attr: [short, value]}}
  mail: {value: {get_resource: mail}}
  open: {value: {get_attr: [open, value]}}
";
    let started = bench
        .try_deploy("shop", template, word("q7,z9"))
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    for row in store::testing::resource_columns(&bench.store).await {
        let store::testing::ResourceColumns {
            name,
            reference,
            attributes,
            made_from,
        } = row;
        let stored = format!("{reference:?} {attributes:?} {made_from:?}");
        assert_eq!(
            !stored.contains("Stackloom::Sealed"),
            name == "open",
            "{name}: {stored}"
        );
        // Unsealed columns contain nothing of it.
        assert_eq!(made_from.as_deref().unwrap_or("{}"), "{}", "{name}");
        for told in ["q7", "z9", "gr", "pin="] {
            let clear = attributes.clone().unwrap_or_default();
            let clear = clear.split("Sealed").next().unwrap_or_default();
            assert!(!clear.contains(told), "{name}: {stored}");
        }
    }
    // Users with access to the outputs can read them.
    let shown = bench.shown(&started.deployment).await;
    assert_eq!(shown.outputs["short"].value, Some(json!("q7")));
    assert_eq!(shown.outputs["open"].value, Some(json!("seen")));
    let run = bench.update(&started.deployment, to(template)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    assert!(steps(&run).is_empty());
}
