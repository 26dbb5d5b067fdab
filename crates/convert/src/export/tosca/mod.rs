//! TOSCA Simple Profile in YAML 1.3.
//!
//! The profile has servers, networks, ports, volumes and software, and these are exported. It has no routers, security
//! groups, floating IPs, keys or orchestration, so these are left out: an orchestrator for TOSCA creates its own. A
//! server becomes `Compute` with the sizes of its flavor, if the cloud's facts contain them. A catalogue item becomes a
//! node type with its inputs as properties and its connections as requirements.
//!
//! Nesting in the profile (substitution) needs a node type for each file, which is not worth its cost. So groups and
//! nested templates are expanded.

mod inputs;
mod nodes;
mod software;
mod values;

use std::collections::{BTreeMap, HashMap};

use hot::document::yaml_text;
use hot::expr::Expr;
use planner::members;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use crate::export::expand::{Expanded, SERVER, is_derived, reference};
use crate::export::structure::Shape;
use crate::export::{Report, Source};

const NET: &str = "OS::Neutron::Net";
const SUBNET: &str = "OS::Neutron::Subnet";
const PORT: &str = "OS::Neutron::Port";
const VOLUME: &str = "OS::Cinder::Volume";
const ATTACHMENT: &str = "OS::Cinder::VolumeAttachment";

pub(crate) fn export(source: &Source<'_>) -> (String, Report) {
    let mut report = Report::default();
    let shape = Shape::of(source, &|_| false, &mut report);
    let expanded = Expanded::expand(source, &shape, &mut report);
    let mut exporter = Exporter {
        source,
        shape: &shape,
        expanded: &expanded,
        report,
        types: BTreeMap::new(),
        outside: BTreeMap::new(),
        holders: HashMap::new(),
        subnets: HashMap::new(),
        attached: HashMap::new(),
    };
    exporter.look_around();
    let mut nodes = Map::new();
    for (name, spec) in expanded.iter() {
        if let Some(node) = exporter.node(name, spec) {
            nodes.insert(name.to_owned(), node);
        }
    }
    nodes.extend(std::mem::take(&mut exporter.outside));
    let template = source.document.template();
    let inputs: Map<String, Value> = expanded
        .parameters(template)
        .filter(|parameter| !shape.fixed.contains_key(&parameter.name))
        .map(|parameter| (parameter.name.clone(), inputs::input(parameter)))
        .collect();
    let mut outputs = Map::new();
    for (name, value) in expanded.outputs() {
        match exporter.value(&expanded.with_outputs(&value.to_json())) {
            Ok(value) => {
                let output = template.outputs.iter().find(|one| one.name == name);
                let described = output
                    .and_then(|one| one.description.as_ref())
                    .map(|text| ("description".to_owned(), json!(text)));
                let value = ("value".to_owned(), value);
                outputs.insert(
                    name.to_owned(),
                    Value::Object(described.into_iter().chain([value]).collect()),
                );
            }
            Err(why) => exporter.left_out(&format!("outputs.{name}"), &why),
        }
    }
    let mut root = Map::new();
    root.insert(
        "tosca_definitions_version".to_owned(),
        json!("tosca_simple_yaml_1_3"),
    );
    let description = match template.description.trim() {
        "" => source.name,
        text => text,
    };
    root.insert("description".to_owned(), json!(description));
    root.insert("metadata".to_owned(), json!({"template_name": source.name}));
    if !exporter.types.is_empty() {
        root.insert(
            "node_types".to_owned(),
            Value::Object(exporter.types.into_iter().collect()),
        );
    }
    let mut topology = Map::new();
    for (key, section) in [
        ("inputs", inputs),
        ("node_templates", nodes),
        ("outputs", outputs),
    ] {
        if !section.is_empty() {
            topology.insert(key.to_owned(), Value::Object(section));
        }
    }
    root.insert("topology_template".to_owned(), Value::Object(topology));
    let comment = exporter
        .report
        .comment("Exported by Stackloom as TOSCA Simple Profile in YAML 1.3.");
    (comment + &yaml_text(&Value::Object(root)), exporter.report)
}

struct Exporter<'a> {
    source: &'a Source<'a>,
    shape: &'a Shape<'a>,
    expanded: &'a Expanded<'a>,
    report: Report,
    types: BTreeMap<String, Value>,
    /// Nodes for existing networks.
    outside: BTreeMap<String, Value>,
    /// The server of each port, and the port's index on it.
    holders: HashMap<String, (String, usize)>,
    /// The subnets of each network.
    subnets: HashMap<String, Vec<(String, ResourceSpec)>>,
    /// The volumes attached to each server, with their devices.
    attached: HashMap<String, Vec<(String, Option<String>)>>,
}

impl Exporter<'_> {
    /// Collects relations that only one of two resources declares.
    fn look_around(&mut self) {
        for (name, spec) in self.expanded.iter() {
            let of = |property: &str| {
                let named = spec.properties.get(property).and_then(reference);
                named.map(str::to_owned)
            };
            match spec.resource_type.as_str() {
                SUBNET => {
                    if let Some(network) = of("network") {
                        let of_network = self.subnets.entry(network).or_default();
                        of_network.push((name.to_owned(), spec.clone()));
                    }
                }
                ATTACHMENT => {
                    if let (Some(server), Some(volume)) = (of("instance_uuid"), of("volume_id")) {
                        let place = spec.properties.get("mountpoint").and_then(Expr::as_str);
                        let of_server = self.attached.entry(server).or_default();
                        of_server.push((volume, place.map(str::to_owned)));
                    }
                }
                SERVER => {
                    let Some(Expr::List(networks)) = spec.properties.get("networks") else {
                        continue;
                    };
                    for (order, entry) in networks.iter().enumerate() {
                        if let Some(port) = entry.get("port").and_then(reference) {
                            let holder = self.holders.entry(port.to_owned());
                            holder.or_insert_with(|| (name.to_owned(), order));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the resource is of this type.
    fn is_a(&self, name: &str, resource_type: &str) -> bool {
        let spec = self.expanded.get(name);
        spec.is_some_and(|spec| spec.resource_type == resource_type)
    }

    fn left_out(&mut self, path: &str, why: &str) {
        self.report
            .left_out(path, format!("TOSCA's Simple Profile has no {why}"));
    }

    fn node(&mut self, name: &str, spec: &ResourceSpec) -> Option<Value> {
        let path = format!("resources.{name}");
        if let Some(item) = self.expanded.item(spec) {
            return Some(self.software(name, spec, item));
        }
        match spec.resource_type.as_str() {
            SERVER => Some(self.server(name, spec)),
            NET => Some(self.network(name, spec)),
            PORT => self.port(name, spec),
            VOLUME => Some(self.volume(name, spec)),
            // Part of their network or server.
            SUBNET | ATTACHMENT => None,
            // Their members are exported instead.
            parent if members::is_parent(parent) => None,
            other => {
                if is_derived(spec) {
                    self.left_out(
                        "",
                        &format!("node type for `{other}`, which a deployment adds"),
                    );
                } else {
                    self.left_out(&path, &format!("node type for `{other}`"));
                }
                None
            }
        }
    }

    fn default_of(&self, parameter: &str) -> Option<Value> {
        let parameters = &self.source.document.template().parameters;
        parameters
            .iter()
            .find(|one| one.name == parameter)?
            .default
            .clone()
    }
}

#[cfg(test)]
mod tests;
