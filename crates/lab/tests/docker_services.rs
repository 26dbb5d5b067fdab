//! The lab on Docker: the metadata service, images of servers, load balancers.
//!
//! Same requirements as `docker.rs`, and the image `stackloom-lab-balancer`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::machine::{BOOT, Machine, floating_ip};
use common::{Client, http};
use lab::LabConfig;
use lab::kit::ids::stable_id;
use lab::substrate::docker::DockerSubstrate;
use lab::substrate::{Close, Substrate as _};
use lab::wiring::{
    BalancerWiring, FilterRule, FilterRules, Interface, Remote, ServerWiring, Wiring,
};
use serde_json::json;
use tokio::process::Command;

const NAME: &str = "lab-test-services";
const LAB: Machine = Machine(NAME);
const PUBLIC: &str = "172.31.10.0/24";
const LIMIT: Duration = BOOT;
const LB: &str = "/load-balancer/v2.0/lbaas";

/// Runs a command in a server's container with `docker exec`. Returns its output if it succeeded.
async fn inside(server: &str, command: &str) -> Option<String> {
    LAB.inside(server, command).await
}

/// Starts a web server on port 80 of a server. It responds with the name.
async fn serve(server: &str, name: &str) {
    let container = LAB.container(server);
    let script = format!(
        "mkdir -p /srv/web && cd /srv/web && echo {name} > index.html && python3 -m http.server 80 >/tmp/log 2>&1; echo $? >> /tmp/log"
    );
    let status = Command::new("docker")
        .args(["exec", "-d", &container, "sh", "-c", &script])
        .status()
        .await
        .unwrap();
    assert!(status.success());
    let started = Instant::now();
    while inside(server, "curl -s http://127.0.0.1/").await.as_deref() != Some(name) {
        assert!(
            started.elapsed() < LIMIT,
            "nothing answers in {name}: {:?}",
            inside(server, "cat /tmp/log").await
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The response of a server's metadata service at this path.
async fn metadata_of(server: &str, path: &str) -> String {
    let command = format!("curl -sf --max-time 30 http://169.254.169.254/{path}");
    let answer = inside(server, &command).await;
    answer.unwrap_or_else(|| panic!("no answer at {path}"))
}

/// Creates a resource of a load balancer, and waits until it is ACTIVE.
async fn piece(
    client: &Client,
    balancer: &str,
    path: &str,
    word: &str,
    fields: serde_json::Value,
) -> String {
    let made = client
        .post(&format!("{LB}/{path}"), json!({word: fields}))
        .await;
    assert_eq!(made.status, 201, "{path}: {}", made.text);
    let id = made.at(&format!("/{word}/id")).as_str().unwrap().to_owned();
    let balancer = if balancer.is_empty() { &id } else { balancer };
    settled(client, balancer).await;
    id
}

async fn settled(client: &Client, balancer: &str) {
    let started = Instant::now();
    loop {
        let shown = client.get(&format!("{LB}/loadbalancers/{balancer}")).await;
        let status = shown.at("/loadbalancer/provisioning_status").clone();
        if shown.status == 404 || status == "ACTIVE" {
            return;
        }
        assert!(started.elapsed() < LIMIT, "the load balancer is {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The response of a URL. `None` if there is none.
async fn fetch(url: &str) -> Option<(u16, String)> {
    let answer = http()
        .get(url)
        .timeout(Duration::from_secs(2))
        .send()
        .await
        .ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.text().await.ok()?.trim().to_owned()))
}

/// Waits until ten consecutive responses come from exactly these servers.
async fn wait_for_answers(url: &str, wanted: &[&str]) {
    let started = Instant::now();
    let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    loop {
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            seen.insert(match fetch(url).await {
                Some((200, body)) => body,
                other => format!("{other:?}"),
            });
        }
        if seen == wanted {
            return;
        }
        assert!(started.elapsed() < LIMIT, "{seen:?} and not {wanted:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Docker and the lab's images; `cargo xtask test unit` runs it beside the others"]
async fn servers_get_metadata_snapshots_and_a_load_balancer() {
    let lab = LAB
        .starts(LabConfig::docker(NAME, PUBLIC.parse().unwrap()))
        .await;
    let client = Client::login(&lab, "demo").await;
    let outside = client.public_network().await;
    let net = client.network("networks", json!({"name": "net"})).await;
    let subnet = json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4});
    let subnet = client.network("subnets", subnet).await;
    let gateway = json!({"name": "way", "external_gateway_info": {"network_id": outside}});
    let router = client.network("routers", gateway).await;
    let leg = format!("/network/v2.0/routers/{router}/add_router_interface");
    assert_eq!(
        client.put(&leg, json!({"subnet_id": subnet})).await.status,
        200
    );
    // Only the load balancer can connect to the servers.
    let group = client
        .network("security-groups", json!({"name": "web"}))
        .await;
    let rule = json!({"security_group_id": group, "direction": "ingress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "10.0.0.100/32"});
    client.network("security-group-rules", rule).await;

    let mut servers = Vec::new();
    for (name, address) in [("one", "10.0.0.11"), ("two", "10.0.0.12")] {
        let port = json!({"network_id": net, "fixed_ips": [{"ip_address": address}], "security_groups": [group]});
        let port = client.network("ports", port).await;
        let fields = json!({"name": name, "networks": [{"port": port}], "metadata": {"role": name}, "user_data": STANDARD.encode("#cloud-config\n{}\n")});
        let server = client.server(fields).await;
        client.wait_for_server(&server, "ACTIVE", LIMIT).await;
        serve(&server, name).await;
        servers.push(server);
    }
    let (one, two) = (&servers[0], &servers[1]);

    // Each server gets its own metadata only, and changes are visible immediately.
    let of_one: serde_json::Value =
        serde_json::from_str(&metadata_of(one, "openstack/latest/meta_data.json").await).unwrap();
    assert_eq!(
        (of_one["uuid"].as_str(), of_one["meta"]["role"].as_str()),
        (Some(one.as_str()), Some("one"))
    );
    assert!(
        metadata_of(two, "openstack/2018-08-27/meta_data.json")
            .await
            .contains(two.as_str())
    );
    assert_eq!(
        metadata_of(one, "openstack/latest/user_data").await,
        "#cloud-config\n{}"
    );
    assert!(
        metadata_of(one, "openstack/latest/network_data.json")
            .await
            .contains("10.0.0.11")
    );
    assert!(
        inside(
            one,
            "curl -sf http://169.254.169.254/openstack/latest/secrets"
        )
        .await
        .is_none()
    );
    let path = format!("/compute/v2.1/servers/{one}/metadata");
    client
        .post(&path, json!({"metadata": {"role": "first"}}))
        .await;
    assert!(
        metadata_of(one, "openstack/latest/meta_data.json")
            .await
            .contains("first")
    );

    // A load balancer with a public address distributes requests.
    let fields = json!({"name": "lb", "vip_subnet_id": subnet, "vip_address": "10.0.0.100"});
    let balancer = piece(&client, "", "loadbalancers", "loadbalancer", fields).await;
    let shown = client.get(&format!("{LB}/loadbalancers/{balancer}")).await;
    let vip = shown.at("/loadbalancer/vip_port_id").clone();
    let (floating, address) = floating_ip(&client, vip.as_str()).await;
    let url = format!("http://{address}/");
    assert!(fetch(&url).await.is_none(), "nothing listens yet");
    let fields = json!({"loadbalancer_id": balancer, "protocol": "HTTP", "protocol_port": 80});
    let listener = piece(&client, &balancer, "listeners", "listener", fields).await;
    let fields =
        json!({"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"});
    let pool = piece(&client, &balancer, "pools", "pool", fields).await;
    for address in ["10.0.0.11", "10.0.0.12"] {
        let fields = json!({"address": address, "protocol_port": 80, "subnet_id": subnet});
        piece(
            &client,
            &balancer,
            &format!("pools/{pool}/members"),
            "member",
            fields,
        )
        .await;
    }
    wait_for_answers(&url, &["one", "two"]).await;
    let straight = "curl -sf --max-time 2 http://10.0.0.11/";
    assert!(
        inside(two, straight).await.is_none(),
        "a member is open to others than the load balancer"
    );

    // An L7 policy with a path rule.
    let fields = json!({"listener_id": listener, "action": "REJECT"});
    let policy = piece(&client, &balancer, "l7policies", "l7policy", fields).await;
    let fields = json!({"type": "PATH", "compare_type": "STARTS_WITH", "value": "/it's private"});
    let path = format!("l7policies/{policy}/rules");
    piece(&client, &balancer, &path, "rule", fields).await;
    let fields = json!({"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"});
    let other = json!({"listener_id": listener, "action": "REJECT"});
    let policy = piece(&client, &balancer, "l7policies", "l7policy", other).await;
    piece(
        &client,
        &balancer,
        &format!("l7policies/{policy}/rules"),
        "rule",
        fields,
    )
    .await;
    let started = Instant::now();
    while fetch(&format!("{url}private"))
        .await
        .map(|(status, _)| status)
        != Some(403)
    {
        assert!(started.elapsed() < LIMIT, "the rule does not work");
    }

    // A failed member gets no requests, and gets them again when it recovers.
    let fields = json!({"pool_id": pool, "type": "HTTP", "delay": 1, "timeout": 1, "max_retries": 1, "max_retries_down": 1});
    piece(
        &client,
        &balancer,
        "healthmonitors",
        "healthmonitor",
        fields,
    )
    .await;
    let act = async |server: &str, action: serde_json::Value, leads_to: &str| {
        let path = format!("/compute/v2.1/servers/{server}/action");
        let answer = client.post(&path, action).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        client.wait_for_server(server, leads_to, LIMIT).await;
    };
    act(one, json!({"pause": null}), "PAUSED").await;
    wait_for_answers(&url, &["two"]).await;
    act(one, json!({"unpause": null}), "ACTIVE").await;
    wait_for_answers(&url, &["one", "two"]).await;

    // An image of a server contains its files.
    let path = format!("/compute/v2.1/servers/{one}/action");
    let made = client
        .post(&path, json!({"createImage": {"name": "copy"}}))
        .await;
    assert_eq!(made.status, 202, "{}", made.text);
    let image = made.at("/image_id").as_str().unwrap().to_owned();
    let started = Instant::now();
    while client
        .get(&format!("/image/v2/images/{image}"))
        .await
        .at("/status")
        != "active"
    {
        assert!(started.elapsed() < LIMIT, "the image is not made");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let fields = json!({"server": {"name": "three", "imageRef": image, "flavorRef": "1", "networks": [{"uuid": net}]}});
    let three = client.post("/compute/v2.1/servers", fields).await;
    let three = three.at("/server/id").as_str().unwrap().to_owned();
    client.wait_for_server(&three, "ACTIVE", LIMIT).await;
    assert_eq!(
        inside(&three, "cat /srv/web/index.html").await.as_deref(),
        Some("one")
    );
    assert!(
        metadata_of(&three, "openstack/latest/meta_data.json")
            .await
            .contains(&three)
    );

    // A server that dies is shown as SHUTOFF, and can be started again.
    let container = LAB.container(&three);
    Command::new("docker")
        .args(["kill", &container])
        .output()
        .await
        .unwrap();
    client.wait_for_server(&three, "SHUTOFF", LIMIT).await;
    act(&three, json!({"os-start": null}), "ACTIVE").await;
    assert!(
        metadata_of(&three, "openstack/latest/meta_data.json")
            .await
            .contains(&three)
    );

    // No objects remain.
    assert_eq!(
        client
            .delete(&format!("/network/v2.0/floatingips/{floating}"))
            .await
            .status,
        204
    );
    let in_use = client
        .delete(&format!("{LB}/loadbalancers/{balancer}"))
        .await;
    assert_eq!(in_use.status, 400, "{}", in_use.text);
    let gone = client
        .delete(&format!("{LB}/loadbalancers/{balancer}?cascade=true"))
        .await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    settled(&client, &balancer).await;
    for server in [one, two, &three] {
        client
            .delete(&format!("/compute/v2.1/servers/{server}"))
            .await;
        client.wait_for_server(server, "GONE", LIMIT).await;
    }
    assert_eq!(
        client
            .delete(&format!("/image/v2/images/{image}"))
            .await
            .status,
        204
    );
    lab.stop().await;
    assert_eq!(
        LAB.traces().await,
        Vec::<String>::new(),
        "something is left"
    );
}

/// The id of the external network, which every lab has.
fn network() -> String {
    stable_id("network/public")
}

/// Load balancers on one network that respond with a number each.
fn balancers(numbers: &BTreeMap<String, u32>) -> Wiring {
    let anybody = FilterRule {
        protocol: None,
        min: None,
        max: None,
        remote: Remote::Anyone,
    };
    let one = |at: usize, number: u32| {
        let address = Ipv4Addr::new(172, 31, 15, u8::try_from(100 + at).unwrap());
        let nic = Interface {
            network_id: network(),
            mac: format!("fa:16:3e:00:00:{at:02x}"),
            addresses: vec![(address, 24)],
            pairs: Vec::new(),
        };
        let rules = FilterRules {
            ingress: vec![anybody.clone()],
            egress: vec![anybody.clone()],
        };
        let host = ServerWiring {
            nics: vec![nic],
            filters: vec![Some(rules)],
            ..ServerWiring::default()
        };
        let configuration = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\nfrontend a\n  bind {address}:80\n  \
             http-request return status 200 content-type text/plain string {number}\n"
        );
        BalancerWiring {
            host,
            configuration,
        }
    };
    let all = numbers.iter().enumerate();
    Wiring {
        networks: [network()].into(),
        balancers: all
            .map(|(at, (id, number))| (id.clone(), one(at, *number)))
            .collect(),
        ..Wiring::default()
    }
}

/// When HAProxy is starting or reloading during a change, the last configuration still takes effect.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Docker and the lab's images; `cargo xtask test unit` runs it beside the others"]
async fn a_load_balancer_is_running_its_last_change() {
    const TOLD: Machine = Machine("lab-test-told");
    let range = "172.31.15.0/24".parse().unwrap();
    let substrate = DockerSubstrate::new(TOLD.0, range).await.unwrap();
    substrate.reset().await.unwrap();
    substrate.open().await.unwrap();
    let mut numbers = BTreeMap::new();
    // Changes in quick succession, with pauses of different lengths, to hit different phases of the start of HAProxy.
    for round in 0..12_u32 {
        for (id, _) in numbers.clone() {
            numbers.insert(id, round);
        }
        numbers.insert(format!("{round:02}"), round);
        // The time limit does not wait for the earlier configuration.
        let metadata_of = balancers(&numbers);
        let _ = tokio::time::timeout(
            Duration::from_millis(u64::from(round) * 15 + 250),
            substrate.wire(&metadata_of),
        )
        .await;
    }
    for number in numbers.values_mut() {
        *number = 99;
    }
    let wanted = balancers(&numbers);
    let started = Instant::now();
    while let Err(error) = substrate.wire(&wanted).await {
        assert!(started.elapsed() < LIMIT, "{error}");
    }
    for (id, wiring) in &wanted.balancers {
        assert!(substrate.balancer_is_running(id, Some(wiring)).await);
        let (address, _) = wiring.host.nics[0].addresses[0];
        wait_for_answers(&format!("http://{address}/"), &["99"]).await;
    }
    substrate.close(Close::Remove).await.unwrap();
    assert_eq!(TOLD.traces().await, Vec::<String>::new());
}
