//! Checks of a lab on Docker from outside: its servers' contents, open ports, volumes, and remaining objects on the
//! host.

use std::path::Path;
use std::time::{Duration, Instant};

use lab::substrate::docker::DockerSubstrate;
use lab::{Lab, LabConfig};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use super::Client;

/// Time limit for a server's boot on a busy machine.
pub const BOOT: Duration = Duration::from_secs(240);
/// Time limit for a TCP connection on a busy machine.
const ANSWER: Duration = Duration::from_secs(30);
/// Time after which a port counts as closed.
const SILENCE: Duration = Duration::from_secs(2);

/// A lab on this machine, by its name.
pub struct Machine(pub &'static str);

impl Machine {
    /// Starts a lab with this name after removing the previous one.
    pub async fn starts(&self, config: LabConfig) -> Lab {
        let substrate = DockerSubstrate::new(self.0, config.public_cidr)
            .await
            .expect("this test needs Docker");
        substrate.reset().await.expect("this test needs root");
        let lab = Lab::start(config).await;
        lab.expect("this test needs Docker and the lab's images")
    }

    /// The name of a server's container.
    pub fn container(&self, server: &str) -> String {
        format!("stackloom-{}-server-{server}", self.0)
    }

    /// Runs a command in a server's container with `docker exec`. Returns its output if it succeeded.
    pub async fn inside(&self, server: &str, command: &str) -> Option<String> {
        let output = Command::new("docker")
            .args(["exec", &self.container(server), "sh", "-c", command])
            .output()
            .await
            .expect("docker");
        let output_text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(output_text)
    }

    /// The lab's objects on this machine: containers, networks, images, rules, disks, mounts.
    pub async fn traces(&self) -> Vec<String> {
        let name = self.0;
        let label = format!("label=stackloom.lab={name}");
        // Commands, and whether their output contains the lab's objects only.
        let commands: [(&[&str], bool); 7] = [
            (&["docker", "ps", "-aq", "--filter", &label], true),
            (&["docker", "network", "ls", "-q", "--filter", &label], true),
            (&["docker", "images", "-q", "--filter", &label], true),
            (&["docker", "volume", "ls", "-q", "--filter", &label], true),
            (&["iptables-save"], false),
            (&["losetup", "--noheadings", "--output", "BACK-FILE"], false),
            (&["cat", "/proc/mounts"], false),
        ];
        let marks = [
            format!("stackloom.lab={name}\""),
            format!("stackloom-lab-{name}/"),
            format!("stackloom-{name}-"),
        ];
        let mut traces = Vec::new();
        for (words, all) in commands {
            let output_text = output(words).await;
            let ours = output_text
                .lines()
                .filter(|line| all || marks.iter().any(|mark| line.contains(mark)));
            traces.extend(ours.map(str::to_owned));
        }
        let disks = format!("/var/tmp/stackloom-lab-{name}");
        if Path::new(&disks).exists() {
            traces.push(disks);
        }
        traces
    }
}

async fn output(words: &[&str]) -> String {
    let output_text = Command::new(words[0]).args(&words[1..]).output().await;
    String::from_utf8_lossy(&output_text.unwrap().stdout).into_owned()
}

/// Whether a port accepts connections.
pub async fn opens(address: &str, port: u16) -> bool {
    connects_in(ANSWER, address, port).await
}

/// Whether a port accepts no connections.
pub async fn is_shut(address: &str, port: u16) -> bool {
    !connects_in(SILENCE, address, port).await
}

async fn connects_in(limit: Duration, address: &str, port: u16) -> bool {
    let connected = timeout(limit, TcpStream::connect((address, port))).await;
    matches!(connected, Ok(Ok(_)))
}

/// Waits until a volume has this status (`gone` after its removal).
pub async fn wait_for_volume(client: &Client, volume: &str, wanted: &str) {
    wait_for_status(client, "volume", volume, wanted).await;
}

/// Waits until a snapshot of a volume has this status (`gone` after its removal).
pub async fn wait_for_snapshot(client: &Client, snapshot: &str, wanted: &str) {
    wait_for_status(client, "snapshot", snapshot, wanted).await;
}

async fn wait_for_status(client: &Client, kind: &str, id: &str, wanted: &str) {
    let started = Instant::now();
    loop {
        let answer = client.get(&format!("/volume/v3/{kind}s/{id}")).await;
        let status = answer.at(&format!("/{kind}/status"));
        let status = status.as_str().unwrap_or("gone");
        if status == wanted {
            return;
        }
        assert!(
            started.elapsed() < BOOT,
            "the {kind} is {status} and not {wanted}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Creates a volume of 1 GiB. Returns its id.
pub async fn volume(client: &Client) -> String {
    let body = json!({"volume": {"size": 1, "name": "data"}});
    let made = client.post("/volume/v3/volumes", body).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let id = made.at("/volume/id").as_str().unwrap().to_owned();
    wait_for_volume(client, &id, "available").await;
    id
}

/// Takes a snapshot of a volume. Returns its id.
pub async fn volume_snapshot(client: &Client, volume: &str) -> String {
    let body = json!({"snapshot": {"volume_id": volume, "name": "before"}});
    let made = client.post("/volume/v3/snapshots", body).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let id = made.at("/snapshot/id").as_str().unwrap().to_owned();
    wait_for_snapshot(client, &id, "available").await;
    id
}

/// Attaches a volume to a server.
pub async fn plug(client: &Client, server: &str, volume: &str) {
    let path = format!("/compute/v2.1/servers/{server}/os-volume_attachments");
    let body = json!({"volumeAttachment": {"volumeId": volume}});
    let answer = client.post(&path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    wait_for_volume(client, volume, "in-use").await;
}

/// Detaches a volume from a server.
pub async fn unplug(client: &Client, server: &str, volume: &str) {
    let path = format!("/compute/v2.1/servers/{server}/os-volume_attachments/{volume}");
    assert_eq!(client.delete(&path).await.status, 202);
    wait_for_volume(client, volume, "available").await;
}

/// Waits until a text is on a server's console.
pub async fn wait_for_console(client: &Client, server: &str, words: &str) {
    let started = Instant::now();
    let path = format!("/compute/v2.1/servers/{server}/action");
    loop {
        let answer = client.post(&path, json!({"os-getConsoleOutput": {}})).await;
        let output_text = answer.at("/output").as_str();
        if output_text.is_some_and(|text| text.contains(words)) {
            return;
        }
        assert!(
            started.elapsed() < BOOT,
            "`{words}` is not on the console after {BOOT:?}:\n{}",
            answer.text
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Creates a floating IP for a port. Returns its id and address.
pub async fn floating_ip(client: &Client, port: Option<&str>) -> (String, String) {
    let outside = client.public_network().await;
    let mut fields = json!({"floating_network_id": outside});
    if let Some(port) = port {
        fields["port_id"] = port.into();
    }
    let body = json!({"floatingip": fields});
    let made = client.post("/network/v2.0/floatingips", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let text = |pointer: &str| match made.at(pointer) {
        Value::String(text) => text.clone(),
        other => panic!("{pointer} is {other}"),
    };
    (
        text("/floatingip/id"),
        text("/floatingip/floating_ip_address"),
    )
}
