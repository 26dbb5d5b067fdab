//! Catalogue items for Heat: a configuration that applies the item's Ansible role, and a deployment of it to the host.
//!
//! Heat's agent for Ansible runs a playbook inside the server and hands inputs over as extra variables, which is just what a role
//! of ours takes. What it cannot do is bring the role: that has to be on the image, and the report says so.
//!
//! What other software tells of itself becomes expressions: a list of servers that a component uses is built from their addresses,
//! and `get_attr` of a component's output is the output's text with values put in.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use topology::catalog::CatalogItem;
use topology::document::Edit;
use topology::expr::Expr;
use topology::workflow::ResourceSpec;

use super::path;
use crate::expand::{Expanded, reference};
use crate::{Report, Source};

pub(super) fn edits(
    source: &Source<'_>,
    expanded: &Expanded<'_>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    let mut hosts = BTreeMap::new();
    for (name, spec) in expanded.iter() {
        let Some(item) = expanded.item(spec) else {
            continue;
        };
        let host = spec.properties.get("host").and_then(reference);
        if let Some(host) = host {
            hosts.insert(host.to_owned(), ());
        }
        let config = free_name(expanded, &format!("{name}_config"));
        edits.push(Edit::AddResource {
            name: config.clone(),
            resource_type: "OS::Heat::SoftwareConfig".to_owned(),
            properties: configuration(item),
        });
        let at = |word: &str| path(&["resources", name, word]);
        edits.push(Edit::Set {
            path: at("type"),
            value: json!("OS::Heat::SoftwareDeployment"),
        });
        edits.push(Edit::Set {
            path: at("properties"),
            value: json!({
                "config": {"get_resource": config},
                "server": spec.properties.get("host").map(Expr::to_json),
                "input_values": input_values(expanded, item, spec),
            }),
        });
        report.changed(
            format!("resources.{name}"),
            format!(
                "`{name}` is deployed by Heat's agent: the image needs it with its Ansible hook, and the role `{}` (version {}) in `/etc/ansible/roles`",
                item.name, item.version
            ),
        );
    }
    for host in hosts.into_keys() {
        edits.push(Edit::Set {
            path: path(&["resources", &host, "properties", "user_data_format"]),
            value: json!("SOFTWARE_CONFIG"),
        });
    }
    outputs(source, expanded, edits);
}

fn free_name(expanded: &Expanded<'_>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while expanded.get(&name).is_some() {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

fn configuration(item: &CatalogItem) -> Value {
    let requirements = item
        .requires
        .iter()
        .map(|one| json!({"name": one.name, "type": "Json"}));
    let inputs = item.inputs.iter().map(|one| {
        let mut input = Map::new();
        input.insert("name".to_owned(), json!(one.name));
        if let Some(default) = &one.default {
            input.insert("default".to_owned(), default.clone());
        }
        Value::Object(input)
    });
    json!({
        "group": "ansible",
        "inputs": requirements.chain(inputs).collect::<Vec<_>>(),
        "config": format!(
            "- name: {}\n  hosts: localhost\n  connection: local\n  become: true\n  roles: [{}]\n",
            item.title, item.name
        ),
    })
}

fn input_values(expanded: &Expanded<'_>, item: &CatalogItem, spec: &ResourceSpec) -> Value {
    let mut values = Map::new();
    for requirement in &item.requires {
        let used = match spec.properties.get(&requirement.name) {
            Some(Expr::List(items)) => items.iter().filter_map(reference).collect(),
            Some(one) => reference(one).into_iter().collect(),
            None => Vec::new(),
        };
        let used = used
            .into_iter()
            .filter_map(|name| provided(expanded, name, &requirement.capability));
        values.insert(requirement.name.clone(), used.collect());
    }
    for input in &item.inputs {
        if let Some(value) = spec.properties.get(&input.name) {
            values.insert(input.name.clone(), value.to_json());
        }
    }
    Value::Object(values)
}

/// Where a component offers a capability: `{name, address, port}`.
fn provided(expanded: &Expanded<'_>, name: &str, capability: &str) -> Option<Value> {
    let spec = expanded.get(name)?;
    let item = expanded.item(spec)?;
    let offered = item.provides.iter().find(|one| one.name == capability)?;
    let host = spec.properties.get("host").and_then(reference)?;
    Some(json!({
        "name": name,
        "address": {"get_attr": [host, "first_address"]},
        "port": spec.properties.get(&offered.port).map(Expr::to_json),
    }))
}

/// `get_attr` of what software tells, wherever the template asks for it.
fn outputs(source: &Source<'_>, expanded: &Expanded<'_>, edits: &mut Vec<Edit>) {
    let template = source.document.template();
    let outputs = template
        .outputs
        .iter()
        .map(|output| (path(&["outputs", &output.name, "value"]), &output.value));
    let properties = template.resources.iter().flat_map(|resource| {
        let at = |name: &str| path(&["resources", &resource.name, "properties", name]);
        resource
            .properties
            .iter()
            .map(move |property| (at(&property.name), &property.value))
    });
    for (path, value) in outputs.chain(properties) {
        let before = value.to_json();
        let after = expanded.told(&before);
        if after != before {
            edits.push(Edit::Set { path, value: after });
        }
    }
}
