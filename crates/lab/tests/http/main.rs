//! What the services answer, on the lab in memory: bodies, status codes, and above all refusals, as the real ones word them.

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

/// No test waits longer for what comes at once.
const SOON: Duration = Duration::from_secs(120);

/// A network with a subnet; answers both ids.
async fn wire(client: &Client, name: &str, cidr: &str) -> (String, String) {
    let network = client.network("networks", json!({ "name": name })).await;
    let subnet = client
        .network(
            "subnets",
            json!({"network_id": network, "cidr": cidr, "ip_version": 4}),
        )
        .await;
    (network, subnet)
}

/// A router to the outside with a leg on the subnet.
async fn way_out(client: &Client, subnet: &str) -> String {
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

/// Ask for a token; answers status and body.
async fn login(lab: &Lab, auth: Value) -> (u16, Value) {
    let response = http()
        .post(format!("{}/auth/tokens", lab.auth_url()))
        .json(&json!({ "auth": auth }))
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}
