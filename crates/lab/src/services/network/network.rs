//! Networks: the wires. The external one comes with the lab; projects make the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::provider::Provider;
use crate::services::network::{Common, Kind, Makers, assign, to_value};

/// A network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// Up or down; kept, without effect.
    pub admin_state_up: bool,
    /// `ACTIVE`.
    pub status: String,
    /// Ids of its subnets.
    pub subnets: Vec<String>,
    /// Whether other projects may plug into it.
    pub shared: bool,
    /// Whether it leads outside.
    #[serde(rename = "router:external")]
    pub external: bool,
    /// Largest packet.
    pub mtu: u32,
    /// Whether ports get a packet filter.
    pub port_security_enabled: bool,
    /// Always empty.
    pub availability_zone_hints: Vec<String>,
    /// `nova`.
    pub availability_zones: Vec<String>,
    /// None.
    pub ipv4_address_scope: Option<String>,
    /// None.
    pub ipv6_address_scope: Option<String>,
    /// What it is made on.
    #[serde(flatten)]
    pub provider: Provider,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(Network);
crate::services::network::row!(Network, name);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::Always),
    attribute("admin_state_up", Form::Bool, Said::Always),
    attribute("shared", Form::Bool, Said::Always),
    attribute("router:external", Form::Bool, Said::Always),
    attribute("mtu", Form::Number, Said::Always),
    attribute("port_security_enabled", Form::Bool, Said::Always),
    attribute("availability_zone_hints", Form::Any, Said::OnCreate),
    attribute("dns_domain", Form::Text, Said::Always),
    attribute("subnets", Form::Any, Said::Never),
    attribute("provider:network_type", Form::Text, Said::Always),
    attribute("provider:physical_network", Form::Text, Said::Always),
    attribute("provider:segmentation_id", Form::Number, Said::Always),
    attribute("is_default", Form::Bool, Said::Admins),
];

/// The kind.
pub static NETWORK: Kind = Kind {
    collection: "networks",
    singular: "network",
    attributes: ATTRIBUTES,
    makers: Makers::Members,
    list: |model, look| {
        let shared = |row: &Network| {
            row.shared || row.external || model.shared_with(look.project, "network", &row.id)
        };
        look.values(model.networks.iter(), shared, |row| shown(model, row))
    },
    get: |model, id| model.networks.get(id).map(|row| shown(model, row)),
    shared: |model, network, project| {
        let id = network["id"].as_str().unwrap_or_default();
        network["shared"] == true
            || network["router:external"] == true
            || model.shared_with(Some(project), "network", id)
    },
    not_found,
    create,
    update,
    delete,
};

/// With the address scopes of the pools that its subnets were cut from.
fn shown(model: &Model, row: &Network) -> Value {
    let mut value = to_value(row);
    let subnets = row.subnets.iter().filter_map(|id| model.subnets.get(id));
    let mut pools = subnets.filter_map(|subnet| subnet.subnetpool_id.as_deref());
    let scope = pools.find_map(|pool| model.subnet_pools.get(pool)?.address_scope_id.as_deref());
    value["ipv4_address_scope"] = scope.into();
    value["qos_policy_id"] = Value::Null;
    value["is_default"] = false.into();
    value
}

/// The 404.
pub fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "NetworkNotFound",
        format!("Network {id} could not be found."),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    model
        .quotas
        .check_count(project_id, "network", model.networks.iter())?;
    let external = attributes.admins_flag("router:external", "create_network:router:external")?;
    let shared = attributes.admins_flag("shared", "create_network:shared")?;
    let others = model.networks.iter().map(|row| &row.provider);
    let provider = Provider::read(&mut attributes, others)?;
    let network = Network {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        admin_state_up: attributes.flag("admin_state_up").unwrap_or(true),
        status: "ACTIVE".into(),
        subnets: Vec::new(),
        shared: shared.unwrap_or(false),
        external: external.unwrap_or(false),
        mtu: mtu(&mut attributes)?.unwrap_or(1500),
        port_security_enabled: attributes.flag("port_security_enabled").unwrap_or(true),
        availability_zone_hints: Vec::new(),
        availability_zones: vec!["nova".into()],
        ipv4_address_scope: None,
        ipv6_address_scope: None,
        provider,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = network.id.clone();
    model.networks.insert(network);
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Attributes) -> Result<(), Refusal> {
    for (flag, rule) in [
        ("router:external", "update_network:router:external"),
        ("shared", "update_network:shared"),
    ] {
        if let Some(set) = attributes.admins_flag(flag, rule)? {
            attributes.set(flag, set);
        }
    }
    attributes.take("dns_domain");
    if let Some(mtu) = mtu(&mut attributes)? {
        attributes.set("mtu", mtu);
    }
    let network = model.networks.get_mut(id).ok_or_else(|| not_found(id))?;
    network.provider.check_change(&mut attributes)?;
    assign(network, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let ports: Vec<&str> = model
        .ports
        .having(&format!("network:{id}"))
        .map(|port| port.id.as_str())
        .collect();
    if !ports.is_empty() {
        return Err(Refusal::conflict(
            "NetworkInUse",
            format!(
                "Unable to complete operation on network {id}. There are one or more ports still in use on the network, id for \
                 these ports is {}.",
                ports.join(",")
            ),
        ));
    }
    let network = model.networks.remove(id).ok_or_else(|| not_found(id))?;
    model.forget_sharing(id);
    model.forget_segments(id);
    for subnet in network.subnets {
        model.subnets.remove(&subnet);
    }
    Ok(())
}

fn mtu(attributes: &mut Attributes) -> Result<Option<u32>, Refusal> {
    match attributes.number("mtu") {
        None => Ok(None),
        Some(mtu @ 0..=9000) => Ok(u32::try_from(mtu).ok()),
        Some(mtu) => Err(Refusal::invalid_input(
            "mtu",
            format!("'{mtu}' is not in range [0, 9000]"),
        )),
    }
}

impl Model {
    /// The network, if the project may plug into it or route to it.
    pub fn network_for(&self, project_id: &str, id: &str) -> Result<&Network, Refusal> {
        let visible = |network: &&Network| {
            network.common.project_id == project_id
                || network.shared
                || network.external
                || self.shared_with(Some(project_id), "network", id)
        };
        self.networks
            .get(id)
            .filter(visible)
            .ok_or_else(|| not_found(id))
    }
}

/// Read a network's id from a value, for other kinds.
pub fn network_id(value: &Value) -> Option<&str> {
    value.get("network_id").and_then(Value::as_str)
}
