//! Port forwardings: single ports of a floating IP, each to a port of a fixed address.
//!
//! So one public address can serve several servers. An address is associated or has forwardings, never both, and all
//! its forwardings use one router.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::port::{FixedIp, PORT};
use crate::services::network::to_value;

/// A port forwarding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortForwarding {
    pub id: String,
    /// `tcp`, `udp`, ...
    pub protocol: String,
    /// The floating IP's port.
    pub external_port: u16,
    /// The id of the target Neutron port.
    pub internal_port_id: String,
    /// The target address.
    pub internal_ip_address: Ipv4Addr,
    /// The target TCP or UDP port.
    pub internal_port: u16,
    pub description: String,
}

/// The fields of a body. A new forwarding requires the first four.
const FIELDS: &[&str] = &[
    "protocol",
    "external_port",
    "internal_port_id",
    "internal_port",
    "internal_ip_address",
    "description",
    "project_id",
    "tenant_id",
];

const PROTOCOLS: &[&str] = &["tcp", "udp", "icmp", "icmp6", "sctp", "dccp", "udplite"];

impl PortForwarding {
    /// The document of its own API.
    pub fn document(&self) -> Value {
        let mut value = to_value(self);
        value["external_port_range"] = range(self.external_port);
        value["internal_port_range"] = range(self.internal_port);
        value
    }

    /// The document in its floating IP.
    pub fn brief(&self) -> Value {
        let mut value = to_value(self);
        if let Some(fields) = value.as_object_mut() {
            fields.remove("description");
        }
        value
    }
}

fn range(port: u16) -> Value {
    format!("{port}:{port}").into()
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "PortForwardingNotFound",
        format!("Port Forwarding {id} could not be found."),
    )
}

fn bad_request(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        400,
        "BadRequest",
        format!("Bad port_forwarding request: {reason}."),
    )
}

fn port(value: &Value, name: &str) -> Result<u16, Refusal> {
    let number = value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        .ok_or_else(|| Refusal::invalid_input(name, format!("'{value}' is not an integer")))?;
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        let word = if number > 0 {
            "large - must be no larger than '65535'"
        } else {
            "small - must be at least '1'"
        };
        Refusal::invalid_input(name, format!("'{number}' is too {word}"))
    })
}

impl Model {
    fn forwardings(&self, floating_ip: &str) -> Result<&[PortForwarding], Refusal> {
        let row = self.floating_ips.get(floating_ip);
        let row = row.ok_or_else(|| not_found(floating_ip))?;
        Ok(&row.port_forwardings)
    }

    /// A forwarding of a floating IP.
    pub fn forwarding(&self, floating_ip: &str, id: &str) -> Result<&PortForwarding, Refusal> {
        let mut all = self.forwardings(floating_ip)?.iter();
        all.find(|one| one.id == id).ok_or_else(|| not_found(id))
    }

    /// Creates a forwarding, or replaces the one with the id `old`. Absent fields keep their old values.
    pub fn set_forwarding(
        &mut self,
        floating_ip: &str,
        fields: &Map<String, Value>,
        old: Option<&str>,
    ) -> Result<PortForwarding, Refusal> {
        if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            return Err(Refusal::bad_request(format!(
                "Unrecognized attribute(s) '{name}'"
            )));
        }
        let old = match old {
            None => None,
            Some(id) => Some(self.forwarding(floating_ip, id)?.clone()),
        };
        let old_values = old.as_ref().map_or(Value::Null, to_value);
        let value = |name: &'static str| {
            let found = fields.get(name).or_else(|| old_values.get(name));
            let found = found.filter(|value| !value.is_null());
            found.ok_or_else(|| {
                Refusal::bad_request(format!(
                    "Failed to parse request. Required attribute '{name}' not specified"
                ))
            })
        };
        let text = |name: &'static str| {
            let value = value(name)?;
            value.as_str().map(str::to_owned).ok_or_else(|| {
                Refusal::invalid_input(name, format!("'{value}' is not a valid string"))
            })
        };
        let protocol = text("protocol")?.to_lowercase();
        if !PROTOCOLS.contains(&protocol.as_str()) {
            return Err(Refusal::invalid_input(
                "protocol",
                format!("'{protocol}' is not in {PROTOCOLS:?}"),
            ));
        }
        let new = PortForwarding {
            id: old.as_ref().map_or_else(new_id, |old| old.id.clone()),
            protocol,
            external_port: port(value("external_port")?, "external_port")?,
            internal_port: port(value("internal_port")?, "internal_port")?,
            internal_port_id: text("internal_port_id")?,
            internal_ip_address: Ipv4Addr::UNSPECIFIED,
            description: text("description").unwrap_or_default(),
        };
        // By default, a new target port gets its own address.
        let address = match fields.get("internal_ip_address").and_then(Value::as_str) {
            Some(address) => Some(address.parse().map_err(|_| {
                Refusal::invalid_input(
                    "internal_ip_address",
                    format!("'{address}' is not a valid IP address"),
                )
            })?),
            None => old
                .as_ref()
                .filter(|old| old.internal_port_id == new.internal_port_id)
                .map(|old| old.internal_ip_address),
        };
        let (new, router) = self.forwarding_target(floating_ip, new, address)?;
        self.floating_ips.change(floating_ip, |row| {
            row.router_id = Some(router);
            match row.port_forwardings.iter_mut().find(|one| one.id == new.id) {
                Some(place) => *place = new.clone(),
                None => row.port_forwardings.push(new.clone()),
            }
        });
        Ok(new)
    }

    /// Checks the target, and returns the forwarding with its address, and the router.
    fn forwarding_target(
        &self,
        floating_ip: &str,
        mut new: PortForwarding,
        address: Option<Ipv4Addr>,
    ) -> Result<(PortForwarding, String), Refusal> {
        let row = self.floating_ips.get(floating_ip);
        let row = row.ok_or_else(|| not_found(floating_ip))?;
        let id = &new.internal_port_id;
        let port = self.ports.get(id);
        let port = port.filter(|port| port.common.project_id == row.common.project_id);
        let port = port.ok_or_else(|| PORT.not_found(id))?;
        let mut leading = self.floating_ips.having(&format!("port:{id}"));
        if let Some(other) = leading.next() {
            return Err(Refusal::conflict(
                "PortHasBindingFloatingIP",
                format!(
                    "Cannot create port forwarding to floating IP {} ({}) with port {id} using fixed IP {}, as that port already \
                     has a binding floating IP.",
                    other.floating_ip_address,
                    other.id,
                    address.map_or_else(|| "None".into(), |address| address.to_string())
                ),
            ));
        }
        let mut all = port.v4();
        let fixed = all.find(|(_, fixed)| address.is_none_or(|address| *fixed == address));
        let (FixedIp { subnet_id, .. }, fixed) = fixed.ok_or_else(|| match address {
            None => bad_request(format_args!(
                "Requested internal port {id} must allocate an IPv4 address at least."
            )),
            Some(address) => bad_request(format_args!(
                "Requested internal IP address {address} is not suitable for internal neutron port {id}, as its fixed_ips are {}",
                json!(port.fixed_ips)
            )),
        })?;
        new.internal_ip_address = fixed;
        if row.port_id.is_some() {
            return Err(Refusal::conflict(
                "FloatingIPPortAlreadyAssociated",
                format!(
                    "Cannot associate floating IP {} ({}) with port {id} using fixed IP {}, as that fixed IP already has a floating \
                     IP on external network {}.",
                    row.floating_ip_address, row.id, fixed, row.floating_network_id
                ),
            ));
        }
        let mut others = row.port_forwardings.iter().filter(|one| one.id != new.id);
        let same = others.any(|one| {
            one.protocol == new.protocol
                && (one.external_port == new.external_port
                    || (one.internal_ip_address, one.internal_port)
                        == (new.internal_ip_address, new.internal_port))
        });
        if same {
            return Err(bad_request(format_args!(
                "A duplicate port forwarding entry with same attributes already exists, conflicting values are {}",
                json!({"floatingip_id": row.id, "external_port": new.external_port, "protocol": new.protocol})
            )));
        }
        let way = self.router_to_external(&row.floating_network_id, &port.network_id, subnet_id);
        let way = way.ok_or_else(|| {
            bad_request(format_args!(
                "External network {} is not reachable from subnet {}. Cannot set Port forwarding for port {id} with Floating IP {}",
                row.floating_network_id, subnet_id, row.id
            ))
        })?;
        match &row.router_id {
            Some(router) if *router != way => Err(bad_request(format_args!(
                "The Floating IP {} had been set on router {router}, the internal Neutron port {id} can not reach it",
                row.id
            ))),
            _ => Ok((new, way)),
        }
    }

    /// Removes a forwarding. With the last one, the floating IP loses its router.
    pub fn remove_forwarding(&mut self, floating_ip: &str, id: &str) -> Result<(), Refusal> {
        self.forwarding(floating_ip, id)?;
        self.floating_ips.change(floating_ip, |row| {
            row.port_forwardings.retain(|one| one.id != id);
            if row.port_forwardings.is_empty() {
                row.router_id = None;
            }
        });
        Ok(())
    }

    /// Removes the forwardings to a removed port.
    pub fn remove_forwardings_to_port(&mut self, port: &str) {
        let rows = self.floating_ips.having(&format!("forward:{port}"));
        let gone: Vec<(String, String)> = rows
            .flat_map(|row| {
                let all = row.port_forwardings.iter();
                let there = all.filter(|one| one.internal_port_id == port);
                there.map(|one| (row.id.clone(), one.id.clone()))
            })
            .collect();
        for (floating_ip, id) in gone {
            // The id comes from the model, so this cannot fail.
            let _ = self.remove_forwarding(&floating_ip, &id);
        }
    }
}
