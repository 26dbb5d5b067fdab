//! Trunks: a parent port with tagged sub-ports. Stored and checked, without effect on packets.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::field::{Field, Form, always, on_create, required};
use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::body::Body;
use crate::services::network::port::PORT;
use crate::services::network::{Collection, Common, Creators, Rows, assign, to_value};

/// A trunk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trunk {
    pub id: String,
    pub name: String,
    /// Stored without effect.
    pub admin_state_up: bool,
    /// `ACTIVE` while the parent port is, else `DOWN`.
    pub status: String,
    pub port_id: String,
    /// The sub-ports.
    pub sub_ports: Vec<SubPort>,
    #[serde(flatten)]
    pub common: Common,
}

/// A sub-port of a trunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubPort {
    pub port_id: String,
    /// `vlan`.
    #[serde(default = "vlan")]
    pub segmentation_type: String,
    /// The VLAN tag.
    #[serde(default)]
    pub segmentation_id: u32,
}

fn vlan() -> String {
    "vlan".into()
}

keyed_by_id!(Trunk);
crate::services::network::row!(Trunk, name, port_id);

const FIELDS: &[Field] = &[
    required("port_id", Form::Id),
    always("name", Form::Text),
    always("admin_state_up", Form::Bool),
    on_create("sub_ports", Form::Any),
];

pub static TRUNK: Collection = Collection {
    collection: "trunks",
    singular: "trunk",
    fields: FIELDS,
    creators: Creators::Members,
    shared: |_, _, _| false,
    missing: ("TrunkNotFound", "Trunk {} could not be found."),
    rows: Rows::Typed {
        list: |model, query| {
            let show = |row: &Trunk| shown(model, row);
            query.values(model.trunks.iter(), |_| false, show)
        },
        get: |model, id| model.trunks.get(id).map(|row| shown(model, row)),
        create,
        update,
        delete,
    },
};

fn shown(model: &Model, row: &Trunk) -> Value {
    let mut value = to_value(row);
    let parent = model.ports.get(&row.port_id);
    if parent.is_some_and(|port| port.status == "ACTIVE") {
        value["status"] = "ACTIVE".into();
    }
    value
}

fn in_use(port_id: &str) -> Refusal {
    Refusal::conflict(
        "ParentPortInUse",
        format!("Port {port_id} is currently in use and is not eligible for use as a parent port."),
    )
}

fn create(model: &mut Model, project_id: &str, mut attributes: Body) -> Result<String, Refusal> {
    let port_id = attributes.text("port_id")?.unwrap_or_default();
    let sub_ports = sub_ports(attributes.take("sub_ports"))?;
    model.own_port_for(project_id, &port_id)?;
    model.check_can_join_trunk(&port_id)?;
    if model
        .ports
        .get(&port_id)
        .is_some_and(|port| !port.device_id.is_empty())
    {
        return Err(in_use(&port_id));
    }
    let trunk = Trunk {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        admin_state_up: attributes.flag("admin_state_up").unwrap_or(true),
        status: "DOWN".into(),
        port_id,
        sub_ports: Vec::new(),
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = trunk.id.clone();
    model.trunks.insert(trunk);
    if let Err(refusal) = model.add_sub_ports(&id, sub_ports) {
        model.trunks.remove(&id);
        return Err(refusal);
    }
    Ok(id)
}

fn update(model: &mut Model, id: &str, attributes: Body) -> Result<(), Refusal> {
    let row = model.trunks.get_mut(id);
    assign(row.ok_or_else(|| TRUNK.not_found(id))?, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let row = model.trunks.get(id).ok_or_else(|| TRUNK.not_found(id))?;
    let parent = model.ports.get(&row.port_id);
    if parent.is_some_and(|port| !port.device_id.is_empty()) {
        return Err(Refusal::conflict(
            "TrunkInUse",
            format!("Trunk {id} is currently in use."),
        ));
    }
    model.trunks.remove(id);
    Ok(())
}

/// Parses a list of sub-ports.
pub fn sub_ports(value: Option<Value>) -> Result<Vec<SubPort>, Refusal> {
    let value = value.unwrap_or_else(|| json!([]));
    serde_json::from_value(value.clone()).map_err(|_| {
        Refusal::invalid_input("sub_ports", format!("'{value}' is not a list of sub-ports"))
    })
}

impl Model {
    fn own_port_for(&self, project_id: &str, id: &str) -> Result<(), Refusal> {
        let port = self.ports.get(id);
        let mine = port.is_some_and(|port| port.common.project_id == project_id);
        mine.then_some(()).ok_or_else(|| PORT.not_found(id))
    }

    /// Checks that a port can become part of a trunk.
    fn check_can_join_trunk(&self, port_id: &str) -> Result<(), Refusal> {
        let is_sub_port = |trunk: &Trunk| trunk.sub_ports.iter().any(|sub| sub.port_id == port_id);
        if self.trunks.iter().any(is_sub_port) {
            return Err(Refusal::conflict(
                "TrunkPortInUse",
                format!("Port {port_id} is in use by another trunk."),
            ));
        }
        if self.trunks.iter().any(|trunk| trunk.port_id == port_id) {
            return Err(in_use(port_id));
        }
        Ok(())
    }

    /// Checks that a port is in no trunk.
    pub fn check_in_no_trunk(&self, port_id: &str) -> Result<(), Refusal> {
        for trunk in self.trunks.iter() {
            let (kind, role) = if trunk.port_id == port_id {
                ("PortInUseAsTrunkParent", "parent port")
            } else if trunk.sub_ports.iter().any(|sub| sub.port_id == port_id) {
                ("PortInUseAsSubPort", "subport")
            } else {
                continue;
            };
            return Err(Refusal::conflict(
                kind,
                format!(
                    "Port {port_id} is currently a {role} for trunk {}.",
                    trunk.id
                ),
            ));
        }
        Ok(())
    }

    /// Adds sub-ports to a trunk.
    pub fn add_sub_ports(&mut self, id: &str, more: Vec<SubPort>) -> Result<(), Refusal> {
        let trunk = self.trunks.get(id).ok_or_else(|| TRUNK.not_found(id))?;
        let (project_id, mut all) = (trunk.common.project_id.clone(), trunk.sub_ports.clone());
        for sub in more {
            self.own_port_for(&project_id, &sub.port_id)?;
            self.check_can_join_trunk(&sub.port_id)?;
            if all
                .iter()
                .any(|one| one.segmentation_id == sub.segmentation_id)
            {
                return Err(Refusal::conflict(
                    "DuplicateSubPort",
                    format!(
                        "segmentation_type {} and segmentation_id {} already in use on trunk {id}.",
                        sub.segmentation_type, sub.segmentation_id
                    ),
                ));
            }
            all.push(sub);
        }
        if let Some(trunk) = self.trunks.get_mut(id) {
            trunk.sub_ports = all;
            trunk.common.mark_updated();
        }
        Ok(())
    }

    /// Removes sub-ports from a trunk.
    pub fn drop_sub_ports(&mut self, id: &str, ports: &[String]) -> Result<(), Refusal> {
        let trunk = self.trunks.get_mut(id).ok_or_else(|| TRUNK.not_found(id))?;
        for port in ports {
            if !trunk.sub_ports.iter().any(|sub| sub.port_id == *port) {
                return Err(Refusal::not_found(
                    "SubPortNotFound",
                    format!("SubPort {port} on trunk {id} could not be found."),
                ));
            }
        }
        trunk.sub_ports.retain(|sub| !ports.contains(&sub.port_id));
        trunk.common.mark_updated();
        Ok(())
    }

    /// The `trunk_details` of a parent port.
    pub fn trunk_details(&self, port_id: &str) -> Option<Value> {
        let trunk = self.trunks.iter().find(|trunk| trunk.port_id == port_id)?;
        let subs = trunk.sub_ports.iter().map(|sub| {
            let mut shown = to_value(sub);
            shown["mac_address"] =
                json!(self.ports.get(&sub.port_id).map(|port| &port.mac_address));
            shown
        });
        Some(json!({"trunk_id": trunk.id, "sub_ports": subs.collect::<Value>()}))
    }
}
