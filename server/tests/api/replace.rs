//! An update that names the active run, over the API.

use lab::{CallFault, Fault, Lab};
use serde_json::{Value, json};

use crate::{
    lab::ended,
    stack::{Client, Stack, json, problem},
};

/// A network, and others that wait for it.
fn template(others: &[&str]) -> String {
    let mut text =
        "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n"
            .to_owned();
    for name in others {
        text += &format!("  {name}: {{type: OS::Neutron::Net, depends_on: front}}\n");
    }
    text
}

async fn run(browser: &Client, id: &Value) -> Value {
    let path = format!("/api/v1/runs/{}", id.as_str().unwrap());
    json(browser.get(&path).await, 200).await
}

#[tokio::test]
async fn an_update_takes_the_place_of_the_run_at_work() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        times: Some(1),
        delay_ms: 2_000,
        ..CallFault::default()
    }));
    let request = json!({"name": "shop", "template": template(&["old"])});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let id = started["deployment"].as_str().unwrap();
    let path = format!("/api/v1/deployments/{id}");

    let update = json!({"name": "shop", "template": template(&["new"])});
    let busy = (409, "run-in-progress".to_owned());
    assert_eq!(problem(demo.put(&path, &update).await).await, busy);
    let mut instead = update.clone();
    instead["instead_of"] = json!("another");
    assert_eq!(problem(demo.put(&path, &instead).await).await, busy);
    instead["instead_of"] = started["run"].clone();
    let missing = (404, "not-found".to_owned());
    assert_eq!(problem(other.put(&path, &instead).await).await, missing);

    let next = json(demo.put(&path, &instead).await, 202).await;
    assert_ne!(next["run"], started["run"]);
    let replaced = run(&demo, &started["run"]).await;
    assert_eq!(replaced["state"], "cancelled");
    assert_eq!(replaced["replaced_by"], "demo");
    assert_eq!(ended(&demo, &next).await, "succeeded");
    let shown = json(demo.get(&path).await, 200).await;
    let resources = shown["resources"].as_array().unwrap().iter();
    let names: Vec<&str> = resources.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["front", "new"]);
    let late = (409, "deployment-changed".to_owned());
    assert_eq!(problem(demo.put(&path, &instead).await).await, late);
}
