//! Grid for the positions of nodes, and guides that align a dragged node with others.

use crate::geometry::{CanvasPoint, CanvasVector, Rect};

/// Distance between two grid lines, in canvas pixels.
pub const GRID: f64 = 8.0;

/// The nearest point of the grid.
pub fn to_grid(point: CanvasPoint) -> CanvasPoint {
    CanvasPoint::new(nearest(point.x), nearest(point.y))
}

/// Offset that moves `start + way` onto the grid. Nodes that move together all use the offset of the dragged node, and
/// so keep their distances.
pub fn way_to_grid(start: CanvasPoint, way: CanvasVector) -> CanvasVector {
    to_grid(start.moved(way)).since(start)
}

/// A line through the edges or middles of a dragged node and of those that it is aligned with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guide {
    /// Start, at the top or on the left.
    pub start: CanvasPoint,
    /// End, at the bottom or on the right.
    pub end: CanvasPoint,
}

/// Offset of a dragged node: aligned with another node if an edge or middle is nearer than `reach`, otherwise on the
/// grid. Each direction is decided separately.
pub fn way_to_guides(
    dragged: Rect,
    way: CanvasVector,
    others: &[Rect],
    reach: f64,
) -> (CanvasVector, Vec<Guide>) {
    let moved = dragged.moved(way);
    let columns = |rect: Rect| [rect.x, rect.centre().x, rect.right()];
    let rows = |rect: Rect| [rect.y, rect.centre().y, rect.bottom()];
    let nearest = |lines: &dyn Fn(Rect) -> [f64; 3]| {
        let mut best: Option<f64> = None;
        for other in others {
            for (own, line) in lines(moved).into_iter().zip(lines(*other)) {
                let by = line - own;
                if by.abs() <= reach && best.is_none_or(|best| by.abs() < best.abs()) {
                    best = Some(by);
                }
            }
        }
        best
    };
    let grid = way_to_grid(dragged.corner(), way);
    let (across, down) = (nearest(&columns), nearest(&rows));
    let snapped = CanvasVector {
        dx: across.map_or(grid.dx, |by| way.dx + by),
        dy: down.map_or(grid.dy, |by| way.dy + by),
    };
    let end = dragged.moved(snapped);
    let mut guides = Vec::new();
    let mut guide = |lines: &dyn Fn(Rect) -> [f64; 3], is_column: bool| {
        for index in 0..3 {
            let at = lines(end)[index];
            let on = |rect: &&Rect| (lines(**rect)[index] - at).abs() < 0.01;
            if let Some(around) = Rect::around(others.iter().filter(on).copied()) {
                let span = around.union(end);
                guides.push(if is_column {
                    Guide {
                        start: CanvasPoint::new(at, span.y),
                        end: CanvasPoint::new(at, span.bottom()),
                    }
                } else {
                    Guide {
                        start: CanvasPoint::new(span.x, at),
                        end: CanvasPoint::new(span.right(), at),
                    }
                });
            }
        }
    };
    if across.is_some() {
        guide(&columns, true);
    }
    if down.is_some() {
        guide(&rows, false);
    }
    (snapped, guides)
}

fn nearest(value: f64) -> f64 {
    (value / GRID).round() * GRID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crooked_start_ends_on_the_grid() {
        let start = CanvasPoint::new(3.0, 5.0);
        let end = start.moved(way_to_grid(start, CanvasVector { dx: 20.0, dy: -2.0 }));
        assert_eq!(end, CanvasPoint::new(24.0, 0.0));
    }

    #[test]
    fn a_node_that_is_nearly_aligned_snaps_to_the_other() {
        let other = Rect {
            x: 101.0,
            y: 300.0,
            width: 216.0,
            height: 88.0,
        };
        let dragged = Rect {
            x: 0.0,
            y: 0.0,
            ..other
        };
        let way = CanvasVector { dx: 98.0, dy: 43.0 };
        let (snapped, guides) = way_to_guides(dragged, way, &[other], 5.0);
        assert_eq!(
            snapped,
            CanvasVector {
                dx: 101.0,
                dy: 40.0
            }
        );
        assert_eq!(guides.len(), 3, "left, middle and right");
        let far = CanvasVector { dx: 60.0, dy: 43.0 };
        assert!(way_to_guides(dragged, far, &[other], 5.0).1.is_empty());
    }
}
