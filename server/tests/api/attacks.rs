//! Attacks that exhaust the server: each is answered clearly, and everybody else is served meanwhile.
//!
//! Attacks on what colleagues have are in `limits`, those of a role in its sandbox in `sandboxes`.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use futures::future::join_all;
use lab::{CallFault, Fault, Lab};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio_tungstenite::tungstenite;

use crate::{
    lab::ended,
    pulse::Pulse,
    stack::{Client, Stack, credentials, json, problem},
    stream::{LASTING, try_open},
};

/// A template with these YAQL expressions in its resources.
fn asking(expressions: &[String]) -> String {
    let mut template = "heat_template_version: 2021-04-16\nresources:\n".to_owned();
    for (number, expression) in expressions.iter().enumerate() {
        let yaql = format!("{{yaql: {{expression: \"{expression}\", data: {{}}}}}}");
        template +=
            &format!("  v{number}: {{type: OS::Heat::Value, properties: {{value: {yaql}}}}}\n");
    }
    template
}

async fn plan(reader: &Client, template: &str) -> reqwest::Response {
    let request = json!({"template": template});
    reader.post("/api/v1/plan", &request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_costly_pattern_is_refused_before_it_runs() {
    let stack = Stack::start().await;
    let reader = stack.login("ada").await;
    let pulse = Pulse::of(&stack);
    let template = asking(&["('a' * 4000000) =~ 'a{30000}b'".to_owned()]);
    let begun = Instant::now();
    let plans = join_all((0..4).map(|_| plan(&reader, &template))).await;
    for answer in plans {
        let plan = json(answer, 200).await.to_string();
        assert!(plan.contains("searches too much"), "{plan}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    pulse.check("a costly pattern");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_computations_of_a_project_end_and_others_have_their_turn() {
    let stack = Stack::start().await;
    let settings = [
        "--computations=2",
        "--project-computations=1",
        "--computation-wait=2",
        "--computation-timeout=3",
    ];
    let stack = stack.restart_with(&settings).await;
    let (reader, other) = (stack.login("ada").await, stack.login("other").await);
    // Each is within its budget. Together they would take minutes.
    let search = |number: usize| format!("('a' * {}) =~ '(a?){{20}}b'", 5_000 + number);
    let template = asking(&(0..2000).map(search).collect::<Vec<_>>());
    let pulse = Pulse::of(&stack);
    let begun = Instant::now();
    let attack = join_all((0..4).map(|_| plan(&reader, &template)));
    let neighbour = async {
        let template =
            "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Neutron::Net}\n";
        json(plan(&other, template).await, 200).await
    };
    let (answers, planned) = tokio::join!(attack, neighbour);
    assert!(planned["workflow"].is_object(), "{planned}");
    let mut codes = Vec::new();
    for answer in answers {
        codes.push(problem(answer).await);
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(codes.contains(&(422, "takes-too-long".into())), "{codes:?}");
    assert!(codes.contains(&(429, "project-busy".into())), "{codes:?}");
    pulse.check("endless computations");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_cannot_be_sprayed_from_one_address() {
    let stack = Stack::start().await;
    stack.login("demo").await;
    let pulse = Pulse::of(&stack);
    let stranger = stack.stranger();
    let mut refused = 0;
    for number in 0..60 {
        let body = credentials(&format!("user-{number}"), "Winter2026", "demo");
        let answer = stranger.post("/api/v1/login", &body).await;
        match answer.status() {
            StatusCode::UNAUTHORIZED => {}
            _ => {
                assert_eq!(problem(answer).await, (429, "too-many-attempts".into()));
                refused += 1;
            }
        }
    }
    assert!(refused >= 20, "{refused}");
    // Accounts with an earlier login from this address, and clients at other addresses, can still log in.
    stack.login("demo").await;
    let body = credentials("other", "other", "other");
    let elsewhere = stack.elsewhere().post("/api/v1/login", &body).await;
    assert_eq!(elsewhere.status(), StatusCode::OK);
    pulse.check("sprayed names");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_tokens_cost_few_calls() {
    let stack = Stack::start().await;
    let pulse = Pulse::of(&stack);
    let stranger = stack.stranger();
    let with = |token: String| {
        let request = stranger.request(Method::GET, "/api/v1/me");
        let request = request.header("x-stackloom-cloud", "test");
        request.header("x-auth-token", token).send()
    };
    for _ in 0..10 {
        let same = with("a made-up token".into()).await.unwrap();
        assert_eq!(problem(same).await, (401, "not-signed-in".into()));
    }
    assert_eq!(stack.calls.times(), 1, "a refusal is remembered");
    let mut last = StatusCode::OK;
    for number in 0..60 {
        last = with(format!("made-up-{number}")).await.unwrap().status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert!(stack.calls.times() < 40, "{}", stack.calls.times());
    let good = crate::keystone::token("demo", "demo");
    let elsewhere = stack.elsewhere().request(Method::GET, "/api/v1/me");
    let elsewhere = elsewhere.header("x-stackloom-cloud", "test");
    let answer = elsewhere.header("x-auth-token", good).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    pulse.check("made-up tokens");
}

/// Connects and sends a part of a request. Returns the response when the server has closed the connection.
fn half_a_request(stack: &Stack, begin: &str) -> std::thread::JoinHandle<String> {
    let mut stream = TcpStream::connect(stack.base.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(begin.as_bytes()).unwrap();
    std::thread::spawn(move || {
        let mut answer = Vec::new();
        // A reset ends the connection as well.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_requests_are_closed() {
    let stack = Stack::start().await;
    let settings = ["--header-timeout=1", "--body-timeout=1"];
    let stack = stack.restart_with(&settings).await;
    let browser = stack.login("demo").await;
    let pulse = Pulse::of(&stack);
    let begun = Instant::now();
    let heads: Vec<_> = ["", "GET /healthz HTTP/1.1\r\nhost: x\r\n"]
        .iter()
        .flat_map(|begin| (0..50).map(|_| half_a_request(&stack, begin)))
        .collect();
    let body = format!(
        "POST /api/v1/designs HTTP/1.1\r\nhost: localhost\r\ncookie: {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{{",
        browser.cookie.as_deref().unwrap()
    );
    let body = half_a_request(&stack, &body);
    let ended = tokio::task::spawn_blocking(move || {
        heads.into_iter().for_each(|one| drop(one.join().unwrap()));
        body.join().unwrap()
    });
    let answer = ended.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    pulse.check("half-sent requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_cannot_take_all_connections() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--address-connections=20"]).await;
    let pulse = Pulse::of(&stack);
    let greedy: Vec<_> = (0..20)
        .map(|_| TcpStream::connect(stack.base.strip_prefix("http://").unwrap()).unwrap())
        .collect();
    let refused = half_a_request(&stack, "");
    let answer = tokio::task::spawn_blocking(move || refused.join().unwrap());
    let answer = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("Too many connections"), "{answer}");
    let elsewhere = stack.elsewhere().get("/healthz").await;
    assert_eq!(elsewhere.status(), StatusCode::OK);
    drop(greedy);
    // Closed connections no longer count, so this address is served again.
    let again = async {
        loop {
            let request = stack.stranger().request(Method::GET, "/healthz");
            if let Ok(answer) = request.send().await
                && answer.status() == StatusCode::OK
            {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    let again = tokio::time::timeout(Duration::from_secs(10), again).await;
    assert!(again.is_ok());
    pulse.check("a greedy address");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_project_cannot_fill_the_server() {
    let stack = Stack::start().await;
    let settings = [
        "--project-deployments=3",
        "--project-runs=2",
        "--project-sockets=1",
    ];
    let stack = stack.restart_with(&settings).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let pulse = Pulse::of(&stack);
    let deploy = async |browser: &Client, name: String| {
        let body = json!({"name": name, "template": LASTING});
        browser.post("/api/v1/deployments", &body).await
    };
    let mut runs = Vec::new();
    for number in 0..2 {
        let started = json(deploy(&demo, format!("long-{number}")).await, 202).await;
        runs.push(started["run"].as_str().unwrap().to_owned());
    }
    let full = (409, "project-full".to_owned());
    for number in 2..40 {
        let refused = problem(deploy(&demo, format!("long-{number}")).await).await;
        assert_eq!(refused, full);
    }
    json(deploy(&other, "long".into()).await, 202).await;

    let _socket = try_open(&demo, &runs[0], 0).await.unwrap();
    let tungstenite::Error::Http(refused) = try_open(&demo, &runs[1], 0).await.err().unwrap()
    else {
        panic!("an answer");
    };
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);

    // A run that has ended makes room, and undeployed deployments do not count.
    let cancel = format!("/api/v1/runs/{}/cancel", runs[1]);
    assert!(demo.post(&cancel, &json!({})).await.status().is_success());
    let third = async {
        loop {
            let answer = deploy(&demo, "third".into()).await;
            if answer.status() == StatusCode::ACCEPTED {
                break;
            }
        }
    };
    let third = tokio::time::timeout(Duration::from_secs(60), third).await;
    assert!(third.is_ok());
    let cancel = format!("/api/v1/runs/{}/cancel", runs[0]);
    assert!(demo.post(&cancel, &json!({})).await.status().is_success());
    let fourth = async {
        loop {
            let (status, code) = problem(deploy(&demo, "fourth".into()).await).await;
            let list = json(demo.get("/api/v1/deployments?limit=1").await, 200).await;
            assert_eq!((status, code.as_str()), (409, "project-full"), "{list}");
            let runs = demo.get(&format!("/api/v1/runs/{}", runs[0])).await;
            if json(runs, 200).await["state"] == "cancelled" {
                break problem(deploy(&demo, "fourth".into()).await).await;
            }
        }
    };
    let fourth = tokio::time::timeout(Duration::from_secs(60), fourth).await;
    assert_eq!(fourth.unwrap(), full, "three deployments are the limit");
    pulse.check("a greedy project");
}

/// A server without software.
const SERVER: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_one_project_do_not_take_all_calls_of_a_cloud() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let stack = stack.restart_with(&["--cloud-calls=12"]).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let servers = async |browser: &Client| {
        let body = json!({"name": "shop", "template": SERVER});
        let started = json(browser.post("/api/v1/deployments", &body).await, 202).await;
        assert_eq!(ended(browser, &started).await, "succeeded");
        let deployment = started["deployment"].as_str().unwrap();
        format!("/api/v1/deployments/{deployment}/servers")
    };
    let (attacked, own) = (servers(&demo).await, servers(&other).await);
    lab.faults().add(Fault::Call(CallFault {
        service: Some("compute".into()),
        method: Some("GET".into()),
        delay_ms: 1000,
        ..CallFault::default()
    }));
    let pulse = Pulse::of(&stack);
    let before = lab.faults().calls().len();
    // One after the other at this cloud, they would take ten seconds.
    let flood = join_all((0..120).map(|_| demo.get(&attacked)));
    let neighbour = async {
        while lab.faults().calls().len() < before + 8 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begun = Instant::now();
        json(other.get(&own).await, 200).await;
        begun.elapsed()
    };
    let (answers, took) = tokio::join!(flood, neighbour);
    assert!(took < Duration::from_secs(3), "{took:?}");
    let served = answers.iter().filter(|one| one.status() == StatusCode::OK);
    assert!(served.count() >= 8);
    pulse.check("pages of one project");
}

/// A server with software that never answers over SSH: the lab in memory has no sshd.
const SILENT: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_never_answer_hold_no_sandbox_and_delay_nobody() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let settings = ["--sandboxes=1", "--ssh-timeout=3600"];
    let stack = stack.restart_with(&settings).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let pulse = Pulse::of(&stack);
    let deploy = async |browser: &Client, name: String, template: &str| {
        let body = json!({"name": name, "template": template});
        json(browser.post("/api/v1/deployments", &body).await, 202).await
    };
    let mut runs = Vec::new();
    for number in 0..4 {
        let started = deploy(&demo, format!("silent-{number}"), SILENT).await;
        runs.push(format!("/api/v1/runs/{}", started["run"].as_str().unwrap()));
    }
    let is_waited_for = async |run: &str| {
        let shown = json(demo.get(run).await, 200).await;
        assert_ne!(shown["state"], "failed", "{shown}");
        let mut steps = shown["steps"].as_array().unwrap().iter();
        steps.any(|step| step["id"] == "web:ssh" && step["state"] == "running")
    };
    let waiting = async {
        for run in &runs {
            while !is_waited_for(run).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    let waiting = tokio::time::timeout(Duration::from_secs(300), waiting).await;
    waiting.expect("all servers are waited for");
    let metrics = stack.stranger().get("/metrics").await.text().await.unwrap();
    for line in [
        "stackloom_held_runs 4",
        "stackloom_sandboxes{state=\"running\"} 0",
        "stackloom_sandboxes{state=\"waiting\"} 0",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}: {metrics}");
    }
    let small = "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Neutron::Net}\n";
    let small = deploy(&other, "small".into(), small).await;
    assert_eq!(ended(&other, &small).await, "succeeded");
    pulse.check("silent servers");
}
