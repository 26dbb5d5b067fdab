//! Positions for nodes without one.
//!
//! Positions chosen by the user are kept to the pixel. Other nodes are placed as in a sketch: the Internet on top,
//! routers below it, frames side by side with their servers in a grid, all other nodes below. Nodes never overlap.
//!
//! The input has no names, so that it can be sent to a worker: nodes refer to each other by index.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    geometry::{CanvasPoint, Rect, Size},
    layout::{
        self, CARD_WIDTH, FRAME_HEADER, FRAME_PADDING, GAP, PILL, Places, chip_rect, empty_frame,
        frame_around, free_below, free_spot, free_spot_in_rows,
    },
    node::{Edge, Node, NodeKind},
    snap,
};

/// Gap between frames.
const FRAME_GAP: f64 = 56.0;
/// Gap between a router or the Internet and what is below.
const ABOVE: f64 = 64.0;
/// Number of servers side by side in a frame.
const COLUMNS_MAX: usize = 3;

/// Nodes to arrange, and the lines between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrangement {
    nodes: Vec<Item>,
    /// Index of the first and the second node of each line.
    lines: Vec<(usize, usize)>,
}

/// A node to arrange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    kind: NodeKind,
    is_network: bool,
    /// Number of tags.
    tags: usize,
    /// Index of the node that contains this one.
    parent: Option<usize>,
    /// Position chosen by the user.
    corner: Option<CanvasPoint>,
    /// Smallest size of a frame, chosen by the user.
    least: Size,
}

impl Arrangement {
    /// These nodes and lines. Nodes without a place get a position.
    pub fn of(nodes: &[Node], edges: &[Edge], places: &Places) -> Self {
        let index: HashMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.name.as_str(), at))
            .collect();
        let find = |name: &str| index.get(name).copied();
        let items = nodes.iter().map(|node| {
            let place = places.get(&node.name).copied().unwrap_or_default();
            Item {
                kind: node.kind,
                is_network: node.is_network(),
                tags: node.parts.len(),
                parent: node.parent.as_deref().and_then(find),
                corner: places.get(&node.name).and_then(|place| place.corner()),
                least: Size::new(
                    place.width.unwrap_or_default(),
                    place.height.unwrap_or_default(),
                ),
            }
        });
        let lines = edges
            .iter()
            .filter_map(|edge| Some((find(&edge.from)?, find(&edge.to)?)));
        Self {
            nodes: items.collect(),
            lines: lines.collect(),
        }
    }

    /// The rectangle of each node, in their order.
    pub fn rects(&self) -> Vec<Rect> {
        let mut sketch = Sketch::of(self);
        sketch.place_frames();
        sketch.place_routers();
        sketch.place_internet();
        sketch.place_other_nodes();
        sketch.place_chips();
        sketch.rects
    }
}

/// Rectangles during the arrangement.
struct Sketch<'a> {
    nodes: &'a [Item],
    lines: &'a [(usize, usize)],
    /// Direct contents of each node.
    inside: Vec<Vec<usize>>,
    rects: Vec<Rect>,
    /// Placed nodes that are in no other one.
    taken: Vec<Rect>,
}

impl<'a> Sketch<'a> {
    fn of(arrangement: &'a Arrangement) -> Self {
        let nodes = arrangement.nodes.as_slice();
        let mut inside = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if let Some(contents) = node.parent.and_then(|parent| inside.get_mut(parent)) {
                contents.push(at);
            }
        }
        let rects = nodes.iter().zip(&inside).map(|(node, contents)| {
            let size = layout::size_of(node.kind, contents.len(), node.tags);
            Rect::at(CanvasPoint::default(), size)
        });
        Self {
            rects: rects.collect(),
            nodes,
            lines: &arrangement.lines,
            inside,
            taken: Vec::new(),
        }
    }

    /// Places frames with their contents. Frames with a position, or with a positioned child, come first. Other nodes
    /// with a position are obstacles for those without one.
    fn place_frames(&mut self) {
        let mut free = Vec::new();
        for frame in self.indices(|node| node.kind == NodeKind::Frame) {
            let placed = self.inside[frame].iter().filter_map(|&child| {
                let corner = self.nodes[child].corner?;
                Some(Rect::at(corner, self.rects[child].size()))
            });
            let around = Rect::around(placed);
            let corner = self.nodes[frame].corner.or_else(|| {
                around.map(|rect| CanvasPoint::new(rect.x - FRAME_PADDING, rect.y - FRAME_HEADER))
            });
            match corner {
                Some(corner) => {
                    let rect = self.place_frame(frame, corner);
                    self.taken.push(rect);
                }
                None => free.push(frame),
            }
        }
        for at in self.indices(|node| node.parent.is_none() && node.kind != NodeKind::Frame) {
            if let Some(corner) = self.nodes[at].corner {
                self.rects[at] = Rect::at(corner, self.rects[at].size());
                self.taken.push(self.rects[at]);
            }
        }
        let start = self.around_taken().map(Rect::corner).unwrap_or_default();
        let mut wanted = start;
        for frame in free {
            let size = self.place_frame(frame, wanted).size();
            let spot = free_spot(Rect::at(wanted, size), &self.taken, FRAME_GAP);
            let rect = self.place_frame(frame, spot);
            self.taken.push(rect);
            wanted = CanvasPoint::new(start.x, spot.y);
        }
    }

    /// Places a frame and its children at a corner. Returns the frame's rectangle.
    fn place_frame(&mut self, frame: usize, corner: CanvasPoint) -> Rect {
        let Self {
            nodes,
            inside,
            rects,
            ..
        } = self;
        let children = &inside[frame];
        let mut least = empty_frame(corner);
        least.width = least.width.max(nodes[frame].least.width);
        least.height = least.height.max(nodes[frame].least.height);
        let mut taken = Vec::new();
        let mut free = Vec::new();
        for &child in children {
            match nodes[child].corner {
                Some(corner) => {
                    rects[child] = Rect::at(corner, rects[child].size());
                    taken.push(rects[child]);
                }
                None => free.push(child),
            }
        }
        let columns = (children.len() as f64)
            .sqrt()
            .ceil()
            .clamp(1.0, COLUMNS_MAX as f64) as usize;
        // Nothing above the last position of a column and size becomes free again.
        let mut reached: HashMap<(usize, SizeKey), f64> = HashMap::new();
        for child in free {
            let size = rects[child].size();
            let spots = (0..columns).map(|index| {
                let x = corner.x + FRAME_PADDING + index as f64 * (CARD_WIDTH + GAP);
                let y = reached
                    .entry((index, key(size)))
                    .or_insert(corner.y + FRAME_HEADER);
                let spot = free_below(Rect::at(CanvasPoint::new(x, *y), size), &taken, GAP);
                *y = spot.y;
                spot
            });
            let spot = spots
                .min_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)))
                .unwrap_or(corner);
            rects[child] = Rect::at(spot, size);
            taken.push(rects[child]);
        }
        rects[frame] = frame_around(least, taken);
        rects[frame]
    }

    /// Places routers above the middle of the networks that they connect.
    fn place_routers(&mut self) {
        for at in self.indices(|node| node.kind == NodeKind::Router && node.corner.is_none()) {
            let ends = self.lines.iter().filter(|(from, _)| *from == at);
            let networks = ends.map(|(_, to)| *to).filter_map(|to| {
                let is_network = self.nodes.get(to)?.is_network;
                is_network.then(|| self.rects[to])
            });
            let (x, y) = match Rect::around(networks) {
                Some(rect) => (rect.centre().x - PILL.width / 2.0, rect.y),
                None => {
                    let all = self.around_taken().unwrap_or_default();
                    (all.x, all.y)
                }
            };
            self.place_near(at, CanvasPoint::new(x, y - ABOVE - PILL.height));
        }
    }

    /// Places the Internet above the routers that are connected to it.
    fn place_internet(&mut self) {
        for at in self.indices(|node| node.kind == NodeKind::Internet && node.corner.is_none()) {
            let ends = self.lines.iter().filter(|(_, to)| *to == at);
            let routers = ends.filter_map(|(from, _)| self.rects.get(*from).copied());
            let around = Rect::around(routers).or_else(|| self.around_taken());
            let around = around.unwrap_or_default();
            let x = around.centre().x - PILL.width / 2.0;
            self.place_near(at, CanvasPoint::new(x, around.y - ABOVE - PILL.height));
        }
    }

    /// Places servers without a network and all other cards in rows below.
    fn place_other_nodes(&mut self) {
        let below = |rect: Rect| CanvasPoint::new(rect.x, rect.bottom() + FRAME_GAP);
        let start = snap::to_grid(self.around_taken().map(below).unwrap_or_default());
        // The search for a node goes on where the last one of the same size is.
        let mut reached: HashMap<SizeKey, CanvasPoint> = HashMap::new();
        let waits = |node: &Item| {
            matches!(node.kind, NodeKind::Server | NodeKind::Card)
                && node.parent.is_none()
                && node.corner.is_none()
        };
        for at in self.indices(waits) {
            let size = self.rects[at].size();
            let last = reached.entry(key(size)).or_insert(start);
            *last = free_spot_in_rows(start.x, Rect::at(*last, size), &self.taken, GAP);
            self.rects[at] = Rect::at(*last, size);
            self.taken.push(self.rects[at]);
        }
    }

    /// Places chips in their servers.
    fn place_chips(&mut self) {
        for server in self.indices(|node| node.kind == NodeKind::Server) {
            for (row, &chip) in self.inside[server].iter().enumerate() {
                self.rects[chip] = chip_rect(self.rects[server], row);
            }
        }
    }

    /// Places a node at the first free position near a corner.
    fn place_near(&mut self, at: usize, wanted: CanvasPoint) {
        let size = self.rects[at].size();
        let wanted = Rect::at(snap::to_grid(wanted), size);
        self.rects[at] = Rect::at(free_spot(wanted, &self.taken, GAP), size);
        self.taken.push(self.rects[at]);
    }

    fn around_taken(&self) -> Option<Rect> {
        Rect::around(self.taken.iter().copied())
    }

    fn indices(&self, is_wanted: impl Fn(&Item) -> bool) -> Vec<usize> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| is_wanted(node))
            .map(|(at, _)| at)
            .collect()
    }
}

/// A size as a key of a map.
type SizeKey = (u64, u64);

fn key(size: Size) -> SizeKey {
    (size.width.to_bits(), size.height.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: NodeKind, parent: Option<usize>) -> Item {
        Item {
            kind,
            is_network: kind == NodeKind::Frame,
            tags: 0,
            parent,
            corner: None,
            least: Size::default(),
        }
    }

    /// A network with many servers, a router at it, and many other cards.
    fn large(count: usize) -> Arrangement {
        let servers = (0..count).map(|_| item(NodeKind::Server, Some(0)));
        let cards = (0..count).map(|_| item(NodeKind::Card, None));
        Arrangement {
            nodes: [item(NodeKind::Frame, None), item(NodeKind::Router, None)]
                .into_iter()
                .chain(servers)
                .chain(cards)
                .collect(),
            lines: vec![(1, 0)],
        }
    }

    #[test]
    fn many_nodes_do_not_overlap() {
        let arrangement = large(60);
        let rects = arrangement.rects();
        let nodes = arrangement.nodes.iter().zip(&rects);
        let placed: Vec<_> = nodes.map(|(node, rect)| (node.parent, *rect)).collect();
        for (at, (parent, rect)) in placed.iter().enumerate() {
            for (other_parent, other) in &placed[at + 1..] {
                assert!(parent != other_parent || !rect.overlaps(*other));
            }
            if let Some(parent) = parent {
                assert_eq!(rect.union(rects[*parent]), rects[*parent]);
            }
        }
        let (network, router) = (rects[0], rects[1]);
        assert!(router.bottom() < network.y, "the router is above");
        let beside = router.centre().x - network.centre().x;
        assert!(beside.abs() <= snap::GRID, "and in its middle");
    }

    #[test]
    fn an_arrangement_is_the_same_in_a_worker() {
        let arrangement = large(5);
        let sent = serde_json::to_string(&arrangement).unwrap();
        let received: Arrangement = serde_json::from_str(&sent).unwrap();
        assert_eq!(received.rects(), arrangement.rects());
    }

    #[test]
    fn chosen_positions_are_kept() {
        let mut arrangement = large(5);
        let chosen = CanvasPoint::new(31.0, -7.5);
        arrangement.nodes[3].corner = Some(chosen);
        assert_eq!(arrangement.rects()[3].corner(), chosen);
    }
}
