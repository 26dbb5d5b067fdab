//! Cinder, and volumes in Nova, on a lab in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::time::{Duration, Instant};

use common::{Answer, Client, memory};
use lab::{Fault, Lab, LabConfig, VolumeFault, VolumeTrouble};
use reqwest::Method;
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(120);

fn volume_path(client: &Client, rest: &str) -> String {
    format!("/volume/v3/{}{rest}", client.project_id)
}

async fn volume(client: &Client, fields: Value) -> String {
    let answer = client
        .post(
            &volume_path(client, "/volumes"),
            json!({ "volume": fields }),
        )
        .await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer.at("/volume/id").as_str().unwrap().to_owned()
}

/// Waits until a volume has this status (`gone` after its removal). Returns the last response.
async fn wait_for_volume(client: &Client, id: &str, wanted: &str) -> Answer {
    let started = Instant::now();
    loop {
        let answer = client
            .get(&volume_path(client, &format!("/volumes/{id}")))
            .await;
        let status = match answer.status {
            404 => "gone",
            _ => answer.at("/volume/status").as_str().unwrap(),
        };
        if status == wanted {
            return answer;
        }
        assert!(
            started.elapsed() < TIMEOUT,
            "volume {id} is {status} and not {wanted}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn active_server(client: &Client) -> String {
    let id = client
        .server(json!({"name": "web", "networks": "none"}))
        .await;
    client.wait_for_server(&id, "ACTIVE", TIMEOUT).await;
    id
}

#[tokio::test]
async fn a_volume_is_created_extended_and_deleted() {
    let (_lab, client) = memory().await;
    let id = volume(
        &client,
        json!({"name": "data", "size": 1, "metadata": {"a": "b"}}),
    )
    .await;
    let shown = wait_for_volume(&client, &id, "available").await;
    assert_eq!(shown.at("/volume/size"), 1);
    assert_eq!(shown.at("/volume/bootable"), "false");
    assert_eq!(shown.at("/volume/volume_type"), "standard");
    assert_eq!(shown.at("/volume/metadata/a"), "b");
    // The path without the project is equivalent.
    let same = client.get(&format!("/volume/v3/volumes/{id}")).await;
    assert_eq!(same.at("/volume/id"), id.as_str());

    let action = volume_path(&client, &format!("/volumes/{id}/action"));
    let smaller = client
        .post(&action, json!({"os-extend": {"new_size": 1}}))
        .await;
    assert_eq!(smaller.status, 400);
    assert_eq!(
        smaller.at("/badRequest/message"),
        "Invalid input received: New size for extend must be greater than current size. (current: 1, extended: 1)."
    );
    let larger = client
        .post(&action, json!({"os-extend": {"new_size": 3}}))
        .await;
    assert_eq!(larger.status, 202);
    let shown = wait_for_volume(&client, &id, "available").await;
    assert_eq!(shown.at("/volume/size"), 3);

    let gone = client
        .delete(&volume_path(&client, &format!("/volumes/{id}")))
        .await;
    assert_eq!(gone.status, 202);
    let gone = wait_for_volume(&client, &id, "gone").await;
    assert_eq!(
        gone.at("/itemNotFound/message"),
        &json!(format!("Volume {id} could not be found."))
    );
}

#[tokio::test]
async fn a_volume_is_attached_and_detached() {
    let (_lab, client) = memory().await;
    let server = active_server(&client).await;
    let id = volume(&client, json!({"size": 1})).await;
    wait_for_volume(&client, &id, "available").await;
    let attachments = format!("/compute/v2.1/servers/{server}/os-volume_attachments");

    let plugged = client
        .post(&attachments, json!({"volumeAttachment": {"volumeId": id}}))
        .await;
    assert_eq!(plugged.status, 200, "{}", plugged.text);
    assert_eq!(plugged.at("/volumeAttachment/device"), "/dev/vdb");
    let shown = wait_for_volume(&client, &id, "in-use").await;
    assert_eq!(shown.at("/volume/attachments/0/server_id"), server.as_str());
    let twice = client
        .post(&attachments, json!({"volumeAttachment": {"volumeId": id}}))
        .await;
    assert_eq!(twice.status, 400);
    let busy = client
        .delete(&volume_path(&client, &format!("/volumes/{id}")))
        .await;
    assert_eq!(busy.status, 400);
    let listed = client.get(&format!("/compute/v2.1/servers/{server}")).await;
    assert_eq!(
        listed.at("/server/os-extended-volumes:volumes_attached/0/id"),
        id.as_str()
    );
    let newest = [("openstack-api-version", "compute 2.89")];
    let listed = client
        .call_with(Method::GET, &attachments, Value::Null, &newest)
        .await;
    assert!(listed.at("/volumeAttachments/0/id").is_null());
    assert!(listed.at("/volumeAttachments/0/bdm_uuid").is_string());

    let out = client.delete(&format!("{attachments}/{id}")).await;
    assert_eq!(out.status, 202);
    wait_for_volume(&client, &id, "available").await;
    let again = client.delete(&format!("{attachments}/{id}")).await;
    assert_eq!(again.status, 404, "{}", again.text);
}

#[tokio::test]
async fn a_volume_with_a_snapshot_cannot_be_deleted() {
    let (_lab, client) = memory().await;
    let id = volume(&client, json!({"size": 2})).await;
    wait_for_volume(&client, &id, "available").await;
    let made = client
        .post(
            &volume_path(&client, "/snapshots"),
            json!({"snapshot": {"volume_id": id, "name": "before"}}),
        )
        .await;
    assert_eq!(made.status, 202, "{}", made.text);
    let snapshot = made.at("/snapshot/id").as_str().unwrap().to_owned();
    let path = volume_path(&client, &format!("/snapshots/{snapshot}"));
    while client.get(&path).await.at("/snapshot/status") != "available" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let in_use = client
        .delete(&volume_path(&client, &format!("/volumes/{id}")))
        .await;
    assert_eq!(in_use.status, 400);
    let copy = volume(&client, json!({"snapshot_id": snapshot})).await;
    let copy = wait_for_volume(&client, &copy, "available").await;
    assert_eq!(copy.at("/volume/size"), 2);
    let cascade = volume_path(&client, &format!("/volumes/{id}?cascade=true"));
    assert_eq!(client.delete(&cascade).await.status, 202);
    wait_for_volume(&client, &id, "gone").await;
    assert_eq!(client.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_volume_returns_to_its_newest_snapshot_only() {
    let (_lab, client) = memory().await;
    let id = volume(&client, json!({"size": 1})).await;
    wait_for_volume(&client, &id, "available").await;
    let action = volume_path(&client, &format!("/volumes/{id}/action"));
    let revert = async |snapshot: &Value, version: &'static str| {
        let body = json!({"revert": {"snapshot_id": snapshot}});
        let newer = [("openstack-api-version", version)];
        client.call_with(Method::POST, &action, body, &newer).await
    };
    let none = revert(&Value::Null, "volume 3.40").await;
    assert_eq!(none.status, 400, "{}", none.text);
    assert!(none.text.contains("doesn't have any snapshots"));
    let mut snapshots = Vec::new();
    for name in ["older", "newer"] {
        let fields = json!({"snapshot": {"volume_id": id, "name": name}});
        let made = client
            .post(&volume_path(&client, "/snapshots"), fields)
            .await;
        let snapshot = made.at("/snapshot/id").clone();
        let path = volume_path(
            &client,
            &format!("/snapshots/{}", snapshot.as_str().unwrap()),
        );
        while client.get(&path).await.at("/snapshot/status") != "available" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        snapshots.push(snapshot);
    }
    let older = revert(&snapshots[0], "volume 3.40").await;
    assert_eq!(older.status, 400, "{}", older.text);
    assert!(older.text.contains("not the latest one"));
    let too_old = revert(&snapshots[1], "volume 3.39").await;
    assert_eq!(too_old.status, 400, "{}", too_old.text);
    let newest = revert(&snapshots[1], "volume 3.40").await;
    assert_eq!(newest.status, 202, "{}", newest.text);
    wait_for_volume(&client, &id, "available").await;

    let server = active_server(&client).await;
    let attachments = format!("/compute/v2.1/servers/{server}/os-volume_attachments");
    let plug = json!({"volumeAttachment": {"volumeId": id}});
    client.post(&attachments, plug).await;
    wait_for_volume(&client, &id, "in-use").await;
    let in_use = revert(&snapshots[1], "volume 3.40").await;
    assert_eq!(in_use.status, 409, "{}", in_use.text);
}

#[tokio::test]
async fn a_boot_volume_is_deleted_with_its_server() {
    let (lab, client) = memory().await;
    let image = client.image().await;
    let disk = json!({"boot_index": 0, "uuid": image, "source_type": "image", "destination_type": "volume",
        "volume_size": 4, "delete_on_termination": true});
    let body = json!({"server": {"name": "web", "flavorRef": "1", "networks": "none", "block_device_mapping_v2": [disk]}});
    let made = client.post("/compute/v2.1/servers", body).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let server = made.at("/server/id").as_str().unwrap().to_owned();
    client.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    let shown = client.get(&format!("/compute/v2.1/servers/{server}")).await;
    assert_eq!(shown.at("/server/image"), "");
    let root = shown.at("/server/os-extended-volumes:volumes_attached/0/id");
    let root = root.as_str().unwrap().to_owned();
    let volume = wait_for_volume(&client, &root, "in-use").await;
    assert_eq!(volume.at("/volume/attachments/0/device"), "/dev/vda");
    assert_eq!(volume.at("/volume/bootable"), "true");
    client
        .delete(&format!("/compute/v2.1/servers/{server}"))
        .await;
    wait_for_volume(&client, &root, "gone").await;
    assert!(lab.leftovers().is_empty(), "{:?}", lab.leftovers());
}

#[tokio::test]
async fn pages_are_followed_by_their_links() {
    let (_lab, client) = memory().await;
    for size in 1..=5 {
        volume(&client, json!({"size": size, "name": format!("v{size}")})).await;
    }
    let mut path = volume_path(&client, "/volumes/detail?limit=2&sort=name:asc");
    let mut names = Vec::new();
    loop {
        let page = client.get(&path).await;
        let rows = page.at("/volumes").as_array().unwrap().clone();
        names.extend(
            rows.iter()
                .map(|row| row["name"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page.at("/volumes_links/0/href").as_str() else {
            break;
        };
        path = next[next.find("/volume/").unwrap()..].to_owned();
    }
    assert_eq!(names, ["v1", "v2", "v3", "v4", "v5"]);
}

#[tokio::test]
async fn other_projects_see_nothing_and_paths_name_the_own_project() {
    let (lab, client) = memory().await;
    let id = volume(&client, json!({"size": 1})).await;
    let other = Client::login(&lab, "other").await;
    let hidden = other
        .get(&volume_path(&other, &format!("/volumes/{id}")))
        .await;
    assert_eq!(hidden.status, 404);
    let crossed = other.get(&volume_path(&client, "/volumes")).await;
    assert_eq!(crossed.status, 400);
    assert_eq!(crossed.at("/badRequest/message"), "Malformed request url");
}

#[tokio::test]
async fn cinder_refuses_invalid_requests() {
    let (_lab, client) = memory().await;
    let path = volume_path(&client, "/volumes");
    for (fields, status, sentence) in [
        (
            json!({}),
            400,
            "Invalid input received: Volume size 'None' must be an integer and greater than 0",
        ),
        (
            json!({"size": 0}),
            400,
            "Invalid input received: Volume size '0' must be an integer and greater than 0",
        ),
        (
            json!({"size": 1, "volume_type": "gold"}),
            404,
            "Volume type with name gold could not be found.",
        ),
        (
            json!({"snapshot_id": "none"}),
            400,
            "Invalid input for field/attribute snapshot_id. Value: none. 'none' is not valid under any of the given schemas",
        ),
        (
            json!({"snapshot_id": "00000000-0000-4000-8000-000000000000"}),
            404,
            "Snapshot 00000000-0000-4000-8000-000000000000 could not be found.",
        ),
    ] {
        let answer = client.post(&path, json!({ "volume": fields })).await;
        assert_eq!(answer.status, status, "{fields}");
        let body = answer.body.as_object().unwrap().values().next().unwrap();
        assert_eq!(body["message"], sentence);
    }
    let old = [("openstack-api-version", "volume 2.9")];
    let answer = client
        .call_with(Method::GET, &path, Value::Null, &old)
        .await;
    assert_eq!(answer.status, 406);
}

#[tokio::test]
async fn an_exceeded_quota_is_a_413() {
    let mut config = LabConfig::memory();
    config.quotas.set("volumes", 1);
    let lab = Lab::start(config).await.unwrap();
    let client = Client::login(&lab, "demo").await;
    volume(&client, json!({"size": 1})).await;
    let path = volume_path(&client, "/volumes");
    let answer = client.post(&path, json!({"volume": {"size": 1}})).await;
    assert_eq!(answer.status, 413);
    assert_eq!(
        answer.at("/overLimit/message"),
        "VolumeLimitExceeded: Maximum number of volumes allowed (1) exceeded for quota 'volumes'."
    );
}

#[tokio::test]
async fn a_volume_fails_on_request() {
    let (lab, client) = memory().await;
    lab.faults().add(Fault::Volume(VolumeFault {
        name: "bad*".into(),
        fault: VolumeTrouble::Error,
        times: Some(1),
    }));
    let id = volume(&client, json!({"size": 1, "name": "bad-one"})).await;
    wait_for_volume(&client, &id, "error").await;
    let id = volume(&client, json!({"size": 1, "name": "bad-two"})).await;
    wait_for_volume(&client, &id, "available").await;
}
