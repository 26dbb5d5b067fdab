//! Standing permissions over the API: signals to policies, checks at an interval, audit trail.

use lab::{CallFault, Fault, Lab};
use reqwest::{Method, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{
    lab::ended,
    stack::{Client, Stack, json, problem, until},
};

const GROUP: &str = "\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: OS::Neutron::Net}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 1, cooldown: 3600}
outputs:
  url: {value: {get_attr: [up, signal_url]}}
";

/// A deployment of [`GROUP`].
struct Group {
    lab: Lab,
    stack: Stack,
    demo: Client,
    /// Path of the deployment.
    path: String,
    /// Path and query of the policy's URL.
    url: String,
}

impl Group {
    async fn deployed() -> Group {
        let lab = Lab::memory().await.unwrap();
        let stack = Stack::with_cloud(&lab.auth_url()).await;
        let settings = ["--signal-url", "http://stackloom.test/"];
        let stack = stack.restart_with(&settings).await;
        let demo = stack.login("demo").await;
        let request = json!({"name": "shop", "template": GROUP});
        let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
        assert_eq!(ended(&demo, &started).await, "succeeded");
        let path = format!(
            "/api/v1/deployments/{}",
            started["deployment"].as_str().unwrap()
        );
        let shown = json(demo.get(&path).await, 200).await;
        let url = shown["outputs"]["url"]["value"].as_str().unwrap();
        let url = url
            .strip_prefix("http://stackloom.test")
            .unwrap()
            .to_owned();
        Group {
            lab,
            stack,
            demo,
            path,
            url,
        }
    }

    async fn signal(&self, body: impl Into<reqwest::Body>) -> Response {
        let alarm = self.stack.stranger();
        let request = alarm.request(Method::POST, &self.url).body(body);
        request.send().await.unwrap()
    }

    async fn permit(&self, request: &Value) -> Response {
        let path = format!("{}/permission", self.path);
        self.demo.post(&path, request).await
    }

    async fn shown(&self) -> Value {
        json(self.demo.get(&self.path).await, 200).await
    }

    /// Waits until the newest run has succeeded, and returns it.
    async fn last_run(&self) -> Value {
        let run = self.shown().await["last_run"].clone();
        assert_eq!(ended(&self.demo, &json!({"run": run})).await, "succeeded");
        let path = format!("/api/v1/runs/{}", run.as_str().unwrap());
        json(self.demo.get(&path).await, 200).await
    }

    /// Action and status of each audit event, oldest first.
    async fn trail(&self) -> Vec<(String, u64)> {
        let events = json(self.demo.get("/api/v1/audit").await, 200).await;
        let events = events.as_array().unwrap().iter().rev();
        let event = |one: &Value| {
            let action = one["action"].as_str().unwrap().to_owned();
            (action, one["status"].as_u64().unwrap())
        };
        events.map(event).collect()
    }
}

/// The text of a response with this status.
async fn text_of(response: Response, status: u16) -> String {
    let got = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(got, status, "{text}");
    text
}

#[tokio::test]
async fn a_policys_url_scales_the_group_as_alertmanager_asks() {
    let group = Group::deployed().await;
    let refused = problem(group.signal("").await).await;
    assert_eq!(refused, (403, "not-permitted".to_owned()));

    let given = group.permit(&json!({"days": 30, "scale": true})).await;
    let given = json(given, 200).await;
    assert_eq!(
        (&given["author"], &given["scale"]),
        (&json!("demo"), &json!(true))
    );
    assert_eq!(group.shown().await["permission"], given);

    let resolved = r#"{"version": "4", "status": "resolved", "alerts": []}"#;
    let text = text_of(group.signal(resolved).await, 200).await;
    assert_eq!(
        text,
        "The alarm is not raised, so the group stays as it is.\n"
    );
    group.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        times: Some(1),
        delay_ms: 1000,
        ..CallFault::default()
    }));
    // As large as Alertmanager's notifications can be.
    let alerts = vec![json!({"status": "firing", "labels": {"alertname": "x".repeat(500)}}); 100];
    let firing = json!({"version": "4", "status": "firing", "alerts": alerts});
    let text = text_of(group.signal(firing.to_string()).await, 202).await;
    assert!(
        text.starts_with("`up` scales `web` from 1 to 2 members; run "),
        "{text}"
    );
    let busy = group.signal("").await;
    assert!(busy.headers().contains_key(header::RETRY_AFTER));
    assert_eq!(problem(busy).await, (409, "run-in-progress".to_owned()));
    let run = group.last_run().await;
    assert_eq!(run["author"], "demo (standing permission)");
    assert_eq!(run["scaling"]["policy"], "up");
    let text = text_of(group.signal("{}").await, 200).await;
    assert!(text.contains("was scaled a short time ago"), "{text}");
    let invalid = problem(group.signal("scale!").await).await;
    assert_eq!(invalid, (422, "signal-invalid".to_owned()));
    let wrong = group.url.replace("signature=", "signature=x");
    let wrong = group.stack.stranger().post(&wrong, &json!({})).await;
    assert_eq!(problem(wrong).await, (404, "signal-refused".to_owned()));

    let revoked = group
        .demo
        .delete(&format!("{}/permission", group.path))
        .await;
    assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    let refused = problem(group.signal("").await).await;
    assert_eq!(refused, (403, "not-permitted".to_owned()));
    let trail = group.trail().await;
    let permission = "/api/v1/deployments/{id}/permission";
    for expected in [
        (format!("POST {permission}"), 200),
        (format!("DELETE {permission}"), 204),
    ] {
        assert!(trail.contains(&expected), "{trail:?}");
    }
    // Signals without an effect and with a wrong signature are no events.
    let signals = trail.iter().filter(|(action, _)| action.contains("signal"));
    let signals: Vec<_> = signals
        .map(|(action, status)| (action.as_str(), *status))
        .collect();
    let expected = [
        ("signal to `up`", 403),
        ("signal: `up` scales `web` from 1 to 2 members", 202),
        ("signal to `up`", 409),
        ("signal to `up`", 422),
        ("signal to `up`", 403),
    ];
    assert_eq!(signals, expected);
}

#[tokio::test]
async fn an_alarm_that_does_not_wait_for_the_answer_scales_and_is_recorded() {
    let group = Group::deployed().await;
    let given = group.permit(&json!({"days": 30, "scale": true})).await;
    json(given, 200).await;
    group.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("GET".into()),
        delay_ms: 300,
        ..CallFault::default()
    }));
    let reads = || {
        let calls = group.lab.faults().calls().into_iter();
        let reads = calls.filter(|call| call.service == "network" && call.method == "GET");
        reads.count()
    };
    let before = reads();
    let address = group.stack.base.strip_prefix("http://").unwrap();
    let mut alarm = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n",
        group.url
    );
    alarm.write_all(request.as_bytes()).await.unwrap();
    // The plan of the scaling needs facts of the cloud.
    until("the facts are read", async || reads() > before).await;
    drop(alarm);

    let scaled = "signal: `up` scales `web` from 1 to 2 members".to_owned();
    until("it is recorded", async || {
        group.trail().await.contains(&(scaled.clone(), 202))
    })
    .await;
    assert_eq!(group.last_run().await["scaling"]["policy"], "up");
}

#[tokio::test]
async fn a_signal_whose_template_cannot_be_read_in_time_is_recorded() {
    let mut group = Group::deployed().await;
    let given = group.permit(&json!({"days": 30, "scale": true})).await;
    json(given, 200).await;
    let settings = ["--computations=0", "--computation-wait=0"];
    group.stack = group.stack.restart_with(&settings).await;
    group.demo = group.stack.login("demo").await;
    let busy = problem(group.signal("").await).await;
    assert_eq!(busy, (503, "server-busy".to_owned()));
    let event = "signal: `up` scales `web` from 1 to 2 members".to_owned();
    let trail = group.trail().await;
    assert!(trail.contains(&(event, 503)), "{trail:?}");
}

#[tokio::test]
async fn only_members_of_the_project_give_and_revoke() {
    let group = Group::deployed().await;
    let path = format!("{}/permission", group.path);
    let other = group.stack.login("other").await;
    let request = json!({"days": 30, "scale": true});
    let refused = problem(other.post(&path, &request).await).await;
    assert_eq!(refused, (404, "not-found".to_owned()));
    let refused = problem(other.delete(&path).await).await;
    assert_eq!(refused, (404, "not-found".to_owned()));
    let nothing = problem(group.demo.delete(&path).await).await;
    assert_eq!(nothing, (409, "not-possible-now".to_owned()));
    for request in [
        json!({"days": 30}),
        json!({"days": 0, "scale": true}),
        json!({"days": 366, "scale": true}),
        json!({"days": 30, "check_minutes": 0}),
        json!({"days": 30, "scale": true, "repair": true}),
    ] {
        let refused = problem(group.permit(&request).await).await;
        assert_eq!(refused, (422, "invalid-request".to_owned()), "{request}");
    }
}

#[tokio::test]
async fn a_flood_of_signals_to_a_policy_is_limited() {
    let group = Group::deployed().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(group.signal("").await.status().as_u16());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 10);
    let limited = group.signal("").await;
    assert!(limited.headers().contains_key(header::RETRY_AFTER));
    assert_eq!(problem(limited).await, (429, "too-many-signals".to_owned()));
}

#[tokio::test]
async fn a_network_that_is_gone_comes_back_while_nobody_is_logged_in() {
    let group = Group::deployed().await;
    let request = json!({"days": 90, "check_minutes": 5, "repair": true});
    json(group.permit(&request).await, 200).await;
    let before = group.shown().await;
    let resources = before["resources"].as_array().unwrap().iter();
    let mut member = resources.filter(|one| one["name"] == "web/0");
    let id = member.next().unwrap()["physical_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let session = crate::checks::session(&group.lab.auth_url()).await;
    let network = session.network();
    network
        .delete::<openstack::network::Network>(&id)
        .await
        .unwrap();

    let database = store::open(&group.stack.data().join("stackloom.db"))
        .await
        .unwrap();
    store::testing::permission_make_due(database.store()).await;
    until("it is repaired", async || {
        group.shown().await["last_run"] != before["last_run"]
    })
    .await;
    let run = group.last_run().await;
    assert_eq!(run["author"], "demo (standing permission)");
    let trail = group.trail().await;
    let expected = (
        "repair after a check at an interval: 1 found".to_owned(),
        202,
    );
    assert!(trail.contains(&expected), "{trail:?}");
    let after = group.shown().await;
    assert_eq!(after["permission"].get("problem"), None, "{after}");
}
