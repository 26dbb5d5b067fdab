//! Nova's APIs besides servers: its deprecated security groups, snapshots for old clients, consoles.

use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::common::{Answer, Client, memory};

/// A running server on a network of its own, and its path.
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
    for rule in [
        json!({"protocol": "tcp", "port_range_min": 22, "port_range_max": 23}),
        json!({"protocol": "udp"}),
        json!({"protocol": "icmp", "remote_ip_prefix": "10.0.0.0/8"}),
        json!({"remote_group_id": group}),
    ] {
        let mut rule = rule;
        rule["security_group_id"] = json!(group);
        rule["direction"] = "ingress".into();
        demo.network("security-group-rules", rule).await;
    }
    let path = format!("/compute/v2.1/os-security-groups/{group}");
    let shown = old(&demo, Method::GET, &path, Value::Null).await;
    let rules = shown.at("/security_group/rules").as_array().unwrap();
    let fields = |rule: &Value| {
        ["ip_protocol", "from_port", "to_port", "ip_range"].map(|name| rule[name].clone())
    };
    let anywhere = json!({"cidr": "0.0.0.0/0"});
    let wanted = [
        [json!("tcp"), json!(22), json!(23), anywhere.clone()],
        [json!("udp"), json!(1), json!(65535), anywhere],
        [
            json!("icmp"),
            json!(-1),
            json!(-1),
            json!({"cidr": "10.0.0.0/8"}),
        ],
        [Value::Null, Value::Null, Value::Null, json!({})],
    ];
    assert_eq!(rules.iter().map(fields).collect::<Vec<_>>(), wanted);
    assert_eq!(rules[3]["group"]["name"], "ssh");
    let listed = old(
        &demo,
        Method::GET,
        "/compute/v2.1/os-security-groups",
        Value::Null,
    )
    .await;
    let groups = listed.at("/security_groups").as_array().unwrap();
    assert!(groups.contains(shown.at("/security_group")), "{groups:?}");

    let of_server = || async {
        let shown = demo.get(&format!("{server}/os-security-groups")).await;
        let groups = shown.at("/security_groups").as_array().unwrap().iter();
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
async fn novas_security_group_proxy_ends_at_its_microversion_and_hides_other_projects() {
    let (lab, demo) = memory().await;
    let proxy = "/compute/v2.1/os-security-groups";
    assert_eq!(demo.get(proxy).await.status, 404, "2.79 has none");
    let by_name = format!("{proxy}/default");
    let refused = old(&demo, Method::GET, &by_name, Value::Null).await;
    assert_eq!(refused.status, 400);
    let message = refused.at("/badRequest/message");
    assert_eq!(message, "Security group id should be uuid");
    let mine = demo.network("security-groups", json!({"name": "g"})).await;
    let other = Client::login(&lab, "other").await;
    let path = format!("{proxy}/{mine}");
    assert_eq!(
        old(&demo, Method::GET, &path, Value::Null).await.status,
        200
    );
    assert_eq!(
        old(&other, Method::GET, &path, Value::Null).await.status,
        404
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
