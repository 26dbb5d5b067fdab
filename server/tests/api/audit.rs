//! The audit trail: logins, refusals and changes of a project, for its members.

use futures::future::join_all;
use lab::{CallFault, Fault, Lab};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    keystone,
    lab::{ended, stack_with},
    stack::{Client, Stack, cookie, credentials, json, problem, until},
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16\nresources: {}\n";

/// User, action, status and code of each event, oldest first.
async fn trail(browser: &Client) -> Vec<(String, String, u64, String)> {
    let events = json(browser.get("/api/v1/audit").await, 200).await;
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let events = events.as_array().unwrap().iter().rev();
    events
        .map(|event| {
            assert_eq!(event["address"], "127.0.0.1", "{event}");
            assert!(!text(event, "request_id").is_empty(), "{event}");
            let status = event["status"].as_u64().unwrap();
            let (user, action) = (text(event, "user"), text(event, "action"));
            (user, action, status, text(event, "code"))
        })
        .collect()
}

#[tokio::test]
async fn logins_changes_and_refusals_are_recorded_for_the_project() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let reader = stack.login("ada").await;
    let body = json!({"name": "shop", "template": TEMPLATE});
    let design = json(demo.post("/api/v1/designs", &body).await, 201).await;
    let path = format!("/api/v1/designs/{}", design["id"].as_str().unwrap());
    assert_eq!(reader.delete(&path).await.status(), 403);
    json(demo.get(&path).await, 200).await;
    json(demo.post("/api/v1/validate", &body).await, 200).await;
    assert_eq!(demo.delete(&path).await.status(), 204);

    let event = |user: &str, action: &str, status: u64, code: &str| {
        (user.to_owned(), action.to_owned(), status, code.to_owned())
    };
    let design = "/api/v1/designs/{id}";
    let expected = [
        event("demo", "POST /api/v1/login", 200, ""),
        event("ada", "POST /api/v1/login", 200, ""),
        event("demo", "POST /api/v1/designs", 201, ""),
        event(
            "ada",
            &format!("DELETE {design}"),
            403,
            "reader-cannot-change",
        ),
        event("demo", &format!("DELETE {design}"), 204, ""),
    ];
    assert_eq!(trail(&demo).await, expected);
    let events = json(demo.get("/api/v1/audit").await, 200).await;
    assert_eq!(events[2]["target"], path.as_str(), "the created design");

    // Another project sees its own login only, and a reader sees nothing.
    let other = stack.login("other").await;
    let own = [event("other", "POST /api/v1/login", 200, "")];
    assert_eq!(trail(&other).await, own);
    let refused = problem(reader.get("/api/v1/audit").await).await;
    assert_eq!(refused, (403, "reader-cannot-change".into()));
}

#[tokio::test]
async fn the_events_of_a_deployment_are_those_on_it_and_on_its_runs() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let template =
        "heat_template_version: 2021-04-16\nresources: {front: {type: OS::Neutron::Net}}\n";
    let mut paths = Vec::new();
    for name in ["shop", "blog"] {
        let request = json!({"name": name, "template": template});
        let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
        assert_eq!(ended(&demo, &started).await, "succeeded");
        paths.push((started["deployment"].clone(), started["run"].clone()));
    }
    let (shop, run) = (paths[0].0.as_str().unwrap(), paths[0].1.as_str().unwrap());
    let path = format!("/api/v1/deployments/{shop}");
    let nothing = json!({});
    demo.post(&format!("/api/v1/runs/{run}/cancel"), &nothing)
        .await;
    json(demo.post(&format!("{path}/check"), &nothing).await, 200).await;
    // A refusal in another project is an event of that project.
    for path in [
        format!("{path}/check"),
        format!("/api/v1/runs/{run}/cancel"),
    ] {
        assert_eq!(other.post(&path, &nothing).await.status(), 404);
    }

    let list = format!("/api/v1/audit?deployment={shop}");
    let events = json(demo.get(&list).await, 200).await;
    let events = events.as_array().unwrap();
    let actions = events.iter().map(|event| event["action"].as_str().unwrap());
    let expected = [
        "POST /api/v1/deployments/{id}/check",
        "POST /api/v1/runs/{id}/cancel",
        "POST /api/v1/deployments",
    ];
    assert_eq!(actions.collect::<Vec<_>>(), expected);
    assert!(events.iter().all(|event| event["deployment"] == shop));

    let first = demo.get(&format!("{list}&limit=2")).await;
    let next = first.headers()["link"].to_str().unwrap();
    assert_eq!(next, format!("<{list}&limit=2&offset=2>; rel=\"next\""));

    // Who names the run of another project does not learn of its deployment.
    let trail = json(other.get("/api/v1/audit").await, 200).await;
    let about_run = trail.as_array().unwrap().iter();
    let mut about_run =
        about_run.filter(|event| event["action"] == "POST /api/v1/runs/{id}/cancel");
    assert_eq!(about_run.next().unwrap().get("deployment"), None);
}

#[tokio::test]
async fn a_failed_login_is_stored_without_its_password() {
    let stack = Stack::start().await;
    let wrong = credentials("demo", "not-my-password", "demo");
    let answer = stack.stranger().post("/api/v1/login", &wrong).await;
    assert_eq!(answer.status(), 401);
    let (data, settings) = (stack.data(), ["--audit-days=1"]);
    let stack = stack.restart_with(&settings).await;
    stack.login("demo").await;
    let file = data.join("stackloom.db");
    let read = |name: &str| std::fs::read(file.with_file_name(name)).unwrap_or_default();
    let bytes = [read("stackloom.db"), read("stackloom.db-wal")].concat();
    let has = |text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    assert!(has("wrong-credentials"));
    assert!(!has("not-my-password"));
}

#[tokio::test]
async fn the_members_of_a_project_see_who_failed_to_log_in_to_it() {
    let stack = Stack::start().await;
    let fail = async |user: &str, domain: &str| {
        let mut wrong = credentials(user, "not-my-password", "demo");
        wrong["domain"] = json!(domain);
        let answer = stack.stranger().post("/api/v1/login", &wrong).await;
        assert_eq!(problem(answer).await.0, 401);
    };
    fail("other", "").await;
    // A project of the same name in another domain is another project.
    fail("demo", "Elsewhere").await;
    let login = |user: &str, status: u64, code: &str| {
        let action = "POST /api/v1/login".to_owned();
        (user.to_owned(), action, status, code.to_owned())
    };
    let demo = stack.login("demo").await;
    let expected = [
        login("other", 401, "wrong-credentials"),
        login("demo", 200, ""),
    ];
    assert_eq!(trail(&demo).await, expected);
    let other = stack.login("other").await;
    assert_eq!(trail(&other).await, [login("other", 200, "")]);
}

#[tokio::test]
async fn the_first_use_of_a_token_is_a_login() {
    let stack = Stack::start().await;
    let list = |user: &str, project: &str| {
        let request = stack
            .stranger()
            .request(reqwest::Method::GET, "/api/v1/designs");
        let request = request.header("x-auth-token", keystone::token(user, project));
        request.header("x-stackloom-cloud", "test").send()
    };
    let together = join_all((0..3).map(|_| list("ada", "demo"))).await;
    for answer in together {
        assert_eq!(answer.unwrap().status(), 200);
    }
    assert_eq!(list("ada", "demo").await.unwrap().status(), 200);
    assert_eq!(list("other", "other").await.unwrap().status(), 200);
    // The token of a login is known, so its use is no second one.
    let demo = stack.login("demo").await;
    assert_eq!(list("demo", "demo").await.unwrap().status(), 200);

    let login =
        |user: &str, action: &str| (user.to_owned(), action.to_owned(), 200_u64, String::new());
    let expected = [
        login("ada", "login by X-Auth-Token"),
        login("demo", "POST /api/v1/login"),
    ];
    assert_eq!(trail(&demo).await, expected);
}

#[tokio::test]
async fn a_change_from_a_page_of_another_site_is_recorded_for_the_user_whose_login_it_used() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let request = demo.request(reqwest::Method::POST, "/api/v1/designs");
    let request = request.json(&json!({"name": "shop", "template": TEMPLATE}));
    let answer = request.header("sec-fetch-site", "same-site").send().await;
    let refused = (403, "cross-origin".to_owned());
    assert_eq!(problem(answer.unwrap()).await, refused);
    let (user, action, status, code) = trail(&demo).await.pop().unwrap();
    assert_eq!(
        (user.as_str(), action.as_str()),
        ("demo", "POST /api/v1/designs")
    );
    assert_eq!((status, code), (refused.0.into(), refused.1));
}

/// Asks for the check of a deployment over a connection of its own, which is still open when the check has begun.
async fn begin_check(lab: &Lab, browser: &Client, deployment: &str) -> TcpStream {
    let cookie = browser.cookie.as_deref().unwrap();
    let request = format!(
        "POST /api/v1/deployments/{deployment}/check HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\ncontent-length: 0\r\n\r\n"
    );
    begin(lab, browser, &request).await
}

/// Sends a request over a connection of its own, which is still open when its work has begun: the cloud has a call more.
async fn begin(lab: &Lab, browser: &Client, request: &str) -> TcpStream {
    let before = lab.faults().calls().len();
    let address = browser.base.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    until("the work asks the cloud", async || {
        lab.faults().calls().len() > before
    })
    .await;
    connection
}

/// A lab, a stack on it, and a login from an address of its own with some deployments. From then on, the lab's networks
/// answer late.
async fn slow_cloud(
    late_ms: u64,
    settings: &[&str],
    count: usize,
) -> (Lab, Stack, Client, Vec<String>) {
    let (lab, stack) = stack_with(settings).await;
    let elsewhere = stack.elsewhere();
    let login = credentials("demo", "demo", "demo");
    let login = elsewhere.post("/api/v1/login", &login).await;
    let demo = Client {
        cookie: Some(cookie(&login)),
        ..elsewhere
    };
    json(login, 200).await;
    let template =
        "heat_template_version: 2021-04-16\nresources: {front: {type: OS::Neutron::Net}}\n";
    let mut deployments = Vec::new();
    for number in 0..count {
        let request = json!({"name": format!("shop-{number}"), "template": template});
        let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
        let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
        until("it is deployed", async || {
            json(demo.get(&run).await, 200).await["state"] == "succeeded"
        })
        .await;
        deployments.push(started["deployment"].as_str().unwrap().to_owned());
    }
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("GET".into()),
        delay_ms: late_ms,
        ..CallFault::default()
    }));
    (lab, stack, demo, deployments)
}

#[tokio::test]
async fn a_change_is_recorded_although_its_client_has_left() {
    let (lab, _stack, demo, deployments) = slow_cloud(300, &[], 1).await;
    let [deployment] = deployments.as_slice() else {
        panic!("one deployment");
    };
    drop(begin_check(&lab, &demo, deployment).await);
    until("the check is recorded with its status", async || {
        let list = format!("/api/v1/audit?deployment={deployment}");
        let events = json(demo.get(&list).await, 200).await;
        let mut events = events.as_array().unwrap().iter();
        let check = events.find(|event| event["action"].as_str().unwrap().ends_with("/check"));
        check.is_some_and(|check| check["status"] == 200)
    })
    .await;
}

#[tokio::test]
async fn a_login_is_recorded_although_its_client_has_left() {
    let (lab, _stack, demo, _) = slow_cloud(0, &[], 0).await;
    lab.faults().add(Fault::Call(CallFault {
        service: Some("identity".into()),
        delay_ms: 300,
        ..CallFault::default()
    }));
    let login = credentials("demo", "demo", "demo").to_string();
    let request = format!(
        "POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{login}",
        login.len()
    );
    drop(begin(&lab, &demo, &request).await);
    until("both logins are recorded", async || {
        let events = json(demo.get("/api/v1/audit").await, 200).await;
        let events = events.as_array().unwrap().iter();
        let logins = events.filter(|event| event["action"] == "POST /api/v1/login");
        logins.filter(|login| login["status"] == 200).count() == 2
    })
    .await;
}

/// True if a new connection from the address of [`begin_check`] is served.
async fn is_served(stack: &Stack) -> bool {
    let address = stack.base.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = Vec::new();
    // A refused connection can be reset before the request is written or the answer is read.
    if connection.write_all(request).await.is_ok() {
        let _ = connection.read_to_end(&mut answer).await;
    }
    answer.starts_with(b"HTTP/1.1 200")
}

#[tokio::test]
async fn the_work_of_a_client_that_has_left_keeps_its_place_among_the_connections() {
    let settings = ["--address-connections=3"];
    let (lab, stack, demo, deployments) = slow_cloud(5000, &settings, 3).await;
    let mut connections = Vec::new();
    for deployment in &deployments {
        connections.push(begin_check(&lab, &demo, deployment).await);
    }
    drop(connections);
    // The server has long noticed that the connection is closed.
    for _ in 0..50 {
        assert!(!is_served(&stack).await);
    }
    until("a place is free after a check", async || {
        is_served(&stack).await
    })
    .await;
}
