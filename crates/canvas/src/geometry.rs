//! Points, sizes and rectangles.
//!
//! There are two spaces: the *canvas* with the nodes, and the *screen* with the pointer. They have different types, so
//! that only [`crate::viewport::Viewport`] can convert between them.

use serde::{Deserialize, Serialize};

/// A point on the canvas, in canvas pixels; y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CanvasPoint {
    /// Horizontal position, to the right.
    pub x: f64,
    /// Vertical position, downwards.
    pub y: f64,
}

/// A point on the screen, in CSS pixels from the top left corner of the canvas element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScreenPoint {
    /// Horizontal position, to the right.
    pub x: f64,
    /// Vertical position, downwards.
    pub y: f64,
}

/// An offset on the canvas, in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanvasVector {
    /// Horizontal offset, to the right.
    pub dx: f64,
    /// Vertical offset, downwards.
    pub dy: f64,
}

/// Width and height. The owner defines the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Width. Never negative.
    pub width: f64,
    /// Height. Never negative.
    pub height: f64,
}

/// A rectangle on the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width. Never negative.
    pub width: f64,
    /// Height. Never negative.
    pub height: f64,
}

impl CanvasPoint {
    /// The point with these coordinates.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The point moved by `way`.
    pub fn moved(self, way: CanvasVector) -> Self {
        Self::new(self.x + way.dx, self.y + way.dy)
    }

    /// The offset from `start` to this point.
    pub fn since(self, start: CanvasPoint) -> CanvasVector {
        CanvasVector {
            dx: self.x - start.x,
            dy: self.y - start.y,
        }
    }
}

impl ScreenPoint {
    /// The point with these coordinates.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// Distance from `other`, in CSS pixels.
    pub fn distance(self, other: ScreenPoint) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

impl Size {
    /// The size with these measures.
    pub const fn new(width: f64, height: f64) -> Self {
        Self { width, height }
    }
}

impl Rect {
    /// The rectangle with this top left corner and size.
    pub const fn at(corner: CanvasPoint, size: Size) -> Self {
        Self {
            x: corner.x,
            y: corner.y,
            width: size.width,
            height: size.height,
        }
    }

    /// The top left corner.
    pub const fn corner(self) -> CanvasPoint {
        CanvasPoint::new(self.x, self.y)
    }

    /// Width and height.
    pub const fn size(self) -> Size {
        Size::new(self.width, self.height)
    }

    /// The right edge.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// The bottom edge.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }

    /// The point in the middle.
    pub fn centre(self) -> CanvasPoint {
        CanvasPoint::new(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// The rectangle moved by `way`.
    pub fn moved(self, way: CanvasVector) -> Self {
        Self::at(self.corner().moved(way), self.size())
    }

    /// The rectangle grown on all four sides, or shrunk with a negative `by`.
    pub fn grown(self, by: f64) -> Self {
        Self {
            x: self.x - by,
            y: self.y - by,
            width: (self.width + 2.0 * by).max(0.0),
            height: (self.height + 2.0 * by).max(0.0),
        }
    }

    /// True if the point is inside. The left and top edges are inside, the others are not.
    pub fn contains(self, point: CanvasPoint) -> bool {
        point.x >= self.x && point.y >= self.y && point.x < self.right() && point.y < self.bottom()
    }

    /// True if all of `other` is inside. The sides are compared as they are: the sides of a [`union`](Self::union) are
    /// rounded.
    pub fn covers(self, other: Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && other.right() <= self.right()
            && other.bottom() <= self.bottom()
    }

    /// True if the two share more than an edge.
    pub fn overlaps(self, other: Rect) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// The smallest rectangle around both.
    pub fn union(self, other: Rect) -> Rect {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Rect {
            x,
            y,
            width: self.right().max(other.right()) - x,
            height: self.bottom().max(other.bottom()) - y,
        }
    }

    /// The smallest rectangle around all of them.
    pub fn around(rects: impl IntoIterator<Item = Rect>) -> Option<Rect> {
        rects.into_iter().reduce(Rect::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_touch_without_overlapping() {
        let left = Rect {
            x: 0.0,
            y: 0.0,
            width: 10.0,
            height: 10.0,
        };
        let right = Rect { x: 10.0, ..left };
        assert!(!left.overlaps(right));
        assert!(left.overlaps(right.moved(CanvasVector { dx: -1.0, dy: 0.0 })));
        assert_eq!(left.union(right).width, 20.0);
    }

    #[test]
    fn a_rectangle_covers_what_is_inside_also_where_sums_are_rounded() {
        let area = Rect {
            x: -3_000_000.1,
            y: 0.1,
            width: 1280.3,
            height: 720.7,
        };
        assert!(area.covers(area) && area.covers(area.grown(-0.7)));
        assert!(!area.covers(area.moved(CanvasVector { dx: 0.1, dy: 0.0 })));
        assert!(!area.covers(area.grown(0.7)));
    }

    #[test]
    fn a_rectangle_cannot_shrink_below_zero() {
        let rect = Rect {
            x: 0.0,
            y: 0.0,
            width: 4.0,
            height: 4.0,
        };
        assert_eq!(rect.grown(-8.0).size(), Size::new(0.0, 0.0));
    }
}
