//! Rectangles by position: which of them are in an area.

use rstar::{AABB, RTree, primitives::GeomWithData, primitives::Rectangle};

use crate::geometry::Rect;

type Entry = GeomWithData<Rectangle<[f64; 2]>, usize>;

/// A spatial index of rectangles. A rectangle's number is its place in the order of [`Areas::of`].
#[derive(Clone, Debug, Default)]
pub struct Areas {
    tree: RTree<Entry>,
}

impl Areas {
    /// The index of these rectangles.
    pub fn of(rects: impl IntoIterator<Item = Rect>) -> Self {
        Self::some(rects.into_iter().enumerate())
    }

    /// The index of rectangles with chosen numbers.
    pub fn some(rects: impl IntoIterator<Item = (usize, Rect)>) -> Self {
        let entries = rects.into_iter().map(|(number, rect)| {
            let (low, high) = corners(rect);
            GeomWithData::new(Rectangle::from_corners(low, high), number)
        });
        Self {
            tree: RTree::bulk_load(entries.collect()),
        }
    }

    /// Numbers of the rectangles that overlap or touch an area, in their order.
    pub fn within(&self, area: Rect) -> Vec<usize> {
        let mut found: Vec<usize> = self.within_unordered(area).collect();
        found.sort_unstable();
        found
    }

    /// Like [`within`](Self::within), without an order.
    pub fn within_unordered(&self, area: Rect) -> impl Iterator<Item = usize> {
        let (low, high) = corners(area);
        self.tree
            .locate_in_envelope_intersecting(AABB::from_corners(low, high))
            .map(|entry| entry.data)
    }
}

fn corners(rect: Rect) -> ([f64; 2], [f64; 2]) {
    ([rect.x, rect.y], [rect.right(), rect.bottom()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rects() -> impl Strategy<Value = Vec<Rect>> {
        prop::collection::vec(rect(), 0..60)
    }

    fn rect() -> impl Strategy<Value = Rect> {
        // Whole numbers, so that borders touch often.
        (-40..40i32, -40..40i32, 0..30i32, 0..30i32).prop_map(|(x, y, width, height)| Rect {
            x: f64::from(x),
            y: f64::from(y),
            width: f64::from(width),
            height: f64::from(height),
        })
    }

    proptest! {
        #[test]
        fn an_area_has_the_rectangles_that_a_search_of_all_finds(rects in rects(), area in rect()) {
            let touches = |rect: &Rect| {
                rect.x <= area.right() && rect.right() >= area.x && rect.y <= area.bottom() && rect.bottom() >= area.y
            };
            let all: Vec<usize> = (0..rects.len()).filter(|at| touches(&rects[*at])).collect();
            prop_assert_eq!(Areas::of(rects).within(area), all);
        }
    }
}
