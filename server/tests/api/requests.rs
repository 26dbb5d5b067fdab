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
async fn a_name_of_another_site_that_resolves_to_this_server_is_refused() {
    let stack = Stack::start().await;
    let answer = async |stack: &Stack, method: Method, path: &str, host: &'static str| {
        let request = stack.stranger().request(method, path);
        let request = request.header("host", host);
        request.header("sec-fetch-site", "same-origin").send().await
    };
    let refused = (421, "unknown-host".to_owned());
    let pages = ["/login", "/api/v1/me", "/api/v1/clouds", "/nothing"];
    for path in pages {
        let foreign = answer(&stack, Method::GET, path, "evil.example:8080").await;
        assert_eq!(problem(foreign.unwrap()).await, refused, "{path}");
    }
    let login = answer(&stack, Method::POST, "/api/v1/login", "evil.example").await;
    assert_eq!(problem(login.unwrap()).await, refused);
    for own in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
        let page = answer(&stack, Method::GET, "/api/v1/clouds", own).await;
        assert_eq!(page.unwrap().status(), 200, "{own}");
    }

    let settings = [
        "--addr=0.0.0.0:8080",
        "--public-url=https://stackloom.example.org",
        "--signal-url=http://10.0.0.2:8080",
    ];
    let stack = stack.restart_with(&settings).await;
    for foreign in ["evil.example", "10.0.0.2:8080", "localhost"] {
        let page = answer(&stack, Method::GET, "/api/v1/clouds", foreign).await;
        assert_eq!(problem(page.unwrap()).await, refused, "{foreign}");
    }
    let page = answer(
        &stack,
        Method::GET,
        "/api/v1/clouds",
        "stackloom.example.org",
    )
    .await;
    assert_eq!(page.unwrap().status(), 200);
    // Probes use the machine's address, servers in the cloud use the address for signals.
    for path in ["/healthz", "/readyz", "/metrics"] {
        let probe = answer(&stack, Method::GET, path, "10.0.0.2:8080").await;
        assert_eq!(probe.unwrap().status(), 200, "{path}");
    }
    let signal = answer(&stack, Method::POST, "/signal/wait", "10.0.0.2:8080").await;
    assert_ne!(signal.unwrap().status(), 421);
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
