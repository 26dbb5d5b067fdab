//! Routers: what joins subnets, and leads outside.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::attributes::{AttributeSpec, Attributes, Form, Said, attribute, bare, is_uuid};
use super::port::{FixedIp, ROUTER_GATEWAY, ROUTER_INTERFACE};
use super::subnet::{HostRoute, routes};
use super::{Common, Kind, Makers, assign, to_value};
use crate::model::Model;
use crate::model::ids::new_id;
use crate::model::refusal::Refusal;
use crate::model::table::keyed_by_id;

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
super::row!(Router, name);

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
            return Err(super::network::only_admin(rule));
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
        let gateway = match wanted {
            None => None,
            Some((network_id, enable_snat, addresses)) => {
                let external_fixed_ips = self.allocate(
                    &network_id,
                    addresses,
                    old.map_or(&[], |old| &old.external_fixed_ips),
                )?;
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
        let (subnet_id, port_id) = match (text("subnet_id"), text("port_id")) {
            (Some(_), Some(_)) => {
                return Err(bad_request("Cannot specify both subnet-id and port-id"));
            }
            (None, None) => {
                return Err(bad_request("Either subnet_id or port_id must be specified"));
            }
            (Some(subnet_id), None) => (subnet_id.to_owned(), None),
            (None, Some(port_id)) => {
                let visible = |port: &&super::port::Port| port.common.project_id == project_id;
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
                let subnet_id = port.fixed_ips.first().map(|ip| ip.subnet_id.clone());
                (
                    subnet_id.ok_or_else(|| {
                        bad_request("Router port must have at least one fixed IP")
                    })?,
                    Some(port_id.to_owned()),
                )
            }
        };
        if !is_uuid(&subnet_id) {
            return Err(bad_request(format!("'{subnet_id}' is not a valid UUID")));
        }
        let subnet = self.subnet_for(project_id, &subnet_id)?.clone();
        let mine: Vec<FixedIp> = self
            .router_interfaces(id)
            .flat_map(|port| port.fixed_ips.clone())
            .collect();
        if mine.iter().any(|ip| ip.subnet_id == subnet_id) {
            return Err(bad_request(format!(
                "Router already has a port on subnet {subnet_id}"
            )));
        }
        let overlapping = mine
            .iter()
            .filter_map(|ip| self.subnets.get(&ip.subnet_id))
            .find(|other| other.cidr.overlaps(&subnet.cidr));
        if let Some(other) = overlapping {
            return Err(bad_request(format!(
                "Cidr {} of subnet {subnet_id} overlaps with cidr {} of subnet {}",
                subnet.cidr, other.cidr, other.id
            )));
        }
        let port_id = match port_id {
            Some(port_id) => {
                self.ports.change(&port_id, |port| {
                    port.device_id = id.into();
                    port.device_owner = ROUTER_INTERFACE.into();
                    port.status = "ACTIVE".into();
                    port.security_groups.clear();
                    port.port_security_enabled = false;
                });
                port_id
            }
            None => {
                let gateway = subnet.gateway_ip.ok_or_else(|| {
                    bad_request("Subnet for router interface must have a gateway IP")
                })?;
                let wanted = json!([{"subnet_id": subnet_id, "ip_address": gateway.to_string()}]);
                let fixed_ips = self.allocate(&subnet.network_id, Some(wanted), &[])?;
                self.add_service_port(
                    &router_project,
                    &subnet.network_id,
                    ROUTER_INTERFACE,
                    id,
                    fixed_ips,
                )
            }
        };
        Ok(interface_answer(
            id,
            &router_project,
            &subnet.network_id,
            &subnet_id,
            &port_id,
        ))
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
                let on_subnet = |port: &&super::port::Port| {
                    port.fixed_ips.iter().any(|ip| ip.subnet_id == subnet_id)
                };
                self.router_interfaces(id).find(on_subnet).ok_or_else(|| {
                    Refusal::not_found(
                        "RouterInterfaceNotFoundForSubnet",
                        format!("Router {id} has no interface on subnet {subnet_id}"),
                    )
                })?
            }
        };
        let (port_id, network_id) = (port.id.clone(), port.network_id.clone());
        let subnet_id = port
            .fixed_ips
            .first()
            .map(|ip| ip.subnet_id.clone())
            .unwrap_or_default();
        let needed = self
            .floating_ips
            .having(&format!("router:{id}"))
            .any(|row| {
                let port = row.port_id.as_ref().and_then(|port| self.ports.get(port));
                port.is_some_and(|port| {
                    port.fixed_ips.iter().any(|ip| {
                        Some(ip.ip_address) == row.fixed_ip_address && ip.subnet_id == subnet_id
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
        let leaves = self.subnets.get(&subnet_id).map(|subnet| subnet.cidr);
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
        self.remove_port(&port_id);
        Ok(interface_answer(
            id,
            &router_project,
            &network_id,
            &subnet_id,
            &port_id,
        ))
    }

    /// A router's legs in projects' networks.
    pub fn router_interfaces(
        &self,
        id: &str,
    ) -> impl Iterator<Item = &super::port::Port> + use<'_> {
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

fn interface_answer(
    router: &str,
    project_id: &str,
    network_id: &str,
    subnet_id: &str,
    port_id: &str,
) -> Value {
    json!({
        "id": router,
        "tenant_id": project_id,
        "port_id": port_id,
        "network_id": network_id,
        "subnet_id": subnet_id,
        "subnet_ids": [subnet_id],
    })
}
