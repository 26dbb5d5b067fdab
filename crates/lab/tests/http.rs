//! What the services answer, on the lab in memory: bodies, status codes, and above all refusals, as the real ones word them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::time::Duration;

use common::{Client, http, memory, password, project_scope};
use lab::{CallFault, Damage, Fault, Lab, LabConfig, ServerFault, ServerTrouble};
use reqwest::Method;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(10);

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

async fn login(lab: &Lab, auth: Value) -> (u16, Value) {
    let response = http()
        .post(format!("{}/auth/tokens", lab.auth_url()))
        .json(&json!({ "auth": auth }))
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn only_the_right_password_and_an_own_project_let_in() {
    let (lab, client) = memory().await;
    let by_id = json!({"methods": ["password"], "password": {"user": {"id": client.user_id, "password": "demo"}}});
    let token = json!({"methods": ["token"], "token": {"id": client.token}});
    for (what, identity, scope, expected) in [
        (
            "name and password",
            password("demo", "demo"),
            project_scope("demo"),
            201,
        ),
        (
            "id and password",
            by_id,
            json!({"project": {"id": client.project_id}}),
            201,
        ),
        ("a token", token, project_scope("demo"), 201),
        ("no scope", password("demo", "demo"), json!("unscoped"), 201),
        (
            "a wrong password",
            password("demo", "nonsense"),
            project_scope("demo"),
            401,
        ),
        (
            "an unknown user",
            password("nobody", "demo"),
            project_scope("demo"),
            401,
        ),
        (
            "an unknown project",
            password("demo", "demo"),
            project_scope("nothing"),
            401,
        ),
        (
            "somebody else's project",
            password("demo", "demo"),
            project_scope("other"),
            401,
        ),
        (
            "no domain",
            json!({"methods": ["password"], "password": {"user": {"name": "demo", "password": "demo"}}}),
            project_scope("demo"),
            400,
        ),
    ] {
        let (status, body) = login(&lab, json!({"identity": identity, "scope": scope})).await;
        assert_eq!(status, expected, "{what}: {body}");
        if expected == 401 {
            assert_eq!(
                body["error"]["message"], "The request you have made requires authentication.",
                "{what}"
            );
        }
    }
    let (_, body) = login(
        &lab,
        json!({"identity": password("demo", "demo"), "scope": project_scope("demo")}),
    )
    .await;
    let types: Vec<&str> = body["token"]["catalog"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "identity",
            "compute",
            "network",
            "image",
            "block-storage",
            "key-manager",
            "load-balancer",
            "volumev3"
        ]
    );
    assert_eq!(body["token"]["catalog"][1]["endpoints"][0]["region"], "lab");
}

#[tokio::test]
async fn a_revoked_token_ends() {
    let (_lab, client) = memory().await;
    let subject = [("x-subject-token", client.token.as_str())];
    assert_eq!(
        client
            .call_with(
                Method::GET,
                "/identity/v3/auth/tokens",
                Value::Null,
                &subject
            )
            .await
            .status,
        200
    );
    assert_eq!(
        client
            .call_with(
                Method::DELETE,
                "/identity/v3/auth/tokens",
                Value::Null,
                &subject
            )
            .await
            .status,
        204
    );
    for path in [
        "/compute/v2.1/servers",
        "/network/v2.0/networks",
        "/image/v2/images",
        "/key-manager/v1/secrets",
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, answer.at("/error/code").as_u64()),
            (401, Some(401)),
            "{path}"
        );
        assert!(answer.headers.contains_key("www-authenticate"), "{path}");
    }
}

#[tokio::test]
async fn an_application_credential_is_bound_to_its_project() {
    let (lab, client) = memory().await;
    let path = format!(
        "/identity/v3/users/{}/application_credentials",
        client.user_id
    );
    let made = client
        .post(&path, json!({"application_credential": {"name": "ci"}}))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let credential = json!({"id": made.at("/application_credential/id"), "secret": made.at("/application_credential/secret")});
    let identity =
        json!({"methods": ["application_credential"], "application_credential": credential});
    let (status, body) = login(&lab, json!({ "identity": identity })).await;
    assert_eq!(
        (status, body["token"]["project"]["name"].as_str()),
        (201, Some("demo")),
        "{body}"
    );
}

#[tokio::test]
async fn versions_are_told_without_a_token() {
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
async fn refusals_are_worded_like_the_real_ones() {
    let (_lab, client) = memory().await;
    let (network, subnet) = wire(&client, "front", "10.0.0.0/24").await;
    let router = way_out(&client, &subnet).await;
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
            "Invalid input for cidr. Reason: 'nonsense' is not a valid IP subnet.",
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
async fn a_floating_ip_needs_a_way_to_its_port() {
    let (_lab, client) = memory().await;
    let (network, subnet) = wire(&client, "front", "10.0.0.0/24").await;
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

    let router = way_out(&client, &subnet).await;
    let made = client.post("/network/v2.0/floatingips", wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.at("/floatingip/status"), "ACTIVE");
    assert_eq!(made.at("/floatingip/router_id"), router.as_str());
    let path = format!("/network/v2.0/routers/{router}");
    let kept = client
        .put(
            &format!("{path}/remove_router_interface"),
            json!({ "subnet_id": subnet }),
        )
        .await;
    assert_eq!(
        kept.at("/NeutronError/type"),
        "RouterInterfaceInUseByFloatingIP"
    );
    let kept = client
        .put(&path, json!({"router": {"external_gateway_info": null}}))
        .await;
    assert_eq!(
        kept.at("/NeutronError/type"),
        "RouterExternalGatewayInUseByFloatingIp"
    );

    // Deleting the port lets the address loose.
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
async fn every_group_lets_everything_out_and_the_default_one_its_members_in() {
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
async fn lists_are_filtered_by_any_attribute_and_cut_into_pages() {
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
async fn a_server_lives_and_dies() {
    let (lab, client) = memory().await;
    let (network, _) = wire(&client, "front", "10.0.0.0/24").await;
    let port = client
        .network("ports", json!({ "network_id": network }))
        .await;
    let id = client.server(json!({"name": "web", "networks": [{ "port": port }], "tags": ["mine"], "metadata": {"a": "b"}})).await;
    client.wait_for_server(&id, "ACTIVE", SOON).await;
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
    client.wait_for_server(&id, "SHUTOFF", SOON).await;
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
    client.wait_for_server(&id, "GONE", SOON).await;

    // A person's own port stays, free again.
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

#[tokio::test]
async fn secrets_come_back_as_they_went_in() {
    let (_lab, client) = memory().await;
    let wanted = json!({"name": "key", "payload": "-----BEGIN", "payload_content_type": "text/plain", "secret_type": "private"});
    let made = client.post("/key-manager/v1/secrets", wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let reference = made
        .at("/secret_ref")
        .as_str()
        .unwrap()
        .split_once("/key-manager")
        .unwrap()
        .1
        .to_owned();
    let path = format!("/key-manager{reference}");
    let payload = client
        .call_with(
            Method::GET,
            &format!("{path}/payload"),
            Value::Null,
            &[("accept", "text/plain")],
        )
        .await;
    assert_eq!((payload.status, payload.text.as_str()), (200, "-----BEGIN"));
    let listed = client.get("/key-manager/v1/secrets?name=key").await;
    assert_eq!(listed.at("/total"), 1);
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!(client.get(&path).await.status, 404);
}

#[tokio::test]
async fn projects_do_not_see_each_other() {
    let (lab, demo) = memory().await;
    let other = Client::login(&lab, "other").await;
    let (network, subnet) = wire(&demo, "front", "10.0.0.0/24").await;
    let server = demo
        .server(json!({"name": "web", "networks": [{ "uuid": network }]}))
        .await;
    let secret = demo
        .post("/key-manager/v1/secrets", json!({"name": "mine"}))
        .await;
    let secret = secret
        .at("/secret_ref")
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    for path in [
        format!("/network/v2.0/networks/{network}"),
        format!("/network/v2.0/subnets/{subnet}"),
        format!("/compute/v2.1/servers/{server}"),
        format!("/key-manager/v1/secrets/{secret}"),
    ] {
        assert_eq!(other.get(&path).await.status, 404, "{path}");
        assert_eq!(other.delete(&path).await.status, 404, "{path}");
        assert_eq!(demo.get(&path).await.status, 200, "{path}");
    }
    let refused = other
        .post(
            "/network/v2.0/ports",
            json!({"port": {"network_id": network}}),
        )
        .await;
    assert_eq!(refused.status, 404);
    // Everybody sees the external network, and nobody changes it.
    let outside = other.public_network().await;
    assert_eq!(
        other
            .delete(&format!("/network/v2.0/networks/{outside}"))
            .await
            .status,
        403
    );
    // The same range twice is nobody's business.
    wire(&other, "front", "10.0.0.0/24").await;
}

#[tokio::test]
async fn what_should_go_wrong_goes_wrong() {
    let (lab, client) = memory().await;
    let fault = |fault: CallFault| {
        lab.faults().add(Fault::Call(CallFault {
            service: Some("network".into()),
            ..fault
        }))
    };
    let post = |nth| CallFault {
        method: Some("POST".into()),
        path: Some("/v2.0/net*".into()),
        nth: Some(nth),
        ..Default::default()
    };
    fault(CallFault {
        status: Some(503),
        headers: [("retry-after".into(), "3".into())].into(),
        ..post(1)
    });
    fault(CallFault {
        damage: Some(Damage::WrongJson),
        ..post(2)
    });
    let body = json!({"network": {"name": "n"}});
    let first = client.post("/network/v2.0/networks", body.clone()).await;
    assert_eq!(
        (first.status, first.headers["retry-after"].to_str().unwrap()),
        (503, "3")
    );
    let second = client.post("/network/v2.0/networks", body.clone()).await;
    assert_eq!((second.status, second.body), (201, Value::Null));
    assert_eq!(
        client
            .post("/network/v2.0/networks", body.clone())
            .await
            .status,
        201
    );
    assert_eq!(lab.faults().counts()["network"]["POST"], 3);

    // The same over HTTP, and a connection that is cut.
    let cut = json!({"call": {"service": "network", "damage": "cut_after"}});
    assert_eq!(client.post("/lab/faults", cut).await.status, 201);
    let sent = http()
        .get(format!("{}/network/v2.0/networks", lab.url()))
        .header("x-auth-token", &client.token)
        .send()
        .await;
    let cut = match sent {
        Err(_) => true,
        Ok(response) => response.bytes().await.is_err(),
    };
    assert!(cut, "the connection was not cut");
    assert_eq!(client.delete("/lab/faults").await.status, 204);
    assert_eq!(client.get("/network/v2.0/networks").await.status, 200);
}

#[tokio::test]
async fn servers_fail_as_told() {
    let (lab, client) = memory().await;
    for (name, fault) in [
        ("bad", ServerTrouble::Error),
        ("slow", ServerTrouble::NeverActive),
        ("weak", ServerTrouble::Dies(30)),
    ] {
        lab.faults().add(Fault::Server(ServerFault {
            name: format!("{name}*"),
            fault,
            times: None,
        }));
    }
    let server = |name: &str| client.server(json!({"name": name, "networks": "none"}));
    let (bad, slow, weak) = (
        server("bad-1").await,
        server("slow").await,
        server("weak").await,
    );
    client.wait_for_server(&bad, "ERROR", SOON).await;
    client.wait_for_server(&weak, "SHUTOFF", SOON).await;
    assert_eq!(client.server_status(&slow).await, "BUILD");
    let fault = client.get(&format!("/compute/v2.1/servers/{bad}")).await;
    assert_eq!(fault.at("/server/fault/code"), 500);
}

#[tokio::test]
async fn quotas_hold() {
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

#[tokio::test]
async fn a_restart_keeps_what_there_was() {
    let directory = tempfile::tempdir().unwrap();
    let config = || LabConfig {
        state: Some(directory.path().into()),
        ..LabConfig::memory()
    };
    let lab = Lab::start(config()).await.unwrap();
    let mut client = Client::login(&lab, "demo").await;
    let (network, _) = wire(&client, "front", "10.0.0.0/24").await;
    let server = client
        .server(json!({"name": "web", "networks": [{ "uuid": network }]}))
        .await;
    client.wait_for_server(&server, "ACTIVE", SOON).await;
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
