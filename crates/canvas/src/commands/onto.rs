//! Drops on nodes: of an item from the palette, and of a moved node.
//!
//! A moved node is connected with the node below it as by a line between them, and goes to a free place beside.

use std::collections::HashSet;

use super::{CommandInput, Item, Proposal, Refusal, add_to, connect, drop::add_at, places};
use crate::{
    drawing::{INTERNET, Node, NodeKind},
    geometry::{CanvasPoint, CanvasVector, Rect},
    layout,
};

/// Gap between the node and the others at its new place, in canvas pixels.
const GAP: f64 = 16.0;

/// A router dropped within this distance of a frame joins the network. In canvas pixels.
const NEAR_A_FRAME: f64 = 64.0;

/// The proposal for dropping an item at a point.
///
/// # Errors
/// The reason why the item cannot be dropped there.
pub fn drop_item(
    input: &CommandInput<'_>,
    item: &Item,
    at: CanvasPoint,
) -> Result<Proposal, Refusal> {
    let hit = input.drawing.hit(at);
    match (item, hit) {
        (Item::Network, Some(node)) => network_for(input, node, at),
        (Item::Router, _) => {
            let near = || {
                input.drawing.nodes().iter().find(|node| {
                    node.is_network()
                        && !node.is_removed()
                        && node.rect.grown(NEAR_A_FRAME).contains(at)
                })
            };
            add_at(input, item, hit.or_else(near), Some(at))
        }
        _ => add_at(input, item, hit, Some(at)),
    }
}

/// A new network for a node, or for the server of software.
fn network_for(
    input: &CommandInput<'_>,
    node: &Node,
    at: CanvasPoint,
) -> Result<Proposal, Refusal> {
    let around = |one: &&Node| input.drawing.node(one.parent.as_deref()?);
    let end = std::iter::successors(Some(node), around).find(|one| one.kind != NodeKind::Chip);
    let end = end.filter(|one| !one.is_network() && one.kind != NodeKind::Internet);
    let Some(end) = end else {
        return Err(Refusal::because(
            "Networks cannot be nested. Drop it on an empty place",
        ));
    };
    let mut proposal = add_to(input, &Item::Network, &end.name, at)?;
    proposal.target = Some(end.name.clone());
    Ok(proposal)
}

/// The connection of a moved node with the node at `at`, or with the nearest node around that one that takes it.
/// `None` if nothing there can be connected, so that the node just moves.
///
/// The networks of a server follow from its place, so frames are no targets of a server (see [`super::shift`]). Other
/// servers are none either, which keeps the drag of a server over many others cheap.
pub(super) fn connect_below(
    input: &CommandInput<'_>,
    node: &Node,
    offset: CanvasVector,
    at: CanvasPoint,
) -> Option<Proposal> {
    if node.name == INTERNET {
        return None;
    }
    let moved: HashSet<&str> = input
        .drawing
        .subtree(&node.name)
        .into_iter()
        .map(|one| one.name.as_str())
        .collect();
    let over = input
        .drawing
        .hit_where(at, |one| !moved.contains(one.name.as_str()))?;
    let around = |one: &&Node| input.drawing.node(one.parent.as_deref()?);
    let mut proposal = std::iter::successors(Some(over), around)
        .filter(|one| {
            let is_card = matches!(one.kind, NodeKind::Card | NodeKind::Internet);
            node.kind != NodeKind::Server || (is_card && !one.is_folded)
        })
        .find_map(|one| connect(input, &node.name, &one.name).ok())?;
    // A node in a frame returns to its old place there.
    if node.parent.is_none() {
        let taken: Vec<Rect> = input
            .drawing
            .siblings(node)
            .into_iter()
            .filter(|one| one.name != node.name)
            .map(|one| one.rect)
            .collect();
        let spot = layout::free_spot(node.rect.moved(offset), &taken, GAP);
        proposal.places = places(input, &[node], spot.since(node.rect.corner()));
    }
    proposal.select = vec![node.name.clone()];
    Some(proposal)
}
