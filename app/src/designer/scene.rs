//! The drawing as signals: for each node one for its position and one for its content.
//!
//! A [`Drawing`] is a value, and rendering all of it on every change would update every element. The scene compares
//! each new drawing with the last one and sets only the signals with a different value. A drag moves one element, and a
//! typed letter changes one text. The signals are reference-counted and not owned by the rows that display them, so
//! they stay valid when a row is removed.

use std::collections::HashMap;

use canvas::{
    drawing::{Drawing, Edge, Node, NodeKind},
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
}

impl Scene {
    /// An empty scene.
    pub fn new() -> Self {
        Self {
            keys: RwSignal::default(),
            edges: RwSignal::default(),
            nodes: StoredValue::default(),
        }
    }

    /// Signals of a node.
    pub fn node(self, name: &str) -> Option<NodeSignals> {
        self.nodes
            .try_with_value(|nodes| nodes.get(name).cloned())
            .flatten()
    }

    /// Current position of a node, also during a drag.
    pub fn rect(self, name: &str) -> Option<Rect> {
        self.node(name).map(|signals| signals.rect.get_untracked())
    }

    /// Moves one node on the screen. The document does not change.
    pub fn set_rect(self, name: &str, rect: Rect) {
        if let Some(signals) = self.node(name)
            && signals.rect.get_untracked() != rect
        {
            signals.rect.set(rect);
        }
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
