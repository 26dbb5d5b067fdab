//! Ports: attachments to a network, with addresses and security groups.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::field::{Field, Form, admins, always, on_create, required};
use crate::kit::ids::{new_id, new_mac};
use crate::kit::indexed::IndexKeys;
use crate::kit::ip;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::{Body, Caller};
use crate::services::network::port_checks::{
    GROUPS_WITHOUT_FILTER, NO_FILTER_FOR_GROUPS, address_pairs, groups, groups_need_a_filter,
    is_mac, is_vnic_type, list, owner, qos_policy,
};
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// A port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Port {
    pub id: String,
    pub name: String,
    pub network_id: String,
    /// Stored without effect.
    pub admin_state_up: bool,
    /// `ACTIVE` while its device runs.
    pub status: String,
    pub mac_address: String,
    pub fixed_ips: Vec<FixedIp>,
    /// The id of its server, router or load balancer, or empty.
    pub device_id: String,
    /// `compute:nova`, `network:router_interface`, `network:router_gateway`, `network:floatingip`, or empty.
    pub device_owner: String,
    /// Ids of the security groups.
    pub security_groups: Vec<String>,
    /// Whether the packet filter applies.
    pub port_security_enabled: bool,
    /// Further addresses that its packets may come from.
    pub allowed_address_pairs: Vec<Value>,
    /// Stored without effect.
    pub extra_dhcp_opts: Vec<Value>,
    /// `normal`.
    #[serde(rename = "binding:vnic_type")]
    pub vnic_type: String,
    /// Stored without effect.
    pub qos_policy_id: Option<String>,
    #[serde(flatten)]
    pub common: Common,
}

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedIp {
    /// The id of its subnet.
    pub subnet_id: String,
    pub ip_address: IpAddr,
}

impl Port {
    /// Its IPv4 addresses. Only these are routed to the external network and translated.
    pub fn v4(&self) -> impl Iterator<Item = (&FixedIp, Ipv4Addr)> {
        let all = self.fixed_ips.iter();
        all.filter_map(|ip| Some((ip, ip::v4(ip.ip_address)?)))
    }

    /// Further IPv4 addresses and ranges that its packets may come from.
    pub fn v4_pairs(&self) -> Vec<String> {
        let pairs = self.allowed_address_pairs.iter();
        let addresses = pairs.filter_map(|pair| pair.get("ip_address")?.as_str());
        let of_v4 = addresses.filter(|address| !address.contains(':'));
        of_v4.map(str::to_owned).collect()
    }
}

/// The port that addresses are allocated for.
#[derive(Clone, Copy, Default)]
pub struct AllocationRequest<'a> {
    /// The port's MAC address. Empty if it has none yet.
    pub mac: &'a str,
    /// The owner of the port.
    pub device_owner: &'a str,
    /// The current addresses of the port, which it can keep.
    pub current: &'a [FixedIp],
}

keyed_by_id!(Port);
crate::services::network::row!(Port, name, device_id, network_id, device_owner);

/// The index word of an address in its subnet.
pub(crate) fn address_key(subnet_id: &str, address: IpAddr) -> String {
    format!("ip:{subnet_id}/{address}")
}

/// The index word of a MAC address on its network.
fn mac_key(network_id: &str, mac: &str) -> String {
    format!("mac:{network_id}/{mac}")
}

impl IndexKeys for Port {
    fn index_keys(&self) -> Vec<String> {
        let mut index_keys = vec![
            mac_key(&self.network_id, &self.mac_address),
            format!("network:{}", self.network_id),
        ];
        if !self.device_id.is_empty() {
            index_keys.push(format!("device:{}", self.device_id));
        }
        // An index of its own: a network has few router interfaces among its many ports.
        if self.device_owner == ROUTER_INTERFACE {
            index_keys.push(format!("legs:{}", self.network_id));
        }
        for ip in &self.fixed_ips {
            index_keys.push(address_key(&ip.subnet_id, ip.ip_address));
            index_keys.push(format!("subnet:{}", ip.subnet_id));
        }
        let groups = self.security_groups.iter();
        index_keys.extend(groups.map(|group| format!("group:{group}")));
        index_keys
    }
}

/// The device owner of a router interface.
pub const ROUTER_INTERFACE: &str = "network:router_interface";
/// The device owner of a router's gateway port.
pub const ROUTER_GATEWAY: &str = "network:router_gateway";
/// The device owner of the port with a floating IP's address.
pub const FLOATING_IP: &str = "network:floatingip";
/// The device owner of a server's port.
pub const COMPUTE: &str = "compute:nova";

const FIELDS: &[Field] = &[
    required("network_id", Form::Id),
    always("name", Form::Text),
    always("admin_state_up", Form::Bool),
    on_create("mac_address", Form::Text),
    always("fixed_ips", Form::Any),
    always("device_id", Form::Text),
    always("device_owner", Form::Text),
    always("security_groups", Form::Any),
    always("port_security_enabled", Form::Bool),
    always("allowed_address_pairs", Form::Any),
    always("extra_dhcp_opts", Form::Any),
    always("binding:vnic_type", Form::Text),
    always("qos_policy_id", Form::Id),
    admins("binding:host_id", Form::Any),
    admins("binding:profile", Form::Any),
];

pub static PORT: Collection = Collection {
    collection: "ports",
    singular: "port",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: ("PortNotFound", "Port {} could not be found."),
    rows: Rows::Typed {
        list: |model, query| match query.value("device_id") {
            Some(device) if !device.is_empty() => {
                let rows = model.ports.having(&format!("device:{device}"));
                query.values(rows, |_| false, |row| shown(model, row))
            }
            _ => query.values(model.ports.iter(), |_| false, |row| shown(model, row)),
        },
        get: |model, id| model.ports.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

/// The document, with the trunk of a parent port.
fn shown(model: &Model, row: &Port) -> Value {
    let mut value = to_value(row);
    value["qos_network_policy_id"] = Value::Null;
    if let Some(details) = model.trunk_details(&row.id) {
        value["trunk_details"] = details;
    }
    value
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "port", model.ports.iter())?;
    let network_id = attributes.text("network_id")?.unwrap_or_default();
    let network = model.network_for(project_id, &network_id)?;
    if network.external && network.common.project_id != project_id {
        return Err(crate::services::network::body::only_admin("create_port"));
    }
    let own_network = network.common.project_id == project_id;
    let device_owner = owner(&mut attributes, own_network)?;
    let vnic_type = attributes
        .text("binding:vnic_type")?
        .unwrap_or_else(|| "normal".into());
    is_vnic_type(&vnic_type)?;
    let port_security_enabled = attributes
        .flag("port_security_enabled")
        .unwrap_or(network.port_security_enabled);
    let mac_address = match attributes.text("mac_address")? {
        // Random addresses are likely to collide among ten thousand ports.
        None => loop {
            let mac = new_mac();
            if !model.ports.has(&mac_key(&network_id, &mac)) {
                break mac;
            }
        },
        Some(mac) if is_mac(&mac) => mac.to_lowercase(),
        Some(mac) => {
            return Err(Refusal::invalid_input(
                "mac_address",
                format!("'{mac}' is not a valid MAC address"),
            ));
        }
    };
    if model.ports.has(&mac_key(&network_id, &mac_address)) {
        return Err(Refusal::conflict(
            "MacAddressInUse",
            format!(
                "Unable to complete operation for network {network_id}. The mac address {mac_address} is in use."
            ),
        ));
    }
    let allocation = AllocationRequest {
        mac: &mac_address,
        device_owner: device_owner.as_deref().unwrap_or_default(),
        current: &[],
    };
    let fixed_ips = model.allocate(&network_id, attributes.take("fixed_ips"), allocation)?;
    let security_groups_in_body = groups(&mut attributes)?;
    groups_need_a_filter(
        port_security_enabled,
        security_groups_in_body.as_deref().unwrap_or_default(),
        NO_FILTER_FOR_GROUPS,
    )?;
    let security_groups = match security_groups_in_body {
        Some(ids) => model.security_groups_for(project_id, &ids)?,
        None if port_security_enabled => vec![model.default_security_group(project_id)],
        None => Vec::new(),
    };
    let allowed_address_pairs = address_pairs(&mut attributes, &mac_address)?;
    let port = Port {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        network_id,
        admin_state_up: attributes.flag("admin_state_up").unwrap_or(true),
        status: "DOWN".into(),
        mac_address,
        fixed_ips,
        device_id: attributes.text("device_id")?.unwrap_or_default(),
        device_owner: device_owner.unwrap_or_default(),
        security_groups,
        port_security_enabled,
        allowed_address_pairs,
        extra_dhcp_opts: list(&mut attributes, "extra_dhcp_opts")?,
        vnic_type,
        qos_policy_id: qos_policy(model, project_id, &mut attributes)?,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = port.id.clone();
    model.ports.insert(port);
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
    let port = model
        .ports
        .get(id)
        .ok_or_else(|| PORT.not_found(id))?
        .clone();
    if let Some(value) = attributes.take("fixed_ips") {
        let allocation = AllocationRequest {
            mac: &port.mac_address,
            device_owner: &port.device_owner,
            current: &port.fixed_ips,
        };
        let fixed_ips = model.allocate(&port.network_id, Some(value), allocation)?;
        attributes.set("fixed_ips", to_value(&fixed_ips));
    }
    let security_groups_in_body = groups(&mut attributes)?;
    let filtered = attributes.flag("port_security_enabled");
    if let Some(on) = filtered {
        attributes.set("port_security_enabled", on);
    }
    let (said, refusal) = match &security_groups_in_body {
        Some(ids) => (ids, NO_FILTER_FOR_GROUPS),
        None => (&port.security_groups, GROUPS_WITHOUT_FILTER),
    };
    groups_need_a_filter(
        filtered.unwrap_or(port.port_security_enabled),
        said,
        refusal,
    )?;
    if let Some(ids) = security_groups_in_body {
        let ids = model.security_groups_for(&port.common.project_id, &ids)?;
        attributes.set("security_groups", ids);
    }
    if let Some(kind) = attributes.text("binding:vnic_type")? {
        is_vnic_type(&kind)?;
        attributes.set("binding:vnic_type", kind);
    }
    let network = model.networks.get(&port.network_id);
    let own_network =
        network.is_some_and(|network| network.common.project_id == port.common.project_id);
    if let Some(owner) = owner(&mut attributes, own_network)? {
        attributes.set("device_owner", owner);
    }
    if let Some(policy) = qos_policy(model, &port.common.project_id, &mut attributes)? {
        attributes.set("qos_policy_id", policy);
    }
    if attributes.has("allowed_address_pairs") {
        let pairs = address_pairs(&mut attributes, &port.mac_address)?;
        attributes.set("allowed_address_pairs", pairs);
    }
    if attributes.has("extra_dhcp_opts") {
        let items = list(&mut attributes, "extra_dhcp_opts")?;
        attributes.set("extra_dhcp_opts", items);
    }
    model.mark_released(&port.fixed_ips);
    let changed = model.ports.change(id, |port| assign(port, attributes));
    changed.unwrap_or_else(|| Err(PORT.not_found(id)))
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let port = model.ports.get(id).ok_or_else(|| PORT.not_found(id))?;
    if [ROUTER_INTERFACE, ROUTER_GATEWAY, FLOATING_IP].contains(&port.device_owner.as_str()) {
        return Err(Refusal::conflict(
            "ServicePortInUse",
            format!(
                "Port {id} cannot be deleted directly via the port API: has device owner {}.",
                port.device_owner
            ),
        ));
    }
    model.check_in_no_trunk(id)?;
    model.remove_port(id);
    Ok(())
}

impl Model {
    /// Removes a port with its port forwardings, and disassociates its floating IPs.
    pub fn remove_port(&mut self, id: &str) {
        if let Some(port) = self.ports.remove(id) {
            self.mark_released(&port.fixed_ips);
        }
        let leading = self.floating_ips.having(&format!("port:{id}"));
        let leading: Vec<String> = leading.map(|row| row.id.clone()).collect();
        for floating_ip in leading {
            self.floating_ips.change(&floating_ip, |row| {
                row.disassociate();
                row.common.mark_updated();
            });
        }
        self.remove_forwardings_to_port(id);
    }

    /// Detaches a port from its device, or removes it if the device's service created it.
    pub fn release_port(&mut self, port_id: &str, made_by_service: bool) {
        if made_by_service {
            self.remove_port(port_id);
            return;
        }
        self.ports.change(port_id, |port| {
            port.device_id.clear();
            port.device_owner.clear();
            port.status = "DOWN".into();
            port.common.mark_updated();
        });
    }

    /// The id of the port that a service created for a device with this device owner.
    pub fn service_port(&self, device_id: &str, owner: &str) -> Option<String> {
        let mut ports = self.ports.having(&format!("device:{device_id}"));
        let found = ports.find(|port| port.device_owner == owner);
        found.map(|port| port.id.clone())
    }

    /// Creates a port for an internal purpose.
    pub fn add_service_port(
        &mut self,
        project_id: &str,
        network_id: &str,
        owner: &str,
        device_id: &str,
        mac_address: String,
        fixed_ips: Vec<FixedIp>,
    ) -> String {
        let id = new_id();
        self.ports.insert(Port {
            id: id.clone(),
            name: String::new(),
            network_id: network_id.into(),
            admin_state_up: true,
            status: if owner == FLOATING_IP {
                "N/A"
            } else {
                "ACTIVE"
            }
            .into(),
            mac_address,
            fixed_ips,
            device_id: device_id.into(),
            device_owner: owner.into(),
            security_groups: Vec::new(),
            port_security_enabled: false,
            allowed_address_pairs: Vec::new(),
            extra_dhcp_opts: Vec::new(),
            vnic_type: "normal".into(),
            qos_policy_id: None,
            common: Common::new(project_id, &mut Body::default()).unwrap_or_default(),
        });
        id
    }

    /// Creates a port of a server through the checks of the API.
    pub fn create_port(&mut self, project_id: &str, fields: Value) -> Result<String, Refusal> {
        let attributes =
            Body::for_create("port", FIELDS, json!({ "port": fields }), Caller::Member)?;
        create(self, project_id, attributes)
    }
}
