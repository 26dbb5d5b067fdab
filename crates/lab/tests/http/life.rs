//! The lab as a whole: responses without a token, and restart.

use crate::common::{Client, memory};
use crate::{TIMEOUT, network_with_subnet};
use lab::{Lab, LabConfig};
use serde_json::json;

#[tokio::test]
async fn versions_are_listed_without_a_token() {
    let (_lab, client) = memory().await;
    for (path, status, pointer, expected) in [
        ("/identity", 300, "/versions/values/0/id", "v3.14"),
        ("/identity/v3", 200, "/version/id", "v3.14"),
        ("/compute/v2.1", 200, "/version/version", "2.93"),
        ("/compute/v2.1", 200, "/version/min_version", "2.1"),
        ("/network/", 200, "/versions/0/id", "v2.0"),
        ("/image/", 300, "/versions/0/id", "v2.9"),
        ("/key-manager/", 300, "/versions/0/id", "v1"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, answer.at(pointer).as_str()),
            (status, Some(expected)),
            "{path}"
        );
        assert!(
            answer.headers["x-openstack-request-id"]
                .to_str()
                .unwrap()
                .starts_with("req-"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_restart_keeps_all_resources() {
    let directory = tempfile::tempdir().unwrap();
    let config = || LabConfig {
        state: Some(directory.path().into()),
        ..LabConfig::memory()
    };
    let lab = Lab::start(config()).await.unwrap();
    let mut client = Client::login(&lab, "demo").await;
    let (network, _) = network_with_subnet(&client, "front", "10.0.0.0/24").await;
    let server = client
        .server(json!({"name": "web", "networks": [{ "uuid": network }]}))
        .await;
    client.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    lab.stop().await;

    let lab = Lab::start(config()).await.unwrap();
    client.move_to(&lab);
    assert_eq!(client.server_status(&server).await, "ACTIVE");
    assert_eq!(
        client
            .get(&format!("/network/v2.0/networks/{network}"))
            .await
            .status,
        200
    );
}
