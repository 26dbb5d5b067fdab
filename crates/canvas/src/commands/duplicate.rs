//! Another one of the same.
//!
//! What is duplicated together keeps its arrangement: all of it moves by the same way to where nothing stands, and what is
//! inside something that is duplicated too comes along inside the twin.

use std::collections::{BTreeMap, HashMap, HashSet};

use hot::document::Edit;

use super::{Desk, Proposal, twin};
use crate::{
    drawing::{Node, NodeKind},
    geometry::{CanvasVector, Rect},
    layout::{self, Place},
};

/// How far a twin stands from what it is a twin of, where there is room.
const BESIDE: CanvasVector = CanvasVector { dx: 24.0, dy: 24.0 };

/// What duplicating these resources would do: each gets a twin beside it, software comes along with its
/// server, and references among them lead to the twins. Ports are not shared: a server that was
/// attached through one is attached to the port's network, unless the port gets a twin, too. Addresses that
/// are written down are not shared either: a twin in the same network is given others.
pub fn duplicate(desk: &Desk<'_>, names: &[String]) -> Option<Proposal> {
    let wanted = twin::with_software(desk, names);
    let first = wanted.first()?;
    let all = wanted.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(desk, all, twin::Keep::No);
    let coming: HashSet<&str> = twins.keys().copied().collect();
    let resources = wanted.iter().map(|resource| {
        let detach = |properties: &mut _| {
            twin::detach_ports(desk, resource, &coming, &twins, properties);
            twin::forget_addresses(desk, resource, &coming, properties);
        };
        let name = twins[resource.name.as_str()].clone();
        (name, twin::whole(resource, &twins, detach))
    });
    let label = match names {
        [_] => format!("Duplicate {}", first.name),
        many => format!("Duplicate {} resources", many.len()),
    };
    Some(Proposal {
        label,
        edits: vec![Edit::AddResources {
            resources: resources.collect(),
        }],
        places: places(desk, &twins),
        select: names
            .iter()
            .filter_map(|name| twins.get(name.as_str()).cloned())
            .collect(),
        target: None,
    })
}

/// Where the twins stand.
fn places(desk: &Desk<'_>, twins: &BTreeMap<&str, String>) -> Vec<(String, Place)> {
    let nodes = desk.drawing.nodes().iter();
    let standing: Vec<(&Node, &String)> = nodes
        .filter(|node| node.kind != NodeKind::Chip)
        .filter_map(|node| Some((node, twins.get(node.name.as_str())?)))
        .collect();
    // What does not come along: the frame that the outermost of the twins' originals stands in, if any.
    let stays = |node: &Node| -> Option<String> {
        let mut parent = node.parent.as_deref();
        while let Some(twin) = parent.filter(|parent| twins.contains_key(parent)) {
            parent = desk.drawing.node(twin)?.parent.as_deref();
        }
        parent.map(str::to_owned)
    };
    let mut groups: HashMap<Option<String>, Rect> = HashMap::new();
    for (node, _) in &standing {
        let group = groups.entry(stays(node)).or_insert(node.rect);
        *group = group.union(node.rect);
    }
    let ways: HashMap<Option<String>, CanvasVector> = groups
        .into_iter()
        .map(|(parent, group)| {
            let nodes = desk.drawing.nodes().iter();
            let taken: Vec<Rect> = nodes
                .filter(|other| other.parent == parent)
                .map(|other| other.rect)
                .collect();
            let spot = layout::free_spot(group.moved(BESIDE), &taken, 16.0);
            (parent, spot.since(group.corner()))
        })
        .collect();
    let place = |(node, twin): &(&Node, &String)| {
        let way = ways.get(&stays(node)).copied().unwrap_or(BESIDE);
        ((*twin).clone(), Place::at(node.rect.moved(way).corner()))
    };
    standing.iter().map(place).collect()
}
