//! The path between two ports.

use super::{
    obstacles::{Obstacles, spanned},
    ports::{Port, Side},
    search,
    spacing::{CORNER_COST, Spacing},
};
use crate::geometry::{CanvasPoint, Rect};

/// Distances around the two ends in which the search runs, one after the other, in canvas pixels.
const REACHES: [f64; 4] = [80.0, 320.0, 1280.0, f64::INFINITY];

/// The two ends of a line: what it may cross, and what it has to leave before the first corner.
pub(super) struct Ends {
    pub(super) passable: Vec<usize>,
    start: Rect,
    end: Rect,
}

impl Ends {
    /// The ends of a line between two shapes.
    pub(super) fn of(obstacles: &Obstacles, from: usize, to: usize) -> Self {
        let (from_outer, to_outer) = (obstacles.outer(from), obstacles.outer(to));
        let around = obstacles
            .ancestors(from_outer)
            .chain(obstacles.ancestors(to_outer));
        let mut passable: Vec<usize> = around.collect();
        let rect = |shape: usize| obstacles.shapes()[shape].rect;
        if rect(from_outer).overlaps(rect(to_outer)) {
            passable.extend([from_outer, to_outer]);
        }
        Self {
            start: rect(from_outer),
            end: rect(to_outer),
            passable: Self::with_overlapping(obstacles, passable, &[from_outer, to_outer]),
        }
    }

    /// The ends of a line that follows the pointer. Everything under the pointer may be crossed.
    pub(super) fn loose(obstacles: &Obstacles, from: usize, to: CanvasPoint) -> Self {
        let outer = obstacles.outer(from);
        let mut passable: Vec<usize> = obstacles.ancestors(outer).collect();
        let tip = spanned(to, to);
        let under: Vec<usize> = obstacles
            .within(tip.grown(Spacing::ROOMY.margin * 2.0), &passable)
            .map(|(shape, _)| shape)
            .collect();
        passable.extend(under);
        Self {
            start: obstacles.shapes()[outer].rect,
            end: tip,
            passable: Self::with_overlapping(obstacles, passable, &[outer]),
        }
    }

    /// Adds the nodes that overlap an end: a line cannot avoid them.
    fn with_overlapping(
        obstacles: &Obstacles,
        mut passable: Vec<usize>,
        ends: &[usize],
    ) -> Vec<usize> {
        for &end in ends {
            let rect = obstacles.shapes()[end].rect;
            // The contents of a passable frame count as obstacles of their own, so they are looked at again.
            loop {
                let over: Vec<usize> = obstacles
                    .within(rect, &passable)
                    .filter(|(shape, other)| !ends.contains(shape) && other.overlaps(rect))
                    .map(|(shape, _)| shape)
                    .collect();
                if over.is_empty() {
                    break;
                }
                passable.extend(over);
            }
        }
        passable
    }
}

/// The best path from port to port.
pub(super) fn between(
    obstacles: &Obstacles,
    ends: &Ends,
    start: Port,
    end: Port,
) -> Vec<CanvasPoint> {
    for spacing in [Spacing::ROOMY, Spacing::TIGHT] {
        let (first, last) = (
            stub(start, ends.start, spacing.margin),
            stub(end, ends.end, spacing.margin),
        );
        let is_free = |points: &[CanvasPoint]| {
            obstacles.is_free(
                points,
                &ends.passable,
                spacing.clearance.min(spacing.margin),
            )
        };
        let simple = simple(first, start.side, last, end.side)
            .into_iter()
            .filter(|middle| is_free(middle))
            .min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let middle = simple.or_else(|| {
            let area = spanned(first, last);
            REACHES.iter().find_map(|reach| {
                search::search(
                    obstacles,
                    &ends.passable,
                    (first, start.side),
                    (last, end.side),
                    area.grown(reach.min(1e7)),
                    spacing,
                )
            })
        });
        if let Some(middle) = middle {
            return joined(start.at, middle, end.at);
        }
    }
    direct(start, end, Spacing::ROOMY)
}

/// The simplest path, through everything.
pub(super) fn direct(start: Port, end: Port, spacing: Spacing) -> Vec<CanvasPoint> {
    let stub = |port: Port| {
        let (dx, dy) = port.side.step();
        CanvasPoint::new(
            port.at.x + dx * spacing.margin,
            port.at.y + dy * spacing.margin,
        )
    };
    let (first, last) = (stub(start), stub(end));
    let middle = simple(first, start.side, last, end.side)
        .into_iter()
        .min_by(|a, b| cost(a).total_cmp(&cost(b)));
    let corner = || vec![first, CanvasPoint::new(last.x, first.y), last];
    joined(start.at, middle.unwrap_or_else(corner), end.at)
}

/// The point at which a line may turn: outside the card, with a margin.
fn stub(port: Port, outer: Rect, margin: f64) -> CanvasPoint {
    let at = port.at;
    match port.side {
        Side::Left => CanvasPoint::new(outer.x.min(at.x) - margin, at.y),
        Side::Right => CanvasPoint::new(outer.right().max(at.x) + margin, at.y),
        Side::Top => CanvasPoint::new(at.x, outer.y.min(at.y) - margin),
        Side::Bottom => CanvasPoint::new(at.x, outer.bottom().max(at.y) + margin),
    }
}

/// The paths with at most two corners that leave and arrive in the right direction.
fn simple(from: CanvasPoint, out: Side, to: CanvasPoint, back: Side) -> Vec<Vec<CanvasPoint>> {
    let middle = CanvasPoint::new((from.x + to.x) / 2.0, (from.y + to.y) / 2.0);
    let at = CanvasPoint::new;
    let paths = [
        vec![from, to],
        vec![from, at(from.x, to.y), to],
        vec![from, at(to.x, from.y), to],
        vec![from, at(middle.x, from.y), at(middle.x, to.y), to],
        vec![from, at(from.x, middle.y), at(to.x, middle.y), to],
    ];
    paths
        .into_iter()
        .map(|path| simplified(&path))
        .filter(|path| {
            let is_straight =
                |pair: &[CanvasPoint]| pair[0].x == pair[1].x || pair[0].y == pair[1].y;
            let (Some(first), Some(last)) = (path.windows(2).next(), path.windows(2).last()) else {
                return true;
            };
            path.windows(2).all(is_straight)
                && !out.is_against(first[0], first[1])
                && !back.is_against(last[1], last[0])
        })
        .collect()
}

fn joined(start: CanvasPoint, middle: Vec<CanvasPoint>, end: CanvasPoint) -> Vec<CanvasPoint> {
    let all: Vec<CanvasPoint> = std::iter::once(start).chain(middle).chain([end]).collect();
    let mut points = simplified(&all);
    if points.len() == 1 {
        points.push(end);
    }
    points
}

/// The path without repeated points and without points on straight segments.
pub(super) fn simplified(points: &[CanvasPoint]) -> Vec<CanvasPoint> {
    let mut corners: Vec<CanvasPoint> = Vec::with_capacity(points.len());
    for &point in points {
        if corners.last() == Some(&point) {
            continue;
        }
        if let [.., before, last] = corners[..] {
            let is_on = |a: f64, b: f64, c: f64| (a <= b && b <= c) || (a >= b && b >= c);
            let goes_on = (before.x == last.x
                && last.x == point.x
                && is_on(before.y, last.y, point.y))
                || (before.y == last.y && last.y == point.y && is_on(before.x, last.x, point.x));
            if goes_on {
                corners.pop();
            }
        }
        corners.push(point);
    }
    corners
}

fn cost(points: &[CanvasPoint]) -> f64 {
    let length: f64 = points
        .windows(2)
        .map(|pair| (pair[0].x - pair[1].x).abs() + (pair[0].y - pair[1].y).abs())
        .sum();
    length + CORNER_COST * points.len() as f64
}
