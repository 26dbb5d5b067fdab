//! Segments of networks, for administrators. They are stored without effect on packets.

use crate::kit::field::{Form, always, on_create, required};
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::network::network::NETWORK;
use crate::services::network::provider::{FLAT, LOCAL, TYPES, VLAN};
use crate::services::network::records::{Records, STANDARD};
use crate::services::network::{Collection, Creators, Rows};

pub static SEGMENT: Collection = Collection {
    collection: "segments",
    singular: "segment",
    fields: &[
        required("network_id", Form::Id),
        required("network_type", Form::Text),
        on_create("physical_network", Form::Text),
        on_create("segmentation_id", Form::Number),
        always("name", Form::TextOrNull),
    ],
    creators: Creators::Admins,
    shared: |_, _, _| false,
    missing: ("SegmentNotFound", "Segment {} could not be found."),
    rows: Rows::Records(Records {
        table: |model| &model.segments,
        table_mut: |model| &mut model.segments,
        standard: STANDARD,
        create: |model, fields, _| {
            let network = fields.text("network_id");
            if model.networks.get(network).is_none() {
                return Err(NETWORK.not_found(network));
            }
            let kind = fields.text("network_type");
            let reason = if !TYPES.contains(&kind) {
                format!("network_type value '{kind}' not supported")
            } else if fields["physical_network"].is_null() && [FLAT, VLAN].contains(&kind) {
                format!("physical_network required for {kind} provider network")
            } else if !fields["segmentation_id"].is_null() && [FLAT, LOCAL].contains(&kind) {
                format!("segmentation_id prohibited for {kind} provider network")
            } else {
                return Ok(());
            };
            Err(Refusal::invalid_operation(reason))
        },
        update: |_, _, _, _| Ok(()),
        delete: |_, _| Ok(()),
    }),
};
