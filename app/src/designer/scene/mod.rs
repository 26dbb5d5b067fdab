//! The drawing as signals: for each node one for its position and one for its content, and one for each line.
//!
//! A [`Drawing`] is a value, and rendering all of it on every change would update every element. The scene compares
//! each new drawing with the last one and sets only the signals with a different value. A drag moves one element, and a
//! typed letter changes one text. The signals are reference-counted and not owned by the rows that display them, so
//! they stay valid when a row is removed.
//!
//! Only nodes and lines in view have elements, see [`view`]. Lines are routed when the drawing changes, many of them in
//! the worker. During a drag only the lines of the moved nodes change, without regard to other nodes.

mod routes;
mod view;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use canvas::{
    areas::Areas,
    drawing::{Drawing, Edge, Node, NodeKind},
    edges::{self, Line},
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    moving::Moving,
};
use leptos::prelude::*;

pub use view::Seen;

/// Distance from a painted line within which a press hits it, in canvas pixels: that of a line with an element.
const LINE_REACH: f64 = 7.0;
/// Least distance on the screen, in CSS pixels.
const LINE_REACH_PX: f64 = 2.0;

/// One node's signals.
#[derive(Clone)]
pub struct NodeSignals {
    /// Content of the node without its position.
    pub node: ArcRwSignal<Node>,
    /// Position and size.
    pub rect: ArcRwSignal<Rect>,
    /// Whether the node has an element.
    pub shown: ArcRwSignal<bool>,
    /// Whether its contents are displayed.
    pub opened: ArcRwSignal<bool>,
}

/// One line's signals.
#[derive(Clone)]
pub struct LineSignals {
    /// Route of the line.
    pub line: ArcRwSignal<Line>,
    /// Whether the line has an element.
    pub shown: ArcRwSignal<bool>,
}

/// Identity of an element. A node with another kind becomes another element.
pub type NodeKey = (String, NodeKind);

/// A drag of nodes, as it is on the screen.
#[derive(Clone)]
pub struct Dragged {
    /// The dragged nodes, and what moves with them.
    pub what: Arc<Moving>,
    /// Offset from its place in the drawing.
    pub way: CanvasVector,
    /// True if frames do not grow around what moves in them.
    pub leaves: bool,
    /// Offset for which the elements were chosen.
    chosen_at: CanvasVector,
}

impl Dragged {
    /// Position of a node on the screen, without the growth of frames.
    pub fn rect(&self, node: &Node) -> Rect {
        if self.what.carries(&node.name) {
            node.rect.moved(self.way)
        } else {
            node.rect
        }
    }

    /// Frames around what moves, as they are on the screen.
    pub fn grown(&self) -> HashMap<&str, Rect> {
        self.what.grown(self.way, self.leaves).collect()
    }
}

/// All nodes and lines on the canvas.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Nodes, in painting order.
    pub keys: RwSignal<Vec<NodeKey>>,
    /// Lines.
    pub edges: RwSignal<Vec<Edge>>,
    /// True if the visible nodes are so many and so small that they are painted and have no elements.
    pub painted: RwSignal<bool>,
    /// True while the worker routes the lines.
    pub is_routing: RwSignal<bool>,
    /// Notifies when the painted picture is outdated: after a change, and when a drag begins or ends.
    pub outdated: Trigger,
    /// Notifies when a drag has moved what is painted.
    pub moved: Trigger,
    nodes: StoredValue<HashMap<String, NodeSignals>>,
    lines: StoredValue<HashMap<String, LineSignals>>,
    /// The last drawing, without the current drag.
    drawing: StoredValue<Arc<Drawing>>,
    /// Segments and labels of the lines, by the number of their edge.
    segments: StoredValue<Areas>,
    /// Ids of the lines that a drag has moved since the last routes.
    loose: StoredValue<HashSet<String>>,
    /// Nodes for which the lines are routed. `None` during a drag.
    routed: StoredValue<Option<Vec<(NodeKey, Rect)>>>,
    seen: StoredValue<Seen>,
    shown: StoredValue<view::Shown>,
    focused: StoredValue<Option<String>>,
    dragged: StoredValue<Option<Dragged>>,
}

impl Scene {
    /// An empty scene, of which nothing is in view.
    pub fn new() -> Self {
        Self {
            keys: RwSignal::default(),
            edges: RwSignal::default(),
            painted: RwSignal::new(false),
            is_routing: RwSignal::new(false),
            outdated: Trigger::new(),
            moved: Trigger::new(),
            nodes: StoredValue::default(),
            lines: StoredValue::default(),
            drawing: StoredValue::default(),
            segments: StoredValue::default(),
            loose: StoredValue::default(),
            routed: StoredValue::default(),
            seen: StoredValue::default(),
            shown: StoredValue::default(),
            focused: StoredValue::default(),
            dragged: StoredValue::new(None),
        }
    }

    /// Signals of a node.
    pub fn node(self, name: &str) -> Option<NodeSignals> {
        self.nodes
            .try_with_value(|nodes| nodes.get(name).cloned())
            .flatten()
    }

    /// Signals of a line, by the id of its edge.
    pub fn line(self, edge: &str) -> Option<LineSignals> {
        self.lines
            .try_with_value(|lines| lines.get(edge).cloned())
            .flatten()
    }

    /// The last drawing and the current drag.
    pub fn picture(self) -> Option<(Arc<Drawing>, Option<Dragged>)> {
        Some((
            self.drawing.try_get_value()?,
            self.dragged.try_get_value().flatten(),
        ))
    }

    /// True during a drag of nodes.
    pub fn is_dragged(self) -> bool {
        self.dragged.try_with_value(Option::is_some) == Some(true)
    }

    /// Corners of a line, as it is on the screen.
    pub fn points(
        self,
        drawing: &Drawing,
        dragged: Option<&Dragged>,
        edge: &Edge,
    ) -> Vec<CanvasPoint> {
        let routed = || {
            let line = self.line(&edge.id)?.line;
            Some(line.with_untracked(|line| line.points.clone()))
        };
        let routed = || routed().unwrap_or_default();
        let Some(dragged) = dragged else {
            return routed();
        };
        let (what, way) = (&dragged.what, dragged.way);
        let end = |name: &str| {
            let node = drawing.node(name)?;
            Some((node.kind, dragged.rect(node)))
        };
        match (what.carries(&edge.from), what.carries(&edge.to)) {
            (false, false) => routed(),
            (true, true) => routed().iter().map(|point| point.moved(way)).collect(),
            _ => match (end(&edge.from), end(&edge.to)) {
                (Some(from), Some(to)) => edges::quick(edge.kind, from, to).points,
                _ => Vec::new(),
            },
        }
    }

    /// Name of the node at a point, if the nodes are painted. Otherwise their elements get the events.
    pub fn painted_at(self, point: CanvasPoint) -> Option<String> {
        if !self.painted.get_untracked() {
            return None;
        }
        let (drawing, _) = self.picture()?;
        drawing.hit(point).map(|node| node.name.clone())
    }

    /// Like [`painted_at`](Self::painted_at), with the lines, which are above frames and below all other nodes. Returns
    /// the name of a line's resource, or its id.
    pub fn painted_target(self, point: CanvasPoint) -> Option<String> {
        if !self.painted.get_untracked() {
            return None;
        }
        let (drawing, _) = self.picture()?;
        match drawing.hit(point) {
            Some(node) if node.kind != NodeKind::Frame => Some(node.name.clone()),
            below => {
                let line = self.line_at(&drawing, point);
                line.or_else(|| Some(below?.name.clone()))
            }
        }
    }

    /// The nearest line that a press at a point hits, without those that a pass adds.
    fn line_at(self, drawing: &Drawing, point: CanvasPoint) -> Option<String> {
        let zoom = self.seen.try_get_value()?.zoom.max(f64::EPSILON);
        let reach = LINE_REACH.max(LINE_REACH_PX / zoom);
        let area = Rect::at(point, Size::default()).grown(reach);
        let found = self.segments.try_with_value(|segments| {
            let edges = segments.within(area).into_iter();
            let edges = edges.filter_map(|number| drawing.edges().get(number));
            edges
                .filter(|edge| !edge.ghost)
                .filter_map(|edge| {
                    let line = self.line(&edge.id)?.line;
                    let distance = line.with_untracked(|line| line.distance(point));
                    (distance <= reach).then_some((distance, edge))
                })
                .min_by(|(one, _), (other, _)| one.total_cmp(other))
                .map(|(_, edge)| edge.resource.clone().unwrap_or_else(|| edge.id.clone()))
        });
        found.flatten()
    }

    /// Moves dragged nodes on the screen, and what moves with them. The document does not change.
    ///
    /// With `leaves`, frames do not grow around what moves in them.
    pub fn drag(self, what: &Arc<Moving>, way: CanvasVector, leaves: bool) {
        self.routed.try_set_value(None);
        let last = self.dragged.try_get_value().flatten();
        let last = last.filter(|last| Arc::ptr_eq(&last.what, what));
        let is_same = |last: &Dragged| last.way == way && last.leaves == leaves;
        if last.as_ref().is_some_and(is_same) {
            return;
        }
        if last.is_none() {
            let lines = what.lines().iter().map(|edge| edge.id.clone());
            self.loose.try_update_value(|loose| loose.extend(lines));
        }
        self.keep_in_view(what, way, leaves);
        if self.painted.get_untracked() {
            match last {
                Some(_) => self.moved.notify(),
                None => self.outdated.notify(),
            }
            return;
        }
        self.nodes.try_with_value(|nodes| {
            for (name, rect) in what.rects(way, leaves) {
                if let Some(signals) = nodes.get(name)
                    && signals.shown.get_untracked()
                    && signals.rect.get_untracked() != rect
                {
                    signals.rect.set(rect);
                }
            }
        });
        let end = |name: &str| {
            self.node(name).map(|signals| {
                let kind = signals.node.with_untracked(|node| node.kind);
                (kind, signals.rect.get_untracked())
            })
        };
        for edge in what.lines() {
            let Some(signals) = self.line(&edge.id) else {
                continue;
            };
            if signals.shown.get_untracked()
                && let (Some(from), Some(to)) = (end(&edge.from), end(&edge.to))
            {
                signals.line.set(edges::quick(edge.kind, from, to));
            }
        }
    }

    /// Ends the drag. The next [`show`](Self::show) puts every node to its place.
    pub fn end_drag(self) {
        let dragged = self.dragged.try_update_value(Option::take);
        if dragged.flatten().is_some() {
            self.choose();
            self.outdated.notify();
        }
    }

    /// Sets the signals to a drawing.
    pub fn show(self, drawing: &Arc<Drawing>) {
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
                            shown: ArcRwSignal::new(false),
                            opened: ArcRwSignal::new(false),
                        };
                        nodes.insert(node.name.clone(), signals);
                    }
                }
            }
        });
        if known.is_none() {
            return;
        }
        let is_for_worker = self.route(drawing);
        self.drawing.try_set_value(drawing.clone());
        if is_for_worker {
            self.route_in_worker();
        }
        self.choose();
        self.outdated.notify();
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
