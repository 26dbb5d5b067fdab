//! Catalogue items: a node type for each item, and a node for each use.

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};
use types::catalog::CatalogItem;
use types::{Property, PropertyKind};

use super::Exporter;
use crate::export::expand::{SERVER, reference};

impl Exporter<'_> {
    pub(super) fn software(
        &mut self,
        name: &str,
        spec: &ResourceSpec,
        item: &CatalogItem,
    ) -> Value {
        self.types.insert(type_name(item), node_type(item));
        let mut properties = Map::new();
        for input in &item.inputs {
            let Some(value) = spec.properties.get(&input.name) else {
                continue;
            };
            match self.value(&self.expanded.with_outputs(&value.to_json())) {
                Ok(value) => {
                    properties.insert(input.name.clone(), value);
                }
                Err(why) => {
                    self.left_out(&format!("resources.{name}.properties.{}", input.name), &why)
                }
            }
        }
        let mut requirements = Vec::new();
        let host = spec.properties.get("host").and_then(reference);
        if let Some(host) = host.filter(|host| self.is_a(host, SERVER)) {
            requirements.push(json!({"host": {"node": host}}));
        }
        for requirement in &item.requires {
            let used: Vec<&str> = match spec.properties.get(&requirement.name) {
                Some(Expr::List(items)) => items.iter().filter_map(reference).collect(),
                Some(one) => reference(one).into_iter().collect(),
                None => Vec::new(),
            };
            let software = |name: &&str| {
                let spec = self.expanded.get(name);
                spec.is_some_and(|spec| self.expanded.item(spec).is_some())
            };
            requirements.extend(
                used.into_iter()
                    .filter(software)
                    .map(|node| json!({requirement.name.as_str(): {"node": node}})),
            );
        }
        self.report.needed(
            format!("resources.{name}"),
            format!(
                "The Ansible role of `{}` (version {}) is not in the file. Add operations that install it",
                item.name, item.version
            ),
        );
        let mut node = json!({"type": type_name(item)});
        if !properties.is_empty() {
            node["properties"] = Value::Object(properties);
        }
        node["requirements"] = Value::Array(requirements);
        node
    }
}

fn type_name(item: &CatalogItem) -> String {
    format!("stackloom.nodes.{}", item.name)
}

fn node_type(item: &CatalogItem) -> Value {
    let mut body = json!({
        "derived_from": "tosca.nodes.SoftwareComponent",
        "description": item.summary,
    });
    let properties: Map<String, Value> = item
        .inputs
        .iter()
        .map(|input| (input.name.clone(), definition(input)))
        .collect();
    if !properties.is_empty() {
        body["properties"] = Value::Object(properties);
    }
    let offered: Map<String, Value> = item
        .provides
        .iter()
        .map(|one| {
            (
                one.name.clone(),
                json!({"type": "tosca.capabilities.Endpoint"}),
            )
        })
        .collect();
    if !offered.is_empty() {
        body["capabilities"] = Value::Object(offered);
    }
    let required: Vec<Value> = item
        .requires
        .iter()
        .map(|one| {
            let max = one.max.map_or(json!("UNBOUNDED"), |max| json!(max));
            json!({one.name.as_str(): {
                "capability": "tosca.capabilities.Endpoint",
                "relationship": "tosca.relationships.ConnectsTo",
                "occurrences": [one.min, max],
            }})
        })
        .collect();
    if !required.is_empty() {
        body["requirements"] = Value::Array(required);
    }
    body
}

fn definition(input: &Property) -> Value {
    let kind = match &input.kind {
        PropertyKind::Integer => "integer",
        PropertyKind::Number => "float",
        PropertyKind::Boolean => "boolean",
        PropertyKind::List { .. } => "list",
        PropertyKind::Map { .. } => "map",
        _ => "string",
    };
    let mut body = json!({"type": kind, "required": input.required});
    if matches!(kind, "list" | "map") {
        body["entry_schema"] = json!({"type": "string"});
    }
    if !input.summary.is_empty() {
        body["description"] = json!(input.summary);
    }
    if let Some(default) = &input.default {
        body["default"] = default.clone();
    }
    body
}
