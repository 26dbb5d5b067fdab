//! Security: no access to other projects, no changes by readers, no guessing, no open redirects, no secrets in
//! responses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
};

use reqwest::{Method, Response, header};
use serde_json::{Value, json};

use crate::stack::{Client, Stack, cookie, credentials, json, problem};

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n";

/// Paths without authentication.
const OPEN: [&str; 7] = [
    "/api/v1/login",
    "/api/v1/logout",
    "/api/v1/clouds",
    "/api/v1/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
];

/// Calls that change nothing of the project, despite their methods. Every user may end sessions of their own.
const ONLY_LOOK: [&str; 6] = [
    "/api/v1/designs/1/viewers",
    "/api/v1/sessions/1",
    "/api/v1/validate",
    "/api/v1/plan",
    "/api/v1/export",
    "/api/v1/import",
];

/// A method and a path, with the ids of existing objects.
type Call = (Method, String);

/// Every call in the API's own document, except public ones. So new routes are tested too.
async fn calls(stack: &Stack, ids: &[(&str, &str)]) -> Vec<Call> {
    let document = json(stack.stranger().get("/api/v1/openapi.json").await, 200).await;
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        if OPEN.contains(&path.as_str()) {
            continue;
        }
        let owner = ids.iter().find(|(start, _)| path.starts_with(start));
        let path = match owner {
            Some((_, id)) => path.replace("{id}", id),
            None => path.clone(),
        };
        let path = path.replace("{version}", "1");
        let path = if path.ends_with("/export") && path.contains("designs") {
            format!("{path}?format=hot")
        } else {
            path
        };
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase().parse().unwrap();
            calls.push((method, path.clone()));
        }
    }
    calls
}

/// The response to a valid request.
async fn send(browser: &Client, (method, path): &Call) -> Response {
    let body = json!({
        "name": "x", "template": TEMPLATE, "text": TEMPLATE, "format": "hot", "label": "x", "check": "x",
        "days": 30, "scale": true, "item": "x", "version": "1.0.0", "power": "stop", "page": "x", "step": "x",
    });
    let request = browser.request(method.clone(), path);
    let request = match path.as_str() {
        "/api/v1/catalog" | "/api/v1/roles" if method == Method::POST => {
            request.header(header::CONTENT_TYPE, "application/gzip")
        }
        _ if path.ends_with("/search") => request.query(&[("text", "x")]),
        _ if method == Method::GET => request,
        _ => request.json(&body),
    };
    request.send().await.unwrap()
}

/// Status and error code of the response to a valid request.
async fn status_and_code(browser: &Client, call: &Call) -> (u16, String) {
    let answer = send(browser, call).await;
    if answer.status().is_success() {
        (answer.status().as_u16(), String::new())
    } else {
        problem(answer).await
    }
}

#[tokio::test]
async fn whatever_has_an_id_is_there_for_its_own_project_only() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let named = json!({"name": "shop", "template": TEMPLATE});
    let design = json(demo.post("/api/v1/designs", &named).await, 201).await;
    let started = json(demo.post("/api/v1/deployments", &named).await, 202).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (design, run) = (text(&design["id"]), text(&started["run"]));
    crate::stream::watch(&demo, &run, 0).await;
    let ids = [
        ("/api/v1/designs/", design.as_str()),
        (
            "/api/v1/deployments/",
            started["deployment"].as_str().unwrap(),
        ),
        ("/api/v1/runs/", run.as_str()),
    ];
    let other = stack.login("other").await;
    let all = calls(&stack, &ids).await;
    let owned = |(_, path): &&Call| ids.iter().any(|(_, id)| path.contains(id));
    let owned: Vec<&Call> = all.iter().filter(owned).collect();
    assert!(owned.len() >= 14, "{owned:?}");
    for call in owned {
        let missing = (404, "not-found".to_owned());
        assert_eq!(status_and_code(&other, call).await, missing, "{call:?}");
    }
    let lists = ["designs", "deployments"].map(|list| format!("/api/v1/{list}"));
    for list in lists {
        assert_eq!(json(other.get(&list).await, 200).await, json!([]), "{list}");
        let own = json(demo.get(&list).await, 200).await;
        assert_eq!(own.as_array().unwrap().len(), 1, "{list}");
    }
}

#[tokio::test]
async fn without_a_login_nothing_is_answered_and_a_reader_changes_nothing() {
    let stack = Stack::start().await;
    let (stranger, reader) = (stack.stranger(), stack.login("ada").await);
    for call in calls(&stack, &[("/api/v1/", "1")]).await {
        let (method, path) = &call;
        if path.starts_with("/errors/") {
            continue;
        }
        let refused = (401, "not-signed-in".to_owned());
        assert_eq!(status_and_code(&stranger, &call).await, refused, "{call:?}");
        if *method != Method::GET && !ONLY_LOOK.contains(&path.as_str()) {
            let refused = (403, "reader-cannot-change".to_owned());
            assert_eq!(status_and_code(&reader, &call).await, refused, "{call:?}");
        }
    }
}

#[tokio::test]
async fn the_audit_trail_has_the_changes_of_every_route() {
    let stack = Stack::start().await;
    let member = stack.login("demo").await;
    let mut changes = BTreeMap::new();
    for call in calls(&stack, &[("/api/v1/", "1")]).await {
        if call.0 != Method::GET && !ONLY_LOOK.contains(&call.1.as_str()) {
            let answer = send(&member, &call).await;
            let id = answer.headers()["x-request-id"].to_str().unwrap();
            changes.insert(id.to_owned(), call);
        }
    }
    assert!(changes.len() >= 25, "{changes:?}");
    let events = json(member.get("/api/v1/audit?limit=1000").await, 200).await;
    for event in events.as_array().unwrap() {
        changes.remove(event["request_id"].as_str().unwrap());
    }
    assert!(changes.is_empty(), "not recorded: {changes:?}");
}

#[tokio::test]
async fn who_guesses_has_to_wait_and_nobody_else_has() {
    let stack = Stack::start().await;
    let stranger = stack.stranger();
    let guess = async |user: &str| {
        let body = credentials(user, "a guess", "demo");
        stranger.post("/api/v1/login", &body).await
    };
    // Each failure doubles the wait, so eventually even a slow machine is too early.
    let refused = loop {
        let answer = guess("demo").await;
        if answer.status() != 401 {
            break answer;
        }
    };
    let wait: u64 = refused.headers()[header::RETRY_AFTER]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(problem(refused).await, (429, "too-many-attempts".into()));
    assert_eq!(guess("ada").await.status(), 401, "another account");
    stack.login("other").await;
    // The owner logs in from another address than the guesses.
    let right = credentials("demo", "demo", "demo");
    let owner = stack.elsewhere().post("/api/v1/login", &right).await;
    assert_eq!(owner.status(), 200);
}

#[tokio::test]
async fn a_flood_of_logins_that_a_limit_refuses_leaves_a_few_events() {
    const LARGE: usize = 1000;
    let stack = Stack::start().await;
    let wrong = credentials("ada", "a guess", "demo");
    let mut refused = 0;
    // Each failure doubles the wait, so that soon all are refused.
    while refused < 30 {
        let request = stack.stranger().request(Method::POST, "/api/v1/login");
        let request = request.header("x-request-id", "x".repeat(LARGE));
        let answer = request.json(&wrong).send().await.unwrap();
        if answer.status() == 429 {
            refused += 1;
        }
    }
    let demo = stack.login("demo").await;
    let events = json(demo.get("/api/v1/audit").await, 200).await;
    let events = events.as_array().unwrap().iter();
    let events: Vec<_> = events
        .filter(|event| event["code"] == "too-many-attempts")
        .collect();
    assert!((10..20).contains(&events.len()), "{events:?}");
    for event in events {
        assert_eq!(event["user"], "ada");
        assert_eq!(event["action"], "POST /api/v1/login");
        assert_eq!(event["status"], 429);
        assert!(event["request_id"].as_str().unwrap().len() < LARGE);
    }
}

#[tokio::test]
async fn a_session_that_somebody_else_chose_is_not_taken_over() {
    let stack = Stack::start().await;
    let planted = "stackloom_session=QUFBQUFBQUFBQUFBQUFBQQ";
    let victim = stack.with_cookie(planted);
    let body = credentials("demo", "demo", "demo");
    let answer = victim.post("/api/v1/login", &body).await;
    assert_eq!(answer.status(), 200);
    let own = cookie(&answer);
    assert_ne!(own, planted);
    let attacker = stack.with_cookie(planted);
    assert_eq!(problem(attacker.get("/api/v1/me").await).await.0, 401);
    assert_eq!(
        stack.with_cookie(&own).get("/api/v1/me").await.status(),
        200
    );
}

#[tokio::test]
async fn over_tls_the_cookie_stays_there_and_so_does_the_browser() {
    let stack = Stack::start().await;
    let plain = stack.stranger().get("/login").await;
    assert!(!plain.headers().contains_key("strict-transport-security"));
    let settings = ["--public-url", "https://stackloom.example.org"];
    let stack = stack.restart_with(&settings).await;
    let body = credentials("demo", "demo", "demo");
    let answer = stack.stranger().post("/api/v1/login", &body).await;
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("Secure"), "{cookie}");
    assert!(cookie.starts_with("__Host-stackloom_session="), "{cookie}");
    assert!(
        cookie.contains("Path=/") && !cookie.contains("Domain"),
        "{cookie}"
    );
    let only = &answer.headers()["strict-transport-security"];
    assert!(only.to_str().unwrap().starts_with("max-age="), "{only:?}");
}

#[tokio::test]
async fn a_link_to_the_login_leads_nowhere_else() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    for elsewhere in [
        "https://evil.example",
        "//evil.example",
        "/%5Cevil.example",
        "/%09/evil.example",
        "%09//evil.example",
    ] {
        let answer = browser.get(&format!("/login?next={elsewhere}")).await;
        let to = answer.headers()[header::LOCATION].to_str().unwrap();
        assert_eq!(to, "/designs", "{elsewhere}");
    }
}

#[tokio::test]
async fn what_is_stored_is_for_the_server_alone() {
    let stack = Stack::start().await;
    stack.login("demo").await;
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(stack.data()).unwrap() {
        let path = entry.unwrap().path();
        let rights = fs::metadata(&path).unwrap().permissions().mode();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_file() {
            assert_eq!(rights & 0o077, 0, "{name}: {rights:o}");
            seen.insert(name);
        }
    }
    let rights = fs::metadata(stack.data()).unwrap().permissions().mode();
    assert_eq!(rights & 0o077, 0, "the folder: {rights:o}");
    for file in ["engine.key", "stackloom.db", "stackloom.db-wal"] {
        assert!(seen.contains(file), "{file} is not among {seen:?}");
    }
}

/// The author of a design chooses the file names, and another user unpacks the archive.
#[tokio::test]
async fn an_exported_archive_stays_in_its_folder() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({
        "name": "site",
        "template": TEMPLATE,
        "files": {"../../out.yaml": "a", "/etc/cron.d/x": "b", "lib/./../../y.sh": "c", "ok.sh": "d"},
    });
    let made = json(browser.post("/api/v1/designs", &body).await, 201).await;
    let path = format!("/api/v1/designs/{}/export", made["id"].as_str().unwrap());
    let path = format!("{path}?format=hot&download=true");
    let file = browser.get(&path).await;
    assert_eq!(file.status(), 200);
    let bytes = file.bytes().await.unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]));
    let mut names = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut parts = name.split('/');
        assert!(parts.all(|part| !part.is_empty() && part != ".."), "{name}");
        assert!(name.starts_with("site.hot/"), "{name}");
        names.push(name);
    }
    assert_eq!(names.len(), 5, "{names:?}");
}

#[tokio::test]
async fn versions_of_a_large_design_do_not_pile_up() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let text = |version: u32| format!("{version}{}", "x".repeat(1024 * 1024));
    let body =
        |version: u32| json!({"name": "big", "template": TEMPLATE, "files": {"a": text(version)}});
    let made = json(browser.post("/api/v1/designs", &body(1)).await, 201).await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    for version in 2..=20 {
        json(browser.put(&path, &body(version)).await, 200).await;
    }
    let versions = json(browser.get(&format!("{path}/versions")).await, 200).await;
    let numbers: Vec<u64> = versions
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["version"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (6..=20).rev().collect::<Vec<_>>());
    let newest = json(browser.get(&path).await, 200).await;
    assert_eq!(newest["files"]["a"], text(20));
}

#[tokio::test]
async fn metrics_are_for_the_operator() {
    let stack = Stack::start().await;
    let stranger = stack.stranger();
    assert_eq!(
        stranger.get("/metrics").await.status(),
        200,
        "on this machine"
    );
    let through_a_proxy = stranger.request(Method::GET, "/metrics");
    let through_a_proxy = through_a_proxy.header("x-forwarded-for", "203.0.113.9");
    let refused = (401, "not-signed-in".to_owned());
    assert_eq!(
        problem(through_a_proxy.send().await.unwrap()).await,
        refused
    );

    let stack = stack.restart_with(&["--metrics-token=a-long-token"]).await;
    let stranger = stack.stranger();
    assert_eq!(problem(stranger.get("/metrics").await).await, refused);
    for (token, status) in [("a-long-token", 200), ("another", 401)] {
        let request = stranger.request(Method::GET, "/metrics");
        let answer = request.bearer_auth(token).send().await.unwrap();
        assert_eq!(answer.status(), status, "{token}");
    }
}
