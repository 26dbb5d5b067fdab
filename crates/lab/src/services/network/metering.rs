//! Metering: labels and their traffic rules. The lab has no counters.

use crate::kit::field::{Form, Usual, on_create, required};
use crate::kit::ip::Cidr;
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::network::records::Records;
use crate::services::network::{Collection, Creators, Rows};

pub static METERING_LABEL: Collection = Collection {
    collection: "metering-labels",
    singular: "metering_label",
    fields: &[
        on_create("name", Form::Text).or(Usual::Text("")),
        on_create("shared", Form::Bool).or(Usual::Switch(false)),
    ],
    creators: Creators::Admins,
    shared: |_, _, _| false,
    missing: ("MeteringLabelNotFound", "Metering label {} does not exist."),
    rows: Rows::Records(Records {
        table: |model| &model.metering_labels,
        table_mut: |model| &mut model.metering_labels,
        standard: &["description"],
        create: |_, _, _| Ok(()),
        update: |_, _, _, _| Ok(()),
        delete: |model, id| {
            let is_of = |rule: &_| Attributes::text(rule, "metering_label_id") == id;
            model.metering_rules.remove_where(is_of);
            Ok(())
        },
    }),
};

pub static METERING_RULE: Collection = Collection {
    collection: "metering-label-rules",
    singular: "metering_label_rule",
    fields: &[
        required("metering_label_id", Form::Id),
        required("direction", Form::Text),
        required("remote_ip_prefix", Form::Text),
        on_create("excluded", Form::Bool).or(Usual::Switch(false)),
    ],
    creators: Creators::Admins,
    shared: |_, _, _| false,
    missing: (
        "MeteringLabelRuleNotFound",
        "Metering label rule {} does not exist.",
    ),
    rows: Rows::Records(Records {
        table: |model| &model.metering_rules,
        table_mut: |model| &mut model.metering_rules,
        standard: &[],
        create: |model, fields, _| {
            let (direction, range) = (fields.text("direction"), fields.text("remote_ip_prefix"));
            if !["ingress", "egress"].contains(&direction) {
                let reason = format!("'{direction}' is not in ['ingress', 'egress']");
                return Err(Refusal::invalid_input("direction", reason));
            }
            if !range.contains('/') || range.parse::<Cidr>().is_err() {
                let reason = format!("'{range}' is not a valid IP subnet");
                return Err(Refusal::invalid_input("remote_ip_prefix", reason));
            }
            let label = fields.text("metering_label_id");
            if model.metering_labels.get(label).is_none() {
                return Err(METERING_LABEL.not_found(label));
            }
            Ok(())
        },
        update: |_, row, _, _| Err(METERING_RULE.not_found(&row.id)),
        delete: |_, _| Ok(()),
    }),
};
