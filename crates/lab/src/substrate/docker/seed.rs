//! The boot files of a server, as tar archives: a NoCloud seed for cloud-init, its name servers, and the signal to
//! continue the boot.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::kit::ids::host_name as hostname;
use crate::substrate::{ServerSpec, Ssh};

const SEED: &str = "var/lib/cloud/seed/nocloud";
/// The folder of `lab-boot`. Files cannot be uploaded below `/run`, which is in memory.
const BOOT: &str = "var/lib/lab";

/// The signal that the network is configured. The boot waits for it.
pub fn go() -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    put(&mut tar, &format!("{BOOT}/wired"), b"")?;
    tar.into_inner()
}

/// All other files. `name_servers` are the default for subnets without name servers.
pub fn archive(spec: &ServerSpec, name_servers: &[Ipv4Addr]) -> std::io::Result<Vec<u8>> {
    let mut metadata = json!({"instance-id": spec.id, "local-hostname": hostname(&spec.name)});
    if let Some(key) = &spec.public_key {
        metadata["public-keys"] = json!([key]);
    }
    // JSON is valid YAML.
    let metadata = serde_json::to_vec(&metadata)?;
    let user_data = spec
        .user_data
        .clone()
        .unwrap_or_else(|| b"#cloud-config\n{}\n".to_vec());
    let mut tar = tar::Builder::new(Vec::new());
    put(&mut tar, &format!("{SEED}/meta-data"), &metadata)?;
    put(&mut tar, &format!("{SEED}/user-data"), &user_data)?;
    let named = &spec.wiring.name_servers;
    let servers = if named.is_empty() {
        name_servers
    } else {
        named
    };
    let resolv: String = servers
        .iter()
        .map(|server| format!("nameserver {server}\n"))
        .collect();
    put(&mut tar, &format!("{BOOT}/resolv.conf"), resolv.as_bytes())?;
    let mut hosts = String::from("127.0.0.1 localhost\n");
    if let Some((address, _)) = spec
        .wiring
        .nics
        .first()
        .and_then(|nic| nic.addresses.first())
    {
        hosts.push_str(&format!("{address} {}\n", hostname(&spec.name)));
    }
    put(&mut tar, &format!("{BOOT}/hosts"), hosts.as_bytes())?;
    if spec.ssh == Ssh::Missing {
        put(&mut tar, &format!("{BOOT}/no-ssh"), b"")?;
    }
    tar.into_inner()
}

/// The configuration file of a load balancer.
pub fn haproxy(configuration: &str) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    put(&mut tar, "run/lab/haproxy.cfg", configuration.as_bytes())?;
    tar.into_inner()
}

fn put(tar: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8]) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    header.set_cksum();
    tar.append_data(&mut header, path, content)
}
