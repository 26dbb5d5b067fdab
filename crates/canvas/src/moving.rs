//! Nodes during a drag. What a drag moves is found once, at its start; each step then costs what moves.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use crate::{
    drawing::{Drawing, Edge, Node, NodeKind},
    geometry::{CanvasVector, Rect},
    layout,
    snap::{self, Guide},
};

/// A drag of nodes.
#[derive(Clone, Debug)]
pub struct Moving {
    drawing: Arc<Drawing>,
    names: Vec<String>,
    held: String,
    /// Nodes that move with the pointer, with their contents.
    carried: Vec<(String, Rect)>,
    is_carried: HashSet<String>,
    frames: Vec<Frame>,
    lines: Vec<Edge>,
    /// Nodes that the held one can be aligned with.
    beside: Vec<Rect>,
    tops: usize,
}

/// A frame that stays, around nodes that move.
#[derive(Clone, Debug)]
struct Frame {
    name: String,
    least: Rect,
    staying: Vec<Rect>,
    moving: Vec<Rect>,
}

impl Moving {
    /// The drag of these nodes and of their contents, with the pointer on `held`.
    pub fn new(drawing: Arc<Drawing>, names: Vec<String>, held: &str) -> Self {
        let mut is_carried = HashSet::new();
        let mut carried = Vec::new();
        for node in names.iter().flat_map(|name| drawing.subtree(name)) {
            if is_carried.insert(node.name.clone()) {
                carried.push((node.name.clone(), node.rect));
            }
        }
        let parent = |node: &Node| node.parent.clone();
        let nodes = || carried.iter().filter_map(|(name, _)| drawing.node(name));
        let frames: BTreeSet<String> = nodes()
            .filter_map(parent)
            .filter(|parent| !is_carried.contains(parent))
            .collect();
        let frames: Vec<Frame> = frames
            .iter()
            .filter_map(|name| drawing.node(name))
            .filter(|node| node.kind == NodeKind::Frame)
            .map(|frame| {
                let children = drawing.children(&frame.name);
                let (moving, staying): (Vec<_>, Vec<_>) =
                    children.partition(|child| is_carried.contains(&child.name));
                let rects = |nodes: Vec<&Node>| nodes.iter().map(|node| node.rect).collect();
                Frame {
                    name: frame.name.clone(),
                    least: layout::empty_frame(frame.rect.corner()),
                    staying: rects(staying),
                    moving: rects(moving),
                }
            })
            .collect();
        let changed = carried.iter().map(|(name, _)| name);
        let mut seen = HashSet::new();
        let lines = changed
            .chain(frames.iter().map(|frame| &frame.name))
            .flat_map(|name| drawing.edges_of(name))
            .filter(|edge| seen.insert(edge.id.clone()))
            .cloned()
            .collect();
        let names_set: HashSet<&str> = names.iter().map(String::as_str).collect();
        let beside = drawing.node(held).map_or(Vec::new(), |node| {
            let beside = drawing.siblings(node).into_iter();
            beside
                .filter(|other| {
                    other.kind != NodeKind::Chip
                        && other.name != held
                        && !names_set.contains(other.name.as_str())
                })
                .map(|other| other.rect)
                .collect()
        });
        let tops = drawing.outermost(&names).len();
        Self {
            names,
            held: held.to_owned(),
            carried,
            is_carried,
            frames,
            lines,
            beside,
            tops,
            drawing,
        }
    }

    /// The same drag, in a newer drawing.
    pub fn renewed(&self, drawing: &Arc<Drawing>) -> Option<Self> {
        let is_same = Arc::ptr_eq(&self.drawing, drawing);
        (!is_same).then(|| Self::new(drawing.clone(), self.names.clone(), &self.held))
    }

    /// The dragged nodes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The node under the pointer.
    pub fn held(&self) -> &str {
        &self.held
    }

    /// True if only one node is dragged, with its contents. Such a drag can change the text.
    pub fn is_single(&self) -> bool {
        self.tops == 1
    }

    /// The nodes that move with the pointer.
    pub fn carried(&self) -> impl Iterator<Item = &str> {
        self.carried.iter().map(|(name, _)| name.as_str())
    }

    /// True if a node moves with the pointer.
    pub fn carries(&self, name: &str) -> bool {
        self.is_carried.contains(name)
    }

    /// Offset of the dragged nodes: the held one is aligned with nodes beside it or with the grid. See
    /// [`snap::way_to_guides`].
    pub fn way(&self, way: CanvasVector, reach: f64) -> (CanvasVector, Vec<Guide>) {
        let Some(node) = self.drawing.node(&self.held) else {
            return (way, Vec::new());
        };
        if node.kind == NodeKind::Chip {
            return (snap::way_to_grid(node.rect.corner(), way), Vec::new());
        }
        snap::way_to_guides(node.rect, way, &self.beside, reach)
    }

    /// Every node that has another place after an offset. A frame grows around what moves in it, unless this `leaves`.
    pub fn rects(&self, way: CanvasVector, leaves: bool) -> impl Iterator<Item = (&str, Rect)> {
        let carried = self.carried.iter();
        let carried = carried.map(move |(name, rect)| (name.as_str(), rect.moved(way)));
        carried.chain(self.grown(way, leaves))
    }

    /// The frames of [`rects`](Self::rects).
    pub fn grown(&self, way: CanvasVector, leaves: bool) -> impl Iterator<Item = (&str, Rect)> {
        self.frames.iter().map(move |frame| {
            let moving = frame.moving.iter().filter(move |_| !leaves);
            let moved = moving.map(|rect| rect.moved(way));
            let all = frame.staying.iter().copied().chain(moved);
            let rect = layout::frame_around(frame.least, all);
            (frame.name.as_str(), rect)
        })
    }

    /// Frames that stay, around nodes that move.
    pub fn frames(&self) -> impl Iterator<Item = &str> {
        self.frames.iter().map(|frame| frame.name.as_str())
    }

    /// Lines with an end on a node that moves or grows.
    pub fn lines(&self) -> &[Edge] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt::Write};

    use hot::document::Document;
    use proptest::prelude::*;

    use super::*;
    use crate::drawing::{draw, tests::registry};

    const WAY: CanvasVector = CanvasVector { dx: 80.0, dy: 16.0 };

    /// Networks with five servers each. A server waits for the one before it.
    fn drawing(networks: usize) -> Arc<Drawing> {
        let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
        for server in 0..networks * 5 {
            let net = server / 5;
            if server % 5 == 0 {
                let _ = writeln!(text, "  net{net}: {{type: OS::Neutron::Net}}");
            }
            let _ = writeln!(text, "  server{server}:\n    type: OS::Nova::Server");
            if server > 0 {
                let _ = writeln!(text, "    depends_on: server{}", server - 1);
            }
            let _ = writeln!(
                text,
                "    properties: {{networks: [{{network: {{get_resource: net{net}}}}}]}}"
            );
        }
        let places = BTreeMap::new();
        Arc::new(draw(
            Document::parse(text).template(),
            None,
            &registry(),
            &places,
        ))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_drag_of_one_server_costs_one_server_its_frame_and_their_lines() {
        let drawing = drawing(40);
        let one = Moving::new(drawing.clone(), names(&["server7"]), "server7");
        let moved: BTreeMap<&str, Rect> = one.rects(WAY, false).collect();
        assert_eq!(
            moved.keys().copied().collect::<Vec<_>>(),
            ["net1", "server7"]
        );
        let rect = |name: &str| drawing.node(name).expect("a node").rect;
        assert_eq!(moved["server7"], rect("server7").moved(WAY));
        assert_eq!(moved["net1"].union(moved["server7"]), moved["net1"]);
        let mut ends: Vec<_> = one.lines().iter().map(|line| line.from.as_str()).collect();
        ends.sort_unstable();
        assert_eq!(ends, ["server7", "server8"]);
        assert!(one.is_single());
        assert!(one.renewed(&drawing).is_none(), "the drawing is the same");
    }

    #[test]
    fn a_server_that_leaves_does_not_stretch_its_frame() {
        let drawing = drawing(2);
        let one = Moving::new(drawing.clone(), names(&["server0"]), "server0");
        let far = CanvasVector {
            dx: -900.0,
            dy: 0.0,
        };
        let frame = |leaves| {
            let mut rects = one.rects(far, leaves);
            rects
                .find(|(name, _)| *name == "net0")
                .map(|(_, rect)| rect)
        };
        let stays = drawing.node("net0").map(|node| node.rect);
        assert_eq!(frame(true), stays);
        assert_ne!(frame(false), stays);
    }

    proptest! {
        #[test]
        fn what_moves_is_the_chosen_with_their_contents(chosen in prop::collection::btree_set(0..20usize, 1..8)) {
            let drawing = drawing(3);
            let nodes = drawing.nodes();
            let chosen: Vec<String> = chosen.iter().filter_map(|at| nodes.get(*at)).map(|node| node.name.clone()).collect();
            prop_assume!(!chosen.is_empty());
            let moving = Moving::new(drawing.clone(), chosen.clone(), &chosen[0]);
            let is_within = |node: &Node| {
                let around = std::iter::successors(Some(node), |node| drawing.node(node.parent.as_deref()?));
                around.into_iter().any(|node| chosen.contains(&node.name))
            };
            for node in nodes {
                prop_assert_eq!(moving.carries(&node.name), is_within(node));
            }
            prop_assert!(moving.carried().all(|name| moving.carries(name)));
            let changed: HashSet<&str> = moving.rects(WAY, false).map(|(name, _)| name).collect();
            let touched = drawing.edges().iter().filter(|edge| {
                changed.contains(edge.from.as_str()) || changed.contains(edge.to.as_str())
            });
            let touched: HashSet<&str> = touched.map(|edge| edge.id.as_str()).collect();
            let lines: HashSet<&str> = moving.lines().iter().map(|edge| edge.id.as_str()).collect();
            prop_assert_eq!(lines, touched);
        }
    }
}
