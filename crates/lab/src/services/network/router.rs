//! Routers between subnets and to the external network.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::field::{Field, Form, always, on_create};
use crate::kit::ids::{new_id, new_mac};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::{Body, bare};
use crate::services::network::port::{AllocationRequest, FixedIp, ROUTER_GATEWAY};
use crate::services::network::subnet_checks::routes;
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};
use crate::wiring::HostRoute;

/// A router.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Router {
    pub id: String,
    pub name: String,
    /// Stored without effect.
    pub admin_state_up: bool,
    pub status: String,
    /// The gateway in the external network.
    pub external_gateway_info: Option<Gateway>,
    /// The extra routes.
    pub routes: Vec<HostRoute>,
    pub ha: bool,
    pub distributed: bool,
    pub availability_zone_hints: Vec<String>,
    pub availability_zones: Vec<String>,
    pub flavor_id: Option<String>,
    #[serde(flatten)]
    pub common: Common,
}

/// The gateway of a router in the external network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    pub network_id: String,
    /// Whether the source address of outgoing packets is translated to the router's.
    pub enable_snat: bool,
    /// The addresses in the external network.
    pub external_fixed_ips: Vec<FixedIp>,
}

keyed_by_id!(Router);
crate::services::network::row!(Router, name);

const FIELDS: &[Field] = &[
    always("name", Form::Text),
    always("admin_state_up", Form::Bool),
    always("external_gateway_info", Form::Any),
    always("routes", Form::Any),
    on_create("availability_zone_hints", Form::Any),
    on_create("ha", Form::Bool),
    on_create("distributed", Form::Bool),
    on_create("flavor_id", Form::Id),
];

pub static ROUTER: Collection = Collection {
    collection: "routers",
    singular: "router",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: ("RouterNotFound", "Router {} could not be found"),
    rows: Rows::Typed {
        list: |model, query| query.values(model.routers.iter(), |_| false, to_value),
        get: |model, id| model.routers.get(id).map(to_value),
        create,
        update,
        delete,
    },
};

pub(crate) fn bad_request(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(400, "BadRequest", format!("Bad router request: {reason}."))
}

/// The network id of an `external_gateway_info`.
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

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "router", model.routers.iter())?;
    for (flag, rule) in [
        ("ha", "create_router:ha"),
        ("distributed", "create_router:distributed"),
    ] {
        if attributes.flag(flag) == Some(true) {
            return Err(crate::services::network::body::only_admin(rule));
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

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
    if attributes.has("external_gateway_info") {
        let gateway = attributes
            .take("external_gateway_info")
            .filter(|info| info != &json!({}));
        model.set_gateway(id, gateway)?;
    }
    if let Some(value) = attributes.take("routes") {
        let routes = routes("routes", Some(value))?;
        model.check_next_hops(id, &routes)?;
        attributes.set("routes", to_value(&routes));
    }
    let router = model
        .routers
        .get_mut(id)
        .ok_or_else(|| ROUTER.not_found(id))?;
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
    /// Sets, replaces or removes the external gateway of a router.
    fn set_gateway(&mut self, id: &str, wanted: Option<Value>) -> Result<(), Refusal> {
        let router = self
            .routers
            .get(id)
            .ok_or_else(|| ROUTER.not_found(id))?
            .clone();
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
                let allocation = AllocationRequest {
                    mac: &mac,
                    device_owner: ROUTER_GATEWAY,
                    current: old.map_or(&[], |old| &old.external_fixed_ips),
                };
                let external_fixed_ips = self.allocate(&network_id, addresses, allocation)?;
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
            // The port has no project, as in Neutron, where projects do not see gateway ports.
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

    /// Checks that each next hop is in a subnet of the router and is not the router itself.
    fn check_next_hops(&self, id: &str, routes: &[HostRoute]) -> Result<(), Refusal> {
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

    pub(crate) fn router_for(&self, project_id: &str, id: &str) -> Result<&Router, Refusal> {
        self.routers
            .get(id)
            .filter(|router| router.common.project_id == project_id)
            .ok_or_else(|| ROUTER.not_found(id))
    }
}
