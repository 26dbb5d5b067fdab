//! Subnets: IPv4 or IPv6 ranges of a network.
//!
//! An IPv6 subnet allocates addresses from its pools, like an IPv4 subnet, or has automatic addresses, derived from MAC
//! addresses (SLAAC, stateless DHCPv6). Then every port of the network gets one, existing ports included, and it cannot
//! be chosen. On Docker, IPv6 is stored without effect: the lab forwards IPv4 packets only ([`crate::wiring`]).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::kit::field::{Field, Form, always, on_create, required};
use crate::kit::ids::new_id;
use crate::kit::ip;
use crate::kit::ip::{Cidr, Pool, default_pools};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::Body;
use crate::services::network::port::ROUTER_INTERFACE;
use crate::services::network::subnet_checks::{
    gateway_fits, is_of, mode, modes_fit, name_servers, outside_of, pools, routes, routes_are_of,
};
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};
use crate::wiring::HostRoute;

/// A subnet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subnet {
    pub id: String,
    pub name: String,
    pub network_id: String,
    /// 4 or 6.
    pub ip_version: u8,
    pub cidr: Cidr,
    /// The default gateway of its servers.
    pub gateway_ip: Option<IpAddr>,
    /// The ranges that addresses of ports are allocated from.
    pub allocation_pools: Vec<Pool>,
    /// The name servers of its servers.
    pub dns_nameservers: Vec<IpAddr>,
    /// Additional routes of its servers.
    pub host_routes: Vec<HostRoute>,
    /// Stored without effect: servers get their addresses in either case.
    pub enable_dhcp: bool,
    /// The address mode of IPv6 ports: `slaac`, `dhcpv6-stateful` or `dhcpv6-stateless`.
    pub ipv6_address_mode: Option<String>,
    /// The mode in router advertisements: `slaac`, `dhcpv6-stateful` or `dhcpv6-stateless`.
    pub ipv6_ra_mode: Option<String>,
    /// The subnet pool of its range.
    pub subnetpool_id: Option<String>,
    pub service_types: Vec<String>,
    #[serde(flatten)]
    pub common: Common,
}

impl Subnet {
    /// Whether addresses are derived from MAC addresses.
    pub fn is_automatic(&self) -> bool {
        let modes = [&self.ipv6_address_mode, &self.ipv6_ra_mode];
        let is_automatic = |mode: &str| mode != "dhcpv6-stateful";
        modes.into_iter().flatten().any(|mode| is_automatic(mode))
    }
}

keyed_by_id!(Subnet);
crate::services::network::row!(Subnet, name, network_id);

const FIELDS: &[Field] = &[
    required("ip_version", Form::Number),
    required("network_id", Form::Id),
    always("name", Form::Text),
    on_create("cidr", Form::TextOrNull),
    always("gateway_ip", Form::TextOrNull),
    always("allocation_pools", Form::Any),
    always("dns_nameservers", Form::Any),
    always("host_routes", Form::Any),
    always("enable_dhcp", Form::Bool),
    on_create("ipv6_address_mode", Form::TextOrNull),
    on_create("ipv6_ra_mode", Form::TextOrNull),
    on_create("subnetpool_id", Form::Id),
    on_create("prefixlen", Form::Number),
    always("service_types", Form::Any),
];

pub static SUBNET: Collection = Collection {
    collection: "subnets",
    singular: "subnet",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |model, subnet, project| {
        let network = crate::services::network::network::network_id(subnet);
        network.is_some_and(|network| model.network_for(project, network).is_ok())
    },
    missing: ("SubnetNotFound", "Subnet {} could not be found."),
    rows: Rows::Typed {
        list: |model, query| {
            // For administrators, all subnets are visible.
            let shared = |row: &Subnet| {
                query
                    .project
                    .is_none_or(|project| model.network_for(project, &row.network_id).is_ok())
            };
            query.values(model.subnets.iter(), shared, to_value)
        },
        get: |model, id| model.subnets.get(id).map(to_value),
        create,
        update,
        delete,
    },
};

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "subnet", model.subnets.iter())?;
    let network_id = attributes.text("network_id")?.unwrap_or_default();
    let network = model.network_for(project_id, &network_id)?;
    if network.common.project_id != project_id {
        return Err(crate::services::network::body::only_admin("create_subnet"));
    }
    let ip_version = match attributes.number("ip_version") {
        None | Some(4) => 4,
        Some(6) => 6,
        Some(other) => {
            return Err(Refusal::invalid_input(
                "ip_version",
                format!("{other} is not in valid_values"),
            ));
        }
    };
    let ipv6_ra_mode = mode(&mut attributes, "ipv6_ra_mode")?;
    let ipv6_address_mode = mode(&mut attributes, "ipv6_address_mode")?;
    let enable_dhcp = attributes.flag("enable_dhcp").unwrap_or(true);
    let subnetpool_id = attributes.text("subnetpool_id")?;
    let length = attributes.number("prefixlen");
    let cidr = match (attributes.cidr("cidr")?, &subnetpool_id) {
        (Some(cidr), _) => cidr,
        (None, Some(pool)) => model.next_free_range(project_id, pool, length)?,
        (None, None) => {
            return Err(Refusal::new(
                400,
                "BadRequest",
                "Bad subnets request: a subnetpool must be specified in the absence of a cidr.",
            ));
        }
    };
    is_of(ip_version, "cidr", ip::version(cidr.network()), &cidr)?;
    let served_at_most = if ip_version == 4 { 30 } else { 126 };
    if enable_dhcp && cidr.prefix() > served_at_most {
        return Err(Refusal::invalid_operation(
            "Subnet has a prefix length that is incompatible with DHCP service enabled",
        ));
    }
    // Null means no gateway. The default is the first host address: network address + 1 in IPv4, the network address
    // itself in IPv6.
    let gateway_ip = if attributes.has("gateway_ip") {
        attributes.any_address("gateway_ip")?
    } else {
        Some(cidr.nth(u128::from(ip_version == 4)))
    };
    gateway_fits(&cidr, gateway_ip)?;
    let dns_nameservers = name_servers(ip_version, attributes.take("dns_nameservers"))?;
    let host_routes = routes("host_routes", attributes.take("host_routes"))?;
    routes_are_of(ip_version, &host_routes)?;
    let modes = [
        ("ipv6_ra_mode", &ipv6_ra_mode),
        ("ipv6_address_mode", &ipv6_address_mode),
    ];
    modes_fit(&cidr, enable_dhcp, modes)?;
    if let Some(other) = network
        .subnets
        .iter()
        .filter_map(|id| model.subnets.get(id))
        .find(|row| row.cidr.overlaps(&cidr))
    {
        tracing::debug!(overlaps = %other.id, "subnet refused");
        return Err(Refusal::new(
            400,
            "InvalidInput",
            format!(
                "Invalid input for operation: Requested subnet with cidr: {cidr} for network: {network_id} overlaps with another \
                 subnet."
            ),
        ));
    }
    let allocation_pools = match attributes.take("allocation_pools") {
        None => default_pools(&cidr, gateway_ip),
        Some(value) => pools(value, &cidr, gateway_ip)?,
    };
    let subnet = Subnet {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        network_id: network_id.clone(),
        ip_version,
        cidr,
        gateway_ip,
        allocation_pools,
        dns_nameservers,
        host_routes,
        enable_dhcp,
        ipv6_address_mode,
        ipv6_ra_mode,
        subnetpool_id,
        service_types: Vec::new(),
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = subnet.id.clone();
    if let Some(network) = model.networks.get_mut(&network_id) {
        network.subnets.push(id.clone());
        network.common.mark_updated();
    }
    let automatic = subnet.is_automatic();
    model.subnets.insert(subnet);
    if automatic {
        model.add_automatic_addresses(&id);
    }
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
    let subnet = model.subnets.get(id).ok_or_else(|| SUBNET.not_found(id))?;
    let (cidr, old_gateway) = (subnet.cidr, subnet.gateway_ip);
    let ip_version = subnet.ip_version;
    let has_modes = subnet.ipv6_address_mode.is_some() || subnet.ipv6_ra_mode.is_some();
    if let Some(on) = attributes.flag("enable_dhcp") {
        if has_modes && !on {
            return Err(Refusal::invalid_operation(
                "Cannot disable enable_dhcp with ipv6 attributes set",
            ));
        }
        attributes.set("enable_dhcp", on);
    }
    let old_pools = subnet.allocation_pools.clone();
    let mut gateway_ip = old_gateway;
    if attributes.has("gateway_ip") {
        gateway_ip = attributes.any_address("gateway_ip")?;
        let user = model.ports.having(&format!("subnet:{id}")).find(|port| {
            port.device_owner.starts_with("network:router_interface")
                && port
                    .fixed_ips
                    .iter()
                    .any(|ip| ip.subnet_id == id && Some(ip.ip_address) == old_gateway)
        });
        if let (Some(port), true) = (user, gateway_ip != old_gateway) {
            return Err(Refusal::conflict(
                "GatewayIpInUse",
                format!(
                    "Current gateway ip {} already in use by port {}. Unable to update.",
                    old_gateway.map(|ip| ip.to_string()).unwrap_or_default(),
                    port.id
                ),
            ));
        }
        gateway_fits(&cidr, gateway_ip)?;
        if !attributes.has("allocation_pools") {
            outside_of(gateway_ip, &old_pools)?;
        }
        attributes.set("gateway_ip", gateway_ip.map(|ip| ip.to_string()));
    }
    if let Some(value) = attributes.take("allocation_pools") {
        attributes.set(
            "allocation_pools",
            to_value(&pools(value, &cidr, gateway_ip)?),
        );
    }
    if let Some(value) = attributes.take("dns_nameservers") {
        let servers = name_servers(ip_version, Some(value))?;
        attributes.set("dns_nameservers", to_value(&servers));
    }
    if let Some(value) = attributes.take("host_routes") {
        let routes = routes("host_routes", Some(value))?;
        routes_are_of(ip_version, &routes)?;
        attributes.set("host_routes", to_value(&routes));
    }
    attributes.take("service_types");
    model.free_from.remove(id);
    let subnet = model
        .subnets
        .get_mut(id)
        .ok_or_else(|| SUBNET.not_found(id))?;
    assign(subnet, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let automatic = model.subnets.get(id).is_some_and(Subnet::is_automatic);
    let holds = |port: &crate::services::network::port::Port| {
        !automatic || port.device_owner == ROUTER_INTERFACE
    };
    if model.ports.having(&format!("subnet:{id}")).any(holds) {
        return Err(Refusal::conflict(
            "SubnetInUse",
            format!(
                "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
            ),
        ));
    }
    model.remove_automatic_addresses(id);
    let subnet = model
        .subnets
        .remove(id)
        .ok_or_else(|| SUBNET.not_found(id))?;
    if let Some(network) = model.networks.get_mut(&subnet.network_id) {
        network.subnets.retain(|other| other != id);
        network.common.mark_updated();
    }
    Ok(())
}

impl Model {
    /// The subnet, if it is visible to the project.
    pub fn subnet_for(&self, project_id: &str, id: &str) -> Result<&Subnet, Refusal> {
        let subnet = self.subnets.get(id).ok_or_else(|| SUBNET.not_found(id))?;
        let visible = subnet.common.project_id == project_id
            || self.network_for(project_id, &subnet.network_id).is_ok();
        if visible {
            Ok(subnet)
        } else {
            Err(SUBNET.not_found(id))
        }
    }
}
