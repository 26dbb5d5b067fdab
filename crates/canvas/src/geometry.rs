//! Points, sizes and rectangles.
//!
//! Two spaces exist: the *canvas*, in which nodes stand, and the *screen*, in which pointers move.
//! They are different types, so that only [`crate::viewport::Viewport`] can turn one into the other.

/// A point on the canvas, in canvas pixels; y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanvasPoint {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A point on the screen, in CSS pixels from the top left corner of the canvas element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScreenPoint {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A way on the canvas, in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanvasVector {
    /// To the right.
    pub dx: f64,
    /// Downwards.
    pub dy: f64,
}

/// Width and height; of what and in which space, the owner says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Never negative.
    pub width: f64,
    /// Never negative.
    pub height: f64,
}

/// A rectangle on the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Never negative.
    pub width: f64,
    /// Never negative.
    pub height: f64,
}

impl CanvasPoint {
    /// From its coordinates.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The point that `way` leads to from here.
    pub fn moved(self, way: CanvasVector) -> Self {
        Self::new(self.x + way.dx, self.y + way.dy)
    }

    /// The way from `start` to here.
    pub fn since(self, start: CanvasPoint) -> CanvasVector {
        CanvasVector {
            dx: self.x - start.x,
            dy: self.y - start.y,
        }
    }
}

impl ScreenPoint {
    /// From its coordinates.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// How far it is from `other`, in CSS pixels.
    pub fn distance(self, other: ScreenPoint) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

impl Size {
    /// From its measures.
    pub const fn new(width: f64, height: f64) -> Self {
        Self { width, height }
    }
}

impl Rect {
    /// From its top left corner and size.
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

    /// The same size somewhere else.
    pub fn moved(self, way: CanvasVector) -> Self {
        Self::at(self.corner().moved(way), self.size())
    }

    /// Larger (or, with a negative `by`, smaller) on all four sides.
    pub fn grown(self, by: f64) -> Self {
        Self {
            x: self.x - by,
            y: self.y - by,
            width: (self.width + 2.0 * by).max(0.0),
            height: (self.height + 2.0 * by).max(0.0),
        }
    }

    /// The point lies in it; the left and top edges belong to it, the others do not.
    pub fn contains(self, point: CanvasPoint) -> bool {
        point.x >= self.x && point.y >= self.y && point.x < self.right() && point.y < self.bottom()
    }

    /// They share more than an edge.
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
    fn growing_below_nothing_stops_at_nothing() {
        let rect = Rect {
            x: 0.0,
            y: 0.0,
            width: 4.0,
            height: 4.0,
        };
        assert_eq!(rect.grown(-8.0).size(), Size::new(0.0, 0.0));
    }
}
