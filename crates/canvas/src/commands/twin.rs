//! Another resource of the same kind: what duplicating and pasting share.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use hot::template::Resource;
use serde_json::{Map, Value};

use super::{Desk, get_resource};
use crate::drawing::{Node, NodeKind, frame_of, interfaces};

/// These resources and the software on them, each once.
pub fn with_software<'a>(desk: &Desk<'a>, names: &[String]) -> Vec<&'a Resource> {
    let mut by_name: HashMap<&str, &Resource> = HashMap::new();
    for resource in &desk.template.resources {
        by_name.entry(&resource.name).or_insert(resource);
    }
    let mut standing: HashMap<&str, Vec<&Node>> = HashMap::new();
    for node in desk.drawing.nodes() {
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
                }
                parents.push_back(&node.name);
            }
        }
    }
    wanted
}

/// For each name one that no resource of the design has, and none of the others gets: `server_2` after `server`.
pub fn free_names<'a>(
    desk: &Desk<'_>,
    names: impl Iterator<Item = &'a str>,
    keep: Keep,
) -> BTreeMap<&'a str, String> {
    let there = desk.template.resources.iter();
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

/// Whether a name may stay as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Never.
    No,
    /// Where nobody has it.
    WhereFree,
}

/// A resource like this one, as it stands in a template. References to what `twins` names lead to the twins.
pub fn whole(
    resource: &Resource,
    twins: &BTreeMap<&str, String>,
    adjust: impl FnOnce(&mut Map<String, Value>),
) -> Value {
    let mut whole = Map::new();
    let resource_type = resource.resource_type.as_str();
    whole.insert("type".to_owned(), resource_type.into());
    let properties = properties(resource, twins, adjust);
    if !properties.is_empty() {
        whole.insert("properties".to_owned(), properties.into());
    }
    let also = beside_properties(resource, twins).into_iter();
    whole.extend(also.map(|(key, value)| (key.to_owned(), value)));
    whole.into()
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

/// What a resource has beside its type and its properties, by key.
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

/// A port is not shared: a server that is attached through one that does not come along is attached to the port's network,
/// or to that network's twin.
pub fn detach_ports(
    desk: &Desk<'_>,
    server: &Resource,
    coming: &HashSet<&str>,
    twins: &BTreeMap<&str, String>,
    properties: &mut Map<String, Value>,
) {
    let Some(Value::Array(networks)) = properties.get_mut("networks") else {
        return;
    };
    for interface in interfaces(desk.template, server) {
        let (Some(port), Some(network)) = (&interface.port, &interface.network) else {
            continue;
        };
        let comes_along = coming.contains(port.as_str());
        if let Some(item) = networks.get_mut(interface.index).filter(|_| !comes_along) {
            let network = twins.get(network.as_str()).unwrap_or(network);
            *item = serde_json::json!({ "network": get_resource(network) });
        }
    }
}

/// A network gives an address once: a server's or a port's twin leaves out those that are written down, unless the network has a
/// twin of its own.
pub fn forget_addresses(
    desk: &Desk<'_>,
    resource: &Resource,
    coming: &HashSet<&str>,
    properties: &mut Map<String, Value>,
) {
    let stays = |network: Option<&str>| network.is_none_or(|network| !coming.contains(network));
    match resource.resource_type.as_str() {
        types::PORT if stays(frame_of(desk.template, &resource.name).as_deref()) => {
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
            for interface in interfaces(desk.template, resource) {
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

/// Take a key out of a map; answers whether anything is left in it.
fn forget(item: &mut Value, key: &str) -> bool {
    item.as_object_mut().is_none_or(|map| {
        map.remove(key);
        !map.is_empty()
    })
}

/// `server_2` to `server` and 2; what has no number is the first.
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
