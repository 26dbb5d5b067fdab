//! Networks. The external network exists in every lab.

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
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// A network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network {
    /// The id.
    pub id: String,
    /// The name. It is not unique.
    pub name: String,
    /// Stored without effect.
    pub admin_state_up: bool,
    /// Always `ACTIVE`.
    pub status: String,
    /// Ids of the subnets.
    pub subnets: Vec<String>,
    /// Whether other projects can attach ports.
    pub shared: bool,
    /// Whether it is an external network.
    #[serde(rename = "router:external")]
    pub external: bool,
    /// MTU in bytes.
    pub mtu: u32,
    /// The default of its ports' `port_security_enabled`.
    pub port_security_enabled: bool,
    /// Always empty.
    pub availability_zone_hints: Vec<String>,
    /// Always `nova`.
    pub availability_zones: Vec<String>,
    /// Always `None` in the row. Documents contain the scope of the subnet pools.
    pub ipv4_address_scope: Option<String>,
    /// Always `None`.
    pub ipv6_address_scope: Option<String>,
    /// The network type, physical network and segmentation id.
    #[serde(flatten)]
    pub provider: Provider,
    /// Project, description, times.
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
    creators: Creators::Members,
    shared: |model, network, project| {
        let id = network["id"].as_str().unwrap_or_default();
        network["shared"] == true
            || network["router:external"] == true
            || model.shared_with(Some(project), "network", id)
    },
    missing: ("NetworkNotFound", "Network {} could not be found."),
    rows: Rows::Typed {
        list: |model, query| {
            let shared = |row: &Network| {
                row.shared || row.external || model.shared_with(query.project, "network", &row.id)
            };
            query.values(model.networks.iter(), shared, |row| shown(model, row))
        },
        get: |model, id| model.networks.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

/// The document with the address scope of its subnets' pools.
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
    let external = attributes.admin_flag("router:external", "create_network:router:external")?;
    let shared = attributes.admin_flag("shared", "create_network:shared")?;
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
        if let Some(set) = attributes.admin_flag(flag, rule)? {
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
    model.remove_policies_of(id);
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
    /// The network, if the project can attach ports or route to it.
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

/// The `network_id` of a document.
pub fn network_id(value: &Value) -> Option<&str> {
    value.get("network_id").and_then(Value::as_str)
}
