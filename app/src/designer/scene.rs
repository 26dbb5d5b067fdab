//! The drawing as signals: one for each node's place, one for what it says.
//!
//! A [`Drawing`] is a value; painting it anew on every change would touch every element. The scene takes
//! each new drawing and sets only those signals whose value differs, so a drag moves one element and a
//! typed letter changes one text. The signals outlive the rows that show them (they are counted, not
//! owned by a row), so a row that goes away leaves nothing dangling.

use std::collections::HashMap;

use canvas::{
    drawing::{Drawing, Edge, Node, NodeKind},
    geometry::Rect,
};
use leptos::prelude::*;

/// One node's signals.
#[derive(Clone)]
pub struct NodeSignals {
    /// All but the place.
    pub node: ArcRwSignal<Node>,
    /// The place.
    pub rect: ArcRwSignal<Rect>,
}

/// What identifies an element: another kind is another element.
pub type NodeKey = (String, NodeKind);

/// All nodes and lines that are on the canvas.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Which nodes, in painting order.
    pub keys: RwSignal<Vec<NodeKey>>,
    /// Which lines.
    pub edges: RwSignal<Vec<Edge>>,
    nodes: StoredValue<HashMap<String, NodeSignals>>,
}

impl Scene {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            keys: RwSignal::default(),
            edges: RwSignal::default(),
            nodes: StoredValue::default(),
        }
    }

    /// The signals of a node.
    pub fn node(self, name: &str) -> Option<NodeSignals> {
        self.nodes
            .try_with_value(|nodes| nodes.get(name).cloned())
            .flatten()
    }

    /// Where a node stands at this moment, also in the middle of a drag.
    pub fn rect(self, name: &str) -> Option<Rect> {
        self.node(name).map(|signals| signals.rect.get_untracked())
    }

    /// Moves one node, as far as the eye goes.
    pub fn set_rect(self, name: &str, rect: Rect) {
        if let Some(signals) = self.node(name)
            && signals.rect.get_untracked() != rect
        {
            signals.rect.set(rect);
        }
    }

    /// Shows a drawing.
    pub fn show(self, drawing: &Drawing) {
        let known = self.nodes.try_update_value(|nodes| {
            nodes.retain(|name, _| drawing.node(name).is_some());
            for node in drawing.nodes() {
                let said = Node {
                    rect: Rect::default(),
                    ..node.clone()
                };
                match nodes.get(&node.name) {
                    Some(signals) => {
                        if signals.rect.get_untracked() != node.rect {
                            signals.rect.set(node.rect);
                        }
                        if signals.node.with_untracked(|now| *now != said) {
                            signals.node.set(said);
                        }
                    }
                    None => {
                        let signals = NodeSignals {
                            node: ArcRwSignal::new(said),
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
