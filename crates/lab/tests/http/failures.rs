//! Actions that are accepted and then fail, the records of such failures, and a hidden quota.

use std::time::{Duration, Instant};

use lab::{ActionFault, Fault, Lab, QuotaFault};
use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::common::{Answer, Client, memory};

/// Arms a fault of actions on the server or load balancer `web`.
fn let_fail(lab: &Lab, action: &str) {
    lab.faults().add(Fault::Action(ActionFault {
        name: "web".into(),
        action: action.into(),
        times: None,
    }));
}

/// A running server `web`. Returns its path.
async fn web(client: &Client) -> String {
    let id = client
        .server(json!({"name": "web", "networks": "none"}))
        .await;
    client.wait_for_server(&id, "ACTIVE", TIMEOUT).await;
    format!("/compute/v2.1/servers/{id}")
}

async fn act(client: &Client, server: &str, action: Value) {
    let answer = client.post(&format!("{server}/action"), action).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
}

/// Polls until the value at a pointer is as expected.
async fn until(client: &Client, path: &str, pointer: &str, wanted: &str) -> Answer {
    let begin = Instant::now();
    loop {
        let answer = client.get(path).await;
        if answer.at(pointer) == wanted {
            return answer;
        }
        assert!(begin.elapsed() < TIMEOUT, "{pointer}: {}", answer.text);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The newest action of a server after its end, with its events, in a microversion.
async fn last_action(client: &Client, server: &str, version: &str) -> Value {
    let path = format!("{server}/os-instance-actions");
    let begin = Instant::now();
    loop {
        let newest = client.get(&path).await.at("/instanceActions/0").clone();
        let id = newest["request_id"].as_str().unwrap();
        let version = format!("compute {version}");
        let headers = [("openstack-api-version", version.as_str())];
        let one = format!("{path}/{id}");
        let shown = client
            .call_with(Method::GET, &one, Value::Null, &headers)
            .await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        let shown = shown.at("/instanceAction").clone();
        let now = client.get(&one).await;
        if now.at("/instanceAction/events/0/finish_time").is_string() {
            return shown;
        }
        assert!(begin.elapsed() < TIMEOUT, "{shown}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The events of an action, with their results.
fn events(action: &Value) -> Vec<(&str, &str)> {
    let events = action["events"].as_array().unwrap().iter();
    events
        .map(|event| {
            (
                event["event"].as_str().unwrap(),
                event["result"].as_str().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_resize_that_no_host_can_take_leaves_the_old_flavor_and_an_action_in_error() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let_fail(&lab, "resize");
    act(&demo, &server, json!({"resize": {"flavorRef": "4"}})).await;
    let action = last_action(&demo, &server, "2.84").await;
    assert_eq!(action["action"], "resize");
    assert_eq!(action["message"], "Error");
    let wanted = [
        ("cold_migrate", "Error"),
        ("conductor_migrate_server", "Error"),
    ];
    assert_eq!(events(&action), wanted);
    let event = &action["events"][0];
    for secret in ["traceback", "host", "details"] {
        assert_eq!(event.get(secret), None, "{secret} is for administrators");
    }
    let shown = demo.get(&server).await;
    assert_eq!(shown.at("/server/status"), "ACTIVE");
    assert_eq!(shown.at("/server/OS-EXT-STS:task_state"), &Value::Null);
    assert_eq!(shown.at("/server/flavor/original_name"), "m1.tiny");
    assert_eq!(shown.at("/server/fault"), &Value::Null);

    let admin = Client::login(&lab, "admin").await;
    let action = last_action(&admin, &server, "2.84").await;
    let event = &action["events"][0];
    let reason = "No valid host was found. No valid host found for resize";
    assert_eq!(event["details"], reason);
    assert!(event["traceback"].as_str().unwrap().contains(reason));
    assert_eq!(event["host"], "lab");

    // Before 2.51, events were visible to administrators only.
    let action = last_action(&demo, &server, "2.50").await;
    assert_eq!(action.get("events"), None);
}

#[tokio::test]
async fn a_server_shows_its_old_flavor_until_the_resize_is_done() {
    let (_lab, demo) = memory().await;
    let server = web(&demo).await;
    act(&demo, &server, json!({"resize": {"flavorRef": "4"}})).await;
    let mut shown = demo.get(&server).await;
    while shown.at("/server/status") == "RESIZE" {
        assert_eq!(shown.at("/server/flavor/original_name"), "m1.tiny");
        shown = demo.get(&server).await;
    }
    assert_eq!(shown.at("/server/status"), "VERIFY_RESIZE");
    assert_eq!(shown.at("/server/flavor/original_name"), "m1.large");
    let action = last_action(&demo, &server, "2.79").await;
    let newest = ("compute_finish_resize", "Success");
    assert_eq!(events(&action).first(), Some(&newest));
    assert_eq!(action["message"], Value::Null);
    act(&demo, &server, json!({"revertResize": null})).await;
    let back = until(&demo, &server, "/server/status", "ACTIVE").await;
    assert_eq!(back.at("/server/flavor/original_name"), "m1.tiny");
}

#[tokio::test]
async fn a_rebuild_that_fails_leaves_the_old_image_and_a_server_in_error() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let old = demo.image().await;
    let image = json!({"name": "new", "disk_format": "raw", "container_format": "bare"});
    let image = demo.post("/image/v2/images", image).await;
    let image = image.at("/id").as_str().unwrap().to_owned();
    let path = format!("/image/v2/images/{image}/file");
    let data = [("content-type", "application/octet-stream")];
    let sent = demo
        .call_with(Method::PUT, &path, json!("data"), &data)
        .await;
    assert_eq!(sent.status, 204, "{}", sent.text);
    let_fail(&lab, "rebuild");
    act(&demo, &server, json!({"rebuild": {"imageRef": image}})).await;
    let shown = until(&demo, &server, "/server/status", "ERROR").await;
    assert_eq!(shown.at("/server/image/id"), &json!(old));
    let reason = "No valid host was found. There are not enough hosts available.";
    assert_eq!(shown.at("/server/fault/message"), reason);
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("rebuild_server", "Error")]);

    // Another rebuild repairs it.
    lab.faults().clear();
    act(&demo, &server, json!({"rebuild": {"imageRef": image}})).await;
    let shown = until(&demo, &server, "/server/status", "ACTIVE").await;
    assert_eq!(shown.at("/server/image/id"), &json!(image));
}

#[tokio::test]
async fn a_volume_that_cannot_be_attached_is_available_again_and_one_that_cannot_be_detached_stays()
{
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let volume = json!({"volume": {"size": 1}});
    let volume = demo.post("/volume/v3/volumes", volume).await;
    let volume = volume.at("/volume/id").as_str().unwrap().to_owned();
    let at = format!("/volume/v3/volumes/{volume}");
    let status = "/volume/status";
    until(&demo, &at, status, "available").await;
    let attachments = format!("{server}/os-volume_attachments");
    let attach = json!({"volumeAttachment": {"volumeId": volume}});

    let_fail(&lab, "attach_volume");
    let answer = demo.post(&attachments, attach.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("compute_attach_volume", "Error")]);
    until(&demo, &at, status, "available").await;
    let none = demo.get(&attachments).await;
    assert_eq!(none.at("/volumeAttachments"), &json!([]));

    lab.faults().clear();
    demo.post(&attachments, attach).await;
    until(&demo, &at, status, "in-use").await;
    let_fail(&lab, "detach_volume");
    let answer = demo.delete(&format!("{attachments}/{volume}")).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("compute_detach_volume", "Error")]);
    until(&demo, &at, status, "in-use").await;
}

#[tokio::test]
async fn an_interface_that_cannot_be_attached_is_refused_and_one_that_cannot_be_detached_stays() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let (network, _) = crate::network_with_subnet(&demo, "net", "10.0.0.0/24").await;
    let port = json!({ "network_id": network });
    let port = demo.network("ports", port).await;
    let interfaces = format!("{server}/os-interface");
    let attach = json!({"interfaceAttachment": {"port_id": port}});
    let device = || async {
        let shown = demo.get(&format!("/network/v2.0/ports/{port}")).await;
        shown.at("/port/device_id").as_str().unwrap().to_owned()
    };

    let_fail(&lab, "attach_interface");
    let answer = demo.post(&interfaces, attach.clone()).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    let message = answer.at("/computeFault/message").as_str().unwrap();
    assert!(message.starts_with("Failed to attach network adapter device to"));
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("compute_attach_interface", "Error")]);
    assert_eq!(device().await, "");

    lab.faults().clear();
    assert_eq!(demo.post(&interfaces, attach).await.status, 200);
    let plugged = device().await;
    assert_ne!(plugged, "");
    let_fail(&lab, "detach_interface");
    let answer = demo.delete(&format!("{interfaces}/{port}")).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("compute_detach_interface", "Error")]);
    assert_eq!(device().await, plugged);
}

#[tokio::test]
async fn a_switch_that_fails_leaves_the_server_as_it_was() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let_fail(&lab, "stop");
    act(&demo, &server, json!({"os-stop": null})).await;
    let action = last_action(&demo, &server, "2.79").await;
    assert_eq!(events(&action), [("compute_stop_instance", "Error")]);
    let shown = demo.get(&server).await;
    assert_eq!(shown.at("/server/status"), "ACTIVE");
}

#[tokio::test]
async fn actions_of_a_server_are_listed_after_its_deletion() {
    let (_lab, demo) = memory().await;
    let server = web(&demo).await;
    act(&demo, &server, json!({"lock": null})).await;
    act(&demo, &server, json!({"unlock": null})).await;
    act(&demo, &server, json!({"os-stop": null})).await;
    until(&demo, &server, "/server/status", "SHUTOFF").await;
    assert_eq!(demo.delete(&server).await.status, 204);
    let gone = server.rsplit('/').next().unwrap();
    demo.wait_for_server(gone, "GONE", TIMEOUT).await;
    let actions = format!("{server}/os-instance-actions");
    let shown = demo.get(&actions).await;
    let names = |answer: &Answer| -> Vec<String> {
        let rows = answer.body["instanceActions"].as_array().unwrap().iter();
        rows.map(|row| row["action"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names(&shown),
        ["delete", "stop", "unlock", "lock", "create"]
    );
    let page = demo.get(&format!("{actions}?limit=2")).await;
    assert_eq!(names(&page), ["delete", "stop"]);
    let next = page.at("/links/0/href").as_str().unwrap();
    let marker = next.split("marker=").nth(1).unwrap();
    let rest = demo.get(&format!("{actions}?marker={marker}")).await;
    assert_eq!(names(&rest), ["unlock", "lock", "create"]);
    let nowhere = demo.get(&format!("{actions}/req-none")).await;
    assert_eq!(nowhere.status, 404);
    let message = nowhere.at("/itemNotFound/message");
    assert_eq!(message, "Action req-none not found");
    // Actions of deleted servers are available since 2.21.
    let older = [("openstack-api-version", "compute 2.20")];
    let older = demo
        .call_with(Method::GET, &actions, Value::Null, &older)
        .await;
    assert_eq!(older.status, 404);
}

#[tokio::test]
async fn a_server_over_the_quota_fails_though_the_limits_show_room() {
    let (lab, demo) = memory().await;
    lab.faults().add(Fault::Quota(QuotaFault { instances: 2 }));
    let first = web(&demo).await;
    web(&demo).await;
    let limits = demo.get("/compute/v2.1/limits").await;
    assert_eq!(limits.at("/limits/absolute/maxTotalInstances"), -1);
    let body = json!({"server": {
        "name": "third", "networks": "none", "imageRef": demo.image().await, "flavorRef": "1"
    }});
    let third = demo.post("/compute/v2.1/servers", body.clone()).await;
    assert_eq!(third.status, 403);
    assert_eq!(
        third.at("/forbidden/message"),
        "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances"
    );
    // The deletion of a server frees its quota.
    assert_eq!(demo.delete(&first).await.status, 204);
    let gone = first.rsplit('/').next().unwrap();
    demo.wait_for_server(gone, "GONE", TIMEOUT).await;
    let third = demo.post("/compute/v2.1/servers", body).await;
    assert_eq!(third.status, 202, "{}", third.text);
}

/// Faults can be armed over HTTP.
#[tokio::test]
async fn failures_are_set_over_http() {
    let (lab, demo) = memory().await;
    let faults = json!([
        {"action": {"name": "web*", "action": "*_volume", "times": 1}},
        {"quota": {"instances": 3}},
    ]);
    assert_eq!(demo.post("/lab/faults", faults).await.status, 201);
    assert!(lab.faults().fails("web-1", "attach_volume"));
    assert!(!lab.faults().fails("web-1", "attach_volume"));
    assert_eq!(lab.faults().instances_max(), Some(3));
}
