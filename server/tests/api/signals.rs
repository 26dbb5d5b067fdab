//! Signals of servers over HTTP: right, wrong, old, large and many ones.

use futures::{StreamExt, stream};
use lab::{Lab, LabConfig};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    lab::ended,
    stack::{Client, Stack, json, problem},
};

const HANDLE: &str = "heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  other: {type: OS::Heat::WaitConditionHandle}
outputs:
  endpoint: {value: {get_attr: [handle, endpoint]}}
  token: {value: {get_attr: [handle, token]}}
  signal: {value: {get_attr: [other, signal]}}
";

/// A deployment of [`HANDLE`].
struct Handle {
    _lab: Lab,
    stack: Stack,
    browser: Client,
    deployment: String,
    /// Path of the endpoint.
    path: String,
    token: String,
    /// Path and query of the other handle's address.
    other: String,
}

impl Handle {
    async fn deployed() -> Handle {
        let lab = Lab::memory().await.unwrap();
        let stack = Stack::with_cloud(&lab.auth_url()).await;
        let settings = ["--signal-url", "http://stackloom.test/"];
        let stack = stack.restart_with(&settings).await;
        let browser = stack.login("demo").await;
        let request = json!({"name": "shop", "template": HANDLE});
        let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
        assert_eq!(ended(&browser, &started).await, "succeeded");
        let deployment = format!(
            "/api/v1/deployments/{}",
            started["deployment"].as_str().unwrap()
        );
        let shown = json(browser.get(&deployment).await, 200).await;
        let output = |name: &str| shown["outputs"][name]["value"].as_str().unwrap().to_owned();
        let path = |url: &str| {
            url.strip_prefix("http://stackloom.test")
                .unwrap()
                .to_owned()
        };
        let other: Value = serde_json::from_str(&output("signal")).unwrap();
        Handle {
            path: path(&output("endpoint")),
            token: output("token"),
            other: path(other["alarm_url"].as_str().unwrap()),
            _lab: lab,
            stack,
            browser,
            deployment,
        }
    }

    fn request(&self, token: &str) -> RequestBuilder {
        let server = self.stack.stranger();
        let request = server.request(Method::POST, &self.path);
        request.header("X-Auth-Token", token)
    }

    async fn signal(&self, body: &'static str) -> Response {
        let request = self.request(&self.token).body(body);
        request.send().await.unwrap()
    }
}

#[tokio::test]
async fn a_server_signals_without_a_login() {
    let handle = Handle::deployed().await;
    // As `curl --data-binary` sends it, without a type that says JSON.
    let request = handle
        .request(&handle.token)
        .body(r#"{"id": "a", "data": 1}"#);
    let form = "application/x-www-form-urlencoded";
    let answer = request
        .header(header::CONTENT_TYPE, form)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.text().await.unwrap(), "signalled\n");
    let server = handle.stack.stranger();
    let put = server.request(Method::PUT, &handle.other).body("{}");
    assert_eq!(put.send().await.unwrap().status(), StatusCode::OK);

    let wait = "  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 60}}\noutputs:\n  \
                data: {value: {get_attr: [wait, data]}}\n";
    let request = json!({"name": "shop", "template": HANDLE.replace("outputs:\n", wait)});
    let started = json(handle.browser.put(&handle.deployment, &request).await, 202).await;
    assert_eq!(ended(&handle.browser, &started).await, "succeeded");
    let shown = json(handle.browser.get(&handle.deployment).await, 200).await;
    assert_eq!(shown["outputs"]["data"]["value"], r#"{"a":1}"#);
    let audit = json(handle.browser.get("/api/v1/audit").await, 200).await;
    assert!(!audit.to_string().contains("/signal"), "{audit}");
}

/// Action, user, status and deployment of each signal in the audit trail, oldest first.
async fn recorded(browser: &Client) -> Vec<(String, String, u64, String)> {
    let events = json(browser.get("/api/v1/audit?limit=1000").await, 200).await;
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let events = events.as_array().unwrap().iter().rev();
    let signals = events.filter(|event| text(event, "action").starts_with("signal"));
    signals
        .map(|event| {
            assert_eq!(event["address"], "127.0.0.1", "{event}");
            assert!(!text(event, "request_id").is_empty(), "{event}");
            let (action, user) = (text(event, "action"), text(event, "user"));
            let status = event["status"].as_u64().unwrap();
            (action, user, status, text(event, "deployment"))
        })
        .collect()
}

#[tokio::test]
async fn signals_are_in_the_audit_trail_of_their_project_and_wrong_signatures_are_not() {
    let handle = Handle::deployed().await;
    assert_eq!(handle.signal("{}").await.status(), StatusCode::OK);
    let invalid = handle.signal(r#"{"status": "MAYBE"}"#).await;
    assert_eq!(problem(invalid).await.0, 422);
    let wrong = handle.request("guess").send().await.unwrap();
    assert_eq!(problem(wrong).await.0, 404);
    let server = handle.stack.stranger();
    let other = server.request(Method::POST, &handle.other).send().await;
    assert_eq!(other.unwrap().status(), StatusCode::OK);

    let deployment = handle.deployment.rsplit('/').next().unwrap();
    let event = |resource: &str, status: u64| {
        let action = format!("signal to `{resource}`");
        let user = "(signed address)".to_owned();
        (action, user, status, deployment.to_owned())
    };
    let expected = [
        event("handle", 200),
        event("handle", 422),
        event("other", 200),
    ];
    assert_eq!(recorded(&handle.browser).await, expected);
    let stranger = handle.stack.login("other").await;
    assert!(recorded(&stranger).await.is_empty());
}

#[tokio::test]
async fn wrong_and_old_addresses_get_the_same_answer() {
    let handle = Handle::deployed().await;
    let other = handle.other.split_once("?signature=").unwrap().1.to_owned();
    let mut answers = Vec::new();
    for token in ["", "guess", &other, &handle.token[..handle.token.len() - 1]] {
        answers.push(handle.request(token).send().await.unwrap());
    }
    let unknown = handle
        .stack
        .stranger()
        .post("/signal/WyJsYWIiXQ", &json!({}))
        .await;
    answers.push(unknown);
    let removing = json(handle.browser.delete(&handle.deployment).await, 202).await;
    assert_eq!(ended(&handle.browser, &removing).await, "succeeded");
    answers.push(handle.signal("{}").await);
    let mut texts = Vec::new();
    for answer in answers {
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        texts.push(answer.text().await.unwrap());
    }
    assert!(texts[0].contains("signal-refused"), "{}", texts[0]);
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

#[tokio::test]
async fn a_body_that_is_no_signal_is_refused() {
    let handle = Handle::deployed().await;
    let invalid = handle.signal(r#"{"status": "MAYBE"}"#).await;
    assert_eq!(problem(invalid).await, (422, "signal-invalid".into()));
    let large = format!(r#"{{"data": "{}"}}"#, "x".repeat(16 * 1024));
    let large = handle
        .request(&handle.token)
        .body(large)
        .send()
        .await
        .unwrap();
    assert_eq!(problem(large).await, (413, "too-large".into()));
}

#[tokio::test]
async fn a_flood_of_signals_gets_clear_answers_and_harms_nobody() {
    let handle = Handle::deployed().await;
    // As many connections as one address may have.
    let flood = stream::iter(0..1000).map(|_| handle.signal("{}"));
    let answers: Vec<Response> = flood.buffer_unordered(200).collect().await;
    let (mut taken, mut refused) = (0, 0);
    for answer in answers {
        match answer.status() {
            StatusCode::OK => taken += 1,
            StatusCode::TOO_MANY_REQUESTS => {
                assert!(answer.headers().contains_key(header::RETRY_AFTER));
                assert_eq!(problem(answer).await, (429, "too-many-signals".into()));
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(taken >= 100, "{taken}");
    assert!(refused > 0, "{refused}");
    let events = recorded(&handle.browser).await;
    assert_eq!(events.len(), 100, "a flood does not fill the audit trail");
    // Another resource, from the same machine.
    let server = handle.stack.stranger();
    let other = server
        .request(Method::POST, &handle.other)
        .send()
        .await
        .unwrap();
    assert_eq!(other.status(), StatusCode::OK);
    let shown = handle.browser.get(&handle.deployment).await;
    assert_eq!(shown.status(), StatusCode::OK);
}

#[tokio::test]
async fn wrong_signatures_are_limited_and_do_not_delay_right_ones() {
    let handle = Handle::deployed().await;
    let mut last = StatusCode::NOT_FOUND;
    let mut number = 0;
    while last == StatusCode::NOT_FOUND {
        last = handle.request("guess").send().await.unwrap().status();
        number += 1;
    }
    assert_eq!((last, number), (StatusCode::TOO_MANY_REQUESTS, 31));
    assert_eq!(handle.signal("{}").await.status(), StatusCode::OK);
    let login = handle.stack.login("demo").await;
    assert_eq!(login.get("/api/v1/me").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_address_for_signals_takes_nothing_else() {
    let handle = Handle::deployed().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    handle.stack.signals_on(listener);
    let http = reqwest::Client::new();
    let signal = http.post(format!("{base}{}", handle.path));
    let signal = signal.header("X-Auth-Token", &handle.token).body("{}");
    assert_eq!(signal.send().await.unwrap().status(), StatusCode::OK);
    for path in [
        "/",
        "/login",
        "/api/v1/login",
        "/api/v1/me",
        "/metrics",
        "/readyz",
    ] {
        for method in [Method::GET, Method::POST] {
            let answer = http.request(method, format!("{base}{path}"));
            let answer = answer.send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}

#[tokio::test]
async fn a_server_without_a_url_for_signals_refuses_a_wait_and_warns_of_a_policy() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let demo = stack.login("demo").await;
    let facts = json(demo.get("/api/v1/cloud").await, 200).await;
    assert_eq!(facts["takes_signals"], false);
    let request = json!({"name": "shop", "template": HANDLE});
    let message = "nothing could signal `handle` and `other`, because this server has no URL that the cloud's servers reach; ask its \
                   operator to set STACKLOOM_SIGNAL_URL, or set `signal_transport: NO_SIGNAL` to wait for no signal";
    for path in ["/api/v1/validate", "/api/v1/plan"] {
        let answer = json(demo.post(path, &request).await, 200).await;
        assert_eq!(answer["diagnostics"][0]["message"], message, "{answer}");
    }
    let refused = json(demo.post("/api/v1/deployments", &request).await, 422).await;
    assert_eq!(refused["diagnostics"][0]["code"], "signal-url-missing");

    // The signals of servers in the template are fetched.
    let request = json!({"name": "boots", "template": BOOTS});
    let plan = json(demo.post("/api/v1/plan", &request).await, 200).await;
    let found = plan["diagnostics"].as_array().unwrap().iter();
    let note = found.filter(|one| one["code"] == "signal-url-missing");
    let severities: Vec<_> = note.map(|one| &one["severity"]).collect();
    assert_eq!(severities, ["info"], "{plan}");

    let template = "heat_template_version: 2021-04-16
resources:
  farm:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 2, resource: {type: OS::Neutron::Net}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: farm}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
outputs:
  url: {value: {get_attr: [up, alarm_url]}}
";
    let request = json!({"name": "farm", "template": template});
    let plan = json(demo.post("/api/v1/plan", &request).await, 200).await;
    let found = &plan["diagnostics"][0];
    assert_eq!(found["code"], "signal-url-missing");
    assert_eq!(found["severity"], "warning");
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
}

/// Two servers of which one signals from a shell script and one from cloud-config, and a network that waits for both.
const BOOTS: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.61.1.0/24}}
  handle: {type: OS::Heat::WaitConditionHandle}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}]
      user_data_format: RAW
      user_data:
        str_replace:
          template: |
            #!/bin/bash
            wc_notify --data-binary '{\"status\": \"SUCCESS\", \"id\": \"web\", \"data\": \"it is up\"}'
          params: {wc_notify: {get_attr: [handle, curl_cli]}}
  setup:
    type: OS::Heat::CloudConfig
    properties:
      cloud_config:
        runcmd:
          - str_replace:
              template: 'wc_notify -d {}'
              params: {wc_notify: {get_attr: [handle, curl_cli]}}
  db:
    type: OS::Nova::Server
    depends_on: front_subnet
    properties:
      image: debian-12
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}]
      user_data_format: RAW
      user_data: {get_resource: setup}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 300, count: 2}}
  back: {type: OS::Neutron::Net, depends_on: wait}
outputs:
  data: {value: {get_attr: [wait, data]}}
";

/// Deploys [`BOOTS`] and returns the names and values that were signalled.
async fn signalled(stack: &Stack) -> serde_json::Map<String, Value> {
    let browser = stack.login("demo").await;
    let request = json!({"name": "boots", "template": BOOTS});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    let state = ended(&browser, &started).await;
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let run = json(browser.get(&run).await, 200).await;
    assert_eq!(state, "succeeded", "{run:#}");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let shown = json(browser.get(&path).await, 200).await;
    let data = shown["outputs"]["data"]["value"].as_str().unwrap();
    let removing = json(browser.delete(&path).await, 202).await;
    assert_eq!(ended(&browser, &removing).await, "succeeded");
    serde_json::from_str(data).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker and the lab's images"]
async fn servers_signal_from_their_user_data() {
    let config = LabConfig::docker("api-signals", "172.31.61.0/24".parse().unwrap());
    let lab = Lab::start(config).await.unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let address = format!("http://172.31.61.1:{port}");
    let stack = stack.restart_with(&["--signal-url", &address]).await;
    stack.also_on(listener);
    let data = signalled(&stack).await;
    assert_eq!(data["web"], "it is up");
    assert_eq!(data.len(), 2, "{data:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker and the lab's images"]
async fn signals_are_fetched_over_ssh_where_servers_cannot_reach_the_server() {
    let config = LabConfig::docker("api-spools", "172.31.74.0/24".parse().unwrap());
    let lab = Lab::start(config).await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let data = signalled(&stack).await;
    assert_eq!(data["web"], "it is up");
    assert_eq!(data.len(), 2, "{data:?}");
}
