//! Neutron: lists, security groups, and routers for floating IPs.

use crate::TIMEOUT;
use crate::common::memory;
use crate::{network_with_subnet, router_with_gateway};
use serde_json::{Value, json};

/// As on a real cloud, every change of a resource updates its revision number and `updated_at`, also if another
/// resource or Nova causes it.
#[tokio::test]
async fn an_indirect_change_increases_the_revision_number() {
    let (_lab, client) = memory().await;
    let revision = async |path: &str, key: &str| {
        let shown = client.get(&format!("/network/v2.0/{path}")).await;
        let thing = shown.at(key);
        assert!(thing["updated_at"].as_str() >= thing["created_at"].as_str());
        thing["revision_number"].as_u64().unwrap()
    };
    let network = client.network("networks", json!({"name": "n"})).await;
    let network_path = format!("networks/{network}");
    let before = revision(&network_path, "/network").await;
    let subnet = json!({"network_id": network, "cidr": "10.0.0.0/24", "ip_version": 4});
    let subnet = client.network("subnets", subnet).await;
    assert!(revision(&network_path, "/network").await > before);

    let router = client.network("routers", json!({"name": "r"})).await;
    let router_path = format!("routers/{router}");
    let before = revision(&router_path, "/router").await;
    let path = format!("/network/v2.0/{router_path}/add_router_interface");
    let added = client.put(&path, json!({ "subnet_id": subnet })).await;
    assert_eq!(added.status, 200, "{}", added.text);
    assert!(revision(&router_path, "/router").await > before);

    let group = json!({"name": "g"});
    let group = client.network("security-groups", group).await;
    let group_path = format!("security-groups/{group}");
    let before = revision(&group_path, "/security_group").await;
    let rule = json!({"security_group_id": group, "direction": "ingress"});
    client.network("security-group-rules", rule).await;
    assert!(revision(&group_path, "/security_group").await > before);

    let port = client
        .network("ports", json!({ "network_id": network }))
        .await;
    let port_path = format!("ports/{port}");
    let before = revision(&port_path, "/port").await;
    let server = json!({"name": "web", "networks": [{"port": port}]});
    let server = client.server(server).await;
    client.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    assert!(revision(&port_path, "/port").await > before);
}

#[tokio::test]
async fn a_floating_ip_needs_a_router_to_its_port() {
    let (_lab, client) = memory().await;
    let (network, subnet) = network_with_subnet(&client, "front", "10.0.0.0/24").await;
    let port = client
        .network("ports", json!({ "network_id": network }))
        .await;
    let outside = client.public_network().await;
    let wanted = json!({"floatingip": {"floating_network_id": outside, "port_id": port}});
    let refused = client
        .post("/network/v2.0/floatingips", wanted.clone())
        .await;
    assert_eq!(
        (refused.status, refused.at("/NeutronError/type").as_str()),
        (404, Some("ExternalGatewayForFloatingIPNotFound"))
    );

    let router = router_with_gateway(&client, &subnet).await;
    let made = client.post("/network/v2.0/floatingips", wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.at("/floatingip/status"), "ACTIVE");
    assert_eq!(made.at("/floatingip/router_id"), router.as_str());
    let path = format!("/network/v2.0/routers/{router}");
    let in_use = client
        .put(
            &format!("{path}/remove_router_interface"),
            json!({ "subnet_id": subnet }),
        )
        .await;
    assert_eq!(
        in_use.at("/NeutronError/type"),
        "RouterInterfaceInUseByFloatingIP"
    );
    let in_use = client
        .put(&path, json!({"router": {"external_gateway_info": null}}))
        .await;
    assert_eq!(
        in_use.at("/NeutronError/type"),
        "RouterExternalGatewayInUseByFloatingIp"
    );

    // The deletion of the port disassociates the address.
    assert_eq!(
        client
            .delete(&format!("/network/v2.0/ports/{port}"))
            .await
            .status,
        204
    );
    let id = made.at("/floatingip/id").as_str().unwrap();
    let loose = client.get(&format!("/network/v2.0/floatingips/{id}")).await;
    assert_eq!(
        (
            loose.at("/floatingip/status").as_str(),
            loose.at("/floatingip/port_id")
        ),
        (Some("DOWN"), &Value::Null)
    );
}

#[tokio::test]
async fn security_groups_allow_egress_and_the_default_one_its_members() {
    let (_lab, client) = memory().await;
    let groups = client
        .get("/network/v2.0/security-groups?name=default")
        .await;
    let rules = |body: &Value| {
        let all = body["security_group_rules"].as_array().unwrap().clone();
        let shown = all.iter().map(|rule| {
            let remote = if rule["remote_group_id"].is_null() {
                "anyone"
            } else {
                "members"
            };
            format!(
                "{} {} {remote}",
                rule["direction"].as_str().unwrap(),
                rule["ethertype"].as_str().unwrap()
            )
        });
        shown.collect::<Vec<_>>()
    };
    let default = rules(groups.at("/security_groups/0"));
    assert_eq!(
        default,
        [
            "egress IPv4 anyone",
            "egress IPv6 anyone",
            "ingress IPv4 members",
            "ingress IPv6 members"
        ]
    );
    let made = client
        .post(
            "/network/v2.0/security-groups",
            json!({"security_group": {"name": "web"}}),
        )
        .await;
    assert_eq!(
        rules(made.at("/security_group")),
        ["egress IPv4 anyone", "egress IPv6 anyone"]
    );
}

#[tokio::test]
async fn lists_are_filtered_by_any_attribute_and_paged() {
    let (_lab, client) = memory().await;
    for (name, description) in [("a", "stackloom:1/a"), ("b", "stackloom:1/b"), ("c", "")] {
        client
            .network(
                "networks",
                json!({"name": name, "description": description}),
            )
            .await;
    }
    let id = client
        .get("/network/v2.0/networks?name=c")
        .await
        .at("/networks/0/id")
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        client
            .put(
                &format!("/network/v2.0/networks/{id}/tags"),
                json!({"tags": ["red", "round"]})
            )
            .await
            .status,
        200
    );
    for (query, expected) in [
        ("description=stackloom:1/b", "b"),
        ("name=a&name=c", "a c"),
        ("tags=red,round", "c"),
        ("tags-any=red,blue", "c"),
        ("not-tags=red&router:external=false", "a b"),
        ("router:external=true", "public"),
        ("sort_key=name&sort_dir=desc&limit=2", "public c"),
        ("name=nothing", ""),
    ] {
        let answer = client.get(&format!("/network/v2.0/networks?{query}")).await;
        let names: Vec<&str> = answer
            .at("/networks")
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.join(" "), expected, "{query}");
    }
    let first = client.get("/network/v2.0/networks?limit=3").await;
    let next = first
        .at("/networks_links/0/href")
        .as_str()
        .unwrap()
        .split_once("/network/")
        .unwrap()
        .1
        .to_owned();
    assert_eq!(
        client
            .get(&format!("/network/{next}"))
            .await
            .at("/networks")
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        client.get("/network/v2.0/networks?nonsense=1").await.status,
        400
    );
}

#[tokio::test]
async fn port_forwardings_of_a_floating_ip_lead_to_several_servers() {
    let (_lab, client) = memory().await;
    let (network, subnet) = network_with_subnet(&client, "front", "10.0.0.0/24").await;
    let router = router_with_gateway(&client, &subnet).await;
    let port = |last: u8| json!({"network_id": network, "fixed_ips": [{"ip_address": format!("10.0.0.{last}")}]});
    let (web, db) = (
        client.network("ports", port(11)).await,
        client.network("ports", port(12)).await,
    );
    let outside = client.public_network().await;
    let address = json!({"floating_network_id": outside});
    let address = client.network("floatingips", address).await;
    let path = format!("/network/v2.0/floatingips/{address}");
    let forwardings = format!("{path}/port_forwardings");
    let forward = |external: u16, port: &str| json!({"port_forwarding": {"protocol": "tcp", "external_port": external, "internal_port": 22, "internal_port_id": port}});

    let first = client.post(&forwardings, forward(2201, &web)).await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(
        first.at("/port_forwarding/internal_ip_address"),
        "10.0.0.11"
    );
    assert_eq!(
        client.post(&forwardings, forward(2202, &db)).await.status,
        201
    );
    let taken = client.post(&forwardings, forward(2201, &db)).await;
    assert_eq!(taken.status, 400, "{}", taken.text);
    let shown = client.get(&path).await;
    assert_eq!(
        shown.at("/floatingip/port_forwardings/1/external_port"),
        2202
    );
    assert_eq!(shown.at("/floatingip/router_id"), router.as_str());

    // An address with forwardings cannot be associated, and its router is required.
    let whole = json!({"floatingip": {"port_id": web}});
    let in_use = client.put(&path, whole).await;
    assert_eq!(in_use.at("/NeutronError/type"), "FipInUseByPortForwarding");
    let no_gateway = json!({"router": {"external_gateway_info": null}});
    let router = format!("/network/v2.0/routers/{router}");
    assert_eq!(client.put(&router, no_gateway.clone()).await.status, 409);

    // The deletion of a port removes its forwardings. A forwarding can be changed.
    client.delete(&format!("/network/v2.0/ports/{web}")).await;
    let left = client.get(&forwardings).await;
    assert_eq!(left.at("/port_forwardings").as_array().unwrap().len(), 1);
    let id = left.at("/port_forwardings/0/id").as_str().unwrap();
    let one = format!("{forwardings}/{id}");
    let moved = json!({"port_forwarding": {"external_port": 2203}});
    let moved = client.put(&one, moved).await;
    assert_eq!(moved.at("/port_forwarding/external_port"), 2203);
    assert_eq!(client.delete(&one).await.status, 204);
    assert_eq!(client.put(&router, no_gateway).await.status, 200);
}
