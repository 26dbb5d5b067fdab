//! Versions of items: of the server's own ones, pinned by templates, kept by deployments.

use lab::{CallFault, Fault};
use tempfile::TempDir;

use crate::stack::{Stack, problem};

use super::*;

/// As [`TEMPLATE`], with all that a deployment needs.
const SERVED: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  greeting:
    type: Stackloom::Catalog::greeter
    properties: {host: {get_resource: web}, word: hello}
";

#[tokio::test]
async fn the_servers_own_items_have_a_version_too() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let newest = json(demo.get("/api/v1/catalog/nginx").await, 200).await;
    let version = newest["version"].as_str().unwrap();
    let path = format!("/api/v1/catalog/nginx?version={version}");
    assert_eq!(json(demo.get(&path).await, 200).await, newest);
    let missing = demo.get("/api/v1/catalog/nginx?version=99.0.0").await;
    assert_eq!(problem(missing).await, (404, "not-found".into()));
}

#[tokio::test]
async fn an_upgrade_in_batches_of_nothing_is_refused() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let request = json!({"item": "greeter", "version": "1.1.0", "batch": 0});
    let refused = demo.post("/api/v1/deployments/x/upgrade", &request).await;
    assert_eq!(problem(refused).await.1, "invalid-request");
}

#[tokio::test]
async fn a_template_pins_the_version_of_an_item() {
    let (_lab, _stack, demo) = crate::lab::start().await;
    for version in ["1.0.0", "1.1.0"] {
        let archive = item("greeter", version, &format!("- debug: {{msg: {version}}}"));
        json(upload(&demo, archive).await, 201).await;
    }
    let pinned = |version: &str| {
        let pin = format!("greeter\n    metadata: {{stackloom: {{version: {version}}}}}");
        SERVED.replace("greeter", &pin)
    };
    let plan = async |template: &str, versions: Value| {
        let body = json!({"template": template, "versions": versions});
        demo.post("/api/v1/plan", &body).await
    };
    let planned = async |template: &str| {
        let plan = json(plan(template, json!({})).await, 200).await;
        plan["workflow"]["resources"]["greeting"]["version"].clone()
    };
    assert_eq!(planned(SERVED).await, "1.1.0");
    assert_eq!(planned(&pinned("1.0.0")).await, "1.0.0");
    assert_eq!(planned(&pinned("1.1.0")).await, "1.1.0");

    let missing = plan(&pinned("9.0.0"), json!({})).await;
    let missing = json(missing, 422).await["diagnostics"][0].clone();
    assert_eq!(missing["code"], "item-version");
    assert_eq!(
        missing["path"],
        "resources.greeting.metadata.stackloom.version"
    );
    assert!(missing["line"].is_number());
    let message = missing["message"].as_str().unwrap();
    assert!(message.contains("its versions are 1.1.0, 1.0.0"));
    let other = plan(&pinned("1.0.0"), json!({"greeter": "1.1.0"})).await;
    assert_eq!(problem(other).await, (409, "not-possible-now".into()));
    let second = "  second:\n    type: Stackloom::Catalog::greeter\n    metadata: {stackloom: {version: 1.1.0}}\n    \
                  properties: {host: {get_resource: web}}\n";
    let both = plan(&(pinned("1.0.0") + second), json!({})).await;
    let both = json(both, 422).await;
    assert_eq!(both["code"], "template-refused");
    assert_eq!(both["diagnostics"][0]["code"], "item-version");
}

/// A catalogue folder with the greeter.
fn greeter_folder(version: &str, word: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let greeter = folder.path().join("greeter");
    for (path, text) in [
        ("item.yml", manifest("greeter", version)),
        ("meta/argument_specs.yml", SPECS.to_owned()),
        ("tasks/main.yml", format!("- debug: {{msg: {word}}}\n")),
    ] {
        let path = greeter.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[tokio::test]
async fn a_deployment_stays_on_its_version_of_a_server_item_until_an_upgrade() {
    let (lab, stack, _) = crate::lab::start().await;
    let before = greeter_folder("1.0.0", "morning");
    let stack = stack
        .restart_with(&["--catalog", before.path().to_str().unwrap()])
        .await;
    let demo = stack.login("demo").await;
    // The run ends at the network: nothing is set up over SSH in this lab.
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/networks".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let request = json!({"name": "greeting", "template": SERVED});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(crate::lab::ended(&demo, &started).await, "failed");
    let deployment = started["deployment"].as_str().unwrap();
    let database = store::open(&stack.data().join("stackloom.db"))
        .await
        .unwrap();
    let set_up = ("Stackloom::Catalog::greeter", "1.0.0", "web");
    store::testing::component_insert(database.store(), deployment, "greeting", set_up).await;

    let after = greeter_folder("1.1.0", "evening");
    let stack = stack
        .restart_with(&["--catalog", after.path().to_str().unwrap()])
        .await;
    let demo = stack.login("demo").await;
    let newest = json(demo.get("/api/v1/catalog/greeter").await, 200).await;
    assert_eq!(newest["version"], "1.1.0");
    let path = format!("/api/v1/deployments/{deployment}");
    let shown = json(demo.get(&path).await, 200).await;
    let used = json!([{
        "name": "greeter", "version": "1.0.0", "versions": ["1.1.0", "1.0.0"], "components": ["greeting"],
    }]);
    assert_eq!(shown["items"], used);
    let path = "/api/v1/catalog/greeter/compare?from=1.0.0&to=1.1.0";
    let compared = json(demo.get(path).await, 200).await;
    let files = compared["files"].as_array().unwrap().iter();
    let files: Vec<_> = files.map(|file| &file["path"]).collect();
    assert_eq!(files, ["item.yml", "tasks/main.yml"]);

    let planned = async |versions: Value| {
        let body = json!({"template": SERVED, "deployment": deployment, "versions": versions});
        let plan = json(demo.post("/api/v1/plan", &body).await, 200).await;
        plan["workflow"]["resources"]["greeting"]["version"].clone()
    };
    assert_eq!(planned(json!({})).await, "1.0.0");
    assert_eq!(planned(json!({"greeter": "1.1.0"})).await, "1.1.0");
    let unknown =
        json!({"template": SERVED, "deployment": deployment, "versions": {"greeter": "9.0.0"}});
    let refused = demo.post("/api/v1/plan", &unknown).await;
    assert_eq!(problem(refused).await, (404, "not-found".into()));
}
