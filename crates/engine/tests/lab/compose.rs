//! Groups, nested templates and Heat's helper types: creation, reads, changes, deletion.

use std::collections::BTreeMap;

use api::{DeploymentState, RunState};
use engine::{Changes, NewDeployment, Preview};
use hot::bundle::Bundle;
use serde_json::{Value, json};

use crate::bench::{Bench, facts};

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters:
  size: {type: number}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  password: {type: OS::Heat::RandomString, properties: {length: 20}}
  again: {type: OS::Heat::Value, properties: {value: {get_attr: [password, value]}}}
  label: {type: OS::Heat::Value, properties: {value: {list_join: ['-', [tier, {get_param: 'OS::stack_name'}]]}}}
  setup: {type: OS::Heat::CloudConfig, properties: {cloud_config: {hostname: x}}}
  group:
    type: OS::Heat::ResourceGroup
    depends_on: subnet
    properties:
      count: {get_param: size}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: 'web-%index%'
          image: debian-12
          flavor: m1.tiny
          user_data_format: RAW
          user_data: {get_resource: setup}
          metadata: {label: {get_attr: [label, value]}}
          networks: [{network: {get_resource: net}}]
  db: {type: db.yaml, depends_on: subnet, properties: {net: {get_resource: net}, secret: {get_attr: [password, value]}}}
outputs:
  addresses: {value: {get_attr: [group, first_address]}}
  second: {value: {get_attr: [group, resource.1, name]}}
  names: {value: {get_attr: [group, attributes, name]}}
  db: {value: {get_attr: [db, address]}}
  password: {value: {get_attr: [password, value]}}
  again: {value: {get_attr: [again, value]}}
  label: {value: {get_attr: [label, value]}}
";

const DB: &str = "\
heat_template_version: 2021-04-16
parameters:
  net: {type: string}
  flavor: {type: string}
  secret: {type: string, hidden: true}
resources:
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
  server:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: {get_param: flavor}
      metadata: {secret: {get_param: secret}}
      networks: [{port: {get_resource: port}}]
outputs:
  address: {value: {get_attr: [server, first_address]}}
";

const ENVIRONMENT: &str = "parameters: {size: 3}\nparameter_defaults: {flavor: m1.tiny}\n";

fn bundle(size: u32) -> Bundle {
    let files = [
        ("db.yaml".to_owned(), DB.to_owned()),
        (
            "small.yaml".to_owned(),
            ENVIRONMENT.replace("size: 3", &format!("size: {size}")),
        ),
    ];
    Bundle::new(files, ["small.yaml".to_owned()])
}

#[tokio::test]
async fn a_group_and_a_nested_template_are_deployed_and_undeployed() {
    let bench = Bench::new().await;
    let new = NewDeployment {
        name: "shop".into(),
        template: TEMPLATE.into(),
        bundle: bundle(3),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let output = |name: &str| {
        let output = &shown.outputs[name];
        output
            .value
            .clone()
            .unwrap_or_else(|| panic!("{name}: {:?}", output.error))
    };
    let addresses = output("addresses");
    assert_eq!(addresses.as_array().unwrap().len(), 3);
    assert!(addresses[2].as_str().unwrap().starts_with("10.0.1."));
    assert_eq!(output("second"), "web-1");
    assert_eq!(
        output("names"),
        json!({"0": "web-0", "1": "web-1", "2": "web-2"})
    );
    assert!(output("db").as_str().unwrap().starts_with("10.0.1."));
    assert_eq!(output("label"), "tier-shop");
    let password = output("password").as_str().unwrap().to_owned();
    assert_eq!(password.len(), 20);
    assert_eq!(shown.beside.environments.unwrap(), ["small.yaml"]);

    // The generated value is not stored in clear text, not even after it passed through an `OS::Heat::Value`. It stays
    // the same when other values change.
    assert_eq!(output("again"), output("password"));
    let mut stored = store::testing::resource_columns(&bench.store).await;
    stored.retain(|one| ["password", "again"].contains(&one.name.as_str()));
    assert_eq!(stored.len(), 2);
    assert!(!format!("{stored:?}").contains(&password), "{stored:?}");

    let changes = Changes {
        template: TEMPLATE.into(),
        bundle: Some(bundle(2)),
        parameters: BTreeMap::<String, Value>::new(),
        cloud: facts(),
        ..Changes::default()
    };
    let started = bench
        .engine
        .update(&bench.actor, &started.deployment, changes)
        .await
        .unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(
        shown.outputs["password"].value.as_ref().unwrap(),
        &json!(password)
    );
    assert_eq!(
        shown.outputs["names"].value.as_ref().unwrap(),
        &json!({"0": "web-0", "1": "web-1"})
    );

    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left(), Vec::<String>::new());
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    assert_eq!(shown.state, DeploymentState::Undeployed);
}

/// Problems that Heat detects only at creation are warnings, so there is a run. It fails half-way with a reason, and
/// all its resources can be deleted.
#[tokio::test]
async fn a_design_with_warnings_fails_with_a_reason_and_can_be_undeployed() {
    const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  before: {type: OS::Neutron::Net}
  site: {type: site.yaml, depends_on: before}
";
    let site = "heat_template_version: 2021-04-16\nresources:\n  box: {type: box.yaml}\n";
    let boxed = "\
heat_template_version: 2021-04-16
parameters:
  name: {type: string}
resources:
  plain: {type: OS::Neutron::Net}
  named: {type: OS::Neutron::Net, depends_on: plain, properties: {name: {get_param: name}}}
";
    let files = [("site.yaml", site), ("box.yaml", boxed)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let bench = Bench::new().await;
    let bundle = Bundle::new(files, []);
    let preview = Preview {
        template: TEMPLATE.into(),
        bundle: Some(bundle.clone()),
        cloud: facts(),
        ..Preview::default()
    };
    let plan = bench
        .engine
        .plan(&bench.actor, preview, None)
        .await
        .unwrap();
    let warned = plan
        .diagnostics
        .iter()
        .find(|one| one.code == "property-missing");
    let warned = warned.unwrap_or_else(|| panic!("{:?}", plan.diagnostics));
    assert!(
        !warned.is_error()
            && warned
                .message
                .ends_with("Heat reports it only when it creates the resource")
    );

    let new = NewDeployment {
        name: "shop".into(),
        template: TEMPLATE.into(),
        bundle,
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let reason = run.reason.unwrap();
    assert!(
        reason.contains("site/box/named") && reason.contains("`site/box/name`"),
        "{reason}"
    );
    assert_ne!(
        bench.left(),
        Vec::<String>::new(),
        "the first networks are there"
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
