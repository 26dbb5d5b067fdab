//! Ports: the points at which lines leave nodes.

use std::collections::BTreeMap;

use super::{Link, Shape};
use crate::geometry::{CanvasPoint, Rect};

/// Distance of ports from the corners of a node, in canvas pixels.
const INSET: f64 = 14.0;
/// Distance between two ports of a side, in canvas pixels. Smaller if a side has too many.
const GAP: f64 = 14.0;
/// Length from which a side is wide: its ports are opposite their other ends instead of in the middle.
const WIDE: f64 = 220.0;
/// Smallest gap between two sides that has room for a line, in canvas pixels.
const ROOM: f64 = 12.0;

/// A side of a node, which is also the direction of a line that leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

impl Side {
    /// Unit step away from the node.
    pub(super) fn step(self) -> (f64, f64) {
        match self {
            Side::Left => (-1.0, 0.0),
            Side::Right => (1.0, 0.0),
            Side::Top => (0.0, -1.0),
            Side::Bottom => (0.0, 1.0),
        }
    }

    /// True if the step from a port goes back into its node.
    pub(super) fn is_against(self, from: CanvasPoint, to: CanvasPoint) -> bool {
        let (dx, dy) = self.step();
        dx * (to.x - from.x) + dy * (to.y - from.y) < 0.0
    }

    pub(super) fn is_horizontal(self) -> bool {
        matches!(self, Side::Left | Side::Right)
    }

    /// Start and length of this side, along it.
    fn range(self, rect: Rect) -> (f64, f64) {
        if self.is_horizontal() {
            (rect.y, rect.height)
        } else {
            (rect.x, rect.width)
        }
    }

    fn along(self, point: CanvasPoint) -> f64 {
        if self.is_horizontal() {
            point.y
        } else {
            point.x
        }
    }

    /// The point at a distance along this side.
    fn point(self, rect: Rect, along: f64) -> CanvasPoint {
        match self {
            Side::Left => CanvasPoint::new(rect.x, along),
            Side::Right => CanvasPoint::new(rect.right(), along),
            Side::Top => CanvasPoint::new(along, rect.y),
            Side::Bottom => CanvasPoint::new(along, rect.bottom()),
        }
    }
}

/// A point on the border of a node, and the direction of its line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Port {
    pub(super) at: CanvasPoint,
    pub(super) side: Side,
}

/// The side of a shape that faces a rectangle.
fn side(shape: &Shape, other: Rect, is_cable: bool) -> Side {
    let (from, to) = (shape.rect.centre(), other.centre());
    let sideways = if to.x >= from.x {
        Side::Right
    } else {
        Side::Left
    };
    if shape.is_row {
        return sideways;
    }
    let rect = shape.rect;
    let down = (other.y - rect.bottom()).max(rect.y - other.bottom());
    let across = (other.x - rect.right()).max(rect.x - other.right());
    let is_down = match (down >= ROOM, across >= ROOM) {
        (true, false) => true,
        (false, true) => false,
        (true, true) => is_cable || down > across,
        (false, false) => down >= across,
    };
    if !is_down {
        sideways
    } else if to.y >= from.y {
        Side::Bottom
    } else {
        Side::Top
    }
}

/// Preferred place along a side, before other lines are considered. Opposite sides prefer the same, for a straight line.
fn wanted(side: Side, rect: Rect, other: Rect) -> f64 {
    let (start, length) = side.range(rect);
    let (other_start, other_length) = side.range(other);
    let low = start.max(other_start);
    let high = (start + length).min(other_start + other_length);
    if high - low >= 2.0 * INSET {
        return (low + high) / 2.0;
    }
    if length > WIDE {
        return (other_start + other_length / 2.0).clamp(start + INSET, start + length - INSET);
    }
    start + length / 2.0
}

/// The ports of one line without regard to others.
pub(super) fn pair(shape: &Shape, other: Rect, is_cable: bool) -> (Port, Port) {
    let tip = Shape {
        rect: other,
        parent: None,
        is_row: false,
    };
    let port = |shape: &Shape, other: Rect| {
        let side = side(shape, other, is_cable);
        Port {
            at: side.point(shape.rect, wanted(side, shape.rect, other)),
            side,
        }
    };
    (port(shape, other), port(&tip, shape.rect))
}

/// One end of a line on a side.
struct Seat {
    link: usize,
    is_end: bool,
    wanted: f64,
    other: f64,
}

/// The ports of all links. `None` for links that are not `known`.
pub(super) fn spread(
    shapes: &[Shape],
    links: &[Link],
    known: impl Fn(&Link) -> bool,
) -> Vec<Option<(Port, Port)>> {
    let mut sides: BTreeMap<(usize, Side), Vec<Seat>> = BTreeMap::new();
    for (index, link) in links.iter().enumerate().filter(|(_, link)| known(link)) {
        for (is_end, from, to) in [(false, link.from, link.to), (true, link.to, link.from)] {
            let (rect, other) = (shapes[from].rect, shapes[to].rect);
            let side = side(&shapes[from], other, link.is_cable);
            sides.entry((from, side)).or_default().push(Seat {
                link: index,
                is_end,
                wanted: wanted(side, rect, other),
                other: side.along(other.centre()),
            });
        }
    }
    let mut ports = vec![(None, None); links.len()];
    for ((shape, side), mut seats) in sides {
        seats.sort_by(|a, b| a.other.total_cmp(&b.other).then(a.link.cmp(&b.link)));
        let rect = shapes[shape].rect;
        let (start, length) = side.range(rect);
        let wanted: Vec<f64> = seats.iter().map(|seat| seat.wanted).collect();
        let places = apart(&wanted, start, length);
        for (seat, along) in seats.iter().zip(places) {
            let port = Some(Port {
                at: side.point(rect, along),
                side,
            });
            if seat.is_end {
                ports[seat.link].1 = port;
            } else {
                ports[seat.link].0 = port;
            }
        }
    }
    ports
        .into_iter()
        .map(|(start, end)| Some((start?, end?)))
        .collect()
}

/// Places near the wanted ones, in the given order, with a gap between them and within a side.
///
/// The gap is subtracted first, so that the problem is a regression to a sequence that never falls. It is solved by
/// pooling adjacent violators.
fn apart(wanted: &[f64], start: f64, length: f64) -> Vec<f64> {
    let inset = INSET.min(length / 4.0);
    let (low, room) = (start + inset, length - 2.0 * inset);
    let count = wanted.len();
    let gap = GAP.min(room / (count.max(2) - 1) as f64);
    let high = low + room - gap * (count.saturating_sub(1)) as f64;
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (index, place) in wanted.iter().enumerate() {
        let mut pool = (place - gap * index as f64, 1);
        while let Some(&(before, size)) = pools.last() {
            if before <= pool.0 {
                break;
            }
            pools.pop();
            let all = size + pool.1;
            pool = (
                (before * size as f64 + pool.0 * pool.1 as f64) / all as f64,
                all,
            );
        }
        pools.push(pool);
    }
    let bases = pools
        .into_iter()
        .flat_map(|(base, size)| std::iter::repeat_n(base, size));
    bases
        .enumerate()
        .map(|(index, base)| base.clamp(low, high.max(low)) + gap * index as f64)
        .collect()
}
