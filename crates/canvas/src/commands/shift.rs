//! Moves nodes. A server moved into another network joins it, a server moved far out of its network leaves it, and
//! software moved to another server is installed there. A node dropped on one that it can be connected with is
//! connected.

use hot::document::Edit;
use serde_json::json;

use super::{
    CommandInput, Proposal, Refusal, append, connect, get_resource,
    join::{self, End},
    onto::connect_below,
    places, property_path,
};
use crate::{
    drawing::{Node, NodeKind, interfaces},
    geometry::{CanvasPoint, CanvasVector},
    layout::{CARD_HEIGHT, CARD_WIDTH, Place},
    snap,
};

/// Distance outside its frame at which a server leaves the network, in canvas pixels. At smaller distances the frame
/// grows.
const LEAVES_AT: f64 = 72.0;

/// The proposal for dropping these nodes after a move by `offset`, with the pointer at `at`.
///
/// # Errors
/// The reason why they cannot stay there. They return to their old positions.
pub fn shift(
    input: &CommandInput<'_>,
    names: &[String],
    offset: CanvasVector,
    at: CanvasPoint,
) -> Result<Proposal, Refusal> {
    let nodes = moved_nodes(input, names);
    if let [chip] = nodes[..]
        && chip.kind == NodeKind::Chip
    {
        let described = input.types.get(&chip.resource_type);
        return if described.is_some_and(types::ResourceType::is_component) {
            rehost(input, chip, at)
        } else {
            reattach(input, chip, at)
        };
    }
    if let [node] = nodes[..] {
        let connected = match server_below(input, node, at) {
            Some(server) => Some(hosted(node, server)),
            None => connect_below(input, node, offset, at),
        };
        if let Some(connected) = connected {
            return Ok(connected);
        }
    }
    let mut proposal = Proposal {
        label: match &nodes[..] {
            [one] => format!("Move {}", one.name),
            many => format!("Move {} resources", many.len()),
        },
        places: places(input, &nodes, offset),
        ..Proposal::default()
    };
    if let [server] = nodes[..]
        && server.kind == NodeKind::Server
    {
        join_or_leave(input, server, offset, at, &mut proposal)?;
    }
    Ok(proposal)
}

/// A move by the keyboard, which changes positions only.
pub fn nudge(input: &CommandInput<'_>, names: &[String], offset: CanvasVector) -> Proposal {
    let nodes = moved_nodes(input, names);
    Proposal {
        label: "Move".to_owned(),
        places: places(input, &nodes, offset),
        ..Proposal::default()
    }
}

/// The moved nodes, without those that are inside another moved node.
pub(super) fn moved_nodes<'a>(input: &CommandInput<'a>, names: &[String]) -> Vec<&'a Node> {
    input.drawing.outermost(names)
}

fn join_or_leave(
    input: &CommandInput<'_>,
    server: &Node,
    offset: CanvasVector,
    at: CanvasPoint,
    proposal: &mut Proposal,
) -> Result<(), Refusal> {
    let over = input.drawing.hit_where(at, Node::is_network);
    let Some(resource) = input.resource(&server.name) else {
        return Ok(());
    };
    let mine = interfaces(input.template, resource);
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
                // The server is on both networks: they are exchanged, and the old first network becomes an additional
                // one.
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
            let left = input.drawing.node(parent).is_some_and(|frame| {
                let reach = frame.rect.grown(LEAVES_AT);
                !reach.contains(at) && !reach.overlaps(server.rect.moved(offset))
            });
            let plain = mine.first().is_some_and(|first| first.port.is_none());
            if left && plain {
                proposal.edits.push(Edit::Remove {
                    path: property_path(&server.name, &["networks", "0"]),
                });
                proposal.label = format!("Remove {} from {parent}", server.name);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Moves a volume to another server, or detaches it on an empty place.
fn reattach(input: &CommandInput<'_>, volume: &Node, at: CanvasPoint) -> Result<Proposal, Refusal> {
    let attachment = volume.parent.as_deref().and_then(|server| {
        let (owner, other) = (End::of(input, server)?, End::of(input, &volume.name)?);
        join::attached(input, owner, other)
    });
    let Some(attachment) = attachment else {
        return Ok(Proposal::default());
    };
    let over = input
        .drawing
        .hit_where(at, |node| matches!(node.kind, NodeKind::Server));
    match over {
        Some(server) if volume.parent.as_deref() == Some(&server.name) => Ok(Proposal::default()),
        Some(server) => Ok(Proposal {
            label: format!("Attach {} to {}", volume.name, server.name),
            edits: vec![Edit::Set {
                path: property_path(&attachment.resource.name, &[attachment.owner_property]),
                value: get_resource(&server.name),
            }],
            target: Some(server.name.clone()),
            ..Proposal::default()
        }),
        None => {
            let corner = CanvasPoint::new(at.x - CARD_WIDTH / 2.0, at.y - CARD_HEIGHT / 2.0);
            Ok(Proposal {
                label: format!("Detach {}", volume.name),
                edits: vec![Edit::RemoveResource {
                    name: attachment.resource.name.clone(),
                    keep: Vec::new(),
                }],
                places: vec![(volume.name.clone(), Place::at(snap::to_grid(corner)))],
                ..Proposal::default()
            })
        }
    }
}

/// The server below the pointer, for software without one.
fn server_below<'a>(input: &CommandInput<'a>, node: &Node, at: CanvasPoint) -> Option<&'a Node> {
    let described = input.types.get(&node.resource_type)?;
    let server = || {
        let is_server = |one: &Node| one.kind == NodeKind::Server && one.ghost.is_none();
        input.drawing.hit_where(at, is_server)
    };
    described.is_component().then(server)?
}

/// Installs software on a server.
fn hosted(software: &Node, server: &Node) -> Proposal {
    Proposal {
        label: format!("Move {} to {}", software.name, server.name),
        edits: vec![Edit::Set {
            path: property_path(&software.name, &["host"]),
            value: get_resource(&server.name),
        }],
        target: Some(server.name.clone()),
        ..Proposal::default()
    }
}

fn rehost(input: &CommandInput<'_>, chip: &Node, at: CanvasPoint) -> Result<Proposal, Refusal> {
    let over = input
        .drawing
        .hit_where(at, |node| matches!(node.kind, NodeKind::Server));
    match over {
        Some(server) if chip.parent.as_deref() == Some(&server.name) => Ok(Proposal::default()),
        Some(server) => Ok(hosted(chip, server)),
        None => match input.drawing.hit_where(at, |node| {
            node.name != chip.name && node.kind == NodeKind::Chip
        }) {
            Some(other) => connect(input, &chip.name, &other.name),
            None => Err(Refusal::because(format!(
                "{} needs a server. Drop it on one",
                chip.title
            ))),
        },
    }
}
