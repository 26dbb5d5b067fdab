//! Routes of lines: orthogonal, around nodes, with ports spread along the sides of nodes.
//!
//! 1. **Ports** ([`ports`]): each line leaves a node on the side that faces the other end. The lines of a side keep a
//!    gap and are ordered by their other ends, so that they do not cross at the node.
//! 2. **Path** ([`path`], [`search`]): the simple forms (straight, one corner, two corners) come first. If a node is in
//!    the way of all of them, an A* search runs on the sparse grid of the borders of the nodes nearby.
//! 3. **Lanes** ([`lanes`]): segments on top of each other are moved apart.
//! 4. **Labels** ([`labels`]): each is placed on its line where it covers no node and no other label.
//!
//! A line crosses no node except its ends, the containers of its ends, and nodes that overlap others. Crossings of
//! lines are allowed. The crates for this task were unsuitable: the Rust port of libavoid is unpublished and LGPL, and
//! those for layered layout (`dagre`, `rust-sugiyama`) move the nodes. The spatial index is `rstar`.

mod labels;
mod lanes;
mod obstacles;
mod path;
mod ports;
mod search;
mod spacing;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use self::{obstacles::Obstacles, path::Ends, spacing::Spacing};
use crate::geometry::{CanvasPoint, Rect};

/// A node, as the router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Position and size.
    pub rect: Rect,
    /// Index of the node that contains this one.
    pub parent: Option<usize>,
    /// True for a row inside a card. Its lines leave sideways, through the card's border.
    pub is_row: bool,
}

/// A line to route, between two shapes by index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Shape at the start.
    pub from: usize,
    /// Shape at the end.
    pub to: usize,
    /// True if the line should leave upwards or downwards if both ways are free, as cables of networks do.
    pub is_cable: bool,
    /// Size of the label in canvas pixels. Zero width for none.
    pub label_width: f64,
}

/// A line to paint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Corners, from the port at the start to the port at the end.
    pub points: Vec<CanvasPoint>,
    /// SVG path data, with rounded corners.
    pub path: String,
    /// Middle of the label. `None` if there is no free place for one.
    pub label: Option<CanvasPoint>,
}

impl Line {
    fn through(points: Vec<CanvasPoint>) -> Self {
        Self {
            path: rounded(&points),
            points,
            label: None,
        }
    }

    /// The port at the start.
    pub fn start(&self) -> CanvasPoint {
        self.points.first().copied().unwrap_or_default()
    }

    /// The port at the end.
    pub fn end(&self) -> CanvasPoint {
        self.points.last().copied().unwrap_or_default()
    }

    /// Distance of a point from the line, in canvas pixels. Corners count as sharp. Infinite for an empty line.
    pub fn distance(&self, point: CanvasPoint) -> f64 {
        let to_segment = |pair: &[CanvasPoint]| {
            let (whole, part) = (pair[1].since(pair[0]), point.since(pair[0]));
            let square = whole.dx * whole.dx + whole.dy * whole.dy;
            let along = if square > 0.0 {
                ((part.dx * whole.dx + part.dy * whole.dy) / square).clamp(0.0, 1.0)
            } else {
                0.0
            };
            (part.dx - along * whole.dx).hypot(part.dy - along * whole.dy)
        };
        let distances = self.points.windows(2).map(to_segment);
        distances.fold(f64::INFINITY, f64::min)
    }
}

/// Lines for nodes at fixed positions.
#[derive(Clone, Debug)]
pub struct Router {
    obstacles: Obstacles,
}

impl Router {
    /// A router around these shapes. Parents are given by index.
    pub fn new(shapes: Vec<Shape>) -> Self {
        Self {
            obstacles: Obstacles::new(shapes),
        }
    }

    /// The lines of all links, in their order. A link with an unknown end has an empty line.
    pub fn lines(&self, links: &[Link]) -> Vec<Line> {
        let shapes = self.obstacles.shapes();
        let known = |link: &Link| link.from < shapes.len() && link.to < shapes.len();
        let ports = ports::spread(shapes, links, known);
        let mut paths: Vec<Vec<CanvasPoint>> = links
            .iter()
            .zip(&ports)
            .map(|(link, ports)| match ports {
                Some((start, end)) => {
                    let ends = Ends::of(&self.obstacles, link.from, link.to);
                    path::between(&self.obstacles, &ends, *start, *end)
                }
                None => Vec::new(),
            })
            .collect();
        lanes::separate(&self.obstacles, links, &mut paths);
        let places = labels::place(&self.obstacles, links, &paths);
        paths
            .into_iter()
            .zip(places)
            .map(|(points, label)| Line {
                label,
                ..Line::through(points)
            })
            .collect()
    }

    /// The line that follows the pointer while a connection is drawn.
    pub fn loose(&self, from: usize, to: CanvasPoint) -> Line {
        let Some(shape) = self.obstacles.shapes().get(from) else {
            return Line::default();
        };
        let tip = Rect {
            x: to.x,
            y: to.y,
            width: 0.0,
            height: 0.0,
        };
        let (start, end) = ports::pair(shape, tip, false);
        let ends = Ends::loose(&self.obstacles, from, to);
        Line::through(path::between(&self.obstacles, &ends, start, end))
    }
}

/// A line between two rectangles without regard to other nodes, for drags: cheap, and replaced after the release.
pub fn quick(from: Shape, to: Shape, is_cable: bool) -> Line {
    let (start, end) = (
        ports::pair(&from, to.rect, is_cable).0,
        ports::pair(&to, from.rect, is_cable).0,
    );
    Line::through(path::direct(start, end, Spacing::ROOMY))
}

/// Radius of rounded corners, in canvas pixels.
const CORNER: f64 = 8.0;

/// SVG path data through these points, with rounded corners.
fn rounded(points: &[CanvasPoint]) -> String {
    let mut path = String::new();
    let Some(start) = points.first() else {
        return path;
    };
    // Writing to a string cannot fail.
    let _ = write!(path, "M{:.1} {:.1}", start.x, start.y);
    for window in points.windows(3) {
        let (before, corner, after) = (window[0], window[1], window[2]);
        let near = towards(corner, before);
        let far = towards(corner, after);
        let _ = write!(
            path,
            "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
            near.x, near.y, corner.x, corner.y, far.x, far.y
        );
    }
    if let Some(end) = points.last() {
        let _ = write!(path, "L{:.1} {:.1}", end.x, end.y);
    }
    path
}

/// A point near a corner, on the way to another point.
fn towards(corner: CanvasPoint, other: CanvasPoint) -> CanvasPoint {
    let (dx, dy) = (other.x - corner.x, other.y - corner.y);
    let length = dx.hypot(dy);
    if length < 0.5 {
        return corner;
    }
    let part = CORNER.min(length / 2.0) / length;
    CanvasPoint::new(corner.x + dx * part, corner.y + dy * part)
}

#[cfg(test)]
mod tests;
