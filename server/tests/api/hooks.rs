//! Hooks of environments over the API.

use lab::Lab;
use serde_json::json;

use crate::{
    lab::ended,
    stack::{Stack, json, problem},
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
";

#[tokio::test]
async fn a_run_goes_on_at_its_hook_for_its_own_project_only() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({
        "name": "held",
        "template": TEMPLATE,
        "files": {"hooks.yaml": "resource_registry: {resources: {front: {hooks: pre-create}}}\n"},
        "environments": ["hooks.yaml"],
    });
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    let path = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let release = format!("{path}/release");
    let hook = json!({"step": "front:pre-create"});
    while json(demo.get(&path).await, 200).await["steps"][0]["state"] != "running" {
        tokio::task::yield_now().await;
    }
    let runs = format!(
        "/api/v1/deployments/{}/runs",
        started["deployment"].as_str().unwrap()
    );
    let waits = async || {
        let run = json(demo.get(&path).await, 200).await;
        let runs = json(demo.get(&runs).await, 200).await;
        let deployments = json(demo.get("/api/v1/deployments").await, 200).await;
        [&run, &runs[0], &deployments[0]["summary"]["run"]].map(|run| run["waits_for_user"] == true)
    };
    assert_eq!(waits().await, [true; 3], "on its page and in lists");
    let not_found = (404, "not-found".to_owned());
    assert_eq!(problem(other.post(&release, &hook).await).await, not_found);
    let unknown = json!({"step": "front:post-create"});
    assert_eq!(
        problem(demo.post(&release, &unknown).await).await,
        not_found
    );
    assert_eq!(demo.post(&release, &hook).await.status(), 202);
    assert_eq!(ended(&demo, &started).await, "succeeded");
    assert_eq!(waits().await, [false; 3]);
    let late = problem(demo.post(&release, &hook).await).await;
    assert_eq!(late, (409, "not-possible-now".to_owned()));
}
