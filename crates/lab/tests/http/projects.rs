//! Isolation of two projects.

use lab::Lab;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Client, memory};
use crate::{TIMEOUT, network_with_subnet, router_with_gateway};

const LB: &str = "/load-balancer/v2.0/lbaas";

/// Creates a resource. Returns the value at a pointer of the response.
async fn made(client: &Client, path: &str, body: Value, pointer: &str) -> String {
    let answer = client.post(path, body).await;
    let created = (200..300).contains(&answer.status);
    assert!(created, "{path}: {} {}", answer.status, answer.text);
    let found = answer.at(pointer).as_str();
    found
        .unwrap_or_else(|| panic!("{path}: {}", answer.text))
        .to_owned()
}

/// Waits until the value at a pointer is as expected.
async fn settled(client: &Client, path: &str, pointer: &str, wanted: &str) {
    let waiting = async {
        while client.get(path).await.at(pointer) != wanted {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.expect(path);
}

/// Creates a resource of each type. Returns their paths.
async fn create_one_of_each(client: &Client) -> Vec<String> {
    let mut paths = Vec::new();
    let (network, subnet) = network_with_subnet(client, "front", "10.0.0.0/24").await;
    let router = router_with_gateway(client, &subnet).await;
    let port = client
        .network("ports", json!({"network_id": network}))
        .await;
    let parent = client
        .network("ports", json!({"network_id": network}))
        .await;
    let outside = client.public_network().await;
    let group = client
        .network("security-groups", json!({"name": "web"}))
        .await;
    let rule = json!({"security_group_id": group, "direction": "ingress", "protocol": "tcp"});
    let rule = client.network("security-group-rules", rule).await;
    let floating = json!({"floating_network_id": outside});
    let pool = json!({"name": "pool", "prefixes": ["10.9.0.0/16"]});
    let scope = json!({"name": "scope", "ip_version": 4});
    let floating = client.network("floatingips", floating).await;
    let forwarding = format!("/network/v2.0/floatingips/{floating}/port_forwardings");
    let body = json!({"port_forwarding": {"protocol": "tcp", "external_port": 2222, "internal_port": 22, "internal_port_id": port}});
    let one = made(client, &forwarding, body, "/port_forwarding/id").await;
    paths.extend([format!("{forwarding}/{one}"), forwarding]);
    let friend = json!({"rbac_policy": {"object_type": "network", "object_id": network, "action": "access_as_shared", "target_tenant": "friend"}});
    let path = "/network/v2.0/rbac-policies";
    let friend = made(client, path, friend, "/rbac_policy/id").await;
    paths.push(format!("{path}/{friend}"));
    for (collection, id) in [
        ("networks", network.clone()),
        ("subnets", subnet.clone()),
        ("ports", port.clone()),
        ("routers", router),
        ("security-groups", group),
        ("security-group-rules", rule),
        ("floatingips", floating),
        (
            "address-scopes",
            client.network("address-scopes", scope).await,
        ),
        ("subnetpools", client.network("subnetpools", pool).await),
        (
            "trunks",
            client.network("trunks", json!({"port_id": parent})).await,
        ),
    ] {
        paths.push(format!("/network/v2.0/{collection}/{id}"));
    }

    let key = json!({"keypair": {"name": "key", "type": "ssh"}});
    made(
        client,
        "/compute/v2.1/os-keypairs",
        key,
        "/keypair/private_key",
    )
    .await;
    paths.push("/compute/v2.1/os-keypairs/key".into());
    let together = json!({"server_group": {"name": "apart", "policy": "anti-affinity"}});
    let path = "/compute/v2.1/os-server-groups";
    let together = made(client, path, together, "/server_group/id").await;
    paths.push(format!("{path}/{together}"));
    let server = client
        .server(json!({"name": "web", "networks": [{"port": port}]}))
        .await;
    client.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    for below in [
        "",
        "/ips",
        "/os-interface",
        "/os-volume_attachments",
        "/os-instance-actions",
    ] {
        paths.push(format!("/compute/v2.1/servers/{server}{below}"));
    }

    let volume = json!({"volume": {"name": "data", "size": 1}});
    let volume = made(client, "/volume/v3/volumes", volume, "/volume/id").await;
    let path = format!("/volume/v3/volumes/{volume}");
    settled(client, &path, "/volume/status", "available").await;
    paths.push(path);
    let snapshot = json!({"snapshot": {"volume_id": volume}});
    let snapshot = made(client, "/volume/v3/snapshots", snapshot, "/snapshot/id").await;
    let path = format!("/volume/v3/snapshots/{snapshot}");
    settled(client, &path, "/snapshot/status", "available").await;
    paths.push(path);

    let image = json!({"name": "mine", "disk_format": "raw", "container_format": "bare"});
    let image = made(client, "/image/v2/images", image, "/id").await;
    paths.push(format!("/image/v2/images/{image}"));
    paths.push(format!("/image/v2/images/{image}/file"));

    let secret = json!({"name": "mine", "payload": "word", "payload_content_type": "text/plain"});
    let secret = made(client, "/key-manager/v1/secrets", secret, "/secret_ref").await;
    let path = secret[secret.find("/key-manager").unwrap()..].to_owned();
    paths.extend([format!("{path}/payload"), path.clone()]);
    let box_ = json!({"name": "box", "type": "generic", "secret_refs": [{"name": "a", "secret_ref": secret}]});
    let box_ = made(client, "/key-manager/v1/containers", box_, "/container_ref").await;
    paths.push(box_[box_.find("/key-manager").unwrap()..].to_owned());

    let balancer = json!({"loadbalancer": {"name": "lb", "vip_subnet_id": subnet}});
    let path = format!("{LB}/loadbalancers");
    let balancer = made(client, &path, balancer, "/loadbalancer/id").await;
    let root = format!("{path}/{balancer}");
    let status = "/loadbalancer/provisioning_status";
    settled(client, &root, status, "ACTIVE").await;
    let listener =
        json!({"listener": {"loadbalancer_id": balancer, "protocol": "HTTP", "protocol_port": 80}});
    let listener = made(client, &format!("{LB}/listeners"), listener, "/listener/id").await;
    settled(client, &root, status, "ACTIVE").await;
    let pool = json!({"pool": {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}});
    let pool = made(client, &format!("{LB}/pools"), pool, "/pool/id").await;
    settled(client, &root, status, "ACTIVE").await;
    let member = json!({"member": {"address": "10.0.0.5", "protocol_port": 80}});
    let members = format!("{LB}/pools/{pool}/members");
    let member = made(client, &members, member, "/member/id").await;
    settled(client, &root, status, "ACTIVE").await;
    paths.extend([
        format!("{members}/{member}"),
        format!("{LB}/pools/{pool}"),
        format!("{LB}/listeners/{listener}"),
        format!("{root}/status"),
        format!("{root}/stats"),
        root,
    ]);
    paths
}

/// The status of each supported method of a path for another project.
async fn statuses_for_other_project(client: &Client, path: &str) -> Vec<(Method, u16)> {
    let mut seen = Vec::new();
    for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
        let singular = path.trim_end_matches('s');
        let word = singular.rsplit('/').nth(1).unwrap_or_default();
        let answer = client
            .call(method.clone(), path, json!({word: {"name": "taken"}}))
            .await;
        // An unsupported method gives no information about the resource.
        if answer.status != 405 {
            seen.push((method, answer.status));
        }
    }
    seen
}

#[tokio::test]
async fn resources_of_a_project_are_not_found_by_another() {
    let (lab, demo) = memory().await;
    let other = Client::login(&lab, "other").await;
    let paths = create_one_of_each(&demo).await;
    let before = shown(&demo, &paths).await;
    let mut wrong = Vec::new();
    for path in &paths {
        for (method, status) in statuses_for_other_project(&other, path).await {
            // Glance checks the format of a patch first, Nova and Cinder that of a body.
            let form_first =
                method != Method::GET && method != Method::DELETE && [400, 415].contains(&status);
            // Barbican finds secrets of other projects, and then its policy refuses.
            let refused = status == 403 && path.starts_with("/key-manager");
            if status != 404 && !form_first && !refused {
                wrong.push(format!("{method} {path}: {status}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(shown(&demo, &paths).await, before, "something has changed");
    nothing_is_listed(&lab, &other).await;
}

/// The responses at these paths.
async fn shown(client: &Client, paths: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for path in paths {
        let answer = client.get(path).await;
        assert!(
            answer.status < 300,
            "{path}: {} {}",
            answer.status,
            answer.text
        );
        all.push(answer.text);
    }
    all
}

/// Checks that lists contain only the project's own and shared resources.
async fn nothing_is_listed(lab: &Lab, other: &Client) {
    for (path, pointer, of_everybody) in [
        ("/network/v2.0/networks", "/networks", 1),
        ("/network/v2.0/subnets", "/subnets", 1),
        ("/network/v2.0/ports", "/ports", 0),
        ("/network/v2.0/routers", "/routers", 0),
        ("/network/v2.0/floatingips", "/floatingips", 0),
        // The project's default group is created by its first list.
        ("/network/v2.0/security-groups", "/security_groups", 1),
        ("/network/v2.0/subnetpools", "/subnetpools", 0),
        ("/network/v2.0/trunks", "/trunks", 0),
        ("/network/v2.0/address-scopes", "/address_scopes", 0),
        ("/network/v2.0/rbac-policies", "/rbac_policies", 0),
        ("/compute/v2.1/servers/detail", "/servers", 0),
        ("/compute/v2.1/os-keypairs", "/keypairs", 0),
        ("/compute/v2.1/os-server-groups", "/server_groups", 0),
        ("/volume/v3/volumes/detail", "/volumes", 0),
        ("/volume/v3/snapshots/detail", "/snapshots", 0),
        ("/image/v2/images", "/images", 1),
        ("/key-manager/v1/secrets", "/secrets", 0),
        ("/key-manager/v1/containers", "/containers", 0),
        (
            "/load-balancer/v2.0/lbaas/loadbalancers",
            "/loadbalancers",
            0,
        ),
        ("/load-balancer/v2.0/lbaas/listeners", "/listeners", 0),
        ("/load-balancer/v2.0/lbaas/pools", "/pools", 0),
    ] {
        let listed = other.get(path).await;
        let rows = listed.at(pointer).as_array();
        assert_eq!(rows.map(Vec::len), Some(of_everybody), "{path}");
    }
    assert!(!lab.leftovers().contains_key("other"));
}

#[tokio::test]
async fn networks_and_ports_of_another_project_cannot_be_used() {
    let (lab, demo) = memory().await;
    let other = Client::login(&lab, "other").await;
    let (network, subnet) = network_with_subnet(&demo, "front", "10.0.0.0/24").await;
    let mine = other.network("routers", json!({"name": "mine"})).await;
    let port = json!({"port": {"network_id": network}});
    let refused = other.post("/network/v2.0/ports", port).await;
    assert_eq!(refused.status, 404);
    let leg = format!("/network/v2.0/routers/{mine}/add_router_interface");
    let refused = other.put(&leg, json!({"subnet_id": subnet})).await;
    assert_eq!(refused.status, 404, "{}", refused.text);
    let server = json!({"server": {"name": "web", "imageRef": other.image().await, "flavorRef": "1", "networks": [{"uuid": network}]}});
    let refused = other.post("/compute/v2.1/servers", server).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    // The external network is visible to all projects, and read-only.
    let outside = other.public_network().await;
    let path = format!("/network/v2.0/networks/{outside}");
    assert_eq!(other.delete(&path).await.status, 403);
    // Two projects can use the same range.
    network_with_subnet(&other, "front", "10.0.0.0/24").await;
}

#[tokio::test]
async fn a_shared_network_is_usable_and_stays_shared_while_in_use() {
    let (lab, demo) = memory().await;
    let other = Client::login(&lab, "other").await;
    let (network, _) = network_with_subnet(&demo, "front", "10.0.0.0/24").await;
    let path = format!("/network/v2.0/networks/{network}");
    assert_eq!(other.get(&path).await.status, 404);
    let policy = json!({"object_type": "network", "object_id": network, "action": "access_as_shared", "target_tenant": other.project_id});
    let policies = "/network/v2.0/rbac-policies";
    let policy = json!({ "rbac_policy": policy });
    let policy = made(&demo, policies, policy, "/rbac_policy/id").await;
    assert_eq!(other.get(&path).await.status, 200);
    assert_eq!(other.delete(&path).await.status, 403);
    let subnets = other
        .get(&format!("/network/v2.0/subnets?network_id={network}"))
        .await;
    assert_eq!(subnets.at("/subnets").as_array().unwrap().len(), 1);
    let port = other.network("ports", json!({"network_id": network})).await;

    let policy = format!("{policies}/{policy}");
    let in_use = demo.delete(&policy).await;
    assert_eq!(in_use.at("/NeutronError/type"), "RbacPolicyInUse");
    other.delete(&format!("/network/v2.0/ports/{port}")).await;
    assert_eq!(demo.delete(&policy).await.status, 204);
    assert_eq!(other.get(&path).await.status, 404);
}
