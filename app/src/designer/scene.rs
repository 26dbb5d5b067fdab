//! The drawing as signals: for each node one for its position and one for its content, and one for each line.
//!
//! A [`Drawing`] is a value, and rendering all of it on every change would update every element. The scene compares
//! each new drawing with the last one and sets only the signals with a different value. A drag moves one element, and a
//! typed letter changes one text. The signals are reference-counted and not owned by the rows that display them, so
//! they stay valid when a row is removed.
//!
//! Lines are routed when the drawing changes. During a drag only the lines of the moved nodes change, without regard to
//! other nodes.

use std::collections::{HashMap, HashSet};

use canvas::{
    drawing::{Drawing, Edge, Node, NodeKind},
    edges::{self, Line, Routes},
    geometry::Rect,
};
use leptos::prelude::*;

/// One node's signals.
#[derive(Clone)]
pub struct NodeSignals {
    /// Content of the node without its position.
    pub node: ArcRwSignal<Node>,
    /// Position and size.
    pub rect: ArcRwSignal<Rect>,
}

/// Identity of an element. A node with another kind becomes another element.
pub type NodeKey = (String, NodeKind);

/// All nodes and lines on the canvas.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Nodes, in painting order.
    pub keys: RwSignal<Vec<NodeKey>>,
    /// Lines.
    pub edges: RwSignal<Vec<Edge>>,
    nodes: StoredValue<HashMap<String, NodeSignals>>,
    lines: StoredValue<HashMap<String, ArcRwSignal<Line>>>,
    /// Nodes for which the lines are routed. `None` during a drag.
    routed: StoredValue<Option<Vec<(NodeKey, Rect)>>>,
}

impl Scene {
    /// An empty scene.
    pub fn new() -> Self {
        Self {
            keys: RwSignal::default(),
            edges: RwSignal::default(),
            nodes: StoredValue::default(),
            lines: StoredValue::default(),
            routed: StoredValue::default(),
        }
    }

    /// Signals of a node.
    pub fn node(self, name: &str) -> Option<NodeSignals> {
        self.nodes
            .try_with_value(|nodes| nodes.get(name).cloned())
            .flatten()
    }

    /// Signal of a line, by the id of its edge.
    pub fn line(self, edge: &str) -> Option<ArcRwSignal<Line>> {
        self.lines
            .try_with_value(|lines| lines.get(edge).cloned())
            .flatten()
    }

    /// Moves one node on the screen. The document does not change.
    pub fn set_rect(self, name: &str, rect: Rect) {
        if let Some(signals) = self.node(name)
            && signals.rect.get_untracked() != rect
        {
            signals.rect.set(rect);
        }
    }

    /// Draws these lines between nodes that were moved on the screen.
    pub fn follow(self, moved: &[Edge]) {
        self.routed.try_set_value(None);
        let end = |name: &str| {
            self.node(name).map(|signals| {
                let kind = signals.node.with_untracked(|node| node.kind);
                (kind, signals.rect.get_untracked())
            })
        };
        for edge in moved {
            if let (Some(line), Some(from), Some(to)) =
                (self.line(&edge.id), end(&edge.from), end(&edge.to))
            {
                line.set(edges::quick(edge.kind, from, to));
            }
        }
    }

    /// Routes the lines of a drawing, if its nodes or edges differ from the last ones.
    fn route(self, drawing: &Drawing) {
        let nodes: Vec<(NodeKey, Rect)> = drawing
            .nodes()
            .iter()
            .map(|node| ((node.name.clone(), node.kind), node.rect))
            .collect();
        let same_edges = self
            .edges
            .with_untracked(|now| now.as_slice() == drawing.edges());
        let same_nodes = self
            .routed
            .try_with_value(|routed| routed.as_ref() == Some(&nodes));
        if same_edges && same_nodes != Some(false) {
            return;
        }
        let routed = Routes::around(drawing.nodes()).lines(drawing.edges());
        self.lines.try_update_value(|lines| {
            let ids: HashSet<&str> = drawing
                .edges()
                .iter()
                .map(|edge| edge.id.as_str())
                .collect();
            lines.retain(|id, _| ids.contains(id.as_str()));
            for (edge, line) in drawing.edges().iter().zip(routed) {
                match lines.get(&edge.id) {
                    Some(signal) if signal.with_untracked(|now| *now == line) => {}
                    Some(signal) => signal.set(line),
                    None => {
                        lines.insert(edge.id.clone(), ArcRwSignal::new(line));
                    }
                }
            }
        });
        self.routed.try_set_value(Some(nodes));
    }

    /// Sets the signals to a drawing.
    pub fn show(self, drawing: &Drawing) {
        let known = self.nodes.try_update_value(|nodes| {
            nodes.retain(|name, _| drawing.node(name).is_some());
            for node in drawing.nodes() {
                let content = Node {
                    rect: Rect::default(),
                    ..node.clone()
                };
                match nodes.get(&node.name) {
                    Some(signals) => {
                        if signals.rect.get_untracked() != node.rect {
                            signals.rect.set(node.rect);
                        }
                        if signals.node.with_untracked(|now| *now != content) {
                            signals.node.set(content);
                        }
                    }
                    None => {
                        let signals = NodeSignals {
                            node: ArcRwSignal::new(content),
                            rect: ArcRwSignal::new(node.rect),
                        };
                        nodes.insert(node.name.clone(), signals);
                    }
                }
            }
        });
        if known.is_none() {
            return;
        }
        self.route(drawing);
        let keys: Vec<NodeKey> = drawing
            .nodes()
            .iter()
            .map(|node| (node.name.clone(), node.kind))
            .collect();
        if self.keys.with_untracked(|now| *now != keys) {
            self.keys.set(keys);
        }
        if self
            .edges
            .with_untracked(|now| now.as_slice() != drawing.edges())
        {
            self.edges.set(drawing.edges().to_vec());
        }
    }
}
