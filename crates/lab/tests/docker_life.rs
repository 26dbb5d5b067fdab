//! The lab on Docker: restart, servers without SSH, and reset.
//!
//! Same requirements as `docker_services.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::machine::{BOOT, Machine, floating_ip, is_shut, opens, plug, volume, wait_for_console};
use common::{Client, http};
use lab::substrate::Close;
use lab::{Fault, Lab, LabConfig, ServerFault, ServerTrouble};
use serde_json::{Value, json};
use tokio::process::Command;

const NAME: &str = "lab-test-life";
const LAB: Machine = Machine(NAME);
const PUBLIC: &str = "172.31.11.0/24";
const LB: &str = "/load-balancer/v2.0/lbaas";

fn config(state: &Path) -> LabConfig {
    LabConfig {
        state: Some(state.into()),
        close: Close::Keep,
        ..LabConfig::docker(NAME, PUBLIC.parse().unwrap())
    }
}

/// The created resources, by id or address.
struct Made {
    client: Client,
    server: String,
    volume: String,
    balancer: String,
    /// The floating IP of the server.
    address: String,
    /// A floating IP that forwards port 2222 to the second server's SSH port.
    shared_address: String,
    /// The floating IP of the load balancer.
    balanced: String,
}

/// Creates a resource of a load balancer, and waits until it is ACTIVE. Returns the resource.
async fn piece(client: &Client, path: &str, body: Value) -> Value {
    let made = client.post(&format!("{LB}/{path}"), body).await;
    assert_eq!(made.status, 201, "{path}: {}", made.text);
    let piece = made.body.as_object().unwrap().values().next().unwrap();
    let started = Instant::now();
    loop {
        let all = client.get(&format!("{LB}/loadbalancers")).await;
        if all.at("/loadbalancers/0/provisioning_status") == "ACTIVE" {
            return piece.clone();
        }
        assert!(started.elapsed() < BOOT, "{}", all.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Whether a load balancer rejects requests according to its policy.
async fn refused(address: &str) -> bool {
    let response = http().get(format!("http://{address}/")).send().await;
    response.is_ok_and(|answer| answer.status() == 403)
}

impl Made {
    /// Servers with a floating IP, a port forwarding and a load balancer, and a volume with data.
    async fn on(lab: &Lab) -> Self {
        let client = Client::login(lab, "demo").await;
        let outside = client.public_network().await;
        let net = client.network("networks", json!({"name": "net"})).await;
        let subnet = json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4});
        let subnet = client.network("subnets", subnet).await;
        let router = json!({"external_gateway_info": {"network_id": outside}});
        let router = client.network("routers", router).await;
        let leg = format!("/network/v2.0/routers/{router}/add_router_interface");
        client.put(&leg, json!({"subnet_id": subnet})).await;
        let group = client
            .network("security-groups", json!({"name": "open"}))
            .await;
        let rule = json!({"security_group_id": group, "direction": "ingress"});
        client.network("security-group-rules", rule).await;
        let port = json!({"network_id": net, "security_groups": [group]});
        let whole = client.network("ports", port.clone()).await;
        let in_part = client.network("ports", port).await;
        let server = json!({"name": "web", "networks": [{"port": whole}]});
        let server = client.server(server).await;
        let second = json!({"name": "second", "networks": [{"port": in_part}]});
        let second = client.server(second).await;
        for id in [&server, &second] {
            client.wait_for_server(id, "ACTIVE", BOOT).await;
            wait_for_console(&client, id, "Server listening on").await;
        }
        let (_, address) = floating_ip(&client, Some(&whole)).await;
        let (shared, shared_address) = floating_ip(&client, None).await;
        let forward = json!({"port_forwarding": {"protocol": "tcp", "external_port": 2222, "internal_port": 22, "internal_port_id": in_part}});
        let path = format!("/network/v2.0/floatingips/{shared}/port_forwardings");
        let made = client.post(&path, forward).await;
        assert_eq!(made.status, 201, "{}", made.text);

        let volume = volume(&client).await;
        plug(&client, &server, &volume).await;
        let written = "printf 'still there' | dd of=/dev/vdb conv=fsync";
        assert!(LAB.inside(&server, written).await.is_some());

        let balancer = json!({"loadbalancer": {"vip_subnet_id": subnet}});
        let balancer = piece(&client, "loadbalancers", balancer).await;
        let (_, balanced) = floating_ip(&client, balancer["vip_port_id"].as_str()).await;
        let listener =
            json!({"loadbalancer_id": balancer["id"], "protocol": "HTTP", "protocol_port": 80});
        let listener = piece(&client, "listeners", json!({ "listener": listener })).await;
        // The policy rejects requests, so no members are needed.
        let policy = json!({"listener_id": listener["id"], "action": "REJECT"});
        let policy = piece(&client, "l7policies", json!({ "l7policy": policy })).await;
        let rule = json!({"rule": {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/"}});
        let path = format!("l7policies/{}/rules", policy["id"].as_str().unwrap());
        piece(&client, &path, rule).await;
        Self {
            client,
            server,
            volume,
            balancer: balancer["id"].as_str().unwrap().to_owned(),
            address,
            shared_address,
            balanced,
        }
    }

    /// Creates a server that accepts all connections, and waits until it is ACTIVE. Returns its id and floating IP.
    async fn reachable(&self, name: &str) -> (String, String) {
        let client = &self.client;
        let server =
            json!({"name": name, "networks": "auto", "security_groups": [{"name": "open"}]});
        let server = client.server(server).await;
        client.wait_for_server(&server, "ACTIVE", BOOT).await;
        let ports = format!("/network/v2.0/ports?device_id={server}");
        let port = client.get(&ports).await;
        let (_, address) = floating_ip(client, port.at("/ports/0/id").as_str()).await;
        (server, address)
    }

    /// Checks that all resources work.
    async fn works(&self, when: &str) {
        let client = &self.client;
        client.wait_for_server(&self.server, "ACTIVE", BOOT).await;
        assert!(opens(&self.address, 22).await, "{when}: no floating IP");
        assert!(
            opens(&self.shared_address, 2222).await,
            "{when}: the port is not forwarded"
        );
        assert!(
            is_shut(&self.shared_address, 22).await,
            "{when}: more is forwarded than was said"
        );
        let shown = client
            .get(&format!("/volume/v3/volumes/{}", self.volume))
            .await;
        assert_eq!(shown.at("/volume/status"), "in-use", "{when}");
        let read = LAB.inside(&self.server, "head -c 11 /dev/vdb").await;
        assert_eq!(read.as_deref(), Some("still there"), "{when}");
        let balancer = format!("{LB}/loadbalancers/{}", self.balancer);
        let balancer = client.get(&balancer).await;
        let status = balancer.at("/loadbalancer/provisioning_status");
        assert_eq!(status, "ACTIVE", "{when}");
        let started = Instant::now();
        while !refused(&self.balanced).await {
            assert!(
                started.elapsed() < BOOT,
                "{when}: the load balancer does not answer"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Docker and the lab's images; `cargo xtask test unit` runs it beside the others"]
async fn a_restart_keeps_everything_and_a_reset_nothing() {
    let state = tempfile::tempdir().unwrap();
    let lab = LAB.starts(config(state.path())).await;
    let mut made = Made::on(&lab).await;
    made.works("at first").await;

    // A server without SSH is ACTIVE all the same. Right after ACTIVE, no server listens yet, so a healthy server is
    // created after it and awaited: by then, the first one would listen too.
    lab.faults().add(Fault::Server(ServerFault {
        name: "deaf".into(),
        fault: ServerTrouble::NoSsh,
        times: None,
    }));
    let (_, deaf) = made.reachable("deaf").await;
    let (healthy, hearing) = made.reachable("hearing").await;
    wait_for_console(&made.client, &healthy, "Server listening on").await;
    assert!(opens(&hearing, 22).await, "nothing listens");
    assert!(is_shut(&deaf, 22).await, "it listens after all");

    lab.stop().await;
    assert_ne!(LAB.traces().await, Vec::<String>::new());
    let lab = Lab::start(config(state.path())).await.unwrap();
    made.client.move_to(&lab);
    made.works("after a restart").await;

    // The command line, while the lab still has all resources.
    lab.stop().await;
    let reset = Command::new(env!("CARGO_BIN_EXE_stackloom-lab"))
        .args(["reset", "--name", NAME, "--public-cidr", PUBLIC, "--state"])
        .arg(state.path())
        .output()
        .await
        .unwrap();
    assert!(reset.status.success(), "{reset:?}");
    assert_eq!(
        LAB.traces().await,
        Vec::<String>::new(),
        "something is left"
    );
    let files: Vec<_> = std::fs::read_dir(state.path()).unwrap().collect();
    assert!(files.is_empty(), "{files:?}");
}
