//! Floating IPs: public addresses, and the port of each.
//!
//! An association needs a router with an interface on the port's subnet and a gateway in the external network.
//! Otherwise it is refused, as in Neutron.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::field::{Field, Form, always, never, on_create, required};
use crate::kit::ids::{new_id, new_mac};
use crate::kit::indexed::IndexKeys;
use crate::kit::ip;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::Body;
use crate::services::network::port::{AllocationRequest, FLOATING_IP as OWNER, PORT};
use crate::services::network::port_forwarding::PortForwarding;
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// A floating IP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FloatingIp {
    pub id: String,
    /// The public address.
    pub floating_ip_address: Ipv4Addr,
    pub floating_network_id: String,
    /// `ACTIVE` while it is associated, else `DOWN`.
    pub status: String,
    /// The associated port.
    pub port_id: Option<String>,
    /// The associated address of the port.
    pub fixed_ip_address: Option<Ipv4Addr>,
    /// The router with the NAT rule.
    pub router_id: Option<String>,
    pub qos_policy_id: Option<String>,
    pub dns_name: String,
    pub dns_domain: String,
    /// The port forwardings of the address.
    pub port_forwardings: Vec<PortForwarding>,
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(FloatingIp);
crate::services::network::row!(FloatingIp, floating_network_id);

impl IndexKeys for FloatingIp {
    fn index_keys(&self) -> Vec<String> {
        let word = |kind: &str, id: &Option<String>| id.as_ref().map(|id| format!("{kind}:{id}"));
        let all = [word("port", &self.port_id), word("router", &self.router_id)];
        let forwards = self.port_forwardings.iter();
        let forwards = forwards.map(|one| format!("forward:{}", one.internal_port_id));
        all.into_iter().flatten().chain(forwards).collect()
    }
}

const FIELDS: &[Field] = &[
    required("floating_network_id", Form::Id),
    on_create("subnet_id", Form::Id),
    on_create("floating_ip_address", Form::TextOrNull),
    always("port_id", Form::Id),
    never("router_id", Form::Id),
    always("fixed_ip_address", Form::TextOrNull),
    always("qos_policy_id", Form::Id),
    on_create("dns_name", Form::Text),
    on_create("dns_domain", Form::Text),
];

pub static FLOATING_IP: Collection = Collection {
    collection: "floatingips",
    singular: "floatingip",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: ("FloatingIPNotFound", "Floating IP {} could not be found"),
    rows: Rows::Typed {
        list: |model, query| {
            let show = |row: &FloatingIp| shown(model, row);
            match query.value("port_id") {
                Some(port) if !port.is_empty() => {
                    let rows = model.floating_ips.having(&format!("port:{port}"));
                    query.values(rows, |_| false, show)
                }
                _ => query.values(model.floating_ips.iter(), |_| false, show),
            }
        },
        get: |model, id| model.floating_ips.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

/// The document with `port_details`.
fn shown(model: &Model, row: &FloatingIp) -> Value {
    let mut value = to_value(row);
    value["port_forwardings"] = row
        .port_forwardings
        .iter()
        .map(PortForwarding::brief)
        .collect();
    let port = row.port_id.as_ref().and_then(|id| model.ports.get(id));
    value["port_details"] = match port {
        None => Value::Null,
        Some(port) => json!({
            "name": port.name,
            "network_id": port.network_id,
            "mac_address": port.mac_address,
            "admin_state_up": port.admin_state_up,
            "status": port.status,
            "device_id": port.device_id,
            "device_owner": port.device_owner,
        }),
    };
    value
}

fn bad_request(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        400,
        "BadRequest",
        format!("Bad floatingip request: {reason}."),
    )
}

/// The target of a floating IP.
struct Target {
    port_id: String,
    fixed_ip_address: Ipv4Addr,
    router_id: String,
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "floatingip", model.floating_ips.iter())?;
    let network_id = attributes.text("floating_network_id")?.unwrap_or_default();
    if !model.network_for(project_id, &network_id)?.external {
        return Err(bad_request(format!(
            "Network {network_id} is not a valid external network"
        )));
    }
    let id = new_id();
    let (port_id, fixed) = (
        attributes.text("port_id")?,
        attributes.address("fixed_ip_address")?,
    );
    let target = match port_id {
        None if fixed.is_some() => {
            return Err(bad_request(
                "fixed_ip_address cannot be specified without a port_id",
            ));
        }
        None => None,
        Some(port_id) => {
            Some(model.floating_target(project_id, &network_id, &port_id, fixed, &id)?)
        }
    };
    let wanted = match (
        attributes.address("floating_ip_address")?,
        attributes.text("subnet_id")?,
    ) {
        (None, None) => None,
        (Some(_), _) => {
            return Err(crate::services::network::body::only_admin(
                "create_floatingip:floating_ip_address",
            ));
        }
        (None, Some(subnet_id)) => Some(json!([{ "subnet_id": subnet_id }])),
    };
    let mac = new_mac();
    let allocation = AllocationRequest {
        mac: &mac,
        device_owner: OWNER,
        current: &[],
    };
    let fixed_ips = model.allocate(&network_id, wanted, allocation)?;
    let mut addresses = fixed_ips.iter().map(|ip| ip.ip_address);
    let Some(floating_ip_address) = addresses.find_map(ip::v4) else {
        return Err(Refusal::conflict(
            "ExternalIpAddressExhausted",
            format!("Unable to find any IP address on external network {network_id}."),
        ));
    };
    let mut floating_ip = FloatingIp {
        id: id.clone(),
        floating_ip_address,
        floating_network_id: network_id.clone(),
        status: "DOWN".into(),
        port_id: None,
        fixed_ip_address: None,
        router_id: None,
        qos_policy_id: None,
        dns_name: String::new(),
        dns_domain: String::new(),
        port_forwardings: Vec::new(),
        common: Common::new(project_id, &mut attributes)?,
    };
    floating_ip.associate(target);
    model.add_service_port("", &network_id, OWNER, &id, mac, fixed_ips);
    model.floating_ips.insert(floating_ip);
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
    let row = model
        .floating_ips
        .get(id)
        .ok_or_else(|| FLOATING_IP.not_found(id))?;
    let (project_id, network_id) = (
        row.common.project_id.clone(),
        row.floating_network_id.clone(),
    );
    if attributes.has_value("port_id") {
        row.check_no_forwardings()?;
    }
    if attributes.has("port_id") {
        let fixed = attributes.address("fixed_ip_address")?;
        let target = match attributes.text("port_id")? {
            None => None,
            Some(port_id) => {
                Some(model.floating_target(&project_id, &network_id, &port_id, fixed, id)?)
            }
        };
        model.floating_ips.change(id, |row| row.associate(target));
    }
    attributes.take("fixed_ip_address");
    attributes.take("port_id");
    let changed = model.floating_ips.change(id, |row| assign(row, attributes));
    changed.unwrap_or_else(|| Err(FLOATING_IP.not_found(id)))
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let row = model
        .floating_ips
        .get(id)
        .ok_or_else(|| FLOATING_IP.not_found(id))?;
    row.check_no_forwardings()?;
    model.floating_ips.remove(id);
    let port = model.service_port(id, OWNER);
    if let Some(port) = port {
        model.remove_port(&port);
    }
    Ok(())
}

impl FloatingIp {
    fn associate(&mut self, target: Option<Target>) {
        match target {
            None => self.disassociate(),
            Some(target) => {
                self.status = "ACTIVE".into();
                self.port_id = Some(target.port_id);
                self.fixed_ip_address = Some(target.fixed_ip_address);
                self.router_id = Some(target.router_id);
            }
        }
    }

    /// Removes the association.
    pub fn disassociate(&mut self) {
        self.status = "DOWN".into();
        self.port_id = None;
        self.fixed_ip_address = None;
        if self.port_forwardings.is_empty() {
            self.router_id = None;
        }
    }

    /// Refuses if there are port forwardings: they exclude an association of the whole address.
    fn check_no_forwardings(&self) -> Result<(), Refusal> {
        if self.port_forwardings.is_empty() {
            Ok(())
        } else {
            Err(Refusal::conflict(
                "FipInUseByPortForwarding",
                format!(
                    "Floating IP {} in use by Port Forwarding resources.",
                    self.id
                ),
            ))
        }
    }
}

impl Model {
    fn floating_target(
        &self,
        project_id: &str,
        network_id: &str,
        port_id: &str,
        fixed: Option<Ipv4Addr>,
        floating_ip_id: &str,
    ) -> Result<Target, Refusal> {
        let port = self
            .ports
            .get(port_id)
            .filter(|port| port.common.project_id == project_id)
            .ok_or_else(|| PORT.not_found(port_id))?;
        let (fixed_ip, address) = match fixed {
            None => port.v4().next().ok_or_else(|| {
                bad_request(format!(
                    "Cannot add floating IP to port {port_id} that has no fixed IPv4 addresses"
                ))
            })?,
            Some(fixed) => port
                .v4()
                .find(|(_, address)| *address == fixed)
                .ok_or_else(|| {
                    bad_request(format!("Port {port_id} does not have fixed ip {fixed}"))
                })?,
        };
        let mut others = self.floating_ips.having(&format!("port:{port_id}"));
        let taken = others.find(|row| {
            row.id != floating_ip_id
                && row.fixed_ip_address == Some(address)
                && row.floating_network_id == network_id
        });
        if let Some(taken) = taken {
            return Err(Refusal::conflict(
                "FloatingIPPortAlreadyAssociated",
                format!(
                    "Cannot associate floating IP {} ({}) with port {port_id} using fixed IP {}, as that fixed IP already has a \
                     floating IP on external network {network_id}.",
                    taken.floating_ip_address, taken.id, address
                ),
            ));
        }
        let way = self.router_to_external(network_id, &port.network_id, &fixed_ip.subnet_id);
        let router_id = way.ok_or_else(|| {
            Refusal::not_found(
                "ExternalGatewayForFloatingIPNotFound",
                format!(
                    "External network {network_id} is not reachable from subnet {}.  Therefore, cannot associate Port {port_id} \
                     with a Floating IP.",
                    fixed_ip.subnet_id
                ),
            )
        })?;
        Ok(Target {
            port_id: port_id.into(),
            fixed_ip_address: address,
            router_id,
        })
    }

    /// The router between a subnet of a network and an external network.
    pub fn router_to_external(
        &self,
        external: &str,
        network: &str,
        subnet: &str,
    ) -> Option<String> {
        let leads_out = |id: &str| {
            let router = self.routers.get(id);
            let gateway = router.and_then(|router| router.external_gateway_info.as_ref());
            gateway.is_some_and(|gateway| gateway.network_id == external)
        };
        let mut legs = self.ports.having(&format!("legs:{network}"));
        let leg = legs.find(|leg| {
            let mut addresses = leg.fixed_ips.iter();
            addresses.any(|ip| ip.subnet_id == subnet) && leads_out(&leg.device_id)
        });
        leg.map(|leg| leg.device_id.clone())
    }
}
