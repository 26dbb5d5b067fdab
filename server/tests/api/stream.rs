//! The event stream of a run. The cloud has only Keystone, so every run fails at its first step. That is enough to
//! receive events, to close the socket and to reconnect.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest, protocol::frame::coding::CloseCode},
};

use crate::stack::{Client, Stack, credentials, json, problem};

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n";

/// A template that needs no cloud and runs longer than any test.
pub const LASTING: &str = "heat_template_version: 2021-04-16\nresources:\n  long: {type: OS::Heat::Delay, properties: {min_wait: 500}}\n";

/// Starts a run. Returns the ids of the deployment and the run.
async fn deploy(browser: &Client, name: &str) -> (String, String) {
    deploy_this(browser, name, TEMPLATE).await
}

async fn deploy_this(browser: &Client, name: &str, template: &str) -> (String, String) {
    let body = json!({"name": name, "template": template, "parameters": {}});
    let started = json(browser.post("/api/v1/deployments", &body).await, 202).await;
    let id = |key: &str| started[key].as_str().unwrap().to_owned();
    (id("deployment"), id("run"))
}

/// Time limit for expected events, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The event socket of a run.
async fn open(browser: &Client, run: &str, after: u64) -> Socket {
    try_open(browser, run, after).await.unwrap()
}

pub async fn try_open(browser: &Client, run: &str, after: u64) -> tungstenite::Result<Socket> {
    let url = format!(
        "{}/api/v1/runs/{run}/stream?after={after}",
        browser.base.replace("http", "ws")
    );
    let mut request = url.into_client_request().unwrap();
    request
        .headers_mut()
        .insert("cookie", browser.cookie.as_ref().unwrap().parse().unwrap());
    let (socket, _) = tokio_tungstenite::connect_async(request).await?;
    Ok(socket)
}

/// All events of the socket until it is closed, and the close code.
pub async fn watch(browser: &Client, run: &str, after: u64) -> (Vec<Value>, CloseCode) {
    read(&mut open(browser, run, after).await).await
}

async fn read(socket: &mut Socket) -> (Vec<Value>, CloseCode) {
    let mut events = Vec::new();
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next())
            .await
            .expect("the run ends");
        match message.expect("a close frame comes first").unwrap() {
            Message::Text(text) => {
                events.extend(serde_json::from_str::<Vec<Value>>(&text).unwrap())
            }
            Message::Close(frame) => return (events, frame.unwrap().code),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_viewer_who_comes_back_misses_nothing_and_sees_nothing_twice() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let (_, run) = deploy(&browser, "shop").await;

    let (all, closed) = watch(&browser, &run, 0).await;
    assert_eq!(closed, CloseCode::Normal);
    let numbers: Vec<u64> = all
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>());
    assert_eq!(all.last().unwrap()["state"], "failed", "{all:?}");

    let (rest, _) = watch(&browser, &run, 2).await;
    assert_eq!(rest, all[2..]);
    let stored = json(
        browser
            .get(&format!("/api/v1/runs/{run}/events?after=1&limit=3"))
            .await,
        200,
    )
    .await;
    assert_eq!(stored.as_array().unwrap()[..], all[1..4]);
    assert_eq!(
        json(browser.get(&format!("/api/v1/runs/{run}")).await, 200).await["state"],
        "failed"
    );
}

#[tokio::test]
async fn a_hundred_viewers_of_a_run_get_the_same_events() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let mut template = "heat_template_version: 2021-04-16\nresources:\n".to_owned();
    for number in 0..20 {
        template +=
            &format!("  r{number}: {{type: OS::Heat::Delay, properties: {{min_wait: 1}}}}\n");
    }
    let (_, run) = deploy_this(&browser, "shop", &template).await;
    let viewers = (0..100).map(|_| watch(&browser, &run, 0));
    let seen = futures::future::join_all(viewers).await;
    let (all, _) = &seen[0];
    let numbers = all.iter().map(|event| event["seq"].as_u64().unwrap());
    assert!(
        numbers.eq(1..=all.len() as u64) && all.len() > 60,
        "{all:?}"
    );
    assert_eq!(all.last().unwrap()["state"], "succeeded");
    for (events, closed) in &seen {
        assert_eq!((events, *closed), (all, CloseCode::Normal));
    }
}

#[tokio::test]
async fn events_are_read_from_the_end_by_step_and_without_log_lines() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let (_, run) = deploy(&browser, "shop").await;
    let (all, _) = watch(&browser, &run, 0).await;
    let read = async |query: &str| {
        let path = format!("/api/v1/runs/{run}/events?{query}");
        let events = json(browser.get(&path).await, 200).await;
        events.as_array().unwrap().clone()
    };
    let is_line = |event: &&Value| event["type"] == "log";
    assert!(all.iter().any(|event| is_line(&event)), "{all:?}");

    assert_eq!(read("before=1000000&limit=2").await, all[all.len() - 2..]);
    assert_eq!(read("before=4&limit=2").await, all[1..3]);
    assert_eq!(read("before=4&after=2").await, all[2..3]);
    assert_eq!(read("before=1").await, Vec::<Value>::new());
    let moves: Vec<Value> = all
        .iter()
        .filter(|event| !is_line(event))
        .cloned()
        .collect();
    assert_eq!(read("moves=true").await, moves);
    let step = all.iter().find(is_line).unwrap()["step"].as_str().unwrap();
    let of_step = |event: &&Value| is_line(event) && event["step"] == step;
    let lines: Vec<Value> = all.iter().filter(of_step).cloned().collect();
    assert_eq!(read(&format!("step={step}")).await, lines);
    let path = format!("/api/v1/runs/{run}/events?step={step}&moves=true");
    let (status, code) = problem(browser.get(&path).await).await;
    assert_eq!((status, code.as_str()), (422, "invalid-request"));
}

/// If the server closed the connection at once, the viewer's last message would cause a reset, and the last events
/// would be lost.
#[tokio::test]
async fn the_server_hangs_up_after_the_viewer() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let (_, run) = deploy(&browser, "shop").await;

    let mut socket = open(&browser, &run, 0).await;
    assert_eq!(read(&mut socket).await.1, CloseCode::Normal);
    let MaybeTlsStream::Plain(connection) = socket.get_ref() else {
        panic!("the test server speaks plain HTTP");
    };
    let mut byte = [0];
    let hung_up = tokio::time::timeout(Duration::from_millis(300), connection.peek(&mut byte));
    assert!(hung_up.await.is_err(), "the viewer has not answered yet");
    assert!(socket.next().await.is_none(), "it answers, and all is over");
}

#[tokio::test]
async fn a_socket_ends_with_the_login_that_opened_it() {
    let stack = Stack::start().await;
    let (browser, other) = (stack.login("demo").await, stack.login("demo").await);
    let (_, run) = deploy_this(&browser, "shop", LASTING).await;
    let mut socket = open(&browser, &run, 0).await;
    let mut others = open(&other, &run, 0).await;

    let left = browser.post("/api/v1/logout", &json!({})).await;
    assert_eq!(left.status(), 204);
    assert_eq!(read(&mut socket).await.1, CloseCode::Policy);
    let again = browser.get(&format!("/api/v1/runs/{run}/stream")).await;
    assert_eq!(problem(again).await, (401, "not-signed-in".into()));

    // A new login in the same browser is another session.
    let body = credentials("demo", "demo", "demo");
    assert_eq!(other.post("/api/v1/login", &body).await.status(), 200);
    assert_eq!(read(&mut others).await.1, CloseCode::Policy);
}

#[tokio::test]
async fn a_socket_ends_with_its_token() {
    let stack = Stack::start().await;
    let (_, run) = deploy_this(&stack.login("demo").await, "shop", LASTING).await;
    // On a busy machine a token can expire before the socket is open.
    let mut socket = loop {
        let eve = stack.login("eve").await;
        if let Ok(socket) = try_open(&eve, &run, 0).await {
            break socket;
        }
    };
    let (events, closed) = read(&mut socket).await;
    assert_eq!(closed, CloseCode::Policy);
    assert!(!events.is_empty(), "until then it told of the run");
}

#[tokio::test]
async fn a_stranger_finds_neither_run_nor_deployment() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let (deployment, run) = deploy(&demo, "shop").await;
    watch(&demo, &run, 0).await;
    let other = stack.login("other").await;
    assert_eq!(
        json(other.get("/api/v1/deployments").await, 200).await,
        json!([])
    );
    let missing = (404, "not-found".to_owned());
    for path in [
        format!("runs/{run}"),
        format!("runs/{run}/events"),
        format!("runs/{run}/stream"),
        format!("deployments/{deployment}"),
        format!("deployments/{deployment}/runs"),
    ] {
        assert_eq!(
            problem(other.get(&format!("/api/v1/{path}")).await).await,
            missing,
            "{path}"
        );
    }
    assert_eq!(
        problem(
            other
                .post(&format!("/api/v1/runs/{run}/resume"), &json!({}))
                .await
        )
        .await,
        missing
    );
    assert_eq!(
        problem(
            other
                .delete(&format!("/api/v1/deployments/{deployment}?force=true"))
                .await
        )
        .await,
        missing
    );
    assert_eq!(
        json(demo.get("/api/v1/deployments").await, 200).await[0]["name"],
        "shop"
    );
}

#[tokio::test]
async fn a_template_with_errors_starts_nothing_and_says_where() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let template = "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Nova::Serve}\n";
    let body = json!({"name": "shop", "template": template});
    let response = browser.post("/api/v1/deployments", &body).await;
    let refused: api::Problem = response.json().await.unwrap();
    assert_eq!(
        (refused.status, refused.code.as_str()),
        (422, "template-refused")
    );
    assert_eq!(refused.line, Some(3));
    assert!(!refused.diagnostics.is_empty());
    assert_eq!(
        json(browser.get("/api/v1/deployments").await, 200).await,
        json!([])
    );
}

#[tokio::test]
async fn without_a_websocket_the_stream_says_so() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let (_, run) = deploy(&browser, "shop").await;
    let plain = browser.get(&format!("/api/v1/runs/{run}/stream")).await;
    assert_eq!(problem(plain).await, (422, "invalid-request".into()));
    let url = format!(
        "{}/api/v1/runs/{run}/stream",
        browser.base.replace("http", "ws")
    );
    match tokio_tungstenite::connect_async(url).await {
        Err(tungstenite::Error::Http(response)) => assert_eq!(response.status(), 401),
        other => panic!("a stranger got {other:?}"),
    }
}

#[tokio::test]
async fn a_log_is_searched_from_its_end() {
    let stack = Stack::start().await;
    let (browser, other) = (stack.login("demo").await, stack.login("other").await);
    let (_, run) = deploy(&browser, "shop").await;
    let (all, _) = watch(&browser, &run, 0).await;
    let lines = || all.iter().filter(|event| event["type"] == "log");
    let word = "NET";
    let contains = |event: &&Value| {
        let text = event["text"].as_str().unwrap();
        text.to_lowercase().contains(&word.to_lowercase())
    };
    let hits: Vec<Value> = lines().filter(contains).cloned().collect();
    assert!(hits.len() > 1, "{all:?}");

    let search = format!("/api/v1/runs/{run}/search");
    let found =
        async |query: &str| json(browser.get(&format!("{search}?{query}")).await, 200).await;
    let whole = found(&format!("text={word}")).await;
    assert_eq!(whole, json!({"lines": hits, "from": 1}));
    let last = hits.last().unwrap();
    let before = found(&format!("text={word}&before={}", last["seq"])).await;
    assert_eq!(before["lines"], json!(hits[..hits.len() - 1]));
    let step = last["step"].as_str().unwrap();
    let of_step: Vec<&Value> = hits.iter().filter(|hit| hit["step"] == step).collect();
    assert_eq!(
        found(&format!("text={word}&step={step}")).await["lines"],
        json!(of_step)
    );
    assert_eq!(
        found("text=no-such-text").await,
        json!({"lines": [], "from": 1})
    );

    assert_eq!(
        problem(browser.get(&format!("{search}?text=")).await)
            .await
            .0,
        422
    );
    let elsewhere = problem(other.get(&format!("{search}?text={word}")).await).await;
    assert_eq!(elsewhere.0, 404, "of another project");
}
