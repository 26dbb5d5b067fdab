//! Checks exports against the profile: every node against the profile's definitions, every name against the exported
//! nodes and inputs.
//!
//! The definitions are those of "TOSCA Simple Profile in YAML 1.3", chapters 5.9 (nodes) and 8.5 (networks), as far as
//! the exporter uses them.

use hot::document::Document;
use serde_json::{Value, json};

use crate::export::Format;
use crate::export::testing::Design;
use crate::export::tests::{SHOP, site};

/// Type, properties with their types, requirements.
type Definition = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

const DEFINITIONS: [Definition; 4] = [
    ("tosca.nodes.Compute", &[], &["local_storage"]),
    (
        "tosca.nodes.network.Network",
        &[
            ("network_name", "string"),
            ("cidr", "string"),
            ("ip_version", "integer"),
            ("gateway_ip", "string"),
            ("dhcp_enabled", "boolean"),
            ("start_ip", "string"),
            ("end_ip", "string"),
        ],
        &[],
    ),
    (
        "tosca.nodes.network.Port",
        &[("order", "integer"), ("ip_address", "string")],
        &["binding", "link"],
    ),
    (
        "BlockStorage",
        &[("size", "string"), ("snapshot_id", "string")],
        &[],
    ),
];

/// The errors in a service template.
fn wrong(text: &str) -> Vec<String> {
    let root = Document::parse(text).value(&[]).unwrap();
    let topology = &root["topology_template"];
    let mut wrong = Vec::new();
    if root["tosca_definitions_version"] != "tosca_simple_yaml_1_3" {
        wrong.push("no version".to_owned());
    }
    let nodes = topology["node_templates"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for (name, node) in &nodes {
        let written = node["type"].as_str().unwrap_or_default();
        let own = &root["node_types"][written];
        let known = DEFINITIONS.iter().find(|(one, ..)| *one == written);
        for (property, value) in node["properties"].as_object().into_iter().flatten() {
            let expected = match known {
                Some((_, properties, _)) => properties
                    .iter()
                    .find(|(one, _)| one == property)
                    .map(|(_, kind)| *kind),
                None => own["properties"][property.as_str()]["type"].as_str(),
            };
            match expected {
                None => wrong.push(format!("{name}: no property {property}")),
                Some(kind) if !fits(value, kind) => {
                    wrong.push(format!("{name}.{property}: {value} is no {kind}"));
                }
                Some(_) => {}
            }
        }
        if known.is_none() && own.is_null() {
            wrong.push(format!("{name}: no type {written}"));
        }
        for requirement in node["requirements"].as_array().into_iter().flatten() {
            for (word, filled) in requirement.as_object().into_iter().flatten() {
                let declared = own["requirements"].as_array().into_iter().flatten();
                let is_known = match known {
                    Some((.., known)) => known.contains(&word.as_str()),
                    None => {
                        word == "host" || declared.into_iter().any(|one| one.get(word).is_some())
                    }
                };
                let to = filled["node"].as_str().unwrap_or_default();
                if !is_known || !nodes.contains_key(to) {
                    wrong.push(format!("{name}: {word} leads to `{to}`"));
                }
            }
        }
    }
    names(topology, topology, &nodes, &mut wrong);
    wrong
}

fn fits(value: &Value, kind: &str) -> bool {
    let is_function = value.as_object().is_some_and(|map| map.len() == 1);
    is_function
        || match kind {
            "integer" => value.is_i64(),
            "float" => value.is_number(),
            "boolean" => value.is_boolean(),
            "list" => value.is_array(),
            "map" => value.is_object(),
            _ => value.is_string(),
        }
}

/// The names of inputs and nodes in functions.
fn names(
    value: &Value,
    topology: &Value,
    nodes: &serde_json::Map<String, Value>,
    wrong: &mut Vec<String>,
) {
    if let Some(input) = value.get("get_input").and_then(Value::as_str)
        && topology["inputs"].get(input).is_none()
    {
        wrong.push(format!("no input {input}"));
    }
    if let Some(node) = value.pointer("/get_attribute/0").and_then(Value::as_str)
        && !nodes.contains_key(node)
    {
        wrong.push(format!("no node {node}"));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|one| names(one, topology, nodes, wrong)),
        Value::Object(map) => map
            .values()
            .for_each(|one| names(one, topology, nodes, wrong)),
        _ => {}
    }
}

#[test]
fn a_file_uses_only_types_of_the_simple_profile() {
    for design in [Design::of(SHOP), Design::of(SHOP).drawn_only(), site()] {
        let text = design.export(Format::Tosca).text;
        assert_eq!(wrong(&text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn no_reference_to_a_left_out_resource_remains() {
    let text = "heat_template_version: 2021-04-16\nparameters: {n: {type: string}}\nresources:\n  \
                alone: {type: OS::Neutron::Port, properties: {network: private}}\n  \
                provided: {type: OS::Neutron::ProviderNet, properties: {network_type: flat, physical_network: x}}\n  \
                inside: {type: OS::Neutron::Port, properties: {network: {get_resource: provided}}}\n  \
                held: {type: OS::Neutron::Port, properties: {network: {get_param: n}}}\n  \
                web:\n    type: OS::Nova::Server\n    properties:\n      image: i\n      flavor: f\n      \
                networks: [{port: {get_resource: inside}}, {port: {get_resource: held}}]\n      \
                block_device_mapping_v2: [{volume_id: {get_resource: provided}, boot_index: 0}]\n  \
                proxy: {type: Stackloom::Catalog::haproxy, properties: {host: {get_resource: alone}, backends: [{get_resource: web}]}}\n\
                outputs:\n  a: {value: {get_attr: [alone, fixed_ips, 0, ip_address]}}\n  b: {value: {get_attr: [inside, fixed_ips]}}\n  \
                c: {value: {get_attr: [held, fixed_ips, 0, ip_address]}}\n";
    let text = Design::of(text).export(Format::Tosca).text;
    assert_eq!(wrong(&text), Vec::<String>::new(), "{text}");
    let out = Document::parse(text.as_str()).value(&["topology_template", "outputs"]);
    assert_eq!(
        out,
        Some(json!({"c": {"value": {"get_attribute": ["held", "ip_address"]}}}))
    );
}
