//! Responses of the services in memory: bodies, status codes, and refusals in the real services' wording.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod administration;
#[path = "../common/mod.rs"]
mod common;
mod compute;
mod compute_more;
mod failures;
mod faults;
mod identity;
mod key_manager;
mod late;
mod life;
mod network;
mod projects;
mod refusals;

use std::time::Duration;

use common::{Client, http};
use lab::Lab;
use serde_json::{Value, json};

/// Time limit for changes that take a few milliseconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Creates a network with a subnet. Returns both ids.
async fn network_with_subnet(client: &Client, name: &str, cidr: &str) -> (String, String) {
    let network = client.network("networks", json!({ "name": name })).await;
    let subnet = client
        .network(
            "subnets",
            json!({"network_id": network, "cidr": cidr, "ip_version": 4}),
        )
        .await;
    (network, subnet)
}

/// Creates a router with an external gateway and an interface on the subnet.
async fn router_with_gateway(client: &Client, subnet: &str) -> String {
    let outside = client.public_network().await;
    let router = client
        .network(
            "routers",
            json!({"external_gateway_info": {"network_id": outside}}),
        )
        .await;
    let added = client
        .put(
            &format!("/network/v2.0/routers/{router}/add_router_interface"),
            json!({ "subnet_id": subnet }),
        )
        .await;
    assert_eq!(added.status, 200, "{}", added.text);
    router
}

/// Requests a token. Returns the status and the body.
async fn login(lab: &Lab, auth: Value) -> (u16, Value) {
    let response = http()
        .post(format!("{}/auth/tokens", lab.auth_url()))
        .json(&json!({ "auth": auth }))
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}
