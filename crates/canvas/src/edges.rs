//! Route of a line between two rectangles.
//!
//! Lines of networks have right angles, like cables. Relations and references are curves, so that the two can be
//! distinguished easily. A line ends on the side that faces the other end. Lines do not yet avoid nodes in between.

use std::fmt::Write;

use crate::{
    drawing::EdgeKind,
    geometry::{CanvasPoint, Rect},
};

/// A line to paint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// SVG path data.
    pub path: String,
    /// Position of the label.
    pub middle: CanvasPoint,
    /// Start point.
    pub start: CanvasPoint,
    /// End point.
    pub end: CanvasPoint,
}

/// Radius of rounded corners, in canvas pixels.
const CORNER: f64 = 8.0;
/// Distance of lines from the corners of a frame, in canvas pixels.
const FRAME_INSET: f64 = 28.0;
/// Smallest gap between two sides that has room for a line, in canvas pixels.
const ROOM: f64 = 12.0;

/// Direction in which a line leaves a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Down,
    Across,
}

/// The line of an edge between two nodes.
pub fn route(kind: EdgeKind, from: Rect, to: Rect) -> Line {
    let cable = matches!(
        kind,
        EdgeKind::Interface | EdgeKind::RouterInterface | EdgeKind::Gateway
    );
    let down = (to.y - from.bottom()).max(from.y - to.bottom());
    let across = (to.x - from.right()).max(from.x - to.right());
    let axis = match (down >= ROOM, across >= ROOM) {
        (true, false) => Axis::Down,
        (false, true) => Axis::Across,
        (true, true) if cable || down > across => Axis::Down,
        (true, true) => Axis::Across,
        (false, false) if down >= across => Axis::Down,
        (false, false) => Axis::Across,
    };
    let (start, end) = ends(from, to, axis);
    if cable {
        angled(start, end, axis)
    } else {
        curved(start, end, axis)
    }
}

/// The line that follows the pointer while a connection is drawn.
pub fn loose(from: Rect, to: CanvasPoint) -> Line {
    let tip = Rect {
        x: to.x,
        y: to.y,
        width: 0.0,
        height: 0.0,
    };
    route(EdgeKind::Relation, from, tip)
}

fn ends(from: Rect, to: Rect, axis: Axis) -> (CanvasPoint, CanvasPoint) {
    // On a wide side the line ends opposite its start.
    let facing = |low: f64, length: f64, towards: f64| {
        let inset = FRAME_INSET.min(length / 2.0);
        if length > 220.0 {
            towards.clamp(low + inset, low + length - inset)
        } else {
            low + length / 2.0
        }
    };
    let (a, b) = (from.centre(), to.centre());
    match axis {
        Axis::Down => {
            let below = b.y >= a.y;
            let end_x = facing(to.x, to.width, a.x);
            let start_x = facing(from.x, from.width, b.x);
            (
                CanvasPoint::new(start_x, if below { from.bottom() } else { from.y }),
                CanvasPoint::new(end_x, if below { to.y } else { to.bottom() }),
            )
        }
        Axis::Across => {
            let right = b.x >= a.x;
            let end_y = facing(to.y, to.height, a.y);
            let start_y = facing(from.y, from.height, b.y);
            (
                CanvasPoint::new(if right { from.right() } else { from.x }, start_y),
                CanvasPoint::new(if right { to.x } else { to.right() }, end_y),
            )
        }
    }
}

fn curved(start: CanvasPoint, end: CanvasPoint, axis: Axis) -> Line {
    let (dx, dy) = (end.x - start.x, end.y - start.y);
    let (one, two) = match axis {
        Axis::Down => {
            let bend = (dy.abs() / 2.0).max(24.0) * dy.signum();
            (
                CanvasPoint::new(start.x, start.y + bend),
                CanvasPoint::new(end.x, end.y - bend),
            )
        }
        Axis::Across => {
            let bend = (dx.abs() / 2.0).max(24.0) * dx.signum();
            (
                CanvasPoint::new(start.x + bend, start.y),
                CanvasPoint::new(end.x - bend, end.y),
            )
        }
    };
    let mut path = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        path,
        "M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
        start.x, start.y, one.x, one.y, two.x, two.y, end.x, end.y
    );
    Line {
        path,
        middle: CanvasPoint::new((start.x + end.x) / 2.0, (start.y + end.y) / 2.0),
        start,
        end,
    }
}

fn angled(start: CanvasPoint, end: CanvasPoint, axis: Axis) -> Line {
    let middle = CanvasPoint::new((start.x + end.x) / 2.0, (start.y + end.y) / 2.0);
    let corners = match axis {
        Axis::Down => [
            CanvasPoint::new(start.x, middle.y),
            CanvasPoint::new(end.x, middle.y),
        ],
        Axis::Across => [
            CanvasPoint::new(middle.x, start.y),
            CanvasPoint::new(middle.x, end.y),
        ],
    };
    let mut path = format!("M{:.1} {:.1}", start.x, start.y);
    let points = [start, corners[0], corners[1], end];
    for window in points.windows(3) {
        let (before, corner, after) = (window[0], window[1], window[2]);
        let near = step(corner, before);
        let far = step(corner, after);
        let _ = write!(
            path,
            "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
            near.x, near.y, corner.x, corner.y, far.x, far.y
        );
    }
    let _ = write!(path, "L{:.1} {:.1}", end.x, end.y);
    Line {
        path,
        middle,
        start,
        end,
    }
}

/// A point near a corner, towards another point.
fn step(corner: CanvasPoint, towards: CanvasPoint) -> CanvasPoint {
    let length = (towards.x - corner.x).hypot(towards.y - corner.y);
    if length < 0.5 {
        return corner;
    }
    let part = CORNER.min(length / 2.0) / length;
    CanvasPoint::new(
        corner.x + (towards.x - corner.x) * part,
        corner.y + (towards.y - corner.y) * part,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_above_its_network_has_a_straight_line() {
        let router = Rect {
            x: 100.0,
            y: 0.0,
            width: 100.0,
            height: 40.0,
        };
        let frame = Rect {
            x: 0.0,
            y: 120.0,
            width: 400.0,
            height: 200.0,
        };
        let line = route(EdgeKind::RouterInterface, router, frame);
        assert_eq!(
            (line.start, line.end),
            (
                CanvasPoint::new(150.0, 40.0),
                CanvasPoint::new(150.0, 120.0)
            )
        );
    }

    #[test]
    fn neighbours_are_joined_by_a_horizontal_line() {
        let left = Rect {
            x: 0.0,
            y: 0.0,
            width: 100.0,
            height: 40.0,
        };
        let right = Rect { x: 300.0, ..left };
        let line = route(EdgeKind::Relation, left, right);
        assert_eq!((line.start.x, line.end.x), (100.0, 300.0));
        let back = route(EdgeKind::Relation, right, left);
        assert_eq!((back.start.x, back.end.x), (300.0, 100.0));
    }

    #[test]
    fn every_pair_has_a_line() {
        let a = Rect {
            x: 0.0,
            y: 0.0,
            width: 100.0,
            height: 40.0,
        };
        for (x, y) in [
            (0.0, 0.0),
            (50.0, 20.0),
            (-200.0, 0.0),
            (0.0, -200.0),
            (1e5, 1e5),
        ] {
            for kind in [EdgeKind::Interface, EdgeKind::Relation] {
                let line = route(kind, a, Rect { x, y, ..a });
                assert!(
                    line.path.starts_with('M') && !line.path.contains("NaN"),
                    "{}",
                    line.path
                );
            }
        }
    }
}
