//! Another one of the same.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use topology::{document::Edit, template::Resource};

use super::{Desk, Proposal};
use crate::{
    drawing::NodeKind,
    geometry::CanvasVector,
    layout::{self, Place},
};

/// What duplicating these resources would do: each gets a twin beside it, software comes along with its
/// server, and references among them lead to the twins. Ports are not shared: a server that was
/// attached through one is attached to the port's network.
pub fn duplicate(desk: &Desk<'_>, names: &[String]) -> Option<Proposal> {
    let mut wanted: Vec<&Resource> = Vec::new();
    for name in names {
        let with = desk.drawing.subtree(name);
        for node in with
            .iter()
            .filter(|node| node.name == *name || node.kind == NodeKind::Chip)
        {
            if let Some(resource) = desk.resource(&node.name)
                && !wanted.iter().any(|other| other.name == resource.name)
            {
                wanted.push(resource);
            }
        }
    }
    let first = wanted.first()?;
    let mut twins: BTreeMap<&str, String> = BTreeMap::new();
    for resource in &wanted {
        let (base, number) = numbered(&resource.name);
        let taken =
            |name: &str| desk.resource(name).is_some() || twins.values().any(|twin| twin == name);
        let twin = (number + 1..)
            .map(|number| format!("{base}_{number}"))
            .find(|name| !taken(name));
        twins.insert(&resource.name, twin.unwrap_or_default());
    }
    let mut proposal = Proposal {
        label: format!("Duplicate {}", first.name),
        ..Proposal::default()
    };
    for resource in &wanted {
        let twin = &twins[resource.name.as_str()];
        let mut properties = Map::new();
        for property in &resource.properties {
            let mut value = property.value.to_json();
            redirect(&mut value, &twins);
            properties.insert(property.name.clone(), value);
        }
        if let Some(Value::Array(networks)) = properties.get_mut("networks") {
            detach_ports(desk, resource, networks);
        }
        proposal.edits.push(Edit::AddResource {
            name: twin.clone(),
            resource_type: resource.resource_type.clone(),
            properties: Value::Object(properties),
        });
        if let Some(metadata) = &resource.metadata {
            let path = ["resources", twin, "metadata"].map(str::to_owned).to_vec();
            proposal.edits.push(Edit::Set {
                path,
                value: metadata.to_json(),
            });
        }
        if let Some(node) = desk
            .drawing
            .node(&resource.name)
            .filter(|node| node.kind != NodeKind::Chip)
        {
            let beside = node.rect.moved(CanvasVector { dx: 24.0, dy: 24.0 });
            let taken: Vec<_> = match &node.parent {
                Some(parent) => desk
                    .drawing
                    .children(parent)
                    .map(|other| other.rect)
                    .collect(),
                None => desk
                    .drawing
                    .nodes()
                    .iter()
                    .filter(|other| other.parent.is_none())
                    .map(|other| other.rect)
                    .collect(),
            };
            proposal.places.push((
                twin.clone(),
                Place::at(layout::free_spot(beside, &taken, 16.0)),
            ));
        }
    }
    proposal.select = names
        .iter()
        .filter_map(|name| twins.get(name.as_str()).cloned())
        .collect();
    Some(proposal)
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
            map.values_mut().for_each(|value| redirect(value, twins));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| redirect(value, twins)),
        _ => {}
    }
}

fn detach_ports(desk: &Desk<'_>, server: &Resource, networks: &mut [Value]) {
    for interface in crate::drawing::interfaces(desk.template, server) {
        if let (Some(_), Some(network), Some(item)) = (
            &interface.port,
            &interface.network,
            networks.get_mut(interface.index),
        ) {
            *item = serde_json::json!({ "network": super::get_resource(network) });
        }
    }
}
