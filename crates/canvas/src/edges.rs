//! The lines of a drawing: its nodes and edges, handed to the router.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use crate::routing::Line;
use crate::{
    drawing::{Drawing, Edge, EdgeKind, Node, NodeKind},
    geometry::{CanvasPoint, Rect},
    routing::{self, Link, Router, Shape},
};

/// Width of a label's letter, and of the space around a label, in canvas pixels.
const LETTER: f64 = 6.2;
const LABEL_PADDING: f64 = 12.0;

/// Nodes and lines to route, by index and without names, so that they can be sent to a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    shapes: Vec<Shape>,
    links: Vec<Link>,
}

impl Routing {
    /// The nodes and lines of a drawing.
    pub fn of(drawing: &Drawing) -> Self {
        let nodes = drawing.nodes();
        let index = index(nodes);
        let links = drawing.edges().iter().map(|edge| {
            let end = |name: &str| index.get(name).copied().unwrap_or(usize::MAX);
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
        });
        Self {
            links: links.collect(),
            shapes: shapes(nodes, &index),
        }
    }

    /// The line of each edge, in the order of the drawing. An edge with an unknown end has an empty line.
    pub fn lines(&self) -> Vec<Line> {
        Router::new(self.shapes.clone()).lines(&self.links)
    }
}

/// Routes around the nodes of a drawing, for a line with a loose end.
#[derive(Clone, Debug)]
pub struct Routes {
    router: Router,
    index: HashMap<String, usize>,
}

impl Routes {
    /// Routes around these nodes.
    pub fn around(nodes: &[Node]) -> Self {
        let index = index(nodes);
        Self {
            router: Router::new(shapes(nodes, &index)),
            index: index
                .into_iter()
                .map(|(name, at)| (name.to_owned(), at))
                .collect(),
        }
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

/// The nodes as the router sees them.
fn shapes(nodes: &[Node], index: &HashMap<&str, usize>) -> Vec<Shape> {
    let shapes = nodes.iter().map(|node| Shape {
        parent: node
            .parent
            .as_deref()
            .and_then(|parent| index.get(parent).copied()),
        ..shape(node.kind, node.rect)
    });
    shapes.collect()
}

fn index(nodes: &[Node]) -> HashMap<&str, usize> {
    let nodes = nodes.iter().enumerate();
    nodes.map(|(at, node)| (node.name.as_str(), at)).collect()
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

#[cfg(test)]
mod tests {
    use hot::document::Document;

    use super::*;
    use crate::{
        drawing::{
            draw,
            tests::{TWO_TIER, registry},
        },
        layout::Places,
    };

    #[test]
    fn lines_are_the_same_in_a_worker() {
        let document = Document::parse(TWO_TIER);
        let drawing = draw(document.template(), None, &registry(), &Places::new());
        let routing = Routing::of(&drawing);
        let lines = routing.lines();
        assert_eq!(lines.len(), drawing.edges().len());
        let sent = serde_json::to_string(&routing).unwrap();
        let received: Routing = serde_json::from_str(&sent).unwrap();
        let answer = serde_json::to_string(&received.lines()).unwrap();
        let shown: Vec<Line> = serde_json::from_str(&answer).unwrap();
        let paths = |lines: &[Line]| -> Vec<String> {
            lines.iter().map(|line| line.path.clone()).collect()
        };
        assert_eq!(paths(&shown), paths(&lines));
        assert!(lines.iter().all(|line| !line.path.is_empty()));
    }
}
