//! Grid for the positions of nodes.

use crate::geometry::{CanvasPoint, CanvasVector};

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
}
