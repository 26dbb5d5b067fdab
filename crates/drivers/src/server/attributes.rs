//! Attributes of a server, as in Heat.
//!
//! Most are part of the server's record. `addresses` and `networks` contain ports, subnets and networks, and
//! `console_urls` requests consoles from Nova: these are read on demand.
//!
//! Two differences from Heat are deliberate. In `addresses`, a fixed address precedes its floating IPs, as in Nova.
//! Heat places it after them, so that `[addresses, net, 0, port]` becomes null with the first floating IP. The
//! `version` of an address is a number, instead of Heat's list with one number. Source: heat `nova/server.py`,
//! `_get_server_addresses`.

use std::collections::{BTreeMap, BTreeSet};

use openstack::compute::Server as Found;
use openstack::network::{Entity, FloatingIp, Network, Port, Subnet};
use serde_json::{Map, Value, json};

use super::host_keys::HostKeys;
use crate::driver::{Context, DriverError};

/// Attributes that need separate requests.
pub(super) const ON_DEMAND: &[&str] = &["addresses", "networks", "console_urls"];

/// Console types of Heat, each with its protocol.
const CONSOLES: [(&str, &str); 6] = [
    ("novnc", "vnc"),
    ("xvpvnc", "vnc"),
    ("spice-html5", "spice"),
    ("rdp-html5", "rdp"),
    ("serial", "serial"),
    ("webmks", "mks"),
];

/// Attributes from the server's record.
pub(super) fn of(server: &Found, properties: &Map<String, Value>) -> Map<String, Value> {
    let mut show = match serde_json::to_value(server) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    // Visible to administrators, with the private host key. Attributes are stored as plain text.
    show.remove("OS-EXT-SRV-ATTR:user_data");
    show.remove("adminPass");
    let mut attributes = Map::new();
    attributes.insert("first_address".into(), first_address(server).into());
    attributes.insert("name".into(), json!(server.name));
    attributes.insert("tags".into(), json!(server.tags));
    // Nova shows the name on the hypervisor to administrators only; Heat returns null to all others.
    for (attribute, field) in [
        ("accessIPv4", "accessIPv4"),
        ("accessIPv6", "accessIPv6"),
        ("instance_name", "OS-EXT-SRV-ATTR:instance_name"),
    ] {
        let value = show.get(field).cloned().unwrap_or_default();
        attributes.insert(attribute.into(), value);
    }
    // The configuration of Heat's agent, which only servers with this format have.
    let format = properties.get("user_data_format").and_then(Value::as_str);
    if format != Some("SOFTWARE_CONFIG") {
        attributes.insert("os_collect_config".into(), json!({}));
        show.insert("os_collect_config".into(), json!({}));
    }
    // Null for a server without software.
    let host_keys = HostKeys::in_metadata(&server.metadata);
    let host_keys = host_keys.map(|keys| keys.attribute());
    attributes.insert("host_key".into(), json!(host_keys));
    attributes.insert("show".into(), Value::Object(show));
    attributes
}

/// The first address on the network whose name is the last in order, as in Heat. Empty if the server has no address.
fn first_address(server: &Found) -> &str {
    let mut networks = server.addresses.values().rev();
    networks
        .find_map(|addresses| addresses.first())
        .map_or("", |address| &address.addr)
}

/// Values of some of [`ON_DEMAND`].
pub(super) async fn read(
    context: &Context<'_>,
    id: &str,
    names: &[&str],
) -> Result<Map<String, Value>, DriverError> {
    let consoles = async {
        if names.contains(&"console_urls") {
            Some(console_urls(context, id).await)
        } else {
            None
        }
    };
    let addresses = async {
        if !names.contains(&"addresses") && !names.contains(&"networks") {
            return Ok(None);
        }
        let server = context.session.compute().server_get(id).await?;
        let network_resources = ServerNetwork::of(context, &server).await?;
        Ok::<_, DriverError>(Some((
            network_resources.addresses(&server),
            network_resources.networks(&server),
        )))
    };
    let (consoles, addresses) = futures::future::join(consoles, addresses).await;
    let mut read = Map::new();
    if let Some(consoles) = consoles {
        read.insert("console_urls".into(), consoles);
    }
    if let Some((addresses, networks)) = addresses? {
        read.insert("addresses".into(), addresses);
        read.insert("networks".into(), networks);
    }
    Ok(read)
}

/// A URL for each console type, or the reason why there is none.
async fn console_urls(context: &Context<'_>, id: &str) -> Value {
    let compute = context.session.compute();
    let opened = CONSOLES.map(async |(kind, protocol)| {
        let url = compute.server_console_url(id, protocol, kind).await;
        let text = url.unwrap_or_else(|error| format!("Cannot get console url: {error}"));
        (kind.to_owned(), Value::from(text))
    });
    Value::Object(
        futures::future::join_all(opened)
            .await
            .into_iter()
            .collect(),
    )
}

/// The network resources of a server.
#[derive(Default)]
struct ServerNetwork {
    ports: Vec<Port>,
    floating: Vec<FloatingIp>,
    networks: BTreeMap<String, Network>,
    subnets: BTreeMap<String, Subnet>,
}

impl ServerNetwork {
    async fn of(context: &Context<'_>, server: &Found) -> Result<ServerNetwork, DriverError> {
        let network = context.session.network();
        let mut ports: Vec<Port> = network.list(&[("device_id", &server.id)]).await?;
        // Neutron sorts them by id, Nova in the server's order.
        let macs: Vec<&str> = server
            .addresses
            .values()
            .flatten()
            .map(|address| address.mac.as_str())
            .collect();
        ports.sort_by_key(|port| {
            let place = macs.iter().position(|mac| *mac == port.mac_address);
            place.unwrap_or(macs.len())
        });
        let port_ids = ports.iter().map(|port| port.id.as_str());
        let network_ids = ports.iter().map(|port| port.network_id.as_str());
        let subnet_ids = ports.iter().flat_map(|port| &port.fixed_ips);
        let subnet_ids = subnet_ids.map(|address| address.subnet_id.as_str());
        Ok(ServerNetwork {
            floating: listed(context, "port_id", port_ids.collect()).await?,
            networks: by_id(listed(context, "id", network_ids.collect()).await?),
            subnets: by_id(listed(context, "id", subnet_ids.collect()).await?),
            ports,
        })
    }

    /// Addresses by network id, and by network name.
    fn addresses(&self, server: &Found) -> Value {
        let mut by_network: Map<String, Value> = Map::new();
        for port in &self.ports {
            let entries: Vec<Value> = port
                .fixed_ips
                .iter()
                .flat_map(|fixed| self.entries(port, &fixed.ip_address))
                .collect();
            for key in self.keys(port) {
                let list = by_network.entry(key).or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.extend(entries.clone());
                }
            }
        }
        // Networks for which the server has no ports in Neutron.
        for (name, addresses) in &server.addresses {
            by_network
                .entry(name.clone())
                .or_insert_with(|| json!(addresses));
        }
        Value::Object(by_network)
    }

    /// A fixed address, and its floating IPs.
    fn entries(&self, port: &Port, address: &str) -> Vec<Value> {
        let version = if address.contains(':') { 6 } else { 4 };
        let subnets = port.fixed_ips.iter();
        let subnets: Vec<&Subnet> = subnets
            .filter_map(|fixed| self.subnets.get(&fixed.subnet_id))
            .collect();
        let fixed = json!({
            "addr": address,
            "version": version,
            "OS-EXT-IPS-MAC:mac_addr": port.mac_address,
            "OS-EXT-IPS:type": "fixed",
            "port": port.id,
            "subnets": subnets,
            "network": self.networks.get(&port.network_id),
        });
        let floating = self.floating.iter().filter(|floating| {
            floating.port_id.as_deref() == Some(&port.id)
                && floating.fixed_ip_address.as_deref() == Some(address)
        });
        let floating = floating.map(|floating| {
            json!({
                "addr": floating.floating_ip_address,
                "version": version,
                "OS-EXT-IPS-MAC:mac_addr": port.mac_address,
                "OS-EXT-IPS:type": "floating",
                "port": null,
            })
        });
        std::iter::once(fixed).chain(floating).collect()
    }

    /// Plain addresses by network name, as listed by Nova, and by network id.
    fn networks(&self, server: &Found) -> Value {
        let mut networks = Map::new();
        for (name, addresses) in &server.addresses {
            let all = addresses.iter().map(|address| address.addr.as_str());
            networks.insert(name.clone(), all.collect());
        }
        for id in self.networks.keys() {
            let ports = self.ports.iter().filter(|port| port.network_id == *id);
            let macs: BTreeSet<&str> = ports.map(|port| port.mac_address.as_str()).collect();
            let addresses = server.addresses.values().flatten();
            let here = addresses.filter(|address| macs.contains(address.mac.as_str()));
            let here = here.map(|address| address.addr.as_str());
            networks.insert(id.clone(), here.collect());
        }
        Value::Object(networks)
    }

    /// The id of a port's network, and its name if it is known and differs from the id.
    fn keys(&self, port: &Port) -> Vec<String> {
        let name = self
            .networks
            .get(&port.network_id)
            .and_then(|network| network.name.clone())
            .filter(|name| *name != port.network_id);
        name.into_iter().chain([port.network_id.clone()]).collect()
    }
}

/// Resources with one of these values in a field.
async fn listed<E: Entity>(
    context: &Context<'_>,
    field: &str,
    values: BTreeSet<&str>,
) -> Result<Vec<E>, DriverError> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let query: Vec<(&str, &str)> = values.into_iter().map(|value| (field, value)).collect();
    Ok(context.session.network().list(&query).await?)
}

fn by_id<E: Entity>(all: Vec<E>) -> BTreeMap<String, E> {
    all.into_iter()
        .map(|one| (one.id().to_owned(), one))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(value: Value) -> Found {
        serde_json::from_value(value).unwrap()
    }

    fn entity<E: Entity>(value: Value) -> E {
        serde_json::from_value(value).unwrap()
    }

    /// A server with a floating IP on the network `front`, and an address on `back`.
    fn wired() -> (Found, ServerNetwork) {
        let address = |addr: &str, kind: &str, mac: &str| json!({"addr": addr, "version": 4, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac});
        let server = server(json!({"id": "s", "addresses": {
            "front": [address("10.0.0.4", "fixed", "m1"), address("172.24.4.9", "floating", "m1")],
            "back": [address("10.1.0.4", "fixed", "m2")],
        }}));
        let port = |id: &str, network: &str, mac: &str, ip: &str| {
            entity::<Port>(json!({"id": id, "network_id": network, "mac_address": mac,
                "fixed_ips": [{"subnet_id": "sub", "ip_address": ip}]}))
        };
        let network_resources = ServerNetwork {
            ports: vec![
                port("p2", "n2", "m2", "10.1.0.4"),
                port("p1", "n1", "m1", "10.0.0.4"),
            ],
            floating: vec![entity(
                json!({"id": "f", "floating_ip_address": "172.24.4.9",
                "port_id": "p1", "fixed_ip_address": "10.0.0.4"}),
            )],
            networks: by_id(vec![
                entity(json!({"id": "n1", "name": "front"})),
                entity(json!({"id": "n2", "name": "back"})),
            ]),
            subnets: by_id(vec![entity(json!({"id": "sub", "cidr": "10.0.0.0/24"}))]),
        };
        (server, network_resources)
    }

    #[test]
    fn addresses_name_port_subnets_and_network() {
        let (server, network_resources) = wired();
        let addresses = network_resources.addresses(&server);
        assert_eq!(addresses["front"], addresses["n1"]);
        let first = &addresses["front"][0];
        assert_eq!(
            (&first["port"], &first["version"]),
            (&json!("p1"), &json!(4))
        );
        assert_eq!(first["subnets"][0]["cidr"], "10.0.0.0/24");
        assert_eq!(first["network"]["name"], "front");
        let second = &addresses["front"][1];
        assert_eq!(
            (&second["addr"], &second["port"]),
            (&json!("172.24.4.9"), &Value::Null)
        );
        assert_eq!(addresses["n2"][0]["port"], "p2");
    }

    #[test]
    fn networks_are_known_by_name_and_by_id() {
        let (server, network_resources) = wired();
        let front = json!(["10.0.0.4", "172.24.4.9"]);
        assert_eq!(
            network_resources.networks(&server),
            json!({"front": front, "n1": front, "back": ["10.1.0.4"], "n2": ["10.1.0.4"]})
        );
    }

    #[test]
    fn attributes_that_come_with_the_server() {
        let server = server(json!({
            "id": "1", "name": "web", "status": "ACTIVE", "OS-EXT-SRV-ATTR:user_data": "c2VjcmV0", "accessIPv4": "",
            "addresses": {"back": [{"addr": "10.1.0.4"}], "front": [{"addr": "10.0.0.4"}, {"addr": "172.24.4.9"}]},
            "metadata": {"stackloom_host_key": "ssh-ed25519 HOST"}}));
        let attributes = of(&server, &Map::new());
        // As in Heat: from the network whose name is the last in order.
        assert_eq!(attributes["first_address"], "10.0.0.4");
        assert_eq!(attributes["host_key"], "ssh-ed25519 HOST");
        assert_eq!(attributes["accessIPv4"], "");
        assert_eq!(attributes["instance_name"], Value::Null);
        assert_eq!(attributes["os_collect_config"], json!({}));
        assert!(!Value::Object(attributes).to_string().contains("c2VjcmV0"));
    }

    #[test]
    fn a_server_with_heats_agent_has_a_configuration_that_we_do_not_make() {
        let properties = json!({"user_data_format": "SOFTWARE_CONFIG"});
        let attributes = of(&server(json!({"id": "1"})), properties.as_object().unwrap());
        assert!(!attributes.contains_key("os_collect_config"));
    }
}
