//! The things of Nova, as it answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::network::FixedIp;

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: String,
    /// `BUILD`, `ACTIVE`, `ERROR`, `DELETED` ...
    pub status: String,
    /// Addresses by network name.
    pub addresses: BTreeMap<String, Vec<Address>>,
    /// Ours and the person's.
    pub metadata: BTreeMap<String, String>,
    /// Ours and the person's.
    pub tags: Vec<String>,
    /// Why it is in `ERROR`.
    pub fault: Option<Fault>,
    /// What Nova does with it right now.
    #[serde(rename = "OS-EXT-STS:task_state")]
    pub task_state: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// An address of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Address {
    /// The address.
    pub addr: String,
    /// 4 or 6.
    pub version: u8,
    /// `fixed` or `floating`.
    #[serde(rename = "OS-EXT-IPS:type")]
    pub kind: String,
    /// The port's hardware address.
    #[serde(rename = "OS-EXT-IPS-MAC:mac_addr")]
    pub mac: String,
}

/// Nova's reason for `ERROR`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// In Nova's words.
    pub message: String,
    /// HTTP-like.
    pub code: i64,
}

/// A server size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flavor {
    /// The cloud's id; any text.
    pub id: String,
    /// For people; unique.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub ram: u32,
    /// Root disk in GiB.
    pub disk: u32,
}

/// A public key that Nova puts on servers. Belongs to a user, not to a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyPair {
    /// Its id, too.
    pub name: String,
    /// OpenSSH format.
    pub public_key: String,
    /// Of the public key.
    pub fingerprint: String,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Servers that shall be near to or far from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerGroup {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: String,
    /// `affinity`, `anti-affinity`, `soft-affinity`, `soft-anti-affinity`; one.
    pub policies: Vec<String>,
    /// Ids of its servers.
    pub members: Vec<String>,
    /// All else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A volume that a server has, as Nova sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Attachment {
    /// Of the volume, for historical reasons.
    pub id: String,
    /// Which server.
    pub server_id: String,
    /// Which volume.
    pub volume_id: String,
    /// `/dev/vdb`, as the hypervisor says.
    pub device: Option<String>,
}

/// A port of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluggedPort {
    /// Its id.
    pub port_id: String,
    /// Its addresses.
    pub fixed_ips: Vec<FixedIp>,
}

/// Where servers can be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its id, too.
    pub name: String,
    /// Whether it takes servers now.
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
