//! Networks. The external one comes with the lab; projects make the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::field::{Field, Form, admins, always, never, on_create};
use crate::kit::ids::new_id;
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::Body;
use crate::services::network::provider::Provider;
use crate::services::network::{Collection, Common, Makers, Rows, assign, to_value};

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
    /// The network type, physical network and segmentation id.
    #[serde(flatten)]
    pub provider: Provider,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(Network);
crate::services::network::row!(Network, name);

const FIELDS: &[Field] = &[
    always("name", Form::Text),
    always("admin_state_up", Form::Bool),
    always("shared", Form::Bool),
    always("router:external", Form::Bool),
    always("mtu", Form::Number),
    always("port_security_enabled", Form::Bool),
    on_create("availability_zone_hints", Form::Any),
    always("dns_domain", Form::Text),
    never("subnets", Form::Any),
    always("provider:network_type", Form::Text),
    always("provider:physical_network", Form::Text),
    always("provider:segmentation_id", Form::Number),
    admins("is_default", Form::Bool),
];

pub static NETWORK: Collection = Collection {
    collection: "networks",
    singular: "network",
    fields: FIELDS,
    makers: Makers::Members,
    shared: |model, network, project| {
        let id = network["id"].as_str().unwrap_or_default();
        network["shared"] == true
            || network["router:external"] == true
            || model.shared_with(Some(project), "network", id)
    },
    missing: ("NetworkNotFound", "Network {} could not be found."),
    rows: Rows::Typed {
        list: |model, look| {
            let shared = |row: &Network| {
                row.shared || row.external || model.shared_with(look.project, "network", &row.id)
            };
            look.values(model.networks.iter(), shared, |row| shown(model, row))
        },
        get: |model, id| model.networks.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

/// With the address scopes of the pools that its subnets were cut from.
fn shown(model: &Model, row: &Network) -> Value {
    let mut value = to_value(row);
    let subnets = row.subnets.iter().filter_map(|id| model.subnets.get(id));
    let mut pools = subnets.filter_map(|subnet| subnet.subnetpool_id.as_deref());
    let scope =
        pools.find_map(|pool| model.subnet_pools.get(pool)?.fields["address_scope_id"].as_str());
    value["ipv4_address_scope"] = scope.into();
    value["qos_policy_id"] = Value::Null;
    value["is_default"] = false.into();
    value
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
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

fn update(model: &mut Model, id: &str, mut attributes: Body) -> Result<(), Refusal> {
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
    let network = model
        .networks
        .get_mut(id)
        .ok_or_else(|| NETWORK.not_found(id))?;
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
    let network = model
        .networks
        .remove(id)
        .ok_or_else(|| NETWORK.not_found(id))?;
    model.forget_sharing(id);
    model
        .segments
        .remove_where(|row| row.text("network_id") == id);
    for subnet in network.subnets {
        model.subnets.remove(&subnet);
    }
    Ok(())
}

fn mtu(attributes: &mut Body) -> Result<Option<u32>, Refusal> {
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
            .ok_or_else(|| NETWORK.not_found(id))
    }
}

/// Read a network's id from a value, for other kinds.
pub fn network_id(value: &Value) -> Option<&str> {
    value.get("network_id").and_then(Value::as_str)
}
