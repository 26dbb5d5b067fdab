//! Segments: the physical pieces of a network. Administrators make them; they are kept without effect on packets.

use serde::{Deserialize, Serialize};

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::provider::{FLAT, LOCAL, TYPES, VLAN};
use crate::services::network::{Common, Kind, Makers, assign, to_value};

/// A segment. Neutron shows no owner of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Segment {
    /// Id.
    pub id: String,
    /// Its network.
    pub network_id: String,
    /// Not unique.
    pub name: Option<String>,
    /// `vlan`, `flat`, ...
    pub network_type: String,
    /// The network under it.
    pub physical_network: Option<String>,
    /// A VLAN's number, or a tunnel's.
    pub segmentation_id: Option<i64>,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(Segment);
crate::services::network::row!(Segment, network_id);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("network_id", Form::Id, Said::Required),
    attribute("network_type", Form::Text, Said::Required),
    attribute("physical_network", Form::Text, Said::OnCreate),
    attribute("segmentation_id", Form::Number, Said::OnCreate),
    attribute("name", Form::TextOrNull, Said::Always),
];

/// The kind.
pub static SEGMENT: Kind = Kind {
    collection: "segments",
    singular: "segment",
    attributes: ATTRIBUTES,
    makers: Makers::Admins,
    list: |model, look| look.values(model.segments.iter(), |_| false, to_value),
    get: |model, id| model.segments.get(id).map(to_value),
    shared: |_, _, _| false,
    not_found,
    create,
    update: |model, id, attributes| {
        let row = model.segments.get_mut(id);
        assign(row.ok_or_else(|| not_found(id))?, attributes)
    },
    delete: |model, id| {
        let gone = model.segments.remove(id);
        gone.map(|_| ()).ok_or_else(|| not_found(id))
    },
};

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "SegmentNotFound",
        format!("Segment {id} could not be found."),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let network_id = attributes.text("network_id")?.unwrap_or_default();
    if model.networks.get(&network_id).is_none() {
        return Err(crate::services::network::network::not_found(&network_id));
    }
    let network_type = attributes.text("network_type")?.unwrap_or_default();
    let physical_network = attributes.text("physical_network")?;
    if !TYPES.contains(&network_type.as_str()) {
        return Err(Refusal::invalid_operation(format_args!(
            "network_type value '{network_type}' not supported"
        )));
    }
    if physical_network.is_none() && [FLAT, VLAN].contains(&network_type.as_str()) {
        return Err(Refusal::invalid_operation(format_args!(
            "physical_network required for {network_type} provider network"
        )));
    }
    let segmentation_id = attributes.number("segmentation_id");
    if segmentation_id.is_some() && [FLAT, LOCAL].contains(&network_type.as_str()) {
        return Err(Refusal::invalid_operation(format_args!(
            "segmentation_id prohibited for {network_type} provider network"
        )));
    }
    let segment = Segment {
        id: new_id(),
        network_id,
        name: attributes.text("name")?,
        network_type,
        physical_network,
        segmentation_id,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = segment.id.clone();
    model.segments.insert(segment);
    Ok(id)
}

impl Model {
    /// A network is gone, and its segments with it.
    pub fn forget_segments(&mut self, network: &str) {
        let of = self.segments.iter().filter(|row| row.network_id == network);
        for id in of.map(|row| row.id.clone()).collect::<Vec<_>>() {
            self.segments.remove(&id);
        }
    }
}
