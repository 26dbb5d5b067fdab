//! Another resource of the same kind: what duplicating and pasting share.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use topology::{document::Edit, template::Resource};

use super::{Desk, get_resource};
use crate::drawing::{NodeKind, interfaces};

/// These resources and the software on them, each once.
pub fn with_software<'a>(desk: &Desk<'a>, names: &[String]) -> Vec<&'a Resource> {
    let mut wanted: Vec<&Resource> = Vec::new();
    for name in names {
        let standing = desk.drawing.subtree(name).into_iter();
        let software = standing.filter(|node| node.kind == NodeKind::Chip);
        for name in std::iter::once(name).chain(software.map(|node| &node.name)) {
            if let Some(resource) = desk.template.resource(name)
                && !wanted.iter().any(|other| other.name == resource.name)
            {
                wanted.push(resource);
            }
        }
    }
    wanted
}

/// For each name one that is not taken: `server_2` after `server`.
pub fn free_names<'a>(
    names: impl Iterator<Item = &'a str>,
    keep: Keep,
    taken: impl Fn(&str) -> bool,
) -> BTreeMap<&'a str, String> {
    let mut twins: BTreeMap<&str, String> = BTreeMap::new();
    for name in names {
        let is_free = |name: &str| !taken(name) && !twins.values().any(|twin| twin == name);
        let twin = if keep == Keep::WhereFree && is_free(name) {
            name.to_owned()
        } else {
            let (base, number) = numbered(name);
            (number + 1..)
                .map(|number| format!("{base}_{number}"))
                .find(|name| is_free(name))
                .unwrap_or_default()
        };
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

/// The edits that make a resource like this one under another name. References to what `twins` names lead to the twins.
pub fn edits(
    resource: &Resource,
    name: &str,
    twins: &BTreeMap<&str, String>,
    adjust: impl FnOnce(&mut Map<String, Value>),
) -> Vec<Edit> {
    let mut properties = Map::new();
    for property in &resource.properties {
        let mut value = property.value.to_json();
        redirect(&mut value, twins);
        properties.insert(property.name.clone(), value);
    }
    adjust(&mut properties);
    let mut edits = vec![Edit::AddResource {
        name: name.to_owned(),
        resource_type: resource.resource_type.clone(),
        properties: Value::Object(properties),
    }];
    let mut also = |key: &str, value: Value| {
        let path = ["resources", name, key].map(str::to_owned).to_vec();
        edits.push(Edit::Set { path, value });
    };
    for (key, value) in [
        ("metadata", &resource.metadata),
        ("condition", &resource.condition),
        ("deletion_policy", &resource.deletion_policy),
        ("update_policy", &resource.update_policy),
    ] {
        if let Some(value) = value {
            also(key, value.to_json());
        }
    }
    let after = resource.depends_on.iter().map(|(name, _)| {
        let twin = twins.get(name.as_str());
        twin.unwrap_or(name).clone()
    });
    let after: Vec<String> = after.collect();
    if !after.is_empty() {
        also("depends_on", after.into());
    }
    edits
}

/// A port is not shared: a server that is attached through one that does not come along is attached to the port's network.
pub fn detach_ports(
    desk: &Desk<'_>,
    server: &Resource,
    coming: &[&Resource],
    properties: &mut Map<String, Value>,
) {
    let Some(Value::Array(networks)) = properties.get_mut("networks") else {
        return;
    };
    for interface in interfaces(desk.template, server) {
        let (Some(port), Some(network)) = (&interface.port, &interface.network) else {
            continue;
        };
        let comes_along = coming.iter().any(|other| other.name == *port);
        if let Some(item) = networks.get_mut(interface.index).filter(|_| !comes_along) {
            *item = serde_json::json!({ "network": get_resource(network) });
        }
    }
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
