//! Catalogue items for Heat: a configuration with the item's Ansible role, and its deployment to the host.
//!
//! Heat's agent for Ansible runs a playbook inside the server and passes inputs as extra variables, which is the
//! interface of our roles. It cannot transfer the role itself. The role has to be on the image, and the report contains
//! this requirement.
//!
//! Outputs of other software become expressions: the list of servers that a component uses is built from their
//! addresses, and `get_attr` of a component's output becomes the output's text with substituted values.

use std::collections::{BTreeSet, HashSet};

use hot::document::Edit;
use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};
use types::catalog::{CONSUMER_KEY, CatalogItem, SECRET_KEY};

use super::{marks, path, with};
use crate::export::expand::{Expanded, SERVER, reference};
use crate::export::{Report, Source};

pub(super) fn edits(
    source: &Source<'_>,
    expanded: &Expanded<'_>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    let mut hosts = BTreeSet::new();
    let mut configs = HashSet::new();
    for (name, spec) in expanded.iter() {
        if let Some(written) = member_type(spec) {
            report.needed(
                format!("resources.{name}"),
                format!(
                    "Heat does not know the type `{written}` of the group's members. Put the component into a nested template, then export again"
                ),
            );
        }
        let Some(item) = expanded.item(spec) else {
            continue;
        };
        let host = spec.properties.get("host").and_then(reference);
        let server = host.filter(|host| {
            let drawn = source.document.template().resource(host);
            drawn.is_some_and(|drawn| drawn.resource_type == SERVER)
        });
        hosts.extend(server.map(str::to_owned));
        let config = free_name(expanded, &mut configs, &format!("{name}_config"));
        edits.push(Edit::AddResource {
            name: config.clone(),
            resource_type: "OS::Heat::SoftwareConfig".to_owned(),
            properties: configuration(item),
        });
        edits.push(marks::added(&config));
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
                "input_values": input_values(expanded, item, (name, spec), report),
            }),
        });
        let drawn = source.document.value(&["resources", name]);
        if let Some(drawn) = drawn.filter(marks::takes_marks) {
            edits.push(Edit::Set {
                path: marks::place(name),
                value: marks::component(item, spec, &drawn),
            });
        }
        // The deployment has addresses where the component has references.
        let written = source.document.template().resource(name);
        let written = written.map_or(&[][..], |one| one.depends_on.as_slice());
        let is_software = |name: &String| {
            let spec = expanded.get(name);
            spec.is_some_and(|spec| expanded.item(spec).is_some())
        };
        let waits: Vec<String> = spec
            .requires
            .iter()
            .filter(|one| is_software(one))
            .cloned()
            .collect();
        if !waits.is_empty() {
            edits.push(Edit::Set {
                path: at("depends_on"),
                value: with(written, waits),
            });
        }
        report.changed(
            format!("resources.{name}"),
            format!(
                "Heat's agent installs `{name}`. Use an image with the agent, its Ansible hook and the role `{}` (version {}) in `/etc/ansible/roles`",
                item.name, item.version
            ),
        );
    }
    for host in hosts {
        edits.push(Edit::Set {
            path: path(&["resources", &host, "properties", "user_data_format"]),
            value: json!("SOFTWARE_CONFIG"),
        });
    }
    outputs(source, expanded, edits, report);
}

/// The type of a group's members, if it is a catalogue item.
pub(super) fn member_type(spec: &ResourceSpec) -> Option<&str> {
    let definition = ["resource_def", "resource"];
    let definition = definition
        .into_iter()
        .find_map(|property| spec.properties.get(property));
    let written = definition?.get("type")?.as_str()?;
    written.starts_with(types::CATALOG).then_some(written)
}

fn free_name(expanded: &Expanded<'_>, taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while expanded.get(&name).is_some() || !taken.insert(name.clone()) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

fn configuration(item: &CatalogItem) -> Value {
    let requirements = item.requires.iter().map(|one| &one.name);
    let consumers = item
        .provides
        .iter()
        .filter_map(|one| one.consumers.as_ref());
    let lists = requirements.chain(consumers);
    let lists = lists.map(|name| json!({"name": name, "type": "Json"}));
    let inputs = item.inputs.iter().map(|one| {
        let mut input = Map::new();
        input.insert("name".to_owned(), json!(one.name));
        // A default in a configuration is always text. Lists and maps are passed explicitly.
        match &one.default {
            Some(Value::Array(_) | Value::Object(_)) => {
                input.insert("type".to_owned(), json!("Json"));
            }
            Some(Value::String(text)) => {
                input.insert("default".to_owned(), json!(text));
            }
            Some(Value::Null) | None => {}
            Some(scalar) => {
                input.insert("default".to_owned(), json!(scalar.to_string()));
            }
        }
        Value::Object(input)
    });
    json!({
        "group": "ansible",
        "inputs": lists.chain(inputs).collect::<Vec<_>>(),
        // JSON, so that the title is always a string.
        "config": format!(
            "- name: {}\n  hosts: localhost\n  connection: local\n  become: true\n  roles: [{}]\n",
            json!(item.title), item.name
        ),
    })
}

fn input_values(
    expanded: &Expanded<'_>,
    item: &CatalogItem,
    (name, spec): (&str, &ResourceSpec),
    report: &mut Report,
) -> Value {
    let mut values = Map::new();
    for list in item
        .provides
        .iter()
        .filter_map(|one| one.consumers.as_ref())
    {
        let entries = spec.properties.get(list).map(Expr::to_json);
        values.insert(list.clone(), entries.unwrap_or_else(|| json!([])));
    }
    for requirement in &item.requires {
        let used: Vec<&Expr> = match spec.properties.get(&requirement.name) {
            Some(Expr::List(items)) => items.iter().collect(),
            one => one.into_iter().collect(),
        };
        let endpoints = used.iter().filter_map(|provider| {
            provided(
                expanded,
                (name, reference(provider)?),
                &requirement.capability,
            )
        });
        let endpoints: Vec<Value> = endpoints.collect();
        if endpoints.len() < used.len() {
            report.needed(
                format!("resources.{name}.properties.{}", requirement.name),
                format!(
                    "Only the endpoints of components in the same template are known. Complete `{}` in `input_values`",
                    requirement.name
                ),
            );
        }
        values.insert(requirement.name.clone(), Value::Array(endpoints));
    }
    for input in &item.inputs {
        if let Some(value) = spec.properties.get(&input.name) {
            values.insert(input.name.clone(), expanded.with_outputs(&value.to_json()));
        }
    }
    Value::Object(values)
}

/// The endpoint of a component's capability: `{name, address, port}`, the inputs that it shares, and the consumer's secret.
fn provided(
    expanded: &Expanded<'_>,
    (consumer, name): (&str, &str),
    capability: &str,
) -> Option<Value> {
    let spec = expanded.get(name)?;
    let item = expanded.item(spec)?;
    let offered = item.capability(capability)?;
    let host = spec.properties.get("host").and_then(reference)?;
    let mut endpoint = json!({
        "name": name,
        "address": {"get_attr": [host, "first_address"]},
        "port": spec.properties.get(&offered.port).map(Expr::to_json),
    });
    let list = offered.consumers.as_deref();
    if let Some(secret) = list.and_then(|list| spec.secret_of(consumer, list)) {
        endpoint[CONSUMER_KEY] = json!(consumer);
        endpoint[SECRET_KEY] = secret.to_json();
    }
    for shared in &offered.shares {
        if let Some(value) = spec.properties.get(shared) {
            endpoint[shared] = expanded.with_outputs(&value.to_json());
        }
    }
    Some(endpoint)
}

/// Edits for every `get_attr` of software in the template.
fn outputs(
    source: &Source<'_>,
    expanded: &Expanded<'_>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    let template = source.document.template();
    let outputs = template.outputs.iter().map(|output| {
        let at = path(&["outputs", &output.name, "value"]);
        (at, Some(output.name.as_str()), &output.value)
    });
    // The properties of a component are in its deployment.
    let drawn = template.resources.iter().filter(|resource| {
        let spec = expanded.get(&resource.name);
        spec.is_none_or(|spec| expanded.item(spec).is_none())
    });
    let properties = drawn.flat_map(|resource| {
        let at = |name: &str| path(&["resources", &resource.name, "properties", name]);
        resource
            .properties
            .iter()
            .map(move |property| (at(&property.name), None, &property.value))
    });
    for (path, output, value) in outputs.chain(properties) {
        let before = value.to_json();
        let mut after = expanded.with_outputs(&before);
        if let Some(component) = as_text(expanded, &mut after) {
            let drawn = source.document.value(&["resources", &component]);
            if let Some(output) = output.filter(|_| drawn.as_ref().is_some_and(marks::takes_marks))
            {
                edits.push(marks::output(&component, output, &before, &after));
            }
            report.left_out(
                path.join("."),
                "Heat cannot read the outputs of an Ansible role. The value is the output's text, and its placeholders are not filled in",
            );
        }
        if after != before {
            edits.push(Edit::Set { path, value: after });
        }
    }
}

/// Replaces references to values from a role by the output's text. Returns the first component among them.
fn as_text(expanded: &Expanded<'_>, value: &mut Value) -> Option<String> {
    if let Some(text) = expanded.runtime_output(value) {
        let component = value["get_attr"][0].as_str().map(str::to_owned);
        *value = json!(text);
        return component;
    }
    let mut first = None;
    match value {
        Value::Array(items) => {
            for item in items {
                let component = as_text(expanded, item);
                first = first.or(component);
            }
        }
        Value::Object(map) => {
            for item in map.values_mut() {
                let component = as_text(expanded, item);
                first = first.or(component);
            }
        }
        _ => {}
    }
    first
}
