//! Parser of descriptions: one YAML file per type.
//!
//! ```yaml
//! type: OS::Neutron::Port
//! title: Port
//! properties:
//!   name: {string, updates, says: Name.}
//!   fixed_ips:
//!     list:                              # of maps with these keys
//!       ip_address: {string, check: ip_addr, says: Address.}
//!     says: Addresses of the port.
//!   tags: {list, of: {string}, says: Tags.}
//! attributes:
//!   mac_address: Its MAC address.
//! not_given: [show]                      # attributes of Heat without a value here
//! api: ...                               # calls of the type: see `api`
//! ```
//! The kind of a property is a key without a value (`string`), or with its contents (`list`, `map`). Flags are keys
//! without a value: `required`, `updates` (changes keep the id; without it they replace the resource), `hidden`,
//! `unsupported`, `secret`, `multiline`. `connects` and `nests` name the types that a property references; with `takes`
//! its value is an attribute of them instead of the id. `presets` are entries that forms offer for a list, by label. Those
//! of a type are several properties at once.
//! Descriptions are data instead of code, as 170 types built by function calls
//! would be half a megabyte of machine code.

use serde_json::Value;

use crate::{category::*, description::*, property::*, rule::*};
use hot::constraint::Constraint;
use hot::yaml::{self, Node};

/// Parses the description in a file. The error contains the invalid key; a test parses all files.
pub(super) fn resource_type(text: &str) -> Result<ResourceType, String> {
    let root = root(text)?;
    let mut described = ResourceType::default();
    for entry in root.entries().unwrap_or_default() {
        let node = &entry.value;
        match entry.key.as_str() {
            "type" => described.name = string(node)?,
            "title" => described.title = string(node)?,
            "summary" => described.summary = string(node)?,
            "category" => described.category = word(node)?,
            "shape" => described.shape = word(node)?,
            "runs" => described.executable = word(node)?,
            "advice" => described.advice = Some(string(node)?),
            "also" => described.formerly = strings(node)?,
            "snapshots" => described.snapshots = true,
            "any_property" => described.any_property = true,
            "any_attribute" => described.any_attribute = true,
            "properties" => described.properties = properties(node)?,
            "presets" => described.presets = presets(node),
            "rules" => described.rules = rules(node)?,
            "update_policy" => described.update_policy = properties(node)?,
            "not_given" => described.not_given = strings(node)?,
            "attributes" => {
                for entry in node.entries().unwrap_or_default() {
                    described.attributes.push(Attribute {
                        name: entry.key.clone(),
                        summary: string(&entry.value)?,
                    });
                }
            }
            "api" => {}
            other => return Err(format!("`{other}` is no word of a description")),
        }
    }
    described.attributes.push(show());
    Ok(described)
}

/// A block of a file that is not part of the description, with the name of the type.
pub(super) fn block<T: serde::de::DeserializeOwned>(
    text: &str,
    key: &str,
) -> Result<Option<(String, T)>, String> {
    let root = root(text)?;
    let entries = root.entries().unwrap_or_default();
    let of = |key: &str| entries.iter().find(|entry| entry.key == key);
    match (of("type"), of(key)) {
        (Some(name), Some(block)) => Ok(Some((string(&name.value)?, word(&block.value)?))),
        _ => Ok(None),
    }
}

/// Retired types, all in one file. They accept any property and have no driver.
pub(super) fn retired(text: &str) -> Result<Vec<ResourceType>, String> {
    let entries = root(text)?;
    let entries = entries.entries().unwrap_or_default().iter();
    entries
        .map(|entry| {
            let name = entry.key.clone();
            let title = name.rsplit("::").next().unwrap_or_default();
            Ok(ResourceType {
                title: format!("{title} (retired)"),
                summary: string(&entry.value)?,
                advice: Some(string(&entry.value)?),
                category: match name.split("::").nth(1) {
                    Some("Neutron" | "Designate") => Category::Network,
                    _ => Category::Orchestration,
                },
                attributes: vec![show()],
                any_property: true,
                any_attribute: true,
                name,
                ..ResourceType::default()
            })
        })
        .collect()
}

/// The `show` attribute of every Heat resource.
fn show() -> Attribute {
    attribute("show", "All attributes, as the cloud returns them.")
}

fn root(text: &str) -> Result<Node, String> {
    let tree = yaml::parse(text);
    match (tree.root, tree.problems.first()) {
        (_, Some(problem)) => Err(problem.message.clone()),
        (Some(root), None) => Ok(root),
        (None, None) => Err("it is empty".to_owned()),
    }
}

fn properties(node: &Node) -> Result<Vec<Property>, String> {
    let entries = node.entries().unwrap_or_default().iter();
    entries
        .map(|entry| {
            property(&entry.key, &entry.value).map_err(|why| format!("{}: {why}", entry.key))
        })
        .collect()
}

fn property(name: &str, node: &Node) -> Result<Property, String> {
    let mut property = of_kind(name, PropertyKind::Any);
    let mut attribute = None;
    for entry in node.entries().unwrap_or_default() {
        let node = &entry.value;
        match entry.key.as_str() {
            "string" => property.kind = PropertyKind::String,
            "integer" => property.kind = PropertyKind::Integer,
            "number" => property.kind = PropertyKind::Number,
            "boolean" => property.kind = PropertyKind::Boolean,
            "any" => property.kind = PropertyKind::Any,
            "list" => {
                let keys = properties(node)?;
                let of = (!keys.is_empty())
                    .then(|| Box::new(of_kind(name, PropertyKind::Map { of: keys })));
                property.kind = PropertyKind::List { of };
            }
            "of" => {
                let of = Some(Box::new(self::property(name, node)?));
                property.kind = PropertyKind::List { of };
            }
            "map" => {
                let of = properties(node)?;
                property.kind = PropertyKind::Map { of };
            }
            "rules" => property.rules = rules(node)?,
            "required" => property.required = true,
            "updates" => property.on_change = OnChange::UpdateInPlace,
            "hidden" => property.hidden = true,
            "unsupported" => property.unsupported = true,
            "secret" => property.secret = true,
            "multiline" => property.multiline = true,
            "default" => property.default = Some(node.to_json()),
            "formerly" => property.formerly = Some(string(node)?),
            "choices" => property.choices = Some(word(node)?),
            "presets" => property.presets = presets(node),
            "says" => property.summary = string(node)?,
            "nests" => property = property.refers(ReferenceRole::Nests, strings(node)?),
            "connects" => property = property.refers(ReferenceRole::Connects, strings(node)?),
            "takes" => attribute = Some(string(node)?),
            other => property.constraints.extend(constraints(other, node)?),
        }
    }
    if let Some(reference) = &mut property.reference {
        reference.attribute = attribute;
    }
    // The rules apply to the maps in the list, not to the list.
    if let PropertyKind::List { of: Some(of) } = &mut property.kind {
        of.rules = std::mem::take(&mut property.rules);
    }
    Ok(property)
}

/// Values by their labels.
fn presets(node: &Node) -> Vec<(String, Value)> {
    let entries = node.entries().unwrap_or_default().iter();
    entries
        .map(|entry| (entry.key.clone(), entry.value.to_json()))
        .collect()
}

fn rules(node: &Node) -> Result<Vec<Rule>, String> {
    let items = node.items().ok_or("`rules` takes a list")?.iter();
    items.map(|item| rule(&item.value)).collect()
}

fn rule(node: &Node) -> Result<Rule, String> {
    let mut rule = Rule::default();
    for entry in node.entries().unwrap_or_default() {
        let node = &entry.value;
        match entry.key.as_str() {
            "when" => rule.when = Some(when(node)?),
            "any_of" => rule.any_of = strings(node)?,
            "one_at_most" => rule.one_at_most = strings(node)?,
            "needs" => rule.needs = strings(node)?,
            "refuses" => rule.refuses = strings(node)?,
            "ascending" => rule.ascending = strings(node)?,
            other => return Err(format!("`{other}` is no word of a rule")),
        }
    }
    Ok(rule)
}

/// Parses a condition: the name of a property, or properties with one value or a list of values each.
fn when(node: &Node) -> Result<When, String> {
    let Some(entries) = node.entries() else {
        return Ok(When::Given(string(node)?));
    };
    let values = |node: &Node| match node.to_json() {
        Value::Array(values) => values,
        one => vec![one],
    };
    let conditions = entries.iter();
    let conditions = conditions.map(|entry| (entry.key.clone(), values(&entry.value)));
    Ok(When::Is(conditions.collect()))
}

fn constraints(word: &str, node: &Node) -> Result<Vec<Constraint>, String> {
    let (min, max) = bounds(node);
    Ok(match word {
        "one_of" => match node.to_json() {
            Value::Array(values) => vec![Constraint::AllowedValues(values)],
            other => return Err(format!("`one_of` takes a list, not {other}")),
        },
        "pattern" => vec![Constraint::AllowedPattern(string(node)?)],
        "length" => vec![Constraint::Length {
            min: min.map(|bound| bound as u64),
            max: max.map(|bound| bound as u64),
        }],
        "range" => vec![Constraint::Range { min, max }],
        "check" => strings(node)?.into_iter().map(Constraint::Custom).collect(),
        other => return Err(format!("`{other}` is no word of a property")),
    })
}

/// Parses bounds: `[1, ~]` means at least 1.
fn bounds(node: &Node) -> (Option<f64>, Option<f64>) {
    let items = node.items().unwrap_or_default();
    let bound = |index: usize| items.get(index)?.value.scalar()?.as_f64();
    (bound(0), bound(1))
}

fn string(node: &Node) -> Result<String, String> {
    match node.scalar() {
        Some(Value::String(text)) => Ok(text),
        other => Err(format!("text is wanted, not {other:?}")),
    }
}

/// One string, or a list of strings.
fn strings(node: &Node) -> Result<Vec<String>, String> {
    match node.items() {
        Some(items) => items.iter().map(|item| string(&item.value)).collect(),
        None => Ok(vec![string(node)?]),
    }
}

/// A value of a type with a JSON representation.
fn word<T: serde::de::DeserializeOwned>(node: &Node) -> Result<T, String> {
    serde_json::from_value(node.to_json()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_takes_one_name_or_value_for_a_list_of_them() {
        let rules = |text: &str| resource_type(text).map(|described| described.rules);
        let given = Rule {
            when: Some(When::Given("profile".to_owned())),
            needs: vec!["ca_id".to_owned()],
            ..Rule::default()
        };
        let one = "rules: [{when: profile, needs: ca_id}]";
        let list = "rules: [{when: profile, needs: [ca_id]}]";
        assert_eq!(rules(one), Ok(vec![given.clone()]));
        assert_eq!(rules(list), Ok(vec![given]));
        let is = Rule {
            when: Some(When::Is(BTreeMap::from([
                ("port".to_owned(), vec![json!(80)]),
                ("protocol".to_owned(), vec![json!("HTTP"), json!("HTTPS")]),
            ]))),
            ..Rule::default()
        };
        let values = "rules: [{when: {port: 80, protocol: [HTTP, HTTPS]}}]";
        assert_eq!(rules(values), Ok(vec![is]));
        let unknown = rules("rules: [{wants: ca_id}]");
        assert_eq!(unknown, Err("`wants` is no word of a rule".to_owned()));
        let map = rules("rules: {needs: ca_id}");
        assert_eq!(map, Err("`rules` takes a list".to_owned()));
    }
}
