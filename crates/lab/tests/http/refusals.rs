//! Refusals in the wording of the real services.

use crate::common::{Client, memory};
use crate::{TIMEOUT, network_with_subnet, router_with_gateway};
use lab::{Lab, LabConfig};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn error_messages_are_those_of_openstack() {
    let (_lab, client) = memory().await;
    let (network, subnet) = network_with_subnet(&client, "front", "10.0.0.0/24").await;
    let router = router_with_gateway(&client, &subnet).await;
    let port = client
        .network("ports", json!({ "network_id": network }))
        .await;
    let group = client
        .network("security-groups", json!({"name": "web"}))
        .await;
    client
        .network(
            "ports",
            json!({"network_id": network, "security_groups": [group]}),
        )
        .await;
    let image = client.image().await;
    let none = "00000000-0000-4000-8000-000000000000";
    let post = |path: &str, body: Value| (Method::POST, path.to_owned(), body);
    let delete = |path: String| (Method::DELETE, path, Value::Null);
    let neutron = "/network/v2.0";
    let rule = |fields: Value| {
        let mut rule = json!({"security_group_id": group, "direction": "ingress"});
        rule.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        post(
            "/network/v2.0/security-group-rules",
            json!({ "security_group_rule": rule }),
        )
    };
    let server = |fields: Value| {
        let mut server =
            json!({"name": "web", "imageRef": image, "flavorRef": "1", "networks": "none"});
        server
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        post("/compute/v2.1/servers", json!({ "server": server }))
    };
    let kind = "/NeutronError/type";
    for ((method, path, body), status, pointer, expected) in [
        // Neutron
        (
            delete(format!("{neutron}/networks/{none}")),
            404,
            kind,
            "NetworkNotFound",
        ),
        (
            delete(format!("{neutron}/networks/{network}")),
            409,
            kind,
            "NetworkInUse",
        ),
        (
            delete(format!("{neutron}/subnets/{subnet}")),
            409,
            kind,
            "SubnetInUse",
        ),
        (
            delete(format!("{neutron}/routers/{router}")),
            409,
            kind,
            "RouterInUse",
        ),
        (
            delete(format!("{neutron}/security-groups/{group}")),
            409,
            kind,
            "SecurityGroupInUse",
        ),
        (
            post("/network/v2.0/nonsense", json!({})),
            404,
            kind,
            "HTTPNotFound",
        ),
        (
            post(
                "/network/v2.0/networks",
                json!({"network": {"colour": "red"}}),
            ),
            400,
            "/NeutronError/message",
            "Unrecognized attribute(s) 'colour'",
        ),
        (
            post(
                "/network/v2.0/networks",
                json!({"network": {"router:external": true}}),
            ),
            403,
            kind,
            "PolicyNotAuthorized",
        ),
        (
            post(
                "/network/v2.0/subnets",
                json!({"subnet": {"network_id": network, "cidr": "10.0.0.128/25", "ip_version": 4}}),
            ),
            400,
            kind,
            "InvalidInput",
        ),
        (
            post(
                "/network/v2.0/subnets",
                json!({"subnet": {"network_id": network, "cidr": "nonsense", "ip_version": 4}}),
            ),
            400,
            "/NeutronError/message",
            "Invalid input for operation: nonsense is not in a CIDR format.",
        ),
        (
            post(
                "/network/v2.0/ports",
                json!({"port": {"network_id": network, "fixed_ips": [{"ip_address": "10.0.0.1"}]}}),
            ),
            409,
            kind,
            "IpAddressAlreadyAllocated",
        ),
        (
            post(
                "/network/v2.0/ports",
                json!({"port": {"network_id": network, "security_groups": [none]}}),
            ),
            404,
            kind,
            "SecurityGroupNotFound",
        ),
        (
            post(
                "/network/v2.0/floatingips",
                json!({"floatingip": {"floating_network_id": network}}),
            ),
            400,
            kind,
            "BadRequest",
        ),
        (
            rule(json!({"port_range_min": 22, "port_range_max": 22})),
            400,
            kind,
            "SecurityGroupProtocolRequiredWithPorts",
        ),
        (
            rule(json!({"protocol": "tcp", "port_range_min": 23, "port_range_max": 22})),
            400,
            kind,
            "SecurityGroupInvalidPortRange",
        ),
        (
            rule(json!({"protocol": "nonsense"})),
            400,
            kind,
            "SecurityGroupRuleInvalidProtocol",
        ),
        // Nova
        (
            server(json!({"imageRef": none})),
            400,
            "/badRequest/message",
            "Can not find requested image",
        ),
        (
            server(json!({"flavorRef": "99"})),
            400,
            "/badRequest/message",
            "Flavor 99 could not be found.",
        ),
        (
            server(json!({"key_name": "nonsense"})),
            400,
            "/badRequest/message",
            "Invalid key_name provided.",
        ),
        (
            server(json!({"availability_zone": "mars"})),
            400,
            "/badRequest/message",
            "The requested availability zone is not available",
        ),
        (
            delete(format!("/compute/v2.1/servers/{none}")),
            404,
            "/itemNotFound/message",
            &format!("Instance {none} could not be found."),
        ),
        (
            delete("/compute/v2.1/os-keypairs/nonsense".into()),
            404,
            "/itemNotFound/message",
            &format!("Keypair nonsense not found for user {}", client.user_id),
        ),
        // Barbican
        (
            delete(format!("/key-manager/v1/secrets/{none}")),
            404,
            "/description",
            "Not Found. Sorry but your secret is in another castle.",
        ),
    ] {
        let answer = client.call(method.clone(), &path, body.clone()).await;
        assert_eq!(
            (answer.status, answer.at(pointer).as_str()),
            (status, Some(expected)),
            "{method} {path} {body}: {}",
            answer.text
        );
    }
    let glance = client.get(&format!("/image/v2/images/{none}")).await;
    assert_eq!(glance.status, 404);
    assert!(
        glance
            .text
            .contains(&format!("No image found with ID {none}")),
        "{}",
        glance.text
    );
    assert_eq!(
        client
            .delete(&format!("{neutron}/ports/{port}"))
            .await
            .status,
        204
    );
}

#[tokio::test]
async fn creations_over_a_quota_are_refused() {
    let mut config = LabConfig::memory();
    config.quotas.set("network", 1);
    config.quotas.set("instances", 1);
    let lab = Lab::start(config).await.unwrap();
    let client = Client::login(&lab, "demo").await;
    client.network("networks", json!({"name": "one"})).await;
    let second = client
        .post(
            "/network/v2.0/networks",
            json!({"network": {"name": "two"}}),
        )
        .await;
    assert_eq!(
        (second.status, second.at("/NeutronError/type").as_str()),
        (409, Some("OverQuota"))
    );
    client
        .server(json!({"name": "one", "networks": "none"}))
        .await;
    let body = json!({"server": {"name": "two", "imageRef": client.image().await, "flavorRef": "1", "networks": "none"}});
    let second = client.post("/compute/v2.1/servers", body).await;
    let words = "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances";
    assert_eq!(
        (second.status, second.at("/forbidden/message").as_str()),
        (403, Some(words))
    );
}

/// The expected responses come from a real Nova, Cinder and Neutron.
#[tokio::test]
async fn a_malformed_body_is_refused_before_anything_is_looked_up() {
    let (_lab, client) = memory().await;
    let server = client
        .server(json!({"name": "web", "networks": "none"}))
        .await;
    client.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    let group = client
        .network("security-groups", json!({"name": "web"}))
        .await;
    let at = |path: &str| format!("/compute/v2.1/servers/{server}{path}");
    let (post, put) = (Method::POST, Method::PUT);
    for (method, path, body, status) in [
        (&post, at("/metadata"), json!({"tags": {}}), 400),
        (&put, at("/metadata"), json!({"tags": {}}), 400),
        (&put, at(""), json!({"server": {"colour": "red"}}), 400),
        (
            &post,
            at("/action"),
            json!({"os-getConsoleOutput": {"length": "all"}}),
            400,
        ),
        (
            &post,
            at("/action"),
            json!({"lock": {"locked_reason": 5}}),
            400,
        ),
        // Removed from Nova in microversion 2.44.
        (
            &post,
            at("/action"),
            json!({"addFloatingIp": {"address": "192.0.2.4"}}),
            404,
        ),
        (
            &post,
            at("/os-interface"),
            json!({"interfaceAttachment": {"colour": "red"}}),
            400,
        ),
        (
            &post,
            at("/os-volume_attachments"),
            json!({"volumeAttachment": {"volumeId": "x"}}),
            400,
        ),
        (
            &Method::GET,
            "/compute/v2.1/flavors?limit=x".into(),
            Value::Null,
            400,
        ),
        (
            &put,
            format!("/network/v2.0/security-groups/{group}"),
            json!({"security_group": {"name": "default"}}),
            409,
        ),
    ] {
        let answer = client.call(method.clone(), &path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
    }
}
