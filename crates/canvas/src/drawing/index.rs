//! Indexes of a drawing, so that a gesture costs what it touches and not what the drawing has.

use std::collections::HashMap;

use super::{Edge, Node};
use crate::{areas::Areas, geometry::Rect};

/// Nodes by name, by parent and by position, and the edges of each node. All values are positions in the drawing.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    names: HashMap<String, usize>,
    children: HashMap<String, Vec<usize>>,
    edges: HashMap<String, Vec<usize>>,
    areas: Areas,
}

impl Index {
    /// The indexes of nodes and edges in their final order. The positions of the nodes are added by
    /// [`place`](Self::place).
    pub(super) fn of(nodes: &[Node], edges: &[Edge]) -> Self {
        let mut index = Self::default();
        for (at, node) in nodes.iter().enumerate() {
            index.names.insert(node.name.clone(), at);
            if let Some(parent) = &node.parent {
                index.children.entry(parent.clone()).or_default().push(at);
            }
        }
        for (at, edge) in edges.iter().enumerate() {
            index.edges.entry(edge.from.clone()).or_default().push(at);
            if edge.to != edge.from {
                index.edges.entry(edge.to.clone()).or_default().push(at);
            }
        }
        index
    }

    /// Takes over the nodes' positions.
    pub(super) fn place(&mut self, nodes: &[Node]) {
        self.areas = Areas::of(nodes.iter().map(|node| node.rect));
    }

    pub(super) fn node(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub(super) fn children(&self, name: &str) -> &[usize] {
        self.children.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn edges(&self, node: &str) -> &[usize] {
        self.edges.get(node).map_or(&[], Vec::as_slice)
    }

    /// Nodes that overlap or touch an area, in their order.
    pub(super) fn within(&self, area: Rect) -> Vec<usize> {
        self.areas.within(area)
    }
}
