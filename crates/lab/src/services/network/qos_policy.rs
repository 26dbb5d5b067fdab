//! QoS policies and their rules: kept, shown and looked after, without effect on packets.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::{Common, Kind, Makers, assign, to_value};

/// A policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QosPolicy {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// Whether all projects may use it.
    pub shared: bool,
    /// Never.
    pub is_default: bool,
    /// Its rules, as they are shown.
    pub rules: Vec<Value>,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(QosPolicy);
crate::services::network::row!(QosPolicy, name);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::Required),
    attribute("shared", Form::Bool, Said::Always),
    attribute("is_default", Form::Bool, Said::Always),
    attribute("rules", Form::Any, Said::Never),
];

/// The kind.
pub static QOS_POLICY: Kind = Kind {
    collection: "policies",
    singular: "policy",
    attributes: ATTRIBUTES,
    makers: Makers::Admins,
    list: |model, look| {
        let shared =
            |row: &QosPolicy| row.shared || model.shared_with(look.project, "qos_policy", &row.id);
        look.values(model.qos_policies.iter(), shared, to_value)
    },
    get: |model, id| model.qos_policies.get(id).map(to_value),
    shared: |model, policy, project| {
        let id = policy["id"].as_str().unwrap_or_default();
        policy["shared"] == true || model.shared_with(Some(project), "qos_policy", id)
    },
    not_found,
    create,
    update,
    delete,
};

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "QosPolicyNotFound",
        format!("QoS policy {id} could not be found."),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let policy = QosPolicy {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        shared: attributes.flag("shared").unwrap_or(false),
        is_default: false,
        rules: Vec::new(),
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = policy.id.clone();
    model.qos_policies.insert(policy);
    Ok(id)
}

fn update(model: &mut Model, id: &str, attributes: Attributes) -> Result<(), Refusal> {
    let row = model.qos_policies.get_mut(id);
    assign(row.ok_or_else(|| not_found(id))?, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let mut users = model.ports.iter();
    if let Some(port) = users.find(|port| port.qos_policy_id.as_deref() == Some(id)) {
        return Err(Refusal::conflict(
            "QosPolicyInUse",
            format!("QoS Policy {id} is used by port {}.", port.id),
        ));
    }
    let gone = model.qos_policies.remove(id);
    gone.map(|_| ()).ok_or_else(|| not_found(id))
}

/// The kinds of rules: the path's word, the body's word, what must be said, and what else may be, with what it is when nobody does.
pub struct RuleKind {
    /// `bandwidth_limit_rules`.
    pub collection: &'static str,
    /// `bandwidth_limit`.
    pub kind: &'static str,
    required: &'static str,
    more: &'static [(&'static str, Option<&'static str>)],
}

/// All of them.
pub static RULE_KINDS: &[RuleKind] = &[
    RuleKind {
        collection: "bandwidth_limit_rules",
        kind: "bandwidth_limit",
        required: "max_kbps",
        more: &[("max_burst_kbps", Some("0")), ("direction", Some("egress"))],
    },
    RuleKind {
        collection: "dscp_marking_rules",
        kind: "dscp_marking",
        required: "dscp_mark",
        more: &[],
    },
    RuleKind {
        collection: "minimum_bandwidth_rules",
        kind: "minimum_bandwidth",
        required: "min_kbps",
        more: &[("direction", Some("egress"))],
    },
    RuleKind {
        collection: "minimum_packet_rate_rules",
        kind: "minimum_packet_rate",
        required: "min_kpps",
        more: &[("direction", Some("egress"))],
    },
];

impl RuleKind {
    /// A rule of this kind from what a body says; an old one lends what is not said.
    fn rule(
        &self,
        policy: &str,
        said: &Map<String, Value>,
        old: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let value = |name: &str| {
            said.get(name)
                .or(old.and_then(|old| old.get(name)))
                .cloned()
        };
        let required = value(self.required).ok_or_else(|| {
            Refusal::bad_request(format!(
                "Failed to parse request. Required attribute '{}' not specified",
                self.required
            ))
        })?;
        let number = |value: &Value| match value {
            Value::String(text) => text.parse::<i64>().ok(),
            other => other.as_i64(),
        };
        let required = number(&required)
            .filter(|number| *number >= 0)
            .ok_or_else(|| {
                Refusal::invalid_input(self.required, format!("'{required}' is not an integer"))
            })?;
        let id = old.map_or_else(|| new_id().into(), |old| old["id"].clone());
        let mut rule =
            json!({"id": id, "qos_policy_id": policy, "type": self.kind, self.required: required});
        for (name, usual) in self.more {
            let told = value(name).unwrap_or_else(|| json!(usual));
            rule[*name] = number(&told).map_or(told, Value::from);
        }
        Ok(rule)
    }
}

impl Model {
    /// Whether a project may use this policy.
    pub fn qos_policy_for(&self, project_id: &str, id: &str) -> Result<(), Refusal> {
        let row = self.qos_policies.get(id);
        let usable = row.is_some_and(|row| {
            let granted = self.shared_with(Some(project_id), "qos_policy", id);
            row.shared || row.common.project_id == project_id || granted
        });
        usable.then_some(()).ok_or_else(|| not_found(id))
    }

    /// Put a rule into a policy, or another in the place of one.
    pub fn set_qos_rule(
        &mut self,
        policy: &str,
        kind: &RuleKind,
        said: &Map<String, Value>,
        old: Option<&str>,
    ) -> Result<Value, Refusal> {
        let row = self.qos_policies.get_mut(policy);
        let row = row.ok_or_else(|| not_found(policy))?;
        let place = match old {
            None => None,
            Some(id) => {
                let place = row.rules.iter().position(|rule| rule["id"] == id);
                Some(place.ok_or_else(|| rule_not_found(policy, id))?)
            }
        };
        let rule = kind.rule(policy, said, place.map(|at| &row.rules[at]))?;
        let mut others = row.rules.iter().filter(|other| other["id"] != rule["id"]);
        // One of a kind and a direction; marks have none.
        let same = |other: &&Value| {
            other["type"] == rule["type"] && other["direction"] == rule["direction"]
        };
        if let Some(other) = others.find(same) {
            let id = other["id"].as_str().unwrap_or_default();
            return Err(Refusal::conflict(
                "QoSRulesConflict",
                format!(
                    "Rule {} conflicts with rule {id} which already exists in QoS Policy {policy}.",
                    kind.kind
                ),
            ));
        }
        match place {
            Some(at) => row.rules[at] = rule.clone(),
            None => row.rules.push(rule.clone()),
        }
        Ok(rule)
    }

    /// Take a rule out of a policy.
    pub fn remove_qos_rule(&mut self, policy: &str, id: &str) -> Result<(), Refusal> {
        let row = self.qos_policies.get_mut(policy);
        let row = row.ok_or_else(|| not_found(policy))?;
        let before = row.rules.len();
        row.rules.retain(|rule| rule["id"] != id);
        match row.rules.len() < before {
            true => Ok(()),
            false => Err(rule_not_found(policy, id)),
        }
    }
}

/// The 404.
pub fn rule_not_found(policy: &str, id: &str) -> Refusal {
    Refusal::not_found(
        "QosRuleNotFound",
        format!("QoS rule {id} for policy {policy} could not be found."),
    )
}
