//! Delays: late changes, late responses, and lists without new resources.

use std::time::{Duration, Instant};

use lab::{CallFault, Damage, Fault, Lab};
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::common::{Client, http, memory};

const NETWORKS: &str = "/network/v2.0/networks";

/// Long enough to be measured.
const LATE_MS: u64 = 400;
const LATE: Duration = Duration::from_millis(LATE_MS);

/// Arms a fault of calls that create networks.
fn on_create(lab: &Lab, fault: CallFault) {
    lab.faults().add(Fault::Call(CallFault {
        method: Some("POST".into()),
        path: Some("/v2.0/networks".into()),
        ..fault
    }));
}

/// A request that creates a network.
fn create(lab: &Lab, client: &Client) -> reqwest::RequestBuilder {
    http()
        .post(format!("{}{NETWORKS}", lab.url()))
        .header("x-auth-token", &client.token)
        .json(&json!({"network": {"name": "n"}}))
}

/// The number of the project's networks.
fn networks(lab: &Lab) -> usize {
    lab.model(|model| model.networks.iter().filter(|row| row.name == "n").count())
}

/// The status of a complete response. `None` if the connection was cut.
async fn answered(call: reqwest::RequestBuilder) -> Option<u16> {
    let sent = call.send().await.ok()?;
    let status = sent.status().as_u16();
    sent.text().await.ok().map(|_| status)
}

async fn until_there_is_a_network(lab: &Lab) {
    let begin = Instant::now();
    while networks(lab) == 0 {
        assert!(begin.elapsed() < TIMEOUT, "the call was never carried out");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_late_response_follows_an_immediate_change() {
    let (lab, client) = memory().await;
    on_create(
        &lab,
        CallFault {
            delay_ms: LATE_MS,
            ..Default::default()
        },
    );
    let begin = Instant::now();
    let answer = tokio::spawn(create(&lab, &client).send());
    until_there_is_a_network(&lab).await;
    let early = answer.is_finished() && begin.elapsed() < LATE;
    assert!(!early, "the answer came before its time");
    assert_eq!(answer.await.unwrap().unwrap().status(), 201);
    assert!(begin.elapsed() >= LATE, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_late_change_delays_its_response() {
    let (lab, client) = memory().await;
    on_create(
        &lab,
        CallFault {
            commits_after_ms: Some(LATE_MS),
            ..Default::default()
        },
    );
    let begin = Instant::now();
    let answer = tokio::spawn(create(&lab, &client).send());
    until_there_is_a_network(&lab).await;
    assert!(begin.elapsed() >= LATE, "{:?}", begin.elapsed());
    assert_eq!(answer.await.unwrap().unwrap().status(), 201);
}

/// If the client is killed during its call, the call is executed all the same.
#[tokio::test]
async fn a_late_change_is_made_though_the_client_disconnects() {
    let (lab, client) = memory().await;
    for (commits_after_ms, delay_ms) in [(Some(LATE_MS), 0), (None, LATE_MS)] {
        let before = networks(&lab);
        lab.faults().clear_calls();
        lab.faults().clear();
        on_create(
            &lab,
            CallFault {
                commits_after_ms,
                delay_ms,
                ..Default::default()
            },
        );
        let call = tokio::spawn(create(&lab, &client).send());
        while lab.faults().calls().is_empty() {
            tokio::task::yield_now().await;
        }
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        let begin = Instant::now();
        while networks(&lab) == before {
            assert!(begin.elapsed() < TIMEOUT, "the call was never carried out");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn a_change_is_made_after_its_connection_was_cut_or_a_proxy_has_given_up() {
    let cut = CallFault {
        damage: Some(Damage::CutBefore),
        ..Default::default()
    };
    let gateway_timeout = CallFault {
        status: Some(504),
        ..Default::default()
    };
    for fault in [cut, gateway_timeout] {
        let (lab, client) = memory().await;
        let fault = CallFault {
            commits_after_ms: Some(LATE_MS),
            ..fault
        };
        let status = fault.status;
        on_create(&lab, fault);
        let begin = Instant::now();
        assert_eq!(answered(create(&lab, &client)).await, status);
        let early = networks(&lab) > 0 && begin.elapsed() < LATE;
        assert!(!early, "carried out before its time");
        until_there_is_a_network(&lab).await;
        assert!(begin.elapsed() >= LATE, "{:?}", begin.elapsed());
    }
}

/// A late call operates on the state at its execution.
#[tokio::test]
async fn a_late_change_is_refused_if_its_base_has_gone_meanwhile() {
    let (lab, client) = memory().await;
    let network = client.network("networks", json!({"name": "n"})).await;
    lab.faults().add(Fault::Call(CallFault {
        path: Some("/v2.0/ports".into()),
        commits_after_ms: Some(LATE_MS),
        ..Default::default()
    }));
    let body = json!({"port": {"network_id": network}});
    let path = format!("{NETWORKS}/{network}");
    let (port, gone) = tokio::join!(
        client.post("/network/v2.0/ports", body),
        client.delete(&path)
    );
    assert_eq!(gone.status, 204, "{}", gone.text);
    assert_eq!(port.status, 404, "{}", port.text);
}

/// The ids in a list.
async fn listed(client: &Client, path: &str, key: &str, id: &str) -> Vec<String> {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    let rows = answer.body[key].as_array().unwrap().iter();
    rows.map(|row| row[id].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_lagging_list_misses_a_resource_that_is_found_by_id() {
    let (lab, client) = memory().await;
    let old = client.network("networks", json!({"name": "old"})).await;
    lab.faults().add(Fault::Call(CallFault {
        method: Some("GET".into()),
        lags_ms: LATE_MS,
        ..Default::default()
    }));
    let secret = "/key-manager/v1/secrets";
    for (path, key, id, body) in [
        (
            NETWORKS,
            "networks",
            "id",
            json!({"network": {"name": "n"}}),
        ),
        (
            "/volume/v3/volumes",
            "volumes",
            "id",
            json!({"volume": {"size": 1}}),
        ),
        ("/image/v2/images", "images", "id", json!({"name": "i"})),
        (secret, "secrets", "secret_ref", json!({"name": "s"})),
    ] {
        let begin = Instant::now();
        let made = client.post(path, body).await;
        assert!((200..300).contains(&made.status), "{path}: {}", made.text);
        let mut fields = made.body.as_object().unwrap().values();
        let new = [&made.body[id], &fields.next().unwrap()[id]];
        let new = new.into_iter().find_map(Value::as_str).unwrap().to_owned();
        let one = new.split("/secrets/").last().unwrap();
        assert_eq!(
            client.get(&format!("{path}/{one}")).await.status,
            200,
            "{path}"
        );
        let first = listed(&client, path, key, id).await;
        if begin.elapsed() < LATE {
            assert!(!first.contains(&new), "{path} shows it at once");
        }
        while !listed(&client, path, key, id).await.contains(&new) {
            assert!(begin.elapsed() < TIMEOUT, "{path} never shows it");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(begin.elapsed() >= LATE, "{path}: {:?}", begin.elapsed());
    }
    assert!(
        listed(&client, NETWORKS, "networks", "id")
            .await
            .contains(&old)
    );
}

/// Delays can be configured over HTTP, in one fault each.
#[tokio::test]
async fn late_changes_are_configured_over_http() {
    let (lab, client) = memory().await;
    let faults = json!([
        {"call": {"method": "POST", "path": "/v2.0/networks", "commits_after_ms": LATE_MS, "damage": "cut_before"}},
        {"call": {"method": "GET", "path": "/v2.0/networks", "lags_ms": 600_000}},
    ]);
    assert_eq!(client.post("/lab/faults", faults).await.status, 201);
    assert_eq!(answered(create(&lab, &client)).await, None);
    until_there_is_a_network(&lab).await;
    let seen = listed(&client, &format!("{NETWORKS}?name=n"), "networks", "id").await;
    assert_eq!(seen, Vec::<String>::new());
}

#[tokio::test]
async fn a_held_change_is_made_before_the_call_that_releases_it() {
    let (lab, client) = memory().await;
    on_create(
        &lab,
        CallFault {
            status: Some(504),
            is_held: true,
            ..Default::default()
        },
    );
    let before = networks(&lab);
    assert_eq!(answered(create(&lab, &client)).await, Some(504));
    assert_eq!(networks(&lab), before);
    lab.faults().add(Fault::Call(CallFault {
        method: Some("GET".into()),
        releases_held: true,
        ..Default::default()
    }));
    assert_eq!(client.get(NETWORKS).await.status, 200);
    assert_eq!(networks(&lab), before + 1);
}
