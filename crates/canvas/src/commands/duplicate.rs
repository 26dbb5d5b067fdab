//! Duplicates resources.
//!
//! Resources that are duplicated together keep their arrangement: all are moved by the same offset to free space. Nodes
//! inside a duplicated node are placed inside its twin.

use std::collections::{BTreeMap, HashMap, HashSet};

use hot::{document::Edit, expr::Expr};

use super::{CommandInput, Proposal, get_resource, property_path, twin};
use crate::{
    drawing::{Node, NodeKind, plain_reference},
    geometry::{CanvasVector, Rect},
    layout::{self, Place},
};

/// Preferred offset of a twin from its original.
const BESIDE: CanvasVector = CanvasVector { dx: 24.0, dy: 24.0 };

/// The proposal for duplicating these resources.
///
/// Each resource gets a twin beside it. The software of a server is duplicated with it, and references between
/// duplicated resources refer to the twins. Ports are not shared: a server attached through a port is attached to the
/// port's network, unless the port is duplicated too. Fixed addresses are not shared either: a twin in the same network
/// gets new ones.
pub fn duplicate(input: &CommandInput<'_>, names: &[String]) -> Option<Proposal> {
    let wanted = twin::with_software(input, names);
    let first = wanted.first()?;
    let all = wanted.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(input, all, twin::Keep::No);
    let copied_names: HashSet<&str> = twins.keys().copied().collect();
    let resources = wanted.iter().map(|resource| {
        let detach = |properties: &mut _| {
            twin::detach_ports(input, resource, &copied_names, &twins, properties);
            twin::remove_addresses(input, resource, &copied_names, properties);
        };
        let name = twins[resource.name.as_str()].clone();
        (name, twin::copy_of(resource, &twins, detach))
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
        places: places(input, &twins),
        select: names
            .iter()
            .filter_map(|name| twins.get(name.as_str()).cloned())
            .collect(),
        target: None,
    })
}

/// The proposal that gives the twins of components to the components that use the originals, to be applied after
/// [`duplicate`]. `None` if no other component uses an original.
pub fn connect_twins(input: &CommandInput<'_>, names: &[String]) -> Option<Proposal> {
    let wanted = twin::with_software(input, names);
    let all = wanted.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(input, all, twin::Keep::No);
    let mut edits = Vec::new();
    let mut pairs = Vec::new();
    let others = input.template.resources.iter();
    for user in others.filter(|user| !twins.contains_key(user.name.as_str())) {
        let described = input.types.get(&user.resource_type);
        let requires =
            described.and_then(|described| Some(&described.component.as_ref()?.requires));
        for requirement in requires.into_iter().flatten() {
            let Some(Expr::List(items)) = user.property(&requirement.name) else {
                continue;
            };
            let used = items.iter().filter_map(plain_reference);
            let room = requirement.max.map_or(usize::MAX, |max| max as usize);
            let new = used.filter_map(|name| twins.get(name));
            for (index, twin) in (items.len()..room).zip(new) {
                edits.push(Edit::Set {
                    path: property_path(&user.name, &[&requirement.name, &index.to_string()]),
                    value: get_resource(twin),
                });
                pairs.push(format!("{twin} to {}", user.name));
            }
        }
    }
    (!edits.is_empty()).then(|| Proposal {
        label: format!("Connect {}", pairs.join(", ")),
        edits,
        ..Proposal::default()
    })
}

/// Positions of the twins.
fn places(input: &CommandInput<'_>, twins: &BTreeMap<&str, String>) -> Vec<(String, Place)> {
    let nodes = input.drawing.nodes().iter();
    let standing: Vec<(&Node, &String)> = nodes
        .filter(|node| node.kind != NodeKind::Chip)
        .filter_map(|node| Some((node, twins.get(node.name.as_str())?)))
        .collect();
    // The frame around the outermost originals, which is not duplicated, if there is one.
    let stays = |node: &Node| -> Option<String> {
        let mut parent = node.parent.as_deref();
        while let Some(twin) = parent.filter(|parent| twins.contains_key(parent)) {
            parent = input.drawing.node(twin)?.parent.as_deref();
        }
        parent.map(str::to_owned)
    };
    let mut groups: HashMap<Option<String>, Rect> = HashMap::new();
    for (node, _) in &standing {
        let group = groups.entry(stays(node)).or_insert(node.rect);
        *group = group.union(node.rect);
    }
    let offsets: HashMap<Option<String>, CanvasVector> = groups
        .into_iter()
        .map(|(parent, group)| {
            let nodes = input.drawing.nodes().iter();
            let taken: Vec<Rect> = nodes
                .filter(|other| other.parent == parent)
                .map(|other| other.rect)
                .collect();
            let spot = layout::free_spot(group.moved(BESIDE), &taken, 16.0);
            (parent, spot.since(group.corner()))
        })
        .collect();
    let place = |(node, twin): &(&Node, &String)| {
        let offset = offsets.get(&stays(node)).copied().unwrap_or(BESIDE);
        ((*twin).clone(), Place::at(node.rect.moved(offset).corner()))
    };
    standing.iter().map(place).collect()
}
