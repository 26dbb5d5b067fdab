//! A* search on the sparse grid of the borders of nodes.
//!
//! The grid has a line beside each border of the obstacles in an area, and lines through the two ends. A shortest
//! orthogonal path around rectangles with the fewest corners always exists on these lines.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{
    obstacles::Obstacles,
    ports::Side,
    spacing::{CORNER_COST, Spacing},
};
use crate::geometry::{CanvasPoint, Rect};

const SIDES: [Side; 4] = [Side::Left, Side::Right, Side::Top, Side::Bottom];

/// The cheapest path between two points, in an area. `None` if there is none.
pub(super) fn search(
    obstacles: &Obstacles,
    passable: &[usize],
    from: (CanvasPoint, Side),
    to: (CanvasPoint, Side),
    area: Rect,
    spacing: Spacing,
) -> Option<Vec<CanvasPoint>> {
    let near: Vec<Rect> = obstacles
        .within(area, passable)
        .map(|(_, rect)| rect)
        .collect();
    let lines = |low: fn(&Rect) -> f64, high: fn(&Rect) -> f64, ends: [f64; 2]| {
        // Lines outside of the area could cross obstacles outside of it.
        let borders = near
            .iter()
            .flat_map(|rect| [low(rect) - spacing.margin, high(rect) + spacing.margin])
            .filter(|at| (low(&area)..=high(&area)).contains(at));
        let middle = (ends[0] + ends[1]) / 2.0;
        let mut all: Vec<f64> = borders.chain(ends).chain([middle]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    };
    let ends = [from.0, to.0];
    let grid = Grid::new(
        lines(|rect| rect.x, |rect| rect.right(), ends.map(|end| end.x)),
        lines(|rect| rect.y, |rect| rect.bottom(), ends.map(|end| end.y)),
        near.iter()
            .map(|rect| rect.grown(spacing.clearance.min(spacing.margin))),
    );
    grid.shortest(from, to)
}

/// Grid lines, and the segments between them that are blocked.
struct Grid {
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// Whether the segment to the right of a crossing is blocked.
    right: Vec<bool>,
    /// Whether the segment below a crossing is blocked.
    below: Vec<bool>,
}

/// An open crossing, with its direction.
struct Open {
    total: f64,
    state: usize,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap returns the largest, and the search needs the smallest.
        other
            .total
            .total_cmp(&self.total)
            .then(other.state.cmp(&self.state))
    }
}

impl Grid {
    fn new(xs: Vec<f64>, ys: Vec<f64>, blocks: impl Iterator<Item = Rect>) -> Self {
        let count = xs.len() * ys.len();
        let (mut right, mut below) = (vec![false; count], vec![false; count]);
        for rect in blocks {
            // Lines strictly inside, and segments that overlap the inside.
            let inside = |lines: &[f64], low: f64, high: f64| {
                lines.partition_point(|at| *at <= low)..lines.partition_point(|at| *at < high)
            };
            let columns = inside(&xs, rect.x, rect.right());
            let rows = inside(&ys, rect.y, rect.bottom());
            let before = |lines: &[f64], low: f64, high: f64| {
                let first = lines.partition_point(|at| *at <= low).saturating_sub(1);
                first..lines.partition_point(|at| *at < high)
            };
            for row in rows {
                for column in before(&xs, rect.x, rect.right()) {
                    right[row * xs.len() + column] = true;
                }
            }
            for row in before(&ys, rect.y, rect.bottom()) {
                for column in columns.clone() {
                    below[row * xs.len() + column] = true;
                }
            }
        }
        Self {
            xs,
            ys,
            right,
            below,
        }
    }

    fn point(&self, crossing: usize) -> CanvasPoint {
        let width = self.xs.len();
        CanvasPoint::new(self.xs[crossing % width], self.ys[crossing / width])
    }

    fn crossing(&self, at: CanvasPoint) -> Option<usize> {
        let column = self.xs.iter().position(|x| *x == at.x)?;
        let row = self.ys.iter().position(|y| *y == at.y)?;
        Some(row * self.xs.len() + column)
    }

    /// The next crossing in a direction, if the segment to it is free.
    fn next(&self, crossing: usize, side: Side) -> Option<usize> {
        let width = self.xs.len();
        let (column, row) = (crossing % width, crossing / width);
        let (next, is_blocked) = match side {
            Side::Left if column > 0 => (crossing - 1, self.right[crossing - 1]),
            Side::Right if column + 1 < width => (crossing + 1, self.right[crossing]),
            Side::Top if row > 0 => (crossing - width, self.below[crossing - width]),
            Side::Bottom if row + 1 < self.ys.len() => (crossing + width, self.below[crossing]),
            _ => return None,
        };
        (!is_blocked).then_some(next)
    }

    fn shortest(
        &self,
        from: (CanvasPoint, Side),
        to: (CanvasPoint, Side),
    ) -> Option<Vec<CanvasPoint>> {
        let (start, goal) = (self.crossing(from.0)?, self.crossing(to.0)?);
        let states = 4 * self.xs.len() * self.ys.len();
        let mut costs = vec![f64::INFINITY; states];
        let mut origins = vec![usize::MAX; states];
        let mut open = BinaryHeap::new();
        let left = |crossing: usize| {
            let at = self.point(crossing);
            (at.x - to.0.x).abs() + (at.y - to.0.y).abs()
        };
        let first = 4 * start + index(from.1);
        costs[first] = 0.0;
        open.push(Open {
            total: left(start),
            state: first,
        });
        while let Some(Open { total, state }) = open.pop() {
            let (crossing, heading) = (state / 4, SIDES[state % 4]);
            if total > costs[state] + left(crossing) {
                continue;
            }
            if crossing == goal {
                return Some(self.trace(&origins, state));
            }
            for side in SIDES {
                let (ahead, turned) = (heading.step(), side.step());
                if ahead.0 == -turned.0 && ahead.1 == -turned.1 {
                    continue;
                }
                let Some(next) = self.next(crossing, side) else {
                    continue;
                };
                let (here, there) = (self.point(crossing), self.point(next));
                if next == goal && to.1.is_against(there, here) {
                    continue;
                }
                let turn = if side == heading { 0.0 } else { CORNER_COST };
                let cost =
                    costs[state] + (here.x - there.x).abs() + (here.y - there.y).abs() + turn;
                let state_there = 4 * next + index(side);
                if cost < costs[state_there] {
                    costs[state_there] = cost;
                    origins[state_there] = state;
                    open.push(Open {
                        total: cost + left(next),
                        state: state_there,
                    });
                }
            }
        }
        None
    }

    fn trace(&self, origins: &[usize], goal: usize) -> Vec<CanvasPoint> {
        let mut points: Vec<CanvasPoint> = std::iter::successors(Some(goal), |state| {
            Some(origins[*state]).filter(|origin| *origin != usize::MAX)
        })
        .map(|state| self.point(state / 4))
        .collect();
        points.reverse();
        points
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Left => 0,
        Side::Right => 1,
        Side::Top => 2,
        Side::Bottom => 3,
    }
}
