//! The lines of a drawing: its nodes and edges, handed to the router.

use std::collections::HashMap;

pub use crate::routing::Line;
use crate::{
    drawing::{Edge, EdgeKind, Node, NodeKind},
    geometry::{CanvasPoint, Rect},
    routing::{self, Link, Router, Shape},
};

/// Width of a label's letter, and of the space around a label, in canvas pixels.
const LETTER: f64 = 6.2;
const LABEL_PADDING: f64 = 12.0;

/// Router for the nodes of a drawing, by name.
#[derive(Clone, Debug)]
pub struct Routes {
    router: Router,
    index: HashMap<String, usize>,
}

impl Routes {
    /// A router around these nodes.
    pub fn around(nodes: &[Node]) -> Self {
        let index: HashMap<String, usize> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.name.clone(), at))
            .collect();
        let shapes = nodes.iter().map(|node| Shape {
            parent: node
                .parent
                .as_ref()
                .and_then(|parent| index.get(parent).copied()),
            ..shape(node.kind, node.rect)
        });
        Self {
            router: Router::new(shapes.collect()),
            index,
        }
    }

    /// The line of each edge, in their order. An edge with an unknown end has an empty line.
    pub fn lines(&self, edges: &[Edge]) -> Vec<Line> {
        let links: Vec<Link> = edges
            .iter()
            .map(|edge| {
                let end = |name: &str| self.index.get(name).copied().unwrap_or(usize::MAX);
                Link {
                    from: end(&edge.from),
                    to: end(&edge.to),
                    is_cable: is_cable(edge.kind),
                    label_width: if has_label(edge) {
                        edge.label.chars().count() as f64 * LETTER + LABEL_PADDING
                    } else {
                        0.0
                    },
                }
            })
            .collect();
        self.router.lines(&links)
    }

    /// The line that follows the pointer while a connection is drawn.
    pub fn loose(&self, from: &str, to: CanvasPoint) -> Line {
        let from = self.index.get(from).copied().unwrap_or(usize::MAX);
        self.router.loose(from, to)
    }
}

/// A line without regard to other nodes, during a drag of one of its ends.
pub fn quick(kind: EdgeKind, from: (NodeKind, Rect), to: (NodeKind, Rect)) -> Line {
    routing::quick(shape(from.0, from.1), shape(to.0, to.1), is_cable(kind))
}

/// Whether an edge has a label on the canvas. The labels of other edges are in their tooltips.
pub fn has_label(edge: &Edge) -> bool {
    matches!(edge.kind, EdgeKind::Relation | EdgeKind::Interface) && !edge.label.is_empty()
}

fn shape(kind: NodeKind, rect: Rect) -> Shape {
    Shape {
        rect,
        parent: None,
        is_row: kind == NodeKind::Chip,
    }
}

fn is_cable(kind: EdgeKind) -> bool {
    matches!(
        kind,
        EdgeKind::Interface | EdgeKind::RouterInterface | EdgeKind::Gateway
    )
}
