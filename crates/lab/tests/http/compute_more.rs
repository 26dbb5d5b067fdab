//! Nova's calls about security groups of servers, snapshots for old clients, and consoles.

use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::common::{Answer, Client, memory};

/// A running server on a separate network, and its path.
async fn web(client: &Client) -> String {
    let (network, _) = crate::network_with_subnet(client, "net", "10.0.0.0/24").await;
    let server = json!({"name": "web", "networks": [{"uuid": network}]});
    let id = client.server(server).await;
    client.wait_for_server(&id, "ACTIVE", TIMEOUT).await;
    format!("/compute/v2.1/servers/{id}")
}

/// A call of an old client, without a microversion.
async fn old(client: &Client, method: Method, path: &str, body: Value) -> Answer {
    let headers = [("openstack-api-version", "compute 2.1")];
    client.call_with(method, path, body, &headers).await
}

/// The calls of `openstack server add security group` and `remove security group`.
#[tokio::test]
async fn a_security_group_is_added_to_a_server_and_removed_through_nova() {
    let (_lab, demo) = memory().await;
    let server = web(&demo).await;
    let group = json!({"name": "ssh", "description": "d"});
    let group = demo.network("security-groups", group).await;
    let of_server = || async {
        let shown = demo.get(&server).await;
        let groups = shown.at("/server/security_groups");
        let groups = groups.as_array().unwrap().iter();
        let names = groups.map(|group| group["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    let act = |body: Value| {
        let path = format!("{server}/action");
        let demo = &demo;
        async move { demo.post(&path, body).await }
    };
    let add = json!({"addSecurityGroup": {"name": group}});
    assert_eq!(act(add.clone()).await.status, 202);
    assert_eq!(of_server().await, ["default", "ssh"]);
    let twice = act(add).await;
    assert_eq!(twice.status, 400);
    let message = twice.at("/badRequest/message").as_str().unwrap();
    assert!(message.contains("Duplicate items in the list"), "{message}");
    let remove = json!({"removeSecurityGroup": {"name": "ssh"}});
    assert_eq!(act(remove.clone()).await.status, 202);
    assert_eq!(of_server().await, ["default"]);
    assert_eq!(act(remove).await.status, 404);
    let nobody = act(json!({"addSecurityGroup": {"name": "nope"}})).await;
    let project = &demo.project_id;
    assert_eq!(
        nobody.at("/itemNotFound/message"),
        &json!(format!(
            "Security group nope is not found for project {project}"
        ))
    );
}

#[tokio::test]
async fn old_clients_get_the_address_of_a_snapshot_in_a_header() {
    let (_lab, demo) = memory().await;
    let server = web(&demo).await;
    let body = json!({"createImage": {"name": "copy"}});
    let path = format!("{server}/action");
    let response = old(&demo, Method::POST, &path, body).await;
    assert_eq!(response.status, 202, "{}", response.text);
    assert!(response.headers.contains_key("location"));
}

/// The responses of a cloud without a console proxy.
#[tokio::test]
async fn no_console_is_offered() {
    let (_lab, demo) = memory().await;
    let server = web(&demo).await;
    let consoles = format!("{server}/remote-consoles");
    let console = json!({"remote_console": {"protocol": "vnc", "type": "novnc"}});
    let refused = demo.post(&consoles, console.clone()).await;
    assert_eq!(refused.status, 400);
    let sentence = "Unavailable console type novnc.";
    assert_eq!(refused.at("/badRequest/message"), sentence);
    let unfit = json!({"remote_console": {"protocol": "vnc"}});
    let unfit = demo.post(&consoles, unfit).await;
    let message = unfit.at("/badRequest/message").as_str().unwrap();
    assert!(message.ends_with("'type' is a required property"));
    assert_eq!(
        old(&demo, Method::POST, &consoles, console).await.status,
        404
    );
}
