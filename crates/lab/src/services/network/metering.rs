//! Metering: labels, and rules that say which traffic a label counts. Administrators make them; the lab counts nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{
    AttributeSpec, Attributes, Form, Said, attribute, bare,
};
use crate::services::network::{
    Common, Kind, Makers, assign, to_value, without_standard_attributes,
};

/// A label.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeteringLabel {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// Whether all projects are counted.
    pub shared: bool,
    /// Owner, description.
    #[serde(flatten)]
    pub common: Common,
}

/// A rule of a label.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeteringRule {
    /// Id.
    pub id: String,
    /// The label.
    pub metering_label_id: String,
    /// `ingress` or `egress`.
    pub direction: String,
    /// Whether this traffic is left out.
    pub excluded: bool,
    /// Such as `10.0.0.0/8`; as it was said, for IPv6 is taken too.
    pub remote_ip_prefix: String,
    /// Owner.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(MeteringLabel, MeteringRule);
crate::services::network::row!(MeteringLabel, name);
crate::services::network::row!(MeteringRule, metering_label_id);

const LABEL_ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::OnCreate),
    attribute("shared", Form::Bool, Said::OnCreate),
];

/// Labels.
pub static METERING_LABEL: Kind = Kind {
    collection: "metering-labels",
    singular: "metering_label",
    attributes: LABEL_ATTRIBUTES,
    makers: Makers::Admins,
    list: |model, look| look.values(model.metering_labels.iter(), |_| false, label_shown),
    get: |model, id| model.metering_labels.get(id).map(label_shown),
    shared: |_, _, _| false,
    not_found: label_not_found,
    create: create_label,
    update: |model, id, attributes| {
        let row = model.metering_labels.get_mut(id);
        assign(row.ok_or_else(|| label_not_found(id))?, attributes)
    },
    delete: delete_label,
};

fn label_shown(row: &MeteringLabel) -> Value {
    let mut value = without_standard_attributes(to_value(row));
    value["description"] = row.common.description.clone().into();
    value
}

fn label_not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "MeteringLabelNotFound",
        format!("Metering label {id} does not exist."),
    )
}

fn create_label(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let label = MeteringLabel {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        shared: attributes.flag("shared").unwrap_or(false),
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = label.id.clone();
    model.metering_labels.insert(label);
    Ok(id)
}

/// The rules go with their label.
fn delete_label(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let gone = model.metering_labels.remove(id);
    gone.ok_or_else(|| label_not_found(id))?;
    let rules = model.metering_rules.iter();
    let rules = rules.filter(|rule| rule.metering_label_id == id);
    for rule in rules.map(|rule| rule.id.clone()).collect::<Vec<_>>() {
        model.metering_rules.remove(&rule);
    }
    Ok(())
}

const RULE_ATTRIBUTES: &[AttributeSpec] = &[
    attribute("metering_label_id", Form::Id, Said::Required),
    attribute("direction", Form::Text, Said::Required),
    attribute("remote_ip_prefix", Form::Text, Said::Required),
    attribute("excluded", Form::Bool, Said::OnCreate),
];

/// Rules.
pub static METERING_RULE: Kind = Kind {
    collection: "metering-label-rules",
    singular: "metering_label_rule",
    attributes: RULE_ATTRIBUTES,
    makers: Makers::Admins,
    list: |model, look| look.values(model.metering_rules.iter(), |_| false, rule_shown),
    get: |model, id| model.metering_rules.get(id).map(rule_shown),
    shared: |_, _, _| false,
    not_found: rule_not_found,
    create: create_rule,
    update: |_, id, _| Err(rule_not_found(id)),
    delete: |model, id| {
        let gone = model.metering_rules.remove(id);
        gone.map(|_| ()).ok_or_else(|| rule_not_found(id))
    },
};

fn rule_shown(row: &MeteringRule) -> Value {
    without_standard_attributes(to_value(row))
}

fn rule_not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "MeteringLabelRuleNotFound",
        format!("Metering label rule {id} does not exist."),
    )
}

fn create_rule(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let mut text = |name: &str| Ok::<_, Refusal>(attributes.text(name)?.unwrap_or_default());
    let (label, direction) = (text("metering_label_id")?, text("direction")?);
    let range = text("remote_ip_prefix")?;
    if !["ingress", "egress"].contains(&direction.as_str()) {
        return Err(Refusal::invalid_input(
            "direction",
            format!("'{direction}' is not in ['ingress', 'egress']"),
        ));
    }
    if !is_range(&range) {
        return Err(Refusal::invalid_input(
            "remote_ip_prefix",
            format!("'{}' is not a valid IP subnet", bare(&range.clone().into())),
        ));
    }
    if model.metering_labels.get(&label).is_none() {
        return Err(label_not_found(&label));
    }
    let rule = MeteringRule {
        id: new_id(),
        metering_label_id: label,
        direction,
        excluded: attributes.flag("excluded").unwrap_or(false),
        remote_ip_prefix: range,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = rule.id.clone();
    model.metering_rules.insert(rule);
    Ok(id)
}

/// Whether a text reads as an address and a length that it can have.
fn is_range(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let bits_max = match address.parse() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= bits_max)
}
