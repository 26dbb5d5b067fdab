//! Limits of projects, and what colleagues may learn and undo.

use std::io::Write;

use futures::future::join_all;
use lab::Lab;
use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::{
    catalog::{item, upload},
    lab::ended,
    pulse::Pulse,
    stack::{Client, Stack, json, problem},
};

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n";

fn ids(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_has_only_so_many_designs_and_another_has_its_own() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--project-designs=3"]).await;
    let pulse = Pulse::of(&stack);
    let demo = stack.login("demo").await;
    let body = json!({"name": "shop", "template": TEMPLATE});
    for _ in 0..3 {
        json(demo.post("/api/v1/designs", &body).await, 201).await;
    }
    let full = (409, "project-full".to_owned());
    assert_eq!(
        problem(demo.post("/api/v1/designs", &body).await).await,
        full
    );
    let other = stack.login("other").await;
    json(other.post("/api/v1/designs", &body).await, 201).await;

    let first = demo.get("/api/v1/designs?limit=2").await;
    let link = first.headers()[header::LINK].to_str().unwrap().to_owned();
    assert_eq!(link, "</api/v1/designs?limit=2&offset=2>; rel=\"next\"");
    let first = json(first, 200).await;
    let rest = demo.get("/api/v1/designs?limit=2&offset=2").await;
    assert!(!rest.headers().contains_key(header::LINK));
    let rest = json(rest, 200).await;
    let mut all = [ids(&first), ids(&rest)].concat();
    assert_eq!(all.len(), 3);
    all.dedup();
    assert_eq!(all.len(), 3);
    pulse.check("designs above the limit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_small_and_an_upload_has_its_slot_before_it_is_read() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--project-uploads=1"]).await;
    let pulse = Pulse::of(&stack);
    let long =
        json!({"cloud": "test", "user": "x".repeat(100_000), "password": "x", "project": "x"});
    let answer = stack.stranger().post("/api/v1/login", &long).await;
    assert_eq!(problem(answer).await, (413, "too-large".into()));

    let demo = stack.login("demo").await;
    let upload = |client: &Client| {
        let request = client.request(Method::POST, "/api/v1/catalog");
        request.header(header::CONTENT_TYPE, "application/gzip")
    };
    let address = stack.base.strip_prefix("http://").unwrap();
    let cookie = demo.cookie.as_deref().unwrap();
    let head = format!(
        "POST /api/v1/catalog HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\ncontent-type: application/gzip\r\ncontent-length: 1000\r\n\r\n"
    );
    // A slow upload whose request arrives while another has the slot is refused itself: each attempt starts one more.
    let mut slow = Vec::new();
    let refused = loop {
        let mut connection = std::net::TcpStream::connect(address).unwrap();
        connection.write_all(head.as_bytes()).unwrap();
        slow.push(connection);
        let (status, code) = problem(upload(&demo).body("x").send().await.unwrap()).await;
        if status == 429 {
            break code;
        }
    };
    assert_eq!(refused, "too-many-uploads");
    let other = stack.login("other").await;
    let answer = problem(upload(&other).body("x").send().await.unwrap()).await;
    assert_eq!(answer.0, 422, "another project has its own slot");
    pulse.check("a large login and uploads at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_keeps_its_slot_until_its_item_is_stored() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--project-uploads=1"]).await;
    let demo = stack.login("demo").await;
    let pulse = Pulse::of(&stack);
    // Small to send, and long to unpack and to check.
    let task = format!("- debug:\n{}", "# no comment\n".repeat(200_000));
    let archive = item("greeter", "1.0.0", &task);
    let answers = join_all((0..8).map(|_| upload(&demo, archive.clone()))).await;
    let statuses: Vec<u16> = answers.iter().map(|one| one.status().as_u16()).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(statuses.contains(&201), "{statuses:?}");
    pulse.check("large items at once");
}

const HIDDEN: &str = "\
heat_template_version: 2021-04-16
parameters:
  code: {type: string, hidden: true}
resources:
  front:
    type: OS::Neutron::Net
    properties: {name: {get_param: code}}
";

/// Starts a deployment and waits for its end. Its path, and its newest run.
async fn deployed(browser: &Client, request: &Value) -> (String, Value) {
    let started = json(browser.post("/api/v1/deployments", request).await, 202).await;
    assert_eq!(ended(browser, &started).await, "succeeded");
    let id = started["deployment"].as_str().unwrap();
    (format!("/api/v1/deployments/{id}"), started)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_learns_nothing_by_guessing_a_hidden_value() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let owner = stack.login("demo").await;
    let request = json!({"name": "shop", "template": HIDDEN, "parameters": {"code": "1234"}});
    let (_, started) = deployed(&owner, &request).await;
    // The lab's reader of the same project.
    let settings = ["--member-roles=nobody"];
    let stack = stack.restart_with(&settings).await;
    let reader = stack.login("demo").await;
    let plan = async |code: &str| {
        let request = json!({
            "template": HIDDEN, "deployment": started["deployment"], "parameters": {"code": code},
        });
        json(reader.post("/api/v1/plan", &request).await, 200).await
    };
    let pulse = Pulse::of(&stack);
    assert_eq!(plan("1234").await, plan("9999").await);
    pulse.check("guesses of a hidden value");
}

#[tokio::test]
async fn the_designs_of_a_project_have_a_size_and_another_has_its_own() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--project-design-mib=1"]).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let large = format!("{TEMPLATE}{}", "# no comment\n".repeat(50_000));
    let body = json!({"name": "shop", "template": large});
    let create = async |browser: &Client| browser.post("/api/v1/designs", &body).await;
    let first = json(create(&demo).await, 201).await;
    json(create(&demo).await, 201).await;
    let full = (409, "project-full".to_owned());
    assert_eq!(problem(create(&demo).await).await, full);
    let path = format!("/api/v1/designs/{}", first["id"].as_str().unwrap());
    let mut save = json!({"name": "shop", "template": TEMPLATE, "base_version": 1});
    assert_eq!(problem(demo.put(&path, &save).await).await, full);
    // What is stored already can be saved again.
    save["template"] = json!(large);
    json(demo.put(&path, &save).await, 200).await;
    json(create(&other).await, 201).await;

    assert_eq!(demo.delete(&path).await.status(), 204);
    json(create(&demo).await, 201).await;
}

#[tokio::test]
async fn undeployed_deployments_are_kept_up_to_a_number_until_somebody_removes_them() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let stack = stack.restart_with(&["--project-undeployed=1"]).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": TEMPLATE});
    let (path, _) = deployed(&demo, &request).await;
    let removing = json(demo.delete(&path).await, 202).await;
    assert_eq!(ended(&demo, &removing).await, "succeeded");

    let refused = json(demo.post("/api/v1/deployments", &request).await, 409).await;
    assert_eq!(refused["code"], "project-full");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("1 undeployed deployments"), "{detail}");
    deployed(&other, &request).await;
    let removed = demo.delete(&format!("{path}/record")).await;
    assert_eq!(removed.status(), 204);
    deployed(&demo, &request).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_somebody_made_in_between_is_not_undone() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let demo = stack.login("demo").await;
    let request = |name: &str| {
        let template = TEMPLATE.replace("front", name);
        json!({"name": "shop", "template": template})
    };
    let (path, started) = deployed(&demo, &request("front")).await;
    let mut update = request("back");
    update["deployment"] = started["deployment"].clone();
    let plan = json(demo.post("/api/v1/plan", &update).await, 200).await;
    assert_eq!(plan["base_run"], started["run"]);

    let between = json(demo.put(&path, &request("side")).await, 202).await;
    assert_eq!(ended(&demo, &between).await, "succeeded");

    let pulse = Pulse::of(&stack);
    let mut update = request("back");
    update["base_run"] = plan["base_run"].clone();
    let refused = json(demo.put(&path, &update).await, 409).await;
    assert_eq!(refused["code"], "deployment-changed");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("demo started a run (update)"), "{detail}");
    let stale = format!("base_run={}", started["run"].as_str().unwrap());
    let refused = (409, "deployment-changed".to_owned());
    let removal = demo.delete(&format!("{path}?{stale}")).await;
    assert_eq!(problem(removal).await, refused);
    let back = demo
        .post(&format!("{path}/rollback?{stale}"), &json!({}))
        .await;
    assert_eq!(problem(back).await, refused);

    pulse.check("stale changes");
    let fresh = format!("base_run={}", between["run"].as_str().unwrap());
    let removal = demo.delete(&format!("{path}?{fresh}")).await;
    let removing = json(removal, 202).await;
    assert_eq!(ended(&demo, &removing).await, "succeeded");
}
