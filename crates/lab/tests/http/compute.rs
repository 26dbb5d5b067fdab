//! Nova: the life cycle of a server, and fields by microversion.

use crate::common::{http, memory};
use crate::{TIMEOUT, network_with_subnet};
use serde_json::json;

#[tokio::test]
async fn a_server_is_created_and_deleted() {
    let (lab, client) = memory().await;
    let (network, _) = network_with_subnet(&client, "front", "10.0.0.0/24").await;
    let port = client
        .network("ports", json!({ "network_id": network }))
        .await;
    let id = client.server(json!({"name": "web", "networks": [{ "port": port }], "tags": ["mine"], "metadata": {"a": "b"}})).await;
    client.wait_for_server(&id, "ACTIVE", TIMEOUT).await;
    let shown = client.get(&format!("/compute/v2.1/servers/{id}")).await;
    assert_eq!(shown.at("/server/addresses/front/0/addr"), "10.0.0.2");
    assert_eq!(shown.at("/server/metadata/a"), "b");
    assert_eq!(shown.at("/server/flavor/original_name"), "m1.tiny");
    assert_eq!(
        client
            .get(&format!("/network/v2.0/ports/{port}"))
            .await
            .at("/port/device_id"),
        id.as_str()
    );
    for (query, expected) in [
        ("tags=mine", 1),
        ("tags=other", 0),
        ("name=web", 1),
        ("status=ACTIVE", 1),
        ("status=ERROR", 0),
    ] {
        let listed = client
            .get(&format!("/compute/v2.1/servers/detail?{query}"))
            .await;
        assert_eq!(
            listed.at("/servers").as_array().unwrap().len(),
            expected,
            "{query}"
        );
    }
    let action = format!("/compute/v2.1/servers/{id}/action");
    assert_eq!(
        client.post(&action, json!({"os-start": null})).await.status,
        409
    );
    assert_eq!(
        client.post(&action, json!({"os-stop": null})).await.status,
        202
    );
    client.wait_for_server(&id, "SHUTOFF", TIMEOUT).await;
    assert!(
        client
            .post(&action, json!({"os-getConsoleOutput": {"length": 10}}))
            .await
            .at("/output")
            .is_string()
    );
    assert_eq!(
        client
            .delete(&format!("/compute/v2.1/servers/{id}"))
            .await
            .status,
        204
    );
    client.wait_for_server(&id, "GONE", TIMEOUT).await;

    // A port that was created before the server is detached, not deleted.
    assert_eq!(
        client
            .get(&format!("/network/v2.0/ports/{port}"))
            .await
            .at("/port/device_id"),
        ""
    );
    client.delete(&format!("/network/v2.0/ports/{port}")).await;
    client
        .delete(&format!("/network/v2.0/networks/{network}"))
        .await;
    assert!(lab.leftovers().is_empty(), "{:?}", lab.leftovers());
}

#[tokio::test]
async fn tags_at_creation_need_their_microversion() {
    let (lab, client) = memory().await;
    let server = json!({"server": {"name": "web", "imageRef": client.image().await, "flavorRef": "1", "networks": "none", "tags": ["a"]}});
    for (version, status) in [
        ("compute 2.51", 400),
        ("compute 2.52", 202),
        ("compute latest", 202),
        ("compute 2.999", 406),
    ] {
        let response = http()
            .post(format!("{}/compute/v2.1/servers", lab.url()))
            .header("openstack-api-version", version)
            .header("x-auth-token", &client.token)
            .json(&server)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status, "{version}");
    }
}
