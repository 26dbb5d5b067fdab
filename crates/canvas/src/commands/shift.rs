//! Moving nodes, and what a move means: a server carried into another network joins it, one carried
//! far out of its network leaves it, software carried to another server is installed there.

use hot::document::Edit;
use serde_json::json;

use super::{Desk, Proposal, Refusal, append, connect, get_resource, property_path};
use crate::{
    drawing::{Node, NodeKind, interfaces},
    geometry::{CanvasPoint, CanvasVector},
    layout::Place,
};

/// A server leaves its frame only when it is carried this far out of it, in canvas pixels; less far
/// makes the frame grow.
const LEAVES_AT: f64 = 72.0;

/// What letting go of these nodes would do, after they were carried by `way` with the pointer at `at`.
///
/// # Errors
/// A reason, where they cannot stay there; they then go back.
pub fn shift(
    desk: &Desk<'_>,
    names: &[String],
    way: CanvasVector,
    at: CanvasPoint,
) -> Result<Proposal, Refusal> {
    let nodes = carried(desk, names);
    if let [chip] = nodes[..]
        && chip.kind == NodeKind::Chip
    {
        return rehost(desk, chip, at);
    }
    let mut proposal = Proposal {
        label: match &nodes[..] {
            [one] => format!("Move {}", one.name),
            many => format!("Move {} resources", many.len()),
        },
        places: places(desk, &nodes, way),
        ..Proposal::default()
    };
    if let [server] = nodes[..]
        && server.kind == NodeKind::Server
    {
        join_or_leave(desk, server, way, at, &mut proposal)?;
    }
    Ok(proposal)
}

/// Moves by the keyboard: places only.
pub fn nudge(desk: &Desk<'_>, names: &[String], way: CanvasVector) -> Proposal {
    let nodes = carried(desk, names);
    Proposal {
        label: "Move".to_owned(),
        places: places(desk, &nodes, way),
        ..Proposal::default()
    }
}

/// The nodes themselves, without those that an other one carries with it.
fn carried<'a>(desk: &Desk<'a>, names: &[String]) -> Vec<&'a Node> {
    let nodes: Vec<&Node> = names
        .iter()
        .filter_map(|name| desk.drawing.node(name))
        .collect();
    let inside = |node: &Node| {
        let mut parent = node.parent.as_deref();
        while let Some(name) = parent {
            if names.iter().any(|other| other == name) {
                return true;
            }
            parent = desk
                .drawing
                .node(name)
                .and_then(|node| node.parent.as_deref());
        }
        false
    };
    nodes.into_iter().filter(|node| !inside(node)).collect()
}

fn places(desk: &Desk<'_>, nodes: &[&Node], way: CanvasVector) -> Vec<(String, Place)> {
    let all = nodes
        .iter()
        .flat_map(|node| desk.drawing.subtree(&node.name));
    all.filter(|node| node.kind != NodeKind::Chip)
        .map(|node| (node.name.clone(), Place::at(node.rect.moved(way).corner())))
        .collect()
}

fn join_or_leave(
    desk: &Desk<'_>,
    server: &Node,
    way: CanvasVector,
    at: CanvasPoint,
    proposal: &mut Proposal,
) -> Result<(), Refusal> {
    let over = desk
        .drawing
        .nodes()
        .iter()
        .rev()
        .find(|node| node.kind == NodeKind::Frame && node.rect.contains(at));
    let Some(resource) = desk.resource(&server.name) else {
        return Ok(());
    };
    let mine = interfaces(desk.template, resource);
    match (server.parent.as_deref(), over) {
        (Some(parent), Some(frame)) if parent != frame.name => {
            let further = mine
                .iter()
                .skip(1)
                .find(|one| one.network.as_deref() == Some(&frame.name));
            let set = |index: usize, network: &str| Edit::Set {
                path: property_path(&server.name, &["networks", &index.to_string()]),
                value: json!({ "network": get_resource(network) }),
            };
            if let Some(further) = further {
                // It is on both: they change places, and the other network becomes the further one.
                let plain = further.port.is_none()
                    && mine.first().is_some_and(|first| first.port.is_none());
                if !plain {
                    return Err(Refusal::because(format!(
                        "{} is on {} already, by a port",
                        server.name, frame.name
                    )));
                }
                proposal
                    .edits
                    .extend([set(0, &frame.name), set(further.index, parent)]);
                proposal.label = format!("Move {} to {}", server.name, frame.name);
                proposal.target = Some(frame.name.clone());
                return Ok(());
            }
            let edit = match mine.first().and_then(|first| first.port.clone()) {
                Some(port) => Edit::Set {
                    path: property_path(&port, &["network"]),
                    value: get_resource(&frame.name),
                },
                None => set(0, &frame.name),
            };
            proposal.edits.push(edit);
            proposal.label = format!("Move {} to {}", server.name, frame.name);
            proposal.target = Some(frame.name.clone());
        }
        (None, Some(frame)) if mine.is_empty() => {
            proposal.edits.push(append(
                resource,
                "networks",
                json!({ "network": get_resource(&frame.name) }),
            ));
            proposal.label = format!("Connect {} to {}", server.name, frame.name);
            proposal.target = Some(frame.name.clone());
        }
        (Some(parent), None) => {
            let left = desk.drawing.node(parent).is_some_and(|frame| {
                let reach = frame.rect.grown(LEAVES_AT);
                !reach.contains(at) && !reach.overlaps(server.rect.moved(way))
            });
            let plain = mine.first().is_some_and(|first| first.port.is_none());
            if left && plain {
                proposal.edits.push(Edit::Remove {
                    path: property_path(&server.name, &["networks", "0"]),
                });
                proposal.label = format!("Take {} off {parent}", server.name);
            }
        }
        _ => {}
    }
    Ok(())
}

fn rehost(desk: &Desk<'_>, chip: &Node, at: CanvasPoint) -> Result<Proposal, Refusal> {
    let over = desk
        .drawing
        .hit_where(at, |node| matches!(node.kind, NodeKind::Server));
    match over {
        Some(server) if chip.parent.as_deref() == Some(&server.name) => Ok(Proposal::default()),
        Some(server) => Ok(Proposal {
            label: format!("Move {} to {}", chip.name, server.name),
            edits: vec![Edit::Set {
                path: property_path(&chip.name, &["host"]),
                value: get_resource(&server.name),
            }],
            target: Some(server.name.clone()),
            ..Proposal::default()
        }),
        None => match desk.drawing.hit_where(at, |node| {
            node.name != chip.name && node.kind == NodeKind::Chip
        }) {
            Some(other) => connect(desk, &chip.name, &other.name),
            None => Err(Refusal::because(format!(
                "{} needs a server to run on: drop it on a server",
                chip.title
            ))),
        },
    }
}
