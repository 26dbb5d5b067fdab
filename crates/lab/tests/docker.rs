//! The lab on Docker: interfaces, filters and address translation match the API.
//!
//! Needs root, Docker, and the images `stackloom-lab-server` and `stackloom-lab-router`:
//! `cargo test -p lab --test docker -- --ignored`; `cargo xtask test unit` builds the images and runs it.
//! All objects have a name and range of their own, and are removed before and after the test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::net::{IpAddr, SocketAddr};
use std::process::Output;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::Client;
use common::machine::{
    BOOT, Machine, floating_ip, is_shut, opens, plug, unplug, volume, volume_snapshot,
    wait_for_console, wait_for_snapshot, wait_for_volume,
};
use lab::LabConfig;
use reqwest::Method;
use serde_json::json;
use ssh_key::rand_core::OsRng;
use ssh_key::{Algorithm, LineEnding, PrivateKey};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::timeout;

const NAME: &str = "lab-test";
const PUBLIC: &str = "172.31.9.0/24";
const HOST: &str = "172.31.9.1";
const LAB: Machine = Machine(NAME);

/// SSH keys of a user and host keys of two servers, in a directory for `ssh`.
struct Keys {
    directory: tempfile::TempDir,
    login: PrivateKey,
    hosts: [PrivateKey; 2],
}

impl Keys {
    fn new() -> Self {
        let key = || PrivateKey::random(&mut OsRng, Algorithm::Ed25519).unwrap();
        let keys = Self {
            directory: tempfile::tempdir().unwrap(),
            login: key(),
            hosts: [key(), key()],
        };
        keys.login
            .write_openssh_file(&keys.directory.path().join("login"), LineEnding::LF)
            .unwrap();
        keys
    }

    fn user_data(&self, host: usize) -> String {
        let host = &self.hosts[host];
        let config = json!({
            "users": [{
                "name": "tester",
                "shell": "/bin/bash",
                "sudo": "ALL=(ALL) NOPASSWD:ALL",
                "ssh_authorized_keys": [self.login.public_key().to_openssh().unwrap()],
            }],
            "ssh_keys": {
                "ed25519_private": host.to_openssh(LineEnding::LF).unwrap().to_string(),
                "ed25519_public": host.public_key().to_openssh().unwrap(),
            },
        });
        STANDARD.encode(format!("#cloud-config\n{config}"))
    }

    /// Writes the two servers' host keys to `known_hosts`.
    fn pin(&self, addresses: [&str; 2]) {
        let lines = addresses.iter().zip(&self.hosts).map(|(address, key)| {
            format!("{address} {}\n", key.public_key().to_openssh().unwrap())
        });
        std::fs::write(
            self.directory.path().join("known_hosts"),
            lines.collect::<String>(),
        )
        .unwrap();
    }

    /// Runs a command on a server, directly or through another server.
    async fn ssh(&self, address: &str, by_way_of: Option<&str>, command: &str) -> Output {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let mut options = vec![
            "-i".to_owned(),
            path("login"),
            "-o".into(),
            format!("UserKnownHostsFile={}", path("known_hosts")),
            "-o".into(),
            "StrictHostKeyChecking=yes".into(),
            "-o".into(),
            "BatchMode=yes".into(),
            "-o".into(),
            "ConnectTimeout=30".into(),
        ];
        if let Some(way) = by_way_of {
            let proxy = format!("ssh {} -W %h:%p tester@{way}", options.join(" "));
            options.extend(["-o".into(), format!("ProxyCommand={proxy}")]);
        }
        let mut ssh = Command::new("ssh");
        ssh.args(&options)
            .arg(format!("tester@{address}"))
            .arg(command)
            .kill_on_drop(true);
        let output = timeout(BOOT, ssh.output()).await.expect("ssh hangs");
        output.expect("this test needs an SSH client: apt-get install openssh-client")
    }
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Whether a command succeeds in a server's container, run with `docker exec`.
async fn inside(server: &str, command: &str) -> bool {
    LAB.inside(server, command).await.is_some()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Docker and the lab's images; `cargo xtask test unit` runs it beside the others"]
async fn packets_follow_networks_routers_and_security_groups() {
    let lab = LAB
        .starts(LabConfig::docker(NAME, PUBLIC.parse().unwrap()))
        .await;
    let client = Client::login(&lab, "demo").await;
    let keys = Keys::new();

    // A network behind a router with two servers. Only `web` gets a floating IP.
    let outside = client.public_network().await;
    let net = client.network("networks", json!({"name": "front"})).await;
    let subnet = client
        .network(
            "subnets",
            json!({"network_id": net, "cidr": "10.0.0.0/24", "ip_version": 4}),
        )
        .await;
    let router = client
        .network(
            "routers",
            json!({"name": "way", "external_gateway_info": {"network_id": outside}}),
        )
        .await;
    let interface = client
        .put(
            &format!("/network/v2.0/routers/{router}/add_router_interface"),
            json!({"subnet_id": subnet}),
        )
        .await;
    assert_eq!(interface.status, 200, "{}", interface.text);
    let web_group = client
        .network("security-groups", json!({"name": "web"}))
        .await;
    let back_group = client
        .network("security-groups", json!({"name": "back"}))
        .await;
    let web_port = client
        .network(
            "ports",
            json!({"network_id": net, "security_groups": [web_group]}),
        )
        .await;
    let back_port =
        client.network("ports", json!({"network_id": net, "security_groups": [back_group], "fixed_ips": [{"ip_address": "10.0.0.50"}]})).await;
    let (floating_id, address) = floating_ip(&client, Some(&web_port)).await;
    let (floating_id, address) = (floating_id.as_str(), address.as_str());
    let server = |name: &str, port: &str, user_data: String| json!({"name": name, "networks": [{"port": port}], "user_data": user_data});
    let web = client
        .server(server("web", &web_port, keys.user_data(0)))
        .await;
    let back = client
        .server(server("back", &back_port, keys.user_data(1)))
        .await;
    for id in [&web, &back] {
        client.wait_for_server(id, "ACTIVE", BOOT).await;
        wait_for_console(&client, id, "Server listening on").await;
    }
    keys.pin([address, "10.0.0.50"]);

    // Without a rule, the port is closed. A rule for the host's address on the public network opens it immediately, and
    // the server sees this address.
    assert!(is_shut(address, 22).await, "port 22 is open without a rule");
    let rule = |group: &str| json!({"security_group_id": group, "direction": "ingress", "protocol": "tcp", "port_range_min": 22, "port_range_max": 22});
    let mut from_host = rule(&web_group);
    from_host["remote_ip_prefix"] = format!("{HOST}/32").into();
    let from_host = client.network("security-group-rules", from_host).await;
    assert!(
        opens(address, 22).await,
        "port 22 is not open in spite of the rule"
    );
    assert_eq!(
        text(
            &keys
                .ssh(
                    address,
                    None,
                    "hostname; echo $SSH_CONNECTION | cut -d' ' -f1"
                )
                .await
        ),
        format!("web\n{HOST}")
    );

    // A volume is a block device, and keeps its content when it moves to another server.
    let disk = volume(&client).await;
    plug(&client, &web, &disk).await;
    assert!(
        inside(
            &web,
            "[ $(blockdev --getsize64 /dev/vdb) = 1073741824 ] && mke2fs -q -t ext4 -L kept /dev/vdb \
             && echo hello > /tmp/file && debugfs -w -R 'write /tmp/file file' /dev/vdb && sync /dev/vdb"
        )
        .await,
        "the volume cannot be formatted and written"
    );
    assert!(
        !inside(&web, "mknod /tmp/stolen b 7 0").await,
        "a server may make devices"
    );
    unplug(&client, &web, &disk).await;
    assert!(
        inside(&web, "test ! -e /dev/vdb").await,
        "the device stayed behind"
    );
    let snapshot = volume_snapshot(&client, &disk).await;
    // The lab does not run the server's programs.
    let replaced =
        "printf '#!/bin/sh\\ntouch /tmp/was-run\\n' > /bin/mknod && cp /bin/mknod /bin/chgrp";
    assert!(inside(&back, replaced).await);
    plug(&client, &back, &disk).await;
    assert!(
        inside(&back, "test ! -e /tmp/was-run").await,
        "a program of the server's was run with the lab's rights"
    );
    assert!(
        inside(
            &back,
            "e2fsck -fn /dev/vdb && dumpe2fs -h /dev/vdb | grep -q kept && debugfs -R 'cat file' /dev/vdb | grep -q hello"
        )
        .await,
        "the file system is gone"
    );
    // Its content returns to the snapshot.
    assert!(
        inside(
            &back,
            "dd if=/dev/zero of=/dev/vdb bs=1M count=8 && sync /dev/vdb"
        )
        .await
    );
    unplug(&client, &back, &disk).await;
    let action = format!("/volume/v3/volumes/{disk}/action");
    let body = json!({"revert": {"snapshot_id": snapshot}});
    let newer = [("openstack-api-version", "volume 3.40")];
    let reverted = client.call_with(Method::POST, &action, body, &newer).await;
    assert_eq!(reverted.status, 202, "{}", reverted.text);
    wait_for_volume(&client, &disk, "available").await;
    plug(&client, &back, &disk).await;
    assert!(
        inside(
            &back,
            "e2fsck -fn /dev/vdb && debugfs -R 'cat file' /dev/vdb | grep -q hello"
        )
        .await,
        "the content of the snapshot is not back"
    );
    unplug(&client, &back, &disk).await;
    client
        .delete(&format!("/volume/v3/snapshots/{snapshot}"))
        .await;
    wait_for_snapshot(&client, &snapshot, "gone").await;
    client.delete(&format!("/volume/v3/volumes/{disk}")).await;
    wait_for_volume(&client, &disk, "gone").await;

    // Networks with the same range are isolated from each other.
    let apart = client.network("networks", json!({"name": "apart"})).await;
    client
        .network(
            "subnets",
            json!({"network_id": apart, "cidr": "10.0.0.0/24", "ip_version": 4}),
        )
        .await;
    let stranger = client
        .server(json!({"name": "stranger", "networks": [{"uuid": apart, "fixed_ip": "10.0.0.77"}]}))
        .await;
    client.wait_for_server(&stranger, "ACTIVE", BOOT).await;
    assert!(
        !inside(&stranger, "ping -c 1 -W 1 10.0.0.50").await,
        "networks are not apart"
    );
    client
        .delete(&format!("/compute/v2.1/servers/{stranger}"))
        .await;
    client.wait_for_server(&stranger, "GONE", BOOT).await;
    let gone = client
        .delete(&format!("/network/v2.0/networks/{apart}"))
        .await;
    assert_eq!(gone.status, 204, "{}", gone.text);

    // Only members of a group can reach the private server, through the public one.
    let reach = "timeout 2 bash -c '</dev/tcp/10.0.0.50/22' && echo open || echo closed";
    assert_eq!(text(&keys.ssh(address, None, reach).await), "closed");
    let mut from_web = rule(&back_group);
    from_web["remote_group_id"] = web_group.clone().into();
    client.network("security-group-rules", from_web).await;
    assert_eq!(
        text(&keys.ssh("10.0.0.50", Some(address), "hostname").await),
        "back"
    );

    // It reaches the external network through the router, with the router's address.
    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let call_out = format!(
        "timeout 60 bash -c '</dev/tcp/{HOST}/{}'",
        listener.local_addr().unwrap().port()
    );
    let (called, accepted) = tokio::join!(
        inside(&back, &call_out),
        timeout(Duration::from_secs(60), listener.accept())
    );
    assert!(called, "the private server does not reach the outside");
    let seen: SocketAddr = accepted.expect("no connection").unwrap().1;
    let gateway = client.get(&format!("/network/v2.0/routers/{router}")).await;
    let gateway = gateway
        .at("/router/external_gateway_info/external_fixed_ips/0/ip_address")
        .clone();
    assert_eq!(
        seen.ip(),
        gateway.as_str().unwrap().parse::<IpAddr>().unwrap()
    );

    // After the removal of the rule, the port is closed. Without the router, the external network is unreachable.
    assert_eq!(
        client
            .delete(&format!("/network/v2.0/security-group-rules/{from_host}"))
            .await
            .status,
        204
    );
    assert!(
        is_shut(address, 22).await,
        "port 22 is open after its rule went"
    );
    let in_use = client
        .put(
            &format!("/network/v2.0/routers/{router}/remove_router_interface"),
            json!({"subnet_id": subnet}),
        )
        .await;
    assert_eq!(
        in_use.at("/NeutronError/type"),
        "RouterInterfaceInUseByFloatingIP"
    );
    assert_eq!(
        client
            .delete(&format!("/network/v2.0/floatingips/{floating_id}"))
            .await
            .status,
        204
    );
    let removed = client
        .put(
            &format!("/network/v2.0/routers/{router}/remove_router_interface"),
            json!({"subnet_id": subnet}),
        )
        .await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    assert!(
        !inside(&back, &call_out).await,
        "the private server reaches the outside without a router"
    );

    // No objects remain.
    for id in [&web, &back] {
        assert_eq!(
            client
                .delete(&format!("/compute/v2.1/servers/{id}"))
                .await
                .status,
            204
        );
        client.wait_for_server(id, "GONE", BOOT).await;
    }
    for path in [
        format!("routers/{router}"),
        format!("ports/{web_port}"),
        format!("ports/{back_port}"),
        format!("security-groups/{back_group}"),
        format!("security-groups/{web_group}"),
        format!("networks/{net}"),
    ] {
        let answer = client.delete(&format!("/network/v2.0/{path}")).await;
        assert_eq!(answer.status, 204, "{path}: {}", answer.text);
    }
    assert!(lab.leftovers().is_empty(), "{:?}", lab.leftovers());
    lab.stop().await;
    assert_eq!(
        LAB.traces().await,
        Vec::<String>::new(),
        "something is left"
    );
}
