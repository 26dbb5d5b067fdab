//! Commands on servers: who may run them, what is refused, and what is recorded. The lab in memory has no sshd: a command waits for
//! its bastion until it is cancelled.

use std::time::Duration;

use lab::Lab;
use serde_json::{Value, json};

use crate::{
    lab::{ended, stack_with},
    stack::{Client, Stack, json, problem},
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}
";

const PATIENCE: Duration = Duration::from_secs(300);

/// A deployment whose software failed, because no server answers.
async fn start() -> (Lab, Stack, Client, Value) {
    let (lab, stack) = stack_with(&["--ssh-timeout", "1"]).await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "shop", "template": TEMPLATE});
    let started = json(browser.post("/api/v1/deployments", &body).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "failed");
    (lab, stack, browser, started)
}

fn path(started: &Value) -> String {
    let deployment = started["deployment"].as_str().unwrap();
    format!("/api/v1/deployments/{deployment}/command")
}

#[tokio::test]
async fn a_command_is_a_run_that_the_audit_trail_names_without_its_script() {
    let (_lab, _stack, browser, started) = start().await;
    let body = json!({"servers": ["web"], "script": "echo sesame", "title": "Greet"});
    let command = json(browser.post(&path(&started), &body).await, 202).await;
    // Another command and a check run beside it.
    let beside = json!({"servers": "all", "script": "echo"});
    let beside = json(browser.post(&path(&started), &beside).await, 202).await;
    assert_ne!(beside["run"], command["run"]);
    let check = path(&started).replace("/command", "/check");
    json(browser.post(&check, &json!({})).await, 200).await;
    let ended = tokio::time::timeout(PATIENCE, ended(&browser, &command)).await;
    assert_eq!(ended.unwrap(), "failed");
    let run = format!("/api/v1/runs/{}", command["run"].as_str().unwrap());
    let run = json(browser.get(&run).await, 200).await;
    assert_eq!(run["kind"], "command");
    assert_eq!(
        run["command"],
        json!({"title": "Greet", "kind": "script", "servers": 1, "bytes": 11, "parallel": 5})
    );
    let id = started["deployment"].as_str().unwrap();
    let shown = json(browser.get(&format!("/api/v1/deployments/{id}")).await, 200).await;
    assert_eq!(shown["last_run"], started["run"]);

    let trail = json(browser.get("/api/v1/audit").await, 200).await;
    let actions: Vec<&str> = trail
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["action"].as_str())
        .collect();
    assert!(actions.contains(&"POST /api/v1/deployments/{id}/command"));
    let named = "command: script of 11 bytes on web (Greet)";
    assert!(actions.contains(&named), "{actions:?}");
    assert!(!trail.to_string().contains("sesame"));
}

#[tokio::test]
async fn strangers_and_invalid_commands_are_refused() {
    let (_lab, stack, browser, started) = start().await;
    let path = path(&started);
    let good = json!({"servers": "all", "script": "echo"});
    let is = |status: u16, code: &str| (status, code.to_owned());
    let stranger = stack.login("other").await;
    assert_eq!(
        problem(stranger.post(&path, &good).await).await,
        is(404, "not-found")
    );
    let refused = async |body: Value| problem(browser.post(&path, &body).await).await;
    for body in [
        json!({"servers": ["wbe"], "script": "echo"}),
        json!({"servers": [], "script": "echo"}),
        json!({"script": "echo"}),
        json!({"servers": "all"}),
        json!({"servers": "all", "script": "x".repeat(70_000)}),
        json!({"servers": "all", "script": "echo", "playbook": "- hosts: all"}),
        json!({"servers": "all", "script": "echo", "parallel": 0}),
        json!({"component": "web", "command": "reload"}),
    ] {
        assert_eq!(
            refused(body.clone()).await,
            is(422, "command-invalid"),
            "{body}"
        );
    }
    let shape = json!({"servers": "some", "script": "echo"});
    assert_eq!(refused(shape).await, is(422, "invalid-request"));
    let id = started["deployment"].as_str().unwrap();
    let runs = json(
        browser.get(&format!("/api/v1/deployments/{id}/runs")).await,
        200,
    )
    .await;
    assert_eq!(runs.as_array().unwrap().len(), 1, "nothing was started");
}

#[tokio::test]
async fn a_reader_runs_no_command() {
    let stack = Stack::start().await;
    let reader = stack.login("ada").await;
    let body = json!({"servers": "all", "script": "echo"});
    let answer = reader.post("/api/v1/deployments/d/command", &body).await;
    assert_eq!(problem(answer).await, (403, "reader-cannot-change".into()));
}
