//! Resources of Nova, as in its responses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::network::FixedIp;

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// Id assigned by Nova.
    pub id: String,
    /// Display name, not unique.
    pub name: String,
    /// `BUILD`, `ACTIVE`, `ERROR`, `DELETED` ...
    pub status: String,
    /// Addresses by network name.
    pub addresses: BTreeMap<String, Vec<Address>>,
    /// Metadata of Stackloom and of the user.
    pub metadata: BTreeMap<String, String>,
    /// Tags of Stackloom and of the user.
    pub tags: Vec<String>,
    /// Reason for the status `ERROR`.
    pub fault: Option<Fault>,
    /// Running task, such as `spawning`. `None` without one.
    #[serde(rename = "OS-EXT-STS:task_state")]
    pub task_state: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An address of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Address {
    /// The IP address.
    pub addr: String,
    /// IP version, 4 or 6.
    pub version: u8,
    /// `fixed` or `floating`.
    #[serde(rename = "OS-EXT-IPS:type")]
    pub kind: String,
    /// MAC address of the port.
    #[serde(rename = "OS-EXT-IPS-MAC:mac_addr")]
    pub mac: String,
}

/// Nova's reason for `ERROR`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// Message of Nova.
    pub message: String,
    /// Error code, similar to an HTTP status.
    pub code: i64,
}

/// A flavor: the size of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flavor {
    /// Id; any text.
    pub id: String,
    /// Unique name.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub ram: u32,
    /// Root disk in GiB.
    pub disk: u32,
}

/// A public key that Nova installs on servers. Belongs to a user, not to a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyPair {
    /// Name, which is also the id.
    pub name: String,
    /// Public key in OpenSSH format.
    pub public_key: String,
    /// Fingerprint of the public key.
    pub fingerprint: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A group of servers with a policy of affinity or anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerGroup {
    /// Id assigned by Nova.
    pub id: String,
    /// Display name, not unique.
    pub name: String,
    /// `affinity`, `anti-affinity`, `soft-affinity` or `soft-anti-affinity`; always one entry.
    pub policies: Vec<String>,
    /// Ids of the group's servers.
    pub members: Vec<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Attachment of a volume to a server, as reported by Nova.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Attachment {
    /// Id of the volume, for historical reasons.
    pub id: String,
    /// Id of the server.
    pub server_id: String,
    /// Id of the volume.
    pub volume_id: String,
    /// Device name reported by the hypervisor, such as `/dev/vdb`.
    pub device: Option<String>,
}

/// A port of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachedPort {
    /// Id of the port.
    pub port_id: String,
    /// Fixed IPs of the port.
    pub fixed_ips: Vec<FixedIp>,
}

/// An availability zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Name, which is also the id.
    pub name: String,
    /// Whether the zone accepts servers at present.
    pub available: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_as_nova_answers() {
        let server: Server = serde_json::from_value(json!({
            "id": "1", "name": "web", "status": "ACTIVE", "OS-EXT-STS:task_state": null,
            "addresses": {"front": [
                {"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"},
                {"addr": "172.30.0.9", "version": 4, "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"}]},
            "metadata": {"stackloom_resource": "web"}, "accessIPv4": ""}))
        .unwrap();
        assert_eq!(server.addresses["front"][1].kind, "floating");
        assert_eq!(server.other["accessIPv4"], "");
    }
}
