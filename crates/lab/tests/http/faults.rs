//! Fault injection: each type of fault alone, the selection of calls, and servers.

use std::collections::BTreeMap;

use lab::{CallFault, Damage, Fault, Lab, ServerFault, ServerTrouble};
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::common::{Client, http, memory};

const NETWORKS: &str = "/network/v2.0/networks";

/// Arms a fault of calls.
fn arm(lab: &Lab, fault: CallFault) {
    lab.faults().add(Fault::Call(fault));
}

/// Creates a network. Returns the status and the body, or `None` if the connection was cut.
async fn make(lab: &Lab, client: &Client) -> Option<(u16, String)> {
    let sent = http()
        .post(format!("{}{NETWORKS}", lab.url()))
        .header("x-auth-token", &client.token)
        .json(&json!({"network": {"name": "n"}}))
        .send()
        .await
        .ok()?;
    Some((sent.status().as_u16(), sent.text().await.ok()?))
}

/// The number of the project's networks.
fn networks(lab: &Lab) -> usize {
    let external = 1;
    lab.model(|model| model.networks.len()) - external
}

#[tokio::test]
async fn a_fault_with_a_status_has_the_error_body_of_its_service() {
    let (lab, client) = memory().await;
    arm(
        &lab,
        CallFault {
            status: Some(503),
            headers: BTreeMap::from([("retry-after".into(), "3".into())]),
            ..Default::default()
        },
    );
    for (path, pointer) in [
        ("/identity/v3/projects", "/error/message"),
        ("/compute/v2.1/servers", "/serviceUnavailable/message"),
        (NETWORKS, "/NeutronError/message"),
        ("/volume/v3/volumes", "/serviceUnavailable/message"),
        ("/load-balancer/v2.0/lbaas/pools", "/faultstring"),
        ("/key-manager/v1/secrets", "/description"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 503, "{path}");
        assert_eq!(answer.headers["retry-after"], "3", "{path}");
        assert_eq!(
            answer.at(pointer),
            "The lab was told to fail here.",
            "{path}: {}",
            answer.text
        );
    }
    let image = client.get("/image/v2/images").await;
    assert_eq!(image.status, 503);
    assert!(image.text.contains("The lab was told to fail here."));
}

#[tokio::test]
async fn a_fault_with_a_body_returns_it_and_changes_nothing() {
    let (lab, client) = memory().await;
    arm(
        &lab,
        CallFault {
            status: Some(500),
            body: Some("{\"NeutronError\": \"as old ones word it\"}".into()),
            ..Default::default()
        },
    );
    let answer = make(&lab, &client).await;
    let wanted = "{\"NeutronError\": \"as old ones word it\"}".to_owned();
    assert_eq!(answer, Some((500, wanted)));
    assert_eq!(networks(&lab), 0);
}

#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_call_is_done() {
    for (damage, made) in [(Damage::CutBefore, 0), (Damage::CutAfter, 1)] {
        let (lab, client) = memory().await;
        arm(
            &lab,
            CallFault {
                damage: Some(damage),
                ..Default::default()
            },
        );
        assert_eq!(make(&lab, &client).await, None, "{damage:?}");
        assert_eq!(networks(&lab), made, "{damage:?}");
    }
}

#[tokio::test]
async fn wrong_json_comes_after_the_call_is_done() {
    let (lab, client) = memory().await;
    arm(
        &lab,
        CallFault {
            damage: Some(Damage::WrongJson),
            ..Default::default()
        },
    );
    let (status, text) = make(&lab, &client).await.unwrap();
    assert_eq!(status, 201);
    assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    assert_eq!(networks(&lab), 1);
}

/// The names of the calls that a fault applies to.
async fn struck(fault: CallFault) -> String {
    let (lab, client) = memory().await;
    let id = client.network("networks", json!({"name": "n"})).await;
    arm(
        &lab,
        CallFault {
            status: Some(418),
            ..fault
        },
    );
    let one = format!("{NETWORKS}/{id}");
    let mut hit = Vec::new();
    for (name, path, method) in [
        ("list", NETWORKS, "GET"),
        ("show", &one, "GET"),
        ("again", &one, "GET"),
        ("servers", "/compute/v2.1/servers", "GET"),
        ("delete", &one, "DELETE"),
    ] {
        let method = method.parse().unwrap();
        if client.call(method, path, Value::Null).await.status == 418 {
            hit.push(name);
        }
    }
    hit.join(" ")
}

#[tokio::test]
async fn a_fault_applies_to_its_method_path_and_count() {
    let text = |text: &str| Some(text.to_owned());
    for (fault, wanted) in [
        (CallFault::default(), "list show again servers delete"),
        (
            CallFault {
                service: text("network"),
                ..Default::default()
            },
            "list show again delete",
        ),
        (
            CallFault {
                method: text("DELETE"),
                ..Default::default()
            },
            "delete",
        ),
        (
            CallFault {
                path: text("/v2.0/networks/*"),
                ..Default::default()
            },
            "show again delete",
        ),
        (
            CallFault {
                path: text("/v2.*/servers"),
                ..Default::default()
            },
            "servers",
        ),
        (
            CallFault {
                service: text("network"),
                method: text("GET"),
                nth: Some(2),
                ..Default::default()
            },
            "show",
        ),
        (
            CallFault {
                times: Some(2),
                ..Default::default()
            },
            "list show",
        ),
    ] {
        let shown = format!("{fault:?}");
        assert_eq!(struck(fault).await, wanted, "{shown}");
    }
}

#[tokio::test]
async fn faults_and_the_count_of_calls_are_available_over_http() {
    let (lab, client) = memory().await;
    let fault = json!({"call": {"service": "network", "method": "POST", "path": "/v2.0/net*", "nth": 2, "status": 503}});
    assert_eq!(client.post("/lab/faults", fault).await.status, 201);
    let listed = client.get("/lab/faults").await;
    assert_eq!(listed.at("/faults/0/call/nth"), 2);
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(make(&lab, &client).await.unwrap().0);
    }
    assert_eq!(seen, [201, 503, 201]);
    let calls = client.get("/lab/calls").await;
    assert_eq!(calls.at("/services/network/POST"), 3);
    assert_eq!(client.delete("/lab/faults").await.status, 204);
    assert_eq!(client.get("/lab/faults").await.at("/faults"), &json!([]));
    let nonsense = json!({"call": {"nth": "second"}});
    assert_eq!(client.post("/lab/faults", nonsense).await.status, 422);
}

#[tokio::test]
async fn servers_fail_on_request() {
    let (lab, client) = memory().await;
    for (name, fault, times) in [
        ("bad", ServerTrouble::Error, Some(1)),
        ("slow", ServerTrouble::NeverActive, None),
        ("deaf", ServerTrouble::NoSsh, None),
        ("weak", ServerTrouble::Dies(30), None),
    ] {
        lab.faults().add(Fault::Server(ServerFault {
            name: format!("{name}*"),
            fault,
            times,
        }));
    }
    let server = |name: &str| client.server(json!({"name": name, "networks": "none"}));
    let (bad, slow, deaf, weak) = (
        server("bad-1").await,
        server("slow").await,
        server("deaf").await,
        server("weak").await,
    );
    client.wait_for_server(&bad, "ERROR", TIMEOUT).await;
    client.wait_for_server(&weak, "SHUTOFF", TIMEOUT).await;
    // Without SSH, the API shows no difference. `docker_life.rs` tests the port.
    client.wait_for_server(&deaf, "ACTIVE", TIMEOUT).await;
    let fault = client.get(&format!("/compute/v2.1/servers/{bad}")).await;
    assert_eq!(fault.at("/server/fault/code"), 500);
    // The fault applies to one server only. By now, the slow one would be ACTIVE too.
    let second = server("bad-2").await;
    client.wait_for_server(&second, "ACTIVE", TIMEOUT).await;
    assert_eq!(client.server_status(&slow).await, "BUILD");
}
