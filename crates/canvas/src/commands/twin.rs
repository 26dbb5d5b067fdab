//! Copies of resources, for duplicate and paste.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use hot::template::Resource;
use serde_json::{Map, Value};

use super::{
    CommandInput, get_resource,
    join::{self, End},
};
use crate::drawing::{Node, NodeKind, frame_of, interfaces};

/// The resources, and the software and volumes on them, each once.
pub fn with_software<'a>(input: &CommandInput<'a>, names: &[String]) -> Vec<&'a Resource> {
    let mut by_name: HashMap<&str, &Resource> = HashMap::new();
    for resource in &input.template.resources {
        by_name.entry(&resource.name).or_insert(resource);
    }
    let mut standing: HashMap<&str, Vec<&Node>> = HashMap::new();
    for node in input.drawing.nodes() {
        if let Some(parent) = &node.parent {
            standing.entry(parent).or_default().push(node);
        }
    }
    let mut wanted = Vec::new();
    let mut seen = HashSet::new();
    for name in names {
        let mut want = |name: &str| {
            let resource = by_name.get(name).copied();
            wanted.extend(resource.filter(|resource| seen.insert(resource.name.as_str())));
        };
        want(name);
        let mut parents = VecDeque::from([name.as_str()]);
        while let Some(parent) = parents.pop_front() {
            for node in standing.get(parent).into_iter().flatten() {
                if node.kind == NodeKind::Chip {
                    want(&node.name);
                    let ends = (End::of(input, parent), End::of(input, &node.name));
                    if let (Some(server), Some(volume)) = ends
                        && let Some(attachment) = join::attached(input, server, volume)
                    {
                        want(&attachment.resource.name);
                    }
                }
                parents.push_back(&node.name);
            }
        }
    }
    wanted
}

/// A free name for each given name, unique also among the results: `server_2` after `server`.
pub fn free_names<'a>(
    input: &CommandInput<'_>,
    names: impl Iterator<Item = &'a str>,
    keep: Keep,
) -> BTreeMap<&'a str, String> {
    let there = input.template.resources.iter();
    let mut taken: HashSet<String> = there.map(|resource| resource.name.clone()).collect();
    let mut twins: BTreeMap<&str, String> = BTreeMap::new();
    for name in names {
        let is_free = |name: &str| !taken.contains(name);
        let twin = if keep == Keep::WhereFree && is_free(name) {
            name.to_owned()
        } else {
            let (base, number) = numbered(name);
            (number + 1..)
                .map(|number| format!("{base}_{number}"))
                .find(|name| is_free(name))
                .unwrap_or_default()
        };
        taken.insert(twin.clone());
        twins.insert(name, twin);
    }
    twins
}

/// Rule for the names of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Every copy gets a new name.
    No,
    /// A copy keeps its name if no other resource has it.
    WhereFree,
}

/// Copy of this resource, as template text. References to resources in `twins` refer to the twins.
pub fn copy_of(
    resource: &Resource,
    twins: &BTreeMap<&str, String>,
    adjust: impl FnOnce(&mut Map<String, Value>),
) -> Value {
    let mut copy_of = Map::new();
    let resource_type = resource.resource_type.as_str();
    copy_of.insert("type".to_owned(), resource_type.into());
    let properties = properties(resource, twins, adjust);
    if !properties.is_empty() {
        copy_of.insert("properties".to_owned(), properties.into());
    }
    let also = beside_properties(resource, twins).into_iter();
    copy_of.extend(also.map(|(key, value)| (key.to_owned(), value)));
    copy_of.into()
}

fn properties(
    resource: &Resource,
    twins: &BTreeMap<&str, String>,
    adjust: impl FnOnce(&mut Map<String, Value>),
) -> Map<String, Value> {
    let mut properties = Map::new();
    for property in &resource.properties {
        let mut value = property.value.to_json();
        redirect(&mut value, twins);
        properties.insert(property.name.clone(), value);
    }
    adjust(&mut properties);
    properties
}

/// The entries of a resource other than its type and properties, by key.
fn beside_properties(
    resource: &Resource,
    twins: &BTreeMap<&str, String>,
) -> Vec<(&'static str, Value)> {
    let written = [
        ("metadata", &resource.metadata),
        ("condition", &resource.condition),
        ("deletion_policy", &resource.deletion_policy),
        ("update_policy", &resource.update_policy),
    ];
    let written = written.into_iter();
    let mut beside: Vec<_> = written
        .filter_map(|(key, value)| Some((key, value.as_ref()?.to_json())))
        .collect();
    let after = resource.depends_on.iter().map(|(name, _)| {
        let twin = twins.get(name.as_str());
        twin.unwrap_or(name).clone()
    });
    let after: Vec<String> = after.collect();
    if !after.is_empty() {
        beside.push(("depends_on", after.into()));
    }
    beside
}

/// Replaces ports that are not copied, because a port is not shared: the server is attached to the port's network, or
/// to that network's twin.
pub fn detach_ports(
    input: &CommandInput<'_>,
    server: &Resource,
    copied_names: &HashSet<&str>,
    twins: &BTreeMap<&str, String>,
    properties: &mut Map<String, Value>,
) {
    let Some(Value::Array(networks)) = properties.get_mut("networks") else {
        return;
    };
    for interface in interfaces(input.template, server) {
        let (Some(port), Some(network)) = (&interface.port, &interface.network) else {
            continue;
        };
        let comes_along = copied_names.contains(port.as_str());
        if let Some(item) = networks.get_mut(interface.index).filter(|_| !comes_along) {
            let network = twins.get(network.as_str()).unwrap_or(network);
            *item = serde_json::json!({ "network": get_resource(network) });
        }
    }
}

/// Removes fixed addresses from the twin of a server or port, because an address in a network can be used only once.
/// They are kept if the network has a twin too.
pub fn remove_addresses(
    input: &CommandInput<'_>,
    resource: &Resource,
    copied_names: &HashSet<&str>,
    properties: &mut Map<String, Value>,
) {
    let stays =
        |network: Option<&str>| network.is_none_or(|network| !copied_names.contains(network));
    match resource.resource_type.as_str() {
        types::PORT if stays(frame_of(input.template, &resource.name).as_deref()) => {
            properties.remove("mac_address");
            if let Some(Value::Array(addresses)) = properties.get_mut("fixed_ips") {
                addresses.retain_mut(|item| forget(item, "ip_address"));
                if addresses.is_empty() {
                    properties.remove("fixed_ips");
                }
            }
        }
        types::SERVER => {
            let Some(Value::Array(networks)) = properties.get_mut("networks") else {
                return;
            };
            for interface in interfaces(input.template, resource) {
                if stays(interface.network.as_deref())
                    && let Some(item) = networks.get_mut(interface.index)
                {
                    forget(item, "fixed_ip");
                }
            }
        }
        _ => {}
    }
}

/// Removes a key from a map. Returns true if the map still has entries.
fn forget(item: &mut Value, key: &str) -> bool {
    item.as_object_mut().is_none_or(|map| {
        map.remove(key);
        !map.is_empty()
    })
}

/// Splits `server_2` into `server` and 2. The number is 1 for a name without a number.
fn numbered(name: &str) -> (&str, u64) {
    let parts = name
        .rsplit_once('_')
        .and_then(|(base, number)| Some((base, number.parse().ok()?)));
    parts
        .filter(|(base, number)| !base.is_empty() && *number < u64::from(u32::MAX))
        .unwrap_or((name, 1))
}

fn redirect(value: &mut Value, twins: &BTreeMap<&str, String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(name)) = map.get_mut("get_resource")
                && let Some(twin) = twins.get(name.as_str())
            {
                *name = twin.clone();
            }
            if let Some(Value::Array(path)) = map.get_mut("get_attr")
                && let Some(Value::String(name)) = path.first_mut()
                && let Some(twin) = twins.get(name.as_str())
            {
                *name = twin.clone();
            }
            map.values_mut().for_each(|value| redirect(value, twins));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| redirect(value, twins)),
        _ => {}
    }
}
