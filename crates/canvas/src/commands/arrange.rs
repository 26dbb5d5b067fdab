//! Arranges nodes: tidy up, align, distribute. Only positions change, and each is one change.

use super::{CommandInput, Proposal};
use crate::{
    arrangement::Arrangement,
    drawing::{Drawing, Node, NodeKind},
    geometry::{CanvasVector, Rect},
    layout::{Place, Places},
};

/// The line on which nodes are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Left edges.
    Left,
    /// Vertical middles.
    Centre,
    /// Right edges.
    Right,
    /// Top edges.
    Top,
    /// Horizontal middles.
    Middle,
    /// Bottom edges.
    Bottom,
}

/// The direction in which nodes are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From left to right.
    Across,
    /// From top to bottom.
    Down,
}

/// Nodes to tidy up. The arrangement can be computed elsewhere.
#[derive(Clone, Debug)]
pub struct Tidying {
    arrangement: Arrangement,
    nodes: Vec<Tidied>,
    label: String,
}

/// A node of the arrangement, as it is before.
#[derive(Clone, Debug)]
struct Tidied {
    name: String,
    kind: NodeKind,
    rect: Rect,
    /// False for a node that stays, or whose position follows from another one.
    moves: bool,
}

impl Tidying {
    /// The named nodes, or all of them without names. They get positions as in a new drawing. The other nodes stay, and
    /// every node stays in its network.
    pub fn of(drawing: &Drawing, names: &[String]) -> Self {
        let nodes = drawing.nodes().iter().filter(|node| !node.is_removed());
        let nodes: Vec<Node> = nodes.cloned().collect();
        let moves = |node: &Node| {
            names.is_empty()
                || std::iter::successors(Some(node), |node| drawing.node(node.parent.as_deref()?))
                    .any(|node| names.contains(&node.name))
        };
        let fixed: Places = nodes
            .iter()
            .filter(|node| !moves(node))
            .map(|node| (node.name.clone(), Place::at(node.rect.corner())))
            .collect();
        Self {
            arrangement: Arrangement::of(&nodes, drawing.edges(), &fixed),
            nodes: nodes
                .iter()
                .map(|node| Tidied {
                    name: node.name.clone(),
                    kind: node.kind,
                    rect: node.rect,
                    moves: node.kind != NodeKind::Chip && node.ghost.is_none() && moves(node),
                })
                .collect(),
            label: match names {
                [] => "Tidy up".to_owned(),
                [one] => format!("Tidy up {one}"),
                many => format!("Tidy up {} resources", many.len()),
            },
        }
    }

    /// The arrangement of the nodes.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// The change to these rectangles of the arrangement. `None` if nothing moves.
    pub fn proposal(self, rects: &[Rect]) -> Option<Proposal> {
        let nodes = self.nodes.into_iter().zip(rects);
        let places: Vec<(String, Place)> = nodes
            .filter(|(node, rect)| node.moves && node.rect != **rect)
            .map(|(node, rect)| {
                let size = rect.size();
                // A frame loses a size that the user chose, and fits its contents again.
                let place = Place {
                    width: (node.kind == NodeKind::Frame).then_some(size.width),
                    height: (node.kind == NodeKind::Frame).then_some(size.height),
                    ..Place::at(rect.corner())
                };
                (node.name, place)
            })
            .collect();
        (!places.is_empty()).then(|| Proposal {
            label: self.label,
            places,
            ..Proposal::default()
        })
    }
}

/// Tidies up the named nodes, or all of them without names. See [`Tidying`]. `None` if nothing moves.
pub fn tidy(input: &CommandInput<'_>, names: &[String]) -> Option<Proposal> {
    let tidying = Tidying::of(input.drawing, names);
    let rects = tidying.arrangement().rects();
    tidying.proposal(&rects)
}

/// Aligns the named nodes with the outermost of them. `None` for fewer than two.
pub fn align(input: &CommandInput<'_>, names: &[String], to: Alignment) -> Option<Proposal> {
    let nodes = outer_nodes(input, names);
    if nodes.len() < 2 {
        return None;
    }
    let around = Rect::around(nodes.iter().map(|node| node.rect))?;
    let offset = |node: &Node| {
        let rect = node.rect;
        let (dx, dy) = match to {
            Alignment::Left => (around.x - rect.x, 0.0),
            Alignment::Centre => (around.centre().x - rect.centre().x, 0.0),
            Alignment::Right => (around.right() - rect.right(), 0.0),
            Alignment::Top => (0.0, around.y - rect.y),
            Alignment::Middle => (0.0, around.centre().y - rect.centre().y),
            Alignment::Bottom => (0.0, around.bottom() - rect.bottom()),
        };
        CanvasVector { dx, dy }
    };
    let word = match to {
        Alignment::Left => "left",
        Alignment::Centre => "centre",
        Alignment::Right => "right",
        Alignment::Top => "top",
        Alignment::Middle => "middle",
        Alignment::Bottom => "bottom",
    };
    Some(moved(
        input,
        format!("Align {} resources, {word}", nodes.len()),
        nodes.iter().map(|node| (*node, offset(node))),
    ))
}

/// Distributes the named nodes with equal gaps between the outermost two, which stay. `None` for fewer than three.
pub fn distribute(input: &CommandInput<'_>, names: &[String], axis: Axis) -> Option<Proposal> {
    let mut nodes = outer_nodes(input, names);
    if nodes.len() < 3 {
        return None;
    }
    let start = |node: &Node| match axis {
        Axis::Across => node.rect.x,
        Axis::Down => node.rect.y,
    };
    let length = |node: &Node| match axis {
        Axis::Across => node.rect.width,
        Axis::Down => node.rect.height,
    };
    nodes.sort_by(|a, b| start(a).total_cmp(&start(b)));
    let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
    let inner: f64 = nodes[1..nodes.len() - 1]
        .iter()
        .map(|node| length(node))
        .sum();
    let room = start(last) - (start(first) + length(first)) - inner;
    let gap = room / (nodes.len() - 1) as f64;
    let mut at = start(first);
    let offsets: Vec<(&Node, CanvasVector)> = nodes
        .iter()
        .map(|node| {
            let by = at - start(node);
            at += length(node) + gap;
            let way = match axis {
                Axis::Across => CanvasVector { dx: by, dy: 0.0 },
                Axis::Down => CanvasVector { dx: 0.0, dy: by },
            };
            (*node, way)
        })
        .collect();
    Some(moved(
        input,
        format!("Distribute {} resources", nodes.len()),
        offsets.into_iter(),
    ))
}

/// The named nodes that have their own position, without those inside another one.
fn outer_nodes<'a>(input: &CommandInput<'a>, names: &[String]) -> Vec<&'a Node> {
    let nodes = super::shift::moved_nodes(input, names).into_iter();
    nodes
        .filter(|node| node.kind != NodeKind::Chip && node.ghost.is_none())
        .collect()
}

fn moved<'a>(
    input: &CommandInput<'a>,
    label: String,
    offsets: impl Iterator<Item = (&'a Node, CanvasVector)>,
) -> Proposal {
    let places = offsets.flat_map(|(node, way)| {
        let all = input.drawing.subtree(&node.name).into_iter();
        all.filter(|node| node.kind != NodeKind::Chip)
            .map(move |node| (node.name.clone(), Place::at(node.rect.moved(way).corner())))
    });
    Proposal {
        label,
        places: places.collect(),
        ..Proposal::default()
    }
}
