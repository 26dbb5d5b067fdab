//! Invalid requests.

use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::stack::{Stack, json, problem};

#[tokio::test]
async fn ten_megabytes_are_refused_and_the_sender_learns_why() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "big", "template": "x".repeat(10 * 1024 * 1024)});
    assert_eq!(
        problem(browser.post("/api/v1/designs", &body).await).await,
        (413, "too-large".into())
    );
    assert_eq!(
        problem(browser.post("/api/v1/validate", &body).await).await,
        (413, "too-large".into())
    );
}

#[tokio::test]
async fn the_field_at_fault_is_named() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "a", "template": 5});
    let problem: api::Problem = browser
        .post("/api/v1/designs", &body)
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(
        (problem.status, problem.path.as_deref()),
        (422, Some("template"))
    );
    let neither = json!({"name": "a"});
    let problem: api::Problem = browser
        .post("/api/v1/deployments", &neither)
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(
        (problem.status, problem.path.as_deref()),
        (422, Some("template"))
    );
}

#[tokio::test]
async fn json_must_be_json_and_say_so() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let form = browser
        .request(Method::POST, "/api/v1/designs")
        .body("name=a")
        .send()
        .await
        .unwrap();
    assert_eq!(problem(form).await, (415, "unsupported-media-type".into()));
    let broken = browser
        .request(Method::POST, "/api/v1/designs")
        .header("content-type", "application/json");
    assert_eq!(
        problem(broken.body("{\"name\":").send().await.unwrap()).await,
        (422, "invalid-request".into())
    );
}

#[tokio::test]
async fn paths_and_methods_that_do_not_exist_are_problems_too() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    assert_eq!(
        problem(browser.get("/api/v1/nothing").await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        problem(browser.get("/api/v2/designs").await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        problem(browser.delete("/api/v1/clouds").await).await,
        (405, "method-not-allowed".into())
    );
    assert_eq!(
        problem(browser.get("/api/v1/runs/x/events?after=soon").await).await,
        (422, "invalid-request".into())
    );
    assert_eq!(
        problem(browser.post("/api/v1/catalog", &json!({})).await).await,
        (422, "invalid-request".into())
    );
    let text = browser.request(Method::POST, "/api/v1/catalog");
    let text = text.header(header::CONTENT_TYPE, "text/plain").body("x");
    assert_eq!(
        problem(text.send().await.unwrap()).await,
        (415, "unsupported-media-type".into())
    );
}

#[tokio::test]
async fn a_page_of_another_site_cannot_act_in_the_persons_name() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "a", "template": ""});
    let from = |site: &'static str, origin: &'static str| {
        let request = browser.request(Method::POST, "/api/v1/designs").json(&body);
        request
            .header("sec-fetch-site", site)
            .header("origin", origin)
            .send()
    };
    let refused = (403, "cross-origin".to_owned());
    assert_eq!(
        problem(from("cross-site", "https://evil.example").await.unwrap()).await,
        refused
    );
    assert_eq!(
        from("same-origin", "http://127.0.0.1")
            .await
            .unwrap()
            .status(),
        201
    );
    let socket = browser
        .request(Method::GET, "/api/v1/runs/x/stream")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(
        problem(
            socket
                .header("origin", "https://evil.example")
                .send()
                .await
                .unwrap()
        )
        .await,
        refused
    );
}

#[tokio::test]
async fn without_a_login_there_is_nothing_to_see() {
    let stack = Stack::start().await;
    let stranger = stack.stranger();
    for path in [
        "me",
        "cloud",
        "designs",
        "deployments",
        "runs/x",
        "catalog",
        "catalog/nginx",
        "resource-types",
    ] {
        assert_eq!(
            problem(stranger.get(&format!("/api/v1/{path}")).await).await,
            (401, "not-signed-in".into()),
            "{path}"
        );
    }
    assert_eq!(
        json(stranger.get("/api/v1/clouds").await, 200).await[1]["name"],
        "test"
    );
}

#[tokio::test]
async fn the_document_describes_every_path() {
    let stack = Stack::start().await;
    let document = json(stack.stranger().get("/api/v1/openapi.json").await, 200).await;
    let paths: Vec<&str> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for path in [
        "/api/v1/login",
        "/api/v1/designs/{id}",
        "/api/v1/runs/{id}/stream",
        "/metrics",
    ] {
        assert!(paths.contains(&path), "{path} is not among {paths:?}");
    }
    assert!(document["components"]["schemas"]["Problem"].is_object());
}

#[tokio::test]
async fn a_cloud_without_services_keeps_nobody_from_drawing() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let facts = json(browser.get("/api/v1/cloud").await, 200).await;
    assert_eq!(facts["images"], Value::Null);
    let body = json!({"template": "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Nova::Serve}\n"});
    let checked = json(browser.post("/api/v1/validate", &body).await, 200).await;
    assert_eq!(checked["diagnostics"][0]["line"], 3, "{checked}");
}
