//! TOSCA Simple Profile in YAML 1.3.
//!
//! The profile knows servers, networks, ports, volumes and software, and those are exported. It has no word for routers, security groups,
//! floating IPs, keys or orchestration, so these are left out: an orchestrator that reads TOSCA makes its own. A server becomes
//! `Compute` with the sizes of its flavor, as far as the cloud told them; a catalogue item becomes a node type of its own, with its inputs as
//! properties and what it is connected to as requirements.

mod inputs;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use topology::catalog::CatalogItem;
use topology::document::yaml_text;
use topology::expr::Expr;
use topology::types::{Property, PropertyKind};
use topology::workflow::ResourceSpec;

use crate::expand::{Expanded, SERVER, call, is_derived, reference};
use crate::{Report, Source};

const NET: &str = "OS::Neutron::Net";
const SUBNET: &str = "OS::Neutron::Subnet";
const PORT: &str = "OS::Neutron::Port";
const VOLUME: &str = "OS::Cinder::Volume";
const ATTACHMENT: &str = "OS::Cinder::VolumeAttachment";

pub(crate) fn export(source: &Source<'_>) -> (String, Report) {
    let mut report = Report::default();
    let expanded = Expanded::of(source, &mut report);
    let mut writing = Writing {
        source,
        expanded: &expanded,
        report,
        types: BTreeMap::new(),
    };
    let mut nodes = Map::new();
    for (name, spec) in expanded.iter() {
        if let Some(node) = writing.node(name, spec) {
            nodes.insert(name.to_owned(), node);
        }
    }
    let template = source.document.template();
    let inputs: Map<String, Value> = template
        .parameters
        .iter()
        .map(|parameter| (parameter.name.clone(), inputs::input(parameter)))
        .collect();
    let mut outputs = Map::new();
    for output in &template.outputs {
        match writing.value(&expanded.told(&output.value.to_json())) {
            Ok(value) => {
                let described = output
                    .description
                    .as_ref()
                    .map(|text| ("description".to_owned(), json!(text)));
                let value = ("value".to_owned(), value);
                outputs.insert(
                    output.name.clone(),
                    Value::Object(described.into_iter().chain([value]).collect()),
                );
            }
            Err(why) => writing.left_out(&format!("outputs.{}", output.name), &why),
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
    if !writing.types.is_empty() {
        root.insert(
            "node_types".to_owned(),
            Value::Object(writing.types.into_iter().collect()),
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
    let comment = writing
        .report
        .comment("Exported by Stackloom as TOSCA Simple Profile in YAML 1.3.");
    (comment + &yaml_text(&Value::Object(root)), writing.report)
}

struct Writing<'a> {
    source: &'a Source<'a>,
    expanded: &'a Expanded<'a>,
    report: Report,
    types: BTreeMap<String, Value>,
}

impl Writing<'_> {
    fn left_out(&mut self, path: &str, why: &str) {
        self.report
            .left_out(path, format!("the Simple Profile has no {why}"));
    }

    fn node(&mut self, name: &str, spec: &ResourceSpec) -> Option<Value> {
        let path = format!("resources.{name}");
        if let Some(item) = self.expanded.item(spec) {
            return Some(self.software(name, spec, item));
        }
        match spec.resource_type.as_str() {
            SERVER => Some(self.server(name, spec)),
            NET => Some(self.network(name, spec)),
            PORT => Some(self.port(name, spec)),
            VOLUME => Some(self.volume(name, spec)),
            // They stand in their network, and in their server.
            SUBNET | ATTACHMENT => None,
            other => {
                if is_derived(spec) {
                    self.left_out(
                        "",
                        &format!(
                            "counterpart of `{other}`, which is added when the design is deployed"
                        ),
                    );
                } else {
                    self.left_out(&path, &format!("counterpart of `{other}`"));
                }
                None
            }
        }
    }

    fn server(&mut self, name: &str, spec: &ResourceSpec) -> Value {
        let given = |property: &str| spec.properties.get(property).and_then(Expr::as_str);
        let mut host = Map::new();
        let flavors = self.source.cloud.flavors.iter().flatten();
        let flavor = given("flavor");
        let found = flavors
            .into_iter()
            .find(|one| Some(one.name.as_str()) == flavor || Some(one.id.as_str()) == flavor);
        if let Some(found) = found {
            host.insert("num_cpus".to_owned(), json!(found.vcpus));
            host.insert(
                "mem_size".to_owned(),
                json!(format!("{} MiB", found.ram_mib)),
            );
            if found.disk_gib > 0 {
                host.insert(
                    "disk_size".to_owned(),
                    json!(format!("{} GiB", found.disk_gib)),
                );
            }
        } else {
            self.report.needed(
                format!("resources.{name}.properties.flavor"),
                "CPUs, memory and disk of the server: the flavor's size is not known here",
            );
        }
        let mut metadata = Map::new();
        for property in ["image", "flavor"] {
            if let Some(text) = given(property) {
                metadata.insert(property.to_owned(), json!(text));
            }
        }
        for property in spec.properties.keys() {
            if !matches!(
                property.as_str(),
                "name" | "image" | "flavor" | "networks" | "security_groups"
            ) {
                self.left_out(
                    &format!("resources.{name}.properties.{property}"),
                    &format!("counterpart of `{property}`"),
                );
            }
        }
        let mut node = json!({"type": "tosca.nodes.Compute"});
        if !metadata.is_empty() {
            node["metadata"] = Value::Object(metadata);
        }
        let mut capabilities = Map::new();
        if !host.is_empty() {
            capabilities.insert("host".to_owned(), json!({"properties": host}));
        }
        let system = given("image").map(operating_system).unwrap_or_default();
        if !system.is_empty() {
            capabilities.insert("os".to_owned(), json!({"properties": system}));
        }
        if !capabilities.is_empty() {
            node["capabilities"] = Value::Object(capabilities);
        }
        let volumes: Vec<Value> = self.volumes_of(name, spec);
        if !volumes.is_empty() {
            node["requirements"] = Value::Array(volumes);
        }
        node
    }

    /// By attachments, and in the server itself.
    fn volumes_of(&self, server: &str, spec: &ResourceSpec) -> Vec<Value> {
        let of = |spec: &ResourceSpec, property: &str| {
            spec.properties
                .get(property)
                .and_then(reference)
                .map(str::to_owned)
        };
        let attached = self.expanded.iter().filter(|(_, one)| {
            one.resource_type == ATTACHMENT && of(one, "instance_uuid").as_deref() == Some(server)
        });
        let mut found: Vec<(String, Option<String>)> = attached
            .filter_map(|(_, one)| {
                let place = one.properties.get("mountpoint").and_then(Expr::as_str);
                Some((of(one, "volume_id")?, place.map(str::to_owned)))
            })
            .collect();
        if let Some(Expr::List(devices)) = spec.properties.get("block_device_mapping_v2") {
            let own = devices.iter().filter_map(|device| {
                let place = device.get("device_name").and_then(Expr::as_str);
                Some((
                    reference(device.get("volume_id")?)?.to_owned(),
                    place.map(str::to_owned),
                ))
            });
            found.extend(own);
        }
        found
            .into_iter()
            .map(|(volume, place)| {
                // The profile wants a location; a device stands for it.
                let location = place.unwrap_or_else(|| "/dev/vdb".to_owned());
                json!({"local_storage": {
                    "node": volume,
                    "relationship": {"type": "tosca.relationships.AttachesTo", "properties": {"location": location}},
                }})
            })
            .collect()
    }

    fn network(&mut self, name: &str, spec: &ResourceSpec) -> Value {
        let subnets = self.expanded.iter().filter(|(_, one)| {
            one.resource_type == SUBNET
                && one.properties.get("network").and_then(reference) == Some(name)
        });
        let subnets: Vec<(String, ResourceSpec)> = subnets
            .map(|(name, one)| (name.to_owned(), one.clone()))
            .collect();
        let mut properties = Map::new();
        let label = spec
            .properties
            .get("name")
            .and_then(Expr::as_str)
            .unwrap_or(name);
        properties.insert("network_name".to_owned(), json!(label));
        for (index, (subnet, one)) in subnets.iter().enumerate() {
            if index > 0 {
                self.left_out(
                    &format!("resources.{subnet}"),
                    "second range of addresses in a network",
                );
                continue;
            }
            for (hot, tosca) in [
                ("cidr", "cidr"),
                ("ip_version", "ip_version"),
                ("gateway_ip", "gateway_ip"),
                ("enable_dhcp", "dhcp_enabled"),
            ] {
                let Some(value) = one.properties.get(hot) else {
                    continue;
                };
                match self.value(&self.expanded.told(&value.to_json())) {
                    Ok(value) => {
                        properties.insert(tosca.to_owned(), value);
                    }
                    Err(why) => {
                        self.left_out(&format!("resources.{subnet}.properties.{hot}"), &why)
                    }
                }
            }
            if let Some(Expr::List(pools)) = one.properties.get("allocation_pools")
                && let Some(pool) = pools.first()
            {
                for (hot, tosca) in [("start", "start_ip"), ("end", "end_ip")] {
                    if let Some(address) = pool.get(hot).and_then(Expr::as_str) {
                        properties.insert(tosca.to_owned(), json!(address));
                    }
                }
            }
        }
        json!({"type": "tosca.nodes.network.Network", "properties": properties})
    }

    fn port(&mut self, name: &str, spec: &ResourceSpec) -> Value {
        let mut node = json!({"type": "tosca.nodes.network.Port"});
        let holder = self.expanded.iter().find_map(|(server, one)| {
            let Some(Expr::List(networks)) = one.properties.get("networks") else {
                return None;
            };
            let order = networks
                .iter()
                .position(|entry| entry.get("port").and_then(reference) == Some(name))?;
            Some((server.to_owned(), order))
        });
        let mut properties = Map::new();
        if let Some((_, order)) = &holder {
            properties.insert("order".to_owned(), json!(order));
        }
        if let Some(Expr::List(addresses)) = spec.properties.get("fixed_ips")
            && let Some(address) = addresses
                .iter()
                .find_map(|one| one.get("ip_address")?.as_str())
        {
            properties.insert("ip_address".to_owned(), json!(address));
        }
        if !properties.is_empty() {
            node["properties"] = Value::Object(properties);
        }
        let mut requirements = Vec::new();
        if let Some((server, _)) = holder {
            requirements.push(json!({"binding": {"node": server}}));
        }
        match spec.properties.get("network").and_then(reference) {
            Some(network) => requirements.push(json!({"link": {"node": network}})),
            None => self.report.needed(
                format!("resources.{name}.properties.network"),
                "the network of the port, which stands outside of the design",
            ),
        }
        if !requirements.is_empty() {
            node["requirements"] = Value::Array(requirements);
        }
        node
    }

    fn volume(&mut self, volume: &str, spec: &ResourceSpec) -> Value {
        let mut properties = Map::new();
        let size = spec.properties.get("size").map(Expr::to_json);
        let size = match size.as_ref().and_then(|size| call(size)) {
            Some(("get_param", Value::String(name))) => {
                // The profile wants a unit, and a unit cannot be put behind an input.
                let default = self.default_of(name);
                self.report.changed(
                    format!("resources.{volume}.properties.size"),
                    format!("the size is the default of `{name}`, because a size needs its unit"),
                );
                default
            }
            Some(_) => {
                self.left_out(
                    &format!("resources.{volume}.properties.size"),
                    "computed size of a volume",
                );
                None
            }
            None => size,
        };
        if let Some(size) = size {
            let size = size
                .as_str()
                .map_or_else(|| size.to_string(), str::to_owned);
            properties.insert("size".to_owned(), json!(format!("{size} GB")));
        }
        if let Some(snapshot) = spec.properties.get("snapshot_id").and_then(Expr::as_str) {
            properties.insert("snapshot_id".to_owned(), json!(snapshot));
        }
        let mut node = json!({"type": "tosca.nodes.Storage.BlockStorage"});
        if !properties.is_empty() {
            node["properties"] = Value::Object(properties);
        }
        node
    }

    fn default_of(&self, parameter: &str) -> Option<Value> {
        let parameters = &self.source.document.template().parameters;
        parameters
            .iter()
            .find(|one| one.name == parameter)?
            .default
            .clone()
    }

    fn software(&mut self, name: &str, spec: &ResourceSpec, item: &CatalogItem) -> Value {
        self.types.insert(type_name(item), node_type(item));
        let mut properties = Map::new();
        for input in &item.inputs {
            let Some(value) = spec.properties.get(&input.name) else {
                continue;
            };
            match self.value(&self.expanded.told(&value.to_json())) {
                Ok(value) => {
                    properties.insert(input.name.clone(), value);
                }
                Err(why) => {
                    self.left_out(&format!("resources.{name}.properties.{}", input.name), &why)
                }
            }
        }
        let mut requirements = Vec::new();
        if let Some(host) = spec.properties.get("host").and_then(reference) {
            requirements.push(json!({"host": {"node": host}}));
        }
        for requirement in &item.requires {
            let used = match spec.properties.get(&requirement.name) {
                Some(Expr::List(items)) => items.iter().filter_map(reference).collect(),
                Some(one) => reference(one).into_iter().collect(),
                None => Vec::new(),
            };
            requirements.extend(
                used.into_iter()
                    .map(|node| json!({requirement.name.as_str(): {"node": node}})),
            );
        }
        self.report.needed(
            format!("resources.{name}"),
            format!(
                "operations that install `{}`: its Ansible role (version {}) is not in the file",
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

    /// A value with TOSCA's functions.
    fn value(&self, hot: &Value) -> Result<Value, String> {
        let Some((function, argument)) = call(hot) else {
            return match hot {
                Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
                Value::Object(map) => map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(value)?)))
                    .collect(),
                scalar => Ok(scalar.clone()),
            };
        };
        match (function, argument) {
            ("get_param", Value::String(name)) if !name.starts_with("OS::") => {
                Ok(json!({"get_input": name}))
            }
            ("get_param", _) => Err("counterpart of this `get_param`".to_owned()),
            ("get_attr", Value::Array(path)) => self.attribute(path),
            ("list_join", Value::Array(items)) => match items.as_slice() {
                [Value::String(delimiter), Value::Array(parts)] => {
                    let parts: Value = parts
                        .iter()
                        .map(|part| self.value(part))
                        .collect::<Result<_, _>>()?;
                    Ok(json!({"join": [parts, delimiter]}))
                }
                _ => Err("counterpart of this `list_join`".to_owned()),
            },
            ("str_replace", argument) => self.concatenated(argument),
            (other, _) => Err(format!("function like `{other}`")),
        }
    }

    fn attribute(&self, path: &[Value]) -> Result<Value, String> {
        let (Some(name), Some(attribute)) = (
            path.first().and_then(Value::as_str),
            path.get(1).and_then(Value::as_str),
        ) else {
            return Err("computed attribute".to_owned());
        };
        let Some(spec) = self.expanded.get(name) else {
            return Err(format!("`{name}`"));
        };
        match (spec.resource_type.as_str(), attribute) {
            (SERVER, "first_address" | "networks" | "addresses") => {
                Ok(json!({"get_attribute": [name, "private_address"]}))
            }
            (SERVER, "accessIPv4") => Ok(json!({"get_attribute": [name, "public_address"]})),
            (PORT, "fixed_ips") => Ok(json!({"get_attribute": [name, "ip_address"]})),
            ("OS::Neutron::FloatingIP", "floating_ip_address") => {
                let server = self
                    .expanded
                    .iter()
                    .find(|(server, _)| self.expanded.floating_ip(server) == Some(name));
                match server {
                    Some((server, _)) => Ok(json!({"get_attribute": [server, "public_address"]})),
                    None => Err(format!("address of `{name}`")),
                }
            }
            _ => Err(format!("attribute `{attribute}` of `{name}`")),
        }
    }

    fn concatenated(&self, argument: &Value) -> Result<Value, String> {
        let (Some(Value::String(template)), Some(Value::Object(params))) =
            (argument.get("template"), argument.get("params"))
        else {
            return Err("computed text".to_owned());
        };
        let mut written = Map::new();
        for (word, value) in params {
            written.insert(word.clone(), self.value(value)?);
        }
        Ok(in_parts(template, &written))
    }
}

/// `{concat: [...]}` of a text's parts and what stands for words in it.
fn in_parts(text: &str, params: &Map<String, Value>) -> Value {
    let mut words: Vec<(&String, &Value)> =
        params.iter().filter(|(word, _)| !word.is_empty()).collect();
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    let mut parts: Vec<Value> = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match words
            .iter()
            .find(|(word, _)| rest.starts_with(word.as_str()))
        {
            Some((word, Value::String(value))) => {
                plain.push_str(value);
                rest = &rest[word.len()..];
            }
            Some((word, Value::Number(value))) => {
                plain.push_str(&value.to_string());
                rest = &rest[word.len()..];
            }
            Some((word, value)) => {
                if !plain.is_empty() {
                    parts.push(json!(std::mem::take(&mut plain)));
                }
                parts.push((*value).clone());
                rest = &rest[word.len()..];
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if parts.is_empty() {
        return json!(plain);
    }
    if !plain.is_empty() {
        parts.push(json!(plain));
    }
    json!({"concat": parts})
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

/// What an image's name tells of the system on it.
fn operating_system(image: &str) -> Map<String, Value> {
    let known = [
        "debian", "ubuntu", "fedora", "centos", "rocky", "cirros", "opensuse", "windows",
    ];
    let image = image.to_lowercase();
    let mut system = Map::new();
    if let Some(found) = known.into_iter().find(|one| image.contains(one)) {
        let kind = if found == "windows" {
            "windows"
        } else {
            "linux"
        };
        system.insert("type".to_owned(), json!(kind));
        system.insert("distribution".to_owned(), json!(found));
    }
    system
}
