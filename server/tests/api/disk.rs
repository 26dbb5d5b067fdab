//! A disk that is almost full: new work is refused, and work that exists can be seen and removed.

use lab::Lab;
use reqwest::{Response, header};
use serde_json::{Value, json};
use store::testing::BreakingWay;

use crate::{
    catalog::{item, upload},
    keystone,
    lab::ended,
    stack::{Stack, json, problem},
};

/// A reserve that no disk has: 1 PiB.
const RESERVE: &str = "--disk-reserve-mib=1073741824";

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n";

/// A request for a design, or for a deployment.
fn named(name: &str) -> Value {
    json!({"name": name, "template": TEMPLATE})
}

fn greeter() -> Vec<u8> {
    item("greeter", "1.0.0", "- debug: {msg: '{{ word }}'}\n")
}

async fn check_refused(answer: Response) {
    assert!(answer.headers().contains_key(header::RETRY_AFTER));
    let refused = problem(answer).await;
    assert_eq!(refused, (503, "disk-almost-full".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_almost_full_disk_takes_no_new_work_and_lets_deployments_go() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let browser = stack.login("demo").await;
    let design = json(browser.post("/api/v1/designs", &named("shop")).await, 201).await;
    let design = format!("/api/v1/designs/{}", design["id"].as_str().unwrap());
    let started = browser.post("/api/v1/deployments", &named("shop")).await;
    let started = json(started, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let deployment = started["deployment"].as_str().unwrap();
    let deployment = format!("/api/v1/deployments/{deployment}");

    let stack = stack.restart_with(&[RESERVE]).await;
    let browser = stack.login("demo").await;
    let larger = format!("{TEMPLATE}  back: {{type: OS::Neutron::Net}}\n");
    let larger = json!({"name": "shop", "template": larger});
    for answer in [
        browser.post("/api/v1/designs", &named("other")).await,
        browser.put(&design, &larger).await,
        browser.post("/api/v1/deployments", &named("other")).await,
        browser.put(&deployment, &larger).await,
        upload(&browser, greeter()).await,
    ] {
        check_refused(answer).await;
    }
    let listed = json(browser.get("/api/v1/deployments").await, 200).await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let metrics = browser.get("/metrics").await.text().await.unwrap();
    let reserve = "stackloom_disk_reserve_bytes 1125899906842624\n";
    assert!(metrics.contains(reserve), "{metrics}");

    let removing = json(browser.delete(&deployment).await, 202).await;
    assert_eq!(ended(&browser, &removing).await, "succeeded");

    let stack = stack.restart().await;
    let browser = stack.login("demo").await;
    json(browser.put(&design, &larger).await, 200).await;
    let again = browser.post("/api/v1/deployments", &named("shop")).await;
    let again = json(again, 202).await;
    assert_eq!(ended(&browser, &again).await, "succeeded");
}

#[tokio::test]
async fn a_database_elsewhere_grows_when_the_disk_of_the_server_is_almost_full() {
    let database = BreakingWay::new().await;
    let (cloud, _) = keystone::start().await;
    let clouds = format!("clouds:\n  test:\n    auth: {{auth_url: '{cloud}/v3'}}\n");
    let settings = ["--database", database.address(), RESERVE];
    let stack = Stack::with_clouds(&clouds, &settings).await;
    let browser = stack.login("demo").await;
    json(browser.post("/api/v1/designs", &named("shop")).await, 201).await;
    check_refused(upload(&browser, greeter()).await).await;
}
