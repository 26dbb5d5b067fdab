//! QoS policies and their rules, stored without effect on packets.

use serde_json::{Map, Value, json};

use crate::kit::field::{Form, Usual, always, never, required};
use crate::kit::ids::new_id;
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::records::{Records, STANDARD};
use crate::services::network::{Collection, Creators, Rows};

pub static QOS_POLICY: Collection = Collection {
    collection: "policies",
    singular: "policy",
    fields: &[
        required("name", Form::Text),
        always("shared", Form::Bool).or(Usual::Switch(false)),
        always("is_default", Form::Bool).or(Usual::Switch(false)),
        never("rules", Form::Any).or(Usual::List),
    ],
    creators: Creators::Admins,
    shared: |model, policy, project| {
        let id = policy["id"].as_str().unwrap_or_default();
        policy["shared"] == true || model.shared_with(Some(project), "qos_policy", id)
    },
    missing: ("QosPolicyNotFound", "QoS policy {} could not be found."),
    rows: Rows::Records(Records {
        table: |model| &model.qos_policies,
        table_mut: |model| &mut model.qos_policies,
        standard: STANDARD,
        create: |_, fields, _| {
            fields.insert("is_default".into(), false.into());
            Ok(())
        },
        update: |_, _, _, _| Ok(()),
        delete: |model, id| {
            let mut users = model.ports.iter();
            match users.find(|port| port.qos_policy_id.as_deref() == Some(id)) {
                None => Ok(()),
                Some(port) => Err(Refusal::conflict(
                    "QosPolicyInUse",
                    format!("QoS Policy {id} is used by port {}.", port.id),
                )),
            }
        },
    }),
};

/// A rule type: names, the required field, and the optional fields with their defaults.
pub struct RuleKind {
    /// The name in paths: `bandwidth_limit_rules`.
    pub collection: &'static str,
    /// The name in bodies: `bandwidth_limit`.
    pub kind: &'static str,
    required: &'static str,
    more: &'static [(&'static str, Option<&'static str>)],
}

/// All rule types.
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
    /// A rule from a request body. Absent fields keep their old values.
    fn rule(
        &self,
        policy: &str,
        fields: &Map<String, Value>,
        old: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let value = |name: &str| {
            fields
                .get(name)
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
            let rule_value = value(name).unwrap_or_else(|| json!(usual));
            rule[*name] = number(&rule_value).map_or(rule_value, Value::from);
        }
        Ok(rule)
    }
}

impl Model {
    /// Checks that a project can use this policy.
    pub fn qos_policy_for(&self, project_id: &str, id: &str) -> Result<(), Refusal> {
        let is_usable = self.qos_policies.get(id).is_some_and(|row| {
            row.is_on("shared")
                || row.text("project_id") == project_id
                || self.shared_with(Some(project_id), "qos_policy", id)
        });
        is_usable
            .then_some(())
            .ok_or_else(|| QOS_POLICY.not_found(id))
    }

    fn qos_rules(&mut self, policy: &str) -> Result<&mut Vec<Value>, Refusal> {
        let row = self.qos_policies.get_mut(policy);
        let rules = row.and_then(|row| row.fields.get_mut("rules")?.as_array_mut());
        rules.ok_or_else(|| QOS_POLICY.not_found(policy))
    }

    /// Adds a rule to a policy, or replaces an old one.
    pub fn set_qos_rule(
        &mut self,
        policy: &str,
        kind: &RuleKind,
        wanted: &Map<String, Value>,
        old: Option<&str>,
    ) -> Result<Value, Refusal> {
        let rules = self.qos_rules(policy)?;
        let place = match old {
            None => None,
            Some(id) => {
                let place = rules.iter().position(|rule| rule["id"] == id);
                Some(place.ok_or_else(|| rule_not_found(policy, id))?)
            }
        };
        let rule = kind.rule(policy, wanted, place.map(|at| &rules[at]))?;
        // A policy has one rule per type and direction. DSCP rules have no direction.
        let conflicts = |other: &&Value| {
            other["id"] != rule["id"]
                && other["type"] == rule["type"]
                && other["direction"] == rule["direction"]
        };
        if let Some(other) = rules.iter().find(conflicts) {
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
            Some(at) => rules[at] = rule.clone(),
            None => rules.push(rule.clone()),
        }
        Ok(rule)
    }

    /// Removes a rule from a policy.
    pub fn remove_qos_rule(&mut self, policy: &str, id: &str) -> Result<(), Refusal> {
        let rules = self.qos_rules(policy)?;
        let place = rules.iter().position(|rule| rule["id"] == id);
        rules.remove(place.ok_or_else(|| rule_not_found(policy, id))?);
        Ok(())
    }
}

pub fn rule_not_found(policy: &str, id: &str) -> Refusal {
    Refusal::not_found(
        "QosRuleNotFound",
        format!("QoS rule {id} for policy {policy} could not be found."),
    )
}
