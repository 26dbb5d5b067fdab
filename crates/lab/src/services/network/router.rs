//! Routers: what joins subnets, and leads outside.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::ids::{new_id, new_mac};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{
    AttributeSpec, Attributes, Form, Said, attribute, bare, is_uuid,
};
use crate::services::network::port::{FixedIp, Port, ROUTER_GATEWAY, ROUTER_INTERFACE, Taker};
use crate::services::network::subnet::{Subnet, routes};
use crate::services::network::{Common, Kind, Makers, assign, to_value};
use crate::wiring::HostRoute;

/// A router.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Router {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// Kept, without effect.
    pub admin_state_up: bool,
    /// `ACTIVE`.
    pub status: String,
    /// The leg outside.
    pub external_gateway_info: Option<Gateway>,
    /// Further routes.
    pub routes: Vec<HostRoute>,
    /// Never.
    pub ha: bool,
    /// Never.
    pub distributed: bool,
    /// Always empty.
    pub availability_zone_hints: Vec<String>,
    /// `nova`.
    pub availability_zones: Vec<String>,
    /// None.
    pub flavor_id: Option<String>,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

/// A router's leg outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// The external network.
    pub network_id: String,
    /// Whether what goes out bears the router's address.
    pub enable_snat: bool,
    /// The router's addresses outside.
    pub external_fixed_ips: Vec<FixedIp>,
}

keyed_by_id!(Router);
crate::services::network::row!(Router, name);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::Always),
    attribute("admin_state_up", Form::Bool, Said::Always),
    attribute("external_gateway_info", Form::Any, Said::Always),
    attribute("routes", Form::Any, Said::Always),
    attribute("availability_zone_hints", Form::Any, Said::OnCreate),
    attribute("ha", Form::Bool, Said::OnCreate),
    attribute("distributed", Form::Bool, Said::OnCreate),
    attribute("flavor_id", Form::Id, Said::OnCreate),
];

/// The kind.
pub static ROUTER: Kind = Kind {
    collection: "routers",
    singular: "router",
    attributes: ATTRIBUTES,
    makers: Makers::Members,
    list: |model, look| look.values(model.routers.iter(), |_| false, to_value),
    get: |model, id| model.routers.get(id).map(to_value),
    shared: |_, _, _| false,
    not_found,
    create,
    update,
    delete,
};

fn not_found(id: &str) -> Refusal {
    Refusal::not_found("RouterNotFound", format!("Router {id} could not be found"))
}

fn bad_request(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(400, "BadRequest", format!("Bad router request: {reason}."))
}

/// The network of a gateway's description.
fn gateway_network(info: &Value) -> Result<&str, Refusal> {
    const NAME: &str = "external_gateway_info";
    let fields = info.as_object().ok_or_else(|| {
        Refusal::invalid_input(NAME, format!("'{}' is not a dictionary", bare(info)))
    })?;
    let network = fields.get("network_id").and_then(Value::as_str);
    network.ok_or_else(|| {
        let provided: Vec<String> = fields.keys().map(|key| format!("'{key}'")).collect();
        Refusal::invalid_input(
            NAME,
            format!(
                "Validation of dictionary's keys failed. Expected keys: {{'network_id'}} Provided keys: {{{}}}",
                provided.join(", ")
            ),
        )
    })
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "router", model.routers.iter())?;
    for (flag, rule) in [
        ("ha", "create_router:ha"),
        ("distributed", "create_router:distributed"),
    ] {
        if attributes.flag(flag) == Some(true) {
            return Err(crate::services::network::network::only_admin(rule));
        }
    }
    let gateway = attributes
        .take("external_gateway_info")
        .filter(|info| info != &json!({}));
    let id = new_id();
    let router = Router {
        id: id.clone(),
        name: attributes.text("name")?.unwrap_or_default(),
        admin_state_up: attributes.flag("admin_state_up").unwrap_or(true),
        status: "ACTIVE".into(),
        external_gateway_info: None,
        routes: routes("routes", attributes.take("routes"))?,
        ha: false,
        distributed: false,
        availability_zone_hints: Vec::new(),
        availability_zones: vec!["nova".into()],
        flavor_id: None,
        common: Common::new(project_id, &mut attributes)?,
    };
    model.routers.insert(router);
    if let Some(gateway) = gateway
        && let Err(refusal) = model.set_gateway(&id, Some(gateway))
    {
        model.routers.remove(&id);
        return Err(refusal);
    }
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Attributes) -> Result<(), Refusal> {
    if attributes.says("external_gateway_info") {
        let gateway = attributes
            .take("external_gateway_info")
            .filter(|info| info != &json!({}));
        model.set_gateway(id, gateway)?;
    }
    if let Some(value) = attributes.take("routes") {
        let routes = routes("routes", Some(value))?;
        model.routes_are_near(id, &routes)?;
        attributes.set("routes", to_value(&routes));
    }
    let router = model.routers.get_mut(id).ok_or_else(|| not_found(id))?;
    assign(router, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let legs: Vec<&str> = model
        .router_interfaces(id)
        .map(|port| port.id.as_str())
        .collect();
    if !legs.is_empty() {
        return Err(Refusal::conflict(
            "RouterInUse",
            format!("Router {id} has ports still attached: {}", legs.join(", ")),
        ));
    }
    model.set_gateway(id, None)?;
    model.routers.remove(id);
    Ok(())
}

impl Model {
    /// Give a router its leg outside, another one, or take it away.
    fn set_gateway(&mut self, id: &str, wanted: Option<Value>) -> Result<(), Refusal> {
        let router = self.routers.get(id).ok_or_else(|| not_found(id))?.clone();
        let wanted = match wanted {
            None => None,
            Some(info) => {
                let network_id = gateway_network(&info)?;
                let network = self.network_for(&router.common.project_id, network_id)?;
                if !network.external {
                    return Err(bad_request(format!(
                        "Network {network_id} is not an external network"
                    )));
                }
                let enable_snat = info
                    .get("enable_snat")
                    .and_then(Value::as_bool)
                    .unwrap_or(true);
                Some((
                    network_id.to_owned(),
                    enable_snat,
                    info.get("external_fixed_ips").cloned(),
                ))
            }
        };
        let old = router.external_gateway_info.as_ref();
        if let (Some(old), Some((network_id, enable_snat, None))) = (old, &wanted)
            && &old.network_id == network_id
        {
            let (id, enable_snat) = (id.to_owned(), *enable_snat);
            if let Some(gateway) = self
                .routers
                .get_mut(&id)
                .and_then(|router| router.external_gateway_info.as_mut())
            {
                gateway.enable_snat = enable_snat;
            }
            return Ok(());
        }
        if let Some(old) = old
            && self.floating_ips.has(&format!("router:{id}"))
        {
            return Err(Refusal::conflict(
                "RouterExternalGatewayInUseByFloatingIp",
                format!(
                    "Gateway cannot be updated for router {id}, since a gateway to external network {} is required by one or \
                         more floating IPs.",
                    old.network_id
                ),
            ));
        }
        let mac = new_mac();
        let gateway = match wanted {
            None => None,
            Some((network_id, enable_snat, addresses)) => {
                let taker = Taker {
                    mac: &mac,
                    device_owner: ROUTER_GATEWAY,
                    mine: old.map_or(&[], |old| &old.external_fixed_ips),
                };
                let external_fixed_ips = self.allocate(&network_id, addresses, taker)?;
                Some(Gateway {
                    network_id,
                    enable_snat,
                    external_fixed_ips,
                })
            }
        };
        if let Some(port_id) = self.service_port(id, ROUTER_GATEWAY) {
            self.remove_port(&port_id);
        }
        if let Some(gateway) = &gateway {
            // Nobody's port, as in Neutron: projects do not see routers' gateway ports.
            self.add_service_port(
                "",
                &gateway.network_id,
                ROUTER_GATEWAY,
                id,
                mac,
                gateway.external_fixed_ips.clone(),
            );
        }
        if let Some(router) = self.routers.get_mut(id) {
            router.external_gateway_info = gateway;
        }
        Ok(())
    }

    /// `PUT /routers/{id}/add_router_interface` with `subnet_id` or `port_id`.
    pub fn add_router_interface(
        &mut self,
        project_id: &str,
        id: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let router = self.router_for(project_id, id)?;
        let router_project = router.common.project_id.clone();
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let (subnet_ids, port_id) = match (text("subnet_id"), text("port_id")) {
            (Some(_), Some(_)) => {
                return Err(bad_request("Cannot specify both subnet-id and port-id"));
            }
            (None, None) => {
                return Err(bad_request("Either subnet_id or port_id must be specified"));
            }
            (Some(subnet_id), None) => (vec![subnet_id.to_owned()], None),
            (None, Some(port_id)) => {
                let visible = |port: &&Port| port.common.project_id == project_id;
                let port = self.ports.get(port_id).filter(visible).ok_or_else(|| {
                    Refusal::not_found(
                        "PortNotFound",
                        format!("Port {port_id} could not be found."),
                    )
                })?;
                if !port.device_id.is_empty() {
                    return Err(Refusal::conflict(
                        "PortInUse",
                        format!(
                            "Unable to complete operation on port {port_id} for network {}. Port already has an attached device {}.",
                            port.network_id, port.device_id
                        ),
                    ));
                }
                let port = port.clone();
                self.has_room_for(id, &port)?;
                let subnets = port.fixed_ips.iter().map(|ip| ip.subnet_id.clone());
                let subnets: Vec<String> = subnets.collect();
                if subnets.is_empty() {
                    return Err(bad_request("Router port must have at least one fixed IP"));
                }
                (subnets, Some(port_id.to_owned()))
            }
        };
        if let Some(odd) = subnet_ids.iter().find(|subnet_id| !is_uuid(subnet_id)) {
            return Err(bad_request(format!("'{odd}' is not a valid UUID")));
        }
        for subnet_id in &subnet_ids {
            let subnet = self.subnet_for(project_id, subnet_id)?;
            self.is_apart(id, subnet)?;
        }
        let subnet = self.subnet_for(project_id, &subnet_ids[0])?.clone();
        let port_id = match port_id {
            Some(port_id) => {
                self.ports.change(&port_id, |port| {
                    port.device_id = id.into();
                    port.device_owner = ROUTER_INTERFACE.into();
                    port.status = "ACTIVE".into();
                    port.security_groups.clear();
                    port.port_security_enabled = false;
                    port.common.touched();
                });
                port_id
            }
            None => {
                let gateway = subnet.gateway_ip.ok_or_else(|| {
                    bad_request("Subnet for router interface must have a gateway IP")
                })?;
                if subnet.ipv6_address_mode.is_some() && subnet.ipv6_ra_mode.is_none() {
                    return Err(bad_request(format!(
                        "IPv6 subnet {} configured to receive RAs from an external router cannot be added to Neutron Router",
                        subnet.id
                    )));
                }
                let wanted = json!([{"subnet_id": subnet.id, "ip_address": gateway.to_string()}]);
                let taker = Taker {
                    device_owner: ROUTER_INTERFACE,
                    ..Taker::default()
                };
                let fixed_ips = self.allocate(&subnet.network_id, Some(wanted), taker)?;
                self.add_leg(id, &router_project, &subnet, fixed_ips)
            }
        };
        if let Some(router) = self.routers.get_mut(id) {
            router.common.touched();
        }
        Ok(interface_answer(
            id,
            &router_project,
            &subnet.network_id,
            &subnet_ids,
            &port_id,
        ))
    }

    /// A router's leg in a network, or one more address of the leg that it has there: all prefixes of IPv6 share one.
    fn add_leg(
        &mut self,
        id: &str,
        project_id: &str,
        subnet: &Subnet,
        fixed_ips: Vec<FixedIp>,
    ) -> String {
        let mut legs = self.router_interfaces(id);
        let shared = legs.find(|leg| leg.network_id == subnet.network_id && is_of_v6(leg));
        match shared.filter(|_| subnet.ip_version == 6) {
            Some(leg) => {
                let leg = leg.id.clone();
                drop(legs);
                self.ports
                    .change(&leg, |port| port.fixed_ips.extend(fixed_ips));
                leg
            }
            None => {
                drop(legs);
                let network = &subnet.network_id;
                let mac = new_mac();
                self.add_service_port(project_id, network, ROUTER_INTERFACE, id, mac, fixed_ips)
            }
        }
    }

    /// Whether a port of one's own can be a router's leg: one range of IPv4 at most, and one leg of IPv6 in a network.
    fn has_room_for(&self, id: &str, port: &Port) -> Result<(), Refusal> {
        let mut legs = self.router_interfaces(id);
        let other = legs.find(|leg| leg.network_id == port.network_id && is_of_v6(leg));
        if let Some(other) = other.filter(|_| is_of_v6(port)) {
            return Err(bad_request(format!(
                "Cannot have multiple router ports with the same network id if both contain IPv6 subnets. Existing port {} has IPv6 \
                 subnet(s) and network id {}",
                other.id, other.network_id
            )));
        }
        match port.v4().count() {
            0 | 1 => Ok(()),
            _ => Err(bad_request(
                "Cannot have multiple IPv4 subnets on router port",
            )),
        }
    }

    /// Whether a router has no leg in a subnet yet, nor in one that shares an address with it.
    fn is_apart(&self, id: &str, subnet: &Subnet) -> Result<(), Refusal> {
        let mine = || self.router_interfaces(id).flat_map(|port| &port.fixed_ips);
        if mine().any(|ip| ip.subnet_id == subnet.id) {
            return Err(bad_request(format!(
                "Router already has a port on subnet {}",
                subnet.id
            )));
        }
        let mut others = mine().filter_map(|ip| self.subnets.get(&ip.subnet_id));
        match others.find(|other| other.cidr.overlaps(&subnet.cidr)) {
            None => Ok(()),
            Some(other) => Err(bad_request(format!(
                "Cidr {} of subnet {} overlaps with cidr {} of subnet {}",
                subnet.cidr, subnet.id, other.cidr, other.id
            ))),
        }
    }

    /// `PUT /routers/{id}/remove_router_interface` with `subnet_id` or `port_id`.
    pub fn remove_router_interface(
        &mut self,
        project_id: &str,
        id: &str,
        body: &Value,
    ) -> Result<Value, Refusal> {
        let router_project = self.router_for(project_id, id)?.common.project_id.clone();
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let port = match (text("subnet_id"), text("port_id")) {
            (None, None) => {
                return Err(bad_request("Either subnet_id or port_id must be specified"));
            }
            (_, Some(port_id)) => self
                .router_interfaces(id)
                .find(|port| port.id == port_id)
                .ok_or_else(|| {
                    Refusal::not_found(
                        "RouterInterfaceNotFound",
                        format!("Router {id} does not have an interface with id {port_id}"),
                    )
                })?,
            (Some(subnet_id), None) => {
                let on_subnet =
                    |port: &&Port| port.fixed_ips.iter().any(|ip| ip.subnet_id == subnet_id);
                self.router_interfaces(id).find(on_subnet).ok_or_else(|| {
                    Refusal::not_found(
                        "RouterInterfaceNotFoundForSubnet",
                        format!("Router {id} has no interface on subnet {subnet_id}"),
                    )
                })?
            }
        };
        let (port_id, network_id) = (port.id.clone(), port.network_id.clone());
        let subnets = port.fixed_ips.iter().map(|ip| ip.subnet_id.clone());
        // Named by itself, a subnet of several goes alone.
        let subnets: Vec<String> = match text("subnet_id") {
            Some(named) => subnets.filter(|subnet| subnet == named).collect(),
            None => subnets.collect(),
        };
        let stays = port.fixed_ips.len() > subnets.len();
        for subnet_id in &subnets {
            self.may_leave(project_id, id, subnet_id)?;
        }
        match stays {
            false => self.remove_port(&port_id),
            true => {
                let is_left = |ip: &FixedIp| !subnets.contains(&ip.subnet_id);
                self.ports
                    .change(&port_id, |port| port.fixed_ips.retain(is_left));
            }
        }
        if let Some(router) = self.routers.get_mut(id) {
            router.common.touched();
        }
        Ok(interface_answer(
            id,
            &router_project,
            &network_id,
            &subnets,
            &port_id,
        ))
    }

    /// Whether a router's leg in a subnet serves nobody: neither a floating IP nor a route.
    fn may_leave(&self, project_id: &str, id: &str, subnet_id: &str) -> Result<(), Refusal> {
        let needed = self
            .floating_ips
            .having(&format!("router:{id}"))
            .any(|row| {
                let port = row.port_id.as_ref().and_then(|port| self.ports.get(port));
                port.is_some_and(|port| {
                    port.v4().any(|(ip, address)| {
                        Some(address) == row.fixed_ip_address && ip.subnet_id == subnet_id
                    })
                })
            });
        if needed {
            return Err(Refusal::conflict(
                "RouterInterfaceInUseByFloatingIP",
                format!(
                    "Router interface for subnet {subnet_id} on router {id} cannot be deleted, as it is required by one or more \
                     floating IPs."
                ),
            ));
        }
        let leaves = self.subnets.get(subnet_id).map(|subnet| subnet.cidr);
        let router = self.router_for(project_id, id)?;
        let mut hops = router.routes.iter().map(|route| route.nexthop);
        if hops.any(|hop| leaves.is_some_and(|range| range.contains(hop))) {
            return Err(Refusal::conflict(
                "RouterInterfaceInUseByRoute",
                format!(
                    "Router interface for subnet {subnet_id} on router {id} cannot be deleted, as it is required by one or more routes."
                ),
            ));
        }
        Ok(())
    }

    /// A router's legs in projects' networks.
    pub fn router_interfaces(&self, id: &str) -> impl Iterator<Item = &Port> + use<'_> {
        self.ports
            .having(&format!("device:{id}"))
            .filter(|port| port.device_owner == ROUTER_INTERFACE)
    }

    /// Whether each next hop is a neighbour: in a network that the router has a leg in, and not the router itself.
    fn routes_are_near(&self, id: &str, routes: &[HostRoute]) -> Result<(), Refusal> {
        let legs = || {
            let ports = self.ports.having(&format!("device:{id}"));
            ports.flat_map(|port| &port.fixed_ips)
        };
        let near = |hop| {
            let mut subnets = legs().filter_map(|ip| self.subnets.get(&ip.subnet_id));
            subnets.any(|subnet| subnet.cidr.contains(hop))
        };
        for route in routes {
            let own = legs().any(|ip| ip.ip_address == route.nexthop);
            let reason = match (near(route.nexthop), own) {
                (false, _) => "the nexthop is not connected with router",
                (true, true) => "the nexthop is used by router",
                (true, false) => continue,
            };
            return Err(Refusal::new(
                400,
                "InvalidRoutes",
                format!(
                    "Invalid format for routes: [{{'destination': '{}', 'nexthop': '{}'}}], {reason}",
                    route.destination, route.nexthop
                ),
            ));
        }
        Ok(())
    }

    fn router_for(&self, project_id: &str, id: &str) -> Result<&Router, Refusal> {
        self.routers
            .get(id)
            .filter(|router| router.common.project_id == project_id)
            .ok_or_else(|| not_found(id))
    }
}

fn is_of_v6(port: &Port) -> bool {
    port.fixed_ips.iter().any(|ip| ip.ip_address.is_ipv6())
}

fn interface_answer(
    router: &str,
    project_id: &str,
    network_id: &str,
    subnet_ids: &[String],
    port_id: &str,
) -> Value {
    json!({
        "id": router,
        "tenant_id": project_id,
        "port_id": port_id,
        "network_id": network_id,
        "subnet_id": subnet_ids.last(),
        "subnet_ids": subnet_ids,
    })
}
