//! The drawing of a template.
//!
//! Not every resource is a box. A drawing of thirty resources should read like an engineer's sketch on a whiteboard, so
//! each resource becomes one of:
//! - a **node**: a network is a frame, a server a card inside the frame of its first network, software a chip inside
//!   its server, a router a small node between frames. The Internet is a node without a resource. Resources of unknown
//!   types are plain cards.
//! - an **edge**: an additional interface of a server, a router's interface, a gateway, a relation between components,
//!   any other reference, an order (`depends_on`).
//! - a **part** of a node: subnets, ports, addresses, groups and keys are tags on the nodes that they belong to.
//!
//! Resources that the passes would add are drawn in the same way, as ghosts. [`draw`] is total: every template, even an
//! invalid one, has a drawing, and every resource in it appears exactly once.

mod build;
mod folding;
mod index;
mod refs;
mod removed;

use std::collections::{BTreeSet, HashMap, HashSet};

use hot::template::Template;
use planner::preview::Preview;
use types::{Category, Registry};

use self::{folding::Folding, index::Index};

pub(crate) use refs::entry;
pub use refs::{Interface, frame_of, interfaces, plain_reference, shown, subnets_of};

pub use crate::node::{Edge, EdgeKind, INTERNET, Member, Node, NodeKind, Part, REMOVED};
use crate::{
    arrangement::Arrangement,
    geometry::{CanvasPoint, Rect, Size},
    layout::{self, Place, Places},
};

/// All nodes and lines of a template.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    index: Index,
    owners: HashMap<String, String>,
    folding: Folding,
}

impl PartialEq for Drawing {
    fn eq(&self, other: &Self) -> bool {
        // The index follows from the nodes and edges.
        self.nodes == other.nodes
            && self.edges == other.edges
            && self.owners == other.owners
            && self.folding == other.folding
    }
}

/// Draws a template. Resources that the passes add are ghosts. Nodes without a position get one; see
/// [`crate::arrangement`].
pub fn draw(
    template: &Template,
    preview: Option<&Preview>,
    types: &Registry,
    places: &Places,
) -> Drawing {
    Unplaced::of(template, preview, types, places).arranged()
}

/// Like [`draw`], with the contents of folded frames.
pub fn draw_unfolded(
    template: &Template,
    preview: Option<&Preview>,
    types: &Registry,
    places: &Places,
) -> Drawing {
    let drawing = draw(template, preview, types, places);
    if !drawing.nodes.iter().any(|node| node.is_folded) {
        return drawing;
    }
    let mut places = places.clone();
    for frame in drawing.nodes.iter().filter(|node| node.is_folded) {
        let contents = drawing.hidden_in(&frame.name);
        let names = contents.map(|node| node.name.as_str());
        layout::unfold(&mut places, &frame.name, names);
    }
    draw(template, preview, types, &places)
}

/// A drawing without the positions of its nodes, which can be computed elsewhere.
#[derive(Clone, Debug)]
pub struct Unplaced {
    drawing: Drawing,
    arrangement: Arrangement,
}

impl Unplaced {
    /// The drawing of [`draw`], without positions.
    pub fn of(
        template: &Template,
        preview: Option<&Preview>,
        types: &Registry,
        places: &Places,
    ) -> Unplaced {
        Self::with_ghosts(template, preview, preview, types, places)
    }

    /// Like [`Unplaced::of`], with the ghosts of `sound`, a preview of an earlier state of the template. Ghosts of
    /// resources that no longer exist are left out.
    pub(crate) fn with_ghosts(
        template: &Template,
        preview: Option<&Preview>,
        sound: Option<&Preview>,
        types: &Registry,
        places: &Places,
    ) -> Unplaced {
        let (mut nodes, mut edges, owners) = build::build(template, preview, sound, types);
        let folding = folding::fold(&mut nodes, &mut edges, places);
        Unplaced {
            arrangement: Arrangement::of(&nodes, &edges, places),
            drawing: Drawing {
                index: Index::of(&nodes, &edges),
                nodes,
                edges,
                owners,
                folding,
            },
        }
    }

    /// The arrangement of the nodes.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Number of nodes that lack a position in `places`. Chips and ghosts have none there.
    pub fn missing(&self, places: &Places) -> usize {
        let nodes = self.drawing.nodes.iter();
        nodes
            .filter(|node| node.has_place() && !places.contains_key(&node.name))
            .count()
    }

    /// The drawing with the rectangles of the arrangement, computed here.
    pub fn arranged(self) -> Drawing {
        let rects = self.arrangement.rects();
        self.placed(&rects)
    }

    /// The drawing with these rectangles of the arrangement.
    pub fn placed(self, rects: &[Rect]) -> Drawing {
        let mut drawing = self.drawing;
        for (node, rect) in drawing.nodes.iter_mut().zip(rects) {
            node.rect = *rect;
        }
        drawing.index.place(&drawing.nodes);
        drawing
    }
}

impl Drawing {
    /// All nodes. Parents come before their children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All lines.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// A node by name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.index.node(name).map(|at| &self.nodes[at])
    }

    /// A line by its id, with its ends in the template. No resource can have an id of a line as its name.
    pub fn edge(&self, id: &str) -> Option<&Edge> {
        let folded = self.folding.lines.get(id);
        folded.or_else(|| self.edges.iter().find(|edge| edge.id == id))
    }

    /// The node of a resource, the node that it is a part of, or the folded frame that contains them.
    pub fn owner(&self, resource: &str) -> Option<&Node> {
        self.node(resource).or_else(|| {
            let own = self.owners.get(resource).map_or(resource, String::as_str);
            self.node(own)
                .or_else(|| self.node(self.folding.frames.get(own)?))
        })
    }

    /// True for a resource with a node or a tag, also in a folded frame, and for the id of a line.
    pub fn shows(&self, name: &str) -> bool {
        let is_tag = || {
            let mut parts = self.nodes.iter().flat_map(|node| &node.parts);
            parts.any(|part| part.name == name)
        };
        self.owner(name).is_some() || self.edge(name).is_some() || is_tag()
    }

    /// True if a resource is this node, or a part of it. The node can be in a folded frame.
    pub fn owns(&self, node: &str, resource: &str) -> bool {
        resource == node || self.owners.get(resource).is_some_and(|owner| owner == node)
    }

    /// The folded frame that contains a resource. `None` if the resource is visible.
    pub fn folded_frame(&self, resource: &str) -> Option<&str> {
        let own = self.owners.get(resource).map_or(resource, String::as_str);
        self.folding.frames.get(own).map(String::as_str)
    }

    /// The nodes in folded frames, which are not drawn and have no position. Parents come before their children.
    pub fn hidden(&self) -> &[Node] {
        &self.folding.nodes
    }

    /// The nodes in a folded frame, at any depth.
    pub fn hidden_in(&self, frame: &str) -> impl Iterator<Item = &Node> {
        let is_inside = move |node: &&Node| self.folded_frame(&node.name) == Some(frame);
        self.folding.nodes.iter().filter(is_inside)
    }

    /// The direct children of a node.
    pub fn children(&self, name: &str) -> impl Iterator<Item = &Node> {
        self.index.children(name).iter().map(|at| &self.nodes[*at])
    }

    /// The nodes beside a node: those with the same parent, and the node itself.
    pub fn siblings(&self, node: &Node) -> Vec<&Node> {
        match &node.parent {
            Some(parent) => self.children(parent).collect(),
            None => {
                let nodes = self.nodes.iter();
                nodes.filter(|other| other.parent.is_none()).collect()
            }
        }
    }

    /// The lines with an end on a node.
    pub fn edges_of(&self, name: &str) -> impl Iterator<Item = &Edge> {
        self.index.edges(name).iter().map(|at| &self.edges[*at])
    }

    /// Nodes that overlap or touch an area, in the order of [`nodes`](Self::nodes).
    pub fn within(&self, area: Rect) -> impl DoubleEndedIterator<Item = &Node> {
        let found = self.index.within(area).into_iter();
        found.map(|at| &self.nodes[at])
    }

    /// Numbers of the nodes that overlap or touch an area. A node's number is its place in [`nodes`](Self::nodes).
    pub fn numbers_within(&self, area: Rect) -> Vec<usize> {
        self.index.within(area)
    }

    /// Number of a node. See [`numbers_within`](Self::numbers_within).
    pub fn number(&self, name: &str) -> Option<usize> {
        self.index.node(name)
    }

    /// Numbers of the nodes that one reaches next: the first, the last, and those before and after the current one.
    pub fn neighbours(&self, current: Option<&str>) -> impl Iterator<Item = usize> {
        let count = self.nodes.len();
        let current = current.and_then(|name| self.number(name));
        let around = current.map(|at| at.saturating_sub(1)..(at + 2).min(count));
        let ends = [0, count.saturating_sub(1)].into_iter();
        let ends = ends.filter(move |at| *at < count);
        ends.chain(around.into_iter().flatten())
    }

    /// The nodes of these names, without nodes that are inside another of them.
    pub fn outermost(&self, names: &[String]) -> Vec<&Node> {
        let chosen: HashSet<&str> = names.iter().map(String::as_str).collect();
        let around = |node: &Node| self.node(node.parent.as_deref()?);
        let is_inside = |node: &Node| {
            let mut parents = std::iter::successors(around(node), |node| around(node));
            parents.any(|parent| chosen.contains(parent.name.as_str()))
        };
        let nodes = names.iter().filter_map(|name| self.node(name));
        nodes.filter(|node| !is_inside(node)).collect()
    }

    /// A node and all its descendants.
    pub fn subtree(&self, name: &str) -> Vec<&Node> {
        let mut found: Vec<&Node> = self.node(name).into_iter().collect();
        let mut at = 0;
        while at < found.len() {
            let parent = found[at].name.as_str();
            found.extend(self.children(parent));
            at += 1;
        }
        found
    }

    /// The nodes of these resources with their contents, what is around them, and the other ends of their lines. A name
    /// can also be the id of a line, for its ends.
    pub fn related(&self, names: &[String]) -> HashSet<String> {
        let mut related = HashSet::new();
        let mut add_with_parents = |node: &Node| {
            let around =
                std::iter::successors(Some(node), |node| self.node(node.parent.as_deref()?));
            related.extend(around.map(|node| node.name.clone()));
        };
        let chosen: HashSet<&str> = names
            .iter()
            .filter_map(|name| self.owner(name))
            .flat_map(|node| self.subtree(&node.name))
            .map(|node| node.name.as_str())
            .collect();
        for name in &chosen {
            self.node(name).into_iter().for_each(&mut add_with_parents);
        }
        for edge in names.iter().filter_map(|name| self.edge(name)) {
            let ends = [edge.from.as_str(), edge.to.as_str()];
            let nodes = ends.iter().filter_map(|end| self.owner(end));
            nodes.for_each(&mut add_with_parents);
        }
        for edge in chosen.iter().flat_map(|name| self.edges_of(name)) {
            let ends = [edge.from.as_str(), edge.to.as_str()];
            let nodes = ends.iter().filter_map(|end| self.node(end));
            nodes.for_each(&mut add_with_parents);
        }
        related
    }

    /// Adds members that are in a run and not in the plan, because of a missing parameter: names such as `group/0`.
    ///
    /// A nested template in the plan stays unchanged, because any other name inside it was added by a pass. A group can
    /// have more members than the plan derived from a parameter's default. Members have numbers, and a resource that a
    /// pass adds to a member (`group/0_port`) has another form of name. For parents that are not in the plan, the names
    /// must be of drawn resources only.
    pub fn add_run_members<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let is_known = |node: &Node| !node.inside.is_empty();
        let known: Vec<bool> = self.nodes.iter().map(is_known).collect();
        let planned = self.nodes.iter().flat_map(|node| &node.inside);
        let planned: HashSet<String> = planned.map(|member| member.name.clone()).collect();
        let mut added = HashSet::new();
        let mut grown = BTreeSet::new();
        for name in names {
            let Some((parent, within)) = name.split_once('/') else {
                continue;
            };
            let Some(at) = self.index.node(parent) else {
                continue;
            };
            let node = &mut self.nodes[at];
            let direct = within.split('/').next().unwrap_or(within);
            let is_member = match node.resource_type.as_str() {
                hot::template::members::GROUP | hot::template::members::CHAIN => {
                    let is_number = direct.bytes().all(|byte| byte.is_ascii_digit());
                    is_number && !planned.contains(&format!("{parent}/{direct}"))
                }
                _ => !known[at],
            };
            if is_member && added.insert(name) {
                node.inside.push(Member {
                    name: name.to_owned(),
                    resource_type: String::new(),
                    title: String::new(),
                    category: Category::Orchestration,
                });
                grown.insert(at);
            }
        }
        for at in grown {
            let node = &mut self.nodes[at];
            let direct = node
                .inside
                .iter()
                .filter(|member| member.name.matches('/').count() == 1);
            node.members = Some(direct.count());
        }
    }

    /// The bounding rectangle of the drawing.
    pub fn bounds(&self) -> Option<Rect> {
        Rect::around(self.nodes.iter().map(|node| node.rect))
    }

    /// The topmost node at a point: chips are above cards, and cards above frames.
    pub fn hit(&self, point: CanvasPoint) -> Option<&Node> {
        self.hit_where(point, |_| true)
    }

    /// Like [`hit`](Self::hit), ignoring nodes for which `pass` is false.
    pub fn hit_where(&self, point: CanvasPoint, pass: impl Fn(&Node) -> bool) -> Option<&Node> {
        let at = Rect::at(point, Size::default());
        self.within(at)
            .rev()
            .filter(|node| node.rect.contains(point) && !node.is_removed() && pass(node))
            .min_by_key(|node| match node.kind {
                NodeKind::Chip => 0,
                NodeKind::Frame => 2,
                _ => 1,
            })
    }

    /// Positions of all nodes except chips, whose position follows from their server.
    pub fn places(&self) -> Places {
        self.nodes
            .iter()
            .filter(|node| node.has_place())
            .map(|node| (node.name.clone(), Place::at(node.rect.corner())))
            .collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
