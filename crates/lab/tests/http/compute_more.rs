//! Nova's APIs besides servers: its deprecated security groups, usage, backups, consoles.

use std::time::{Duration, Instant};

use lab::Lab;
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

/// The calls of `openstack usage show`.
#[tokio::test]
async fn usage_counts_the_hours_of_existing_and_deleted_servers() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let id = server.rsplit('/').next().unwrap();
    let project = &demo.project_id;
    let of = format!("/compute/v2.1/os-simple-tenant-usage/{project}");
    let long = format!("{of}?start=2020-01-01T00:00:00.000000&end=2100-01-01T00:00:00");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let shown = demo.get(&long).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    let usage = shown.at("/tenant_usage");
    let one = &usage["server_usages"][0];
    assert_eq!(one["instance_id"], id);
    assert_eq!(one["state"], "active");
    assert_eq!(one["flavor"], "m1.tiny");
    assert_eq!(one["ended_at"], Value::Null);
    let hours = one["hours"].as_f64().unwrap();
    assert!(hours > 0.0 && hours < 1.0, "{hours}");
    let memory = usage["total_memory_mb_usage"].as_f64().unwrap();
    // The values are rounded separately.
    assert!((memory - 512.0 * hours).abs() < 1e-9, "{memory}");
    // Future time is not counted.
    assert!(usage["stop"].as_str().unwrap() < "2100");

    assert_eq!(demo.delete(&server).await.status, 204);
    demo.wait_for_server(id, "GONE", TIMEOUT).await;
    let shown = demo.get(&long).await;
    let one = shown.at("/tenant_usage/server_usages/0");
    assert_eq!(one["state"], "terminated", "{}", shown.text);
    assert!(one["ended_at"].is_string());
    // The default period is empty: from now until now.
    assert_eq!(demo.get(&of).await.body, json!({"tenant_usage": {}}));

    let turned = format!("{of}?start=2100-01-01T00:00:00&end=2020-01-01T00:00:00");
    for (path, wanted) in [
        (
            turned,
            "Invalid start time. The start time cannot occur after the end time.",
        ),
        (
            format!("{of}?start=yesterday"),
            "Invalid datetime string: Datetime is in invalid format",
        ),
    ] {
        let refused = demo.get(&path).await;
        assert_eq!(refused.status, 400, "{path}");
        assert_eq!(refused.at("/badRequest/message"), wanted);
    }
    let other = Client::login(&lab, "other").await;
    assert_eq!(other.get(&of).await.status, 403);
    let all = "/compute/v2.1/os-simple-tenant-usage?start=2020-01-01T00:00:00";
    assert_eq!(demo.get(all).await.status, 403);
    let admin = Client::login(&lab, "admin").await;
    let all = admin.get(all).await;
    assert_eq!(all.at("/tenant_usages/0/tenant_id"), &json!(project));
    assert_eq!(all.at("/tenant_usages/0/server_usages"), &Value::Null);
}

/// Names of the backups, after the end of the current action.
async fn backups(lab: &Lab, client: &Client, server: &str) -> Vec<String> {
    let begin = Instant::now();
    let busy = || async {
        let shown = client.get(server).await;
        shown.at("/server/OS-EXT-STS:task_state").is_string()
    };
    while busy().await {
        assert!(begin.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    lab.model(|model| {
        let images = model.images.iter();
        let backups = images.filter(|image| {
            let kind = image.properties.get("image_type");
            kind.is_some_and(|kind| kind == "backup")
        });
        backups.filter_map(|image| image.name.clone()).collect()
    })
}

#[tokio::test]
async fn the_oldest_backups_are_removed_by_rotation() {
    let (lab, demo) = memory().await;
    let server = web(&demo).await;
    let act = format!("{server}/action");
    let backup = |name: &str, kind: &str, rotation: Value| json!({"createBackup": {"name": name, "backup_type": kind, "rotation": rotation}});
    for (name, kind, kept) in [
        ("one", "daily", vec!["one"]),
        ("two", "daily", vec!["one", "two"]),
        ("week", "weekly", vec!["one", "two", "week"]),
        ("three", "daily", vec!["two", "week", "three"]),
    ] {
        let made = demo.post(&act, backup(name, kind, json!(2))).await;
        assert_eq!(made.status, 202, "{}", made.text);
        let id = made.at("/image_id").as_str().unwrap().to_owned();
        assert_eq!(backups(&lab, &demo, &server).await, kept);
        let image = demo.get(&format!("/image/v2/images/{id}")).await;
        assert_eq!(image.at("/backup_type"), kind);
        assert_eq!(image.at("/status"), "active");
    }
    // A rotation of 0 keeps no backup, so there is no `Location` header.
    let none = old(
        &demo,
        Method::POST,
        &act,
        backup("none", "daily", json!("0")),
    )
    .await;
    assert_eq!(none.status, 202, "{}", none.text);
    assert!(!none.headers.contains_key("location"));
    assert_eq!(backups(&lab, &demo, &server).await, ["week"]);
    let response = old(
        &demo,
        Method::POST,
        &act,
        backup("more", "weekly", json!(2)),
    )
    .await;
    assert!(response.headers.contains_key("location"));

    for (body, wanted) in [
        (
            json!({"createBackup": {"name": "b", "backup_type": "daily"}}),
            "'rotation' is a required property",
        ),
        (
            backup("b", "daily", json!(-1)),
            "-1 is less than the minimum of 0",
        ),
        (
            backup("b", "daily", json!("x")),
            "'x' does not match '^[0-9]*$'",
        ),
    ] {
        let refused = demo.post(&act, body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let message = refused.at("/badRequest/message").as_str().unwrap();
        assert!(message.ends_with(wanted), "{message}");
    }
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
