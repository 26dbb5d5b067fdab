//! Folded frames: a network as one card with the number of its servers.
//!
//! Contents of a folded frame have no nodes. Lines to them end at the card, and parallel ones are drawn once. The
//! template does not change: a frame is folded by its [place](crate::layout::Place).

use std::collections::{HashMap, HashSet};

use super::{Edge, Node, NodeKind};
use crate::layout::Places;

/// Contents of the folded frames, which have no nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Folding {
    /// The nodes, parents first.
    pub(super) nodes: Vec<Node>,
    /// The folded frame of each of these nodes.
    pub(super) frames: HashMap<String, String>,
    /// Lines of these nodes by id, with their ends in the template.
    pub(super) lines: HashMap<String, Edge>,
}

/// Turns folded frames into cards, and takes their contents out of the drawing. Parents come before their children.
pub(super) fn fold(nodes: &mut Vec<Node>, edges: &mut Vec<Edge>, places: &Places) -> Folding {
    let mut folding = Folding::default();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for node in nodes.iter_mut() {
        let place = places.get(&node.name);
        let parent = node.parent.as_deref();
        let frame = parent.and_then(|parent| {
            let around = folding.frames.get(parent).map(String::as_str);
            around.or_else(|| counts.contains_key(parent).then_some(parent))
        });
        if let Some(frame) = frame.map(str::to_owned) {
            if parent == Some(frame.as_str())
                && node.ghost.is_none()
                && let Some(count) = counts.get_mut(&frame)
            {
                *count += 1;
            }
            folding.frames.insert(node.name.clone(), frame);
        } else if node.kind == NodeKind::Frame && place.is_some_and(|place| place.folded.is_some())
        {
            node.kind = NodeKind::Card;
            node.is_folded = true;
            counts.insert(node.name.clone(), 0);
        }
    }
    if counts.is_empty() {
        return folding;
    }
    let is_hidden = |node: &Node| folding.frames.contains_key(&node.name);
    (folding.nodes, *nodes) = std::mem::take(nodes).into_iter().partition(is_hidden);
    for node in nodes.iter_mut().filter(|node| node.is_folded) {
        node.members = counts.get(&node.name).copied();
    }
    let mut seen = HashSet::new();
    edges.retain_mut(|edge| {
        let [from, to] = [&edge.from, &edge.to].map(|end| folding.frames.get(end).cloned());
        if from.is_none() && to.is_none() {
            return true;
        }
        folding.lines.insert(edge.id.clone(), edge.clone());
        if let Some(frame) = from {
            edge.from = frame;
        }
        if let Some(frame) = to {
            edge.to = frame;
        }
        edge.from != edge.to && seen.insert((edge.from.clone(), edge.to.clone(), edge.kind))
    });
    folding
}
