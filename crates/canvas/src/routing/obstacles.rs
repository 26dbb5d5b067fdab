//! The nodes in the way of lines, in a spatial index.

use rstar::{AABB, RTree, primitives::GeomWithData, primitives::Rectangle};

use super::Shape;
use crate::geometry::{CanvasPoint, Rect};

type Entry = GeomWithData<Rectangle<[f64; 2]>, usize>;

/// All nodes except rows, which are inside their cards.
#[derive(Clone, Debug)]
pub(super) struct Obstacles {
    shapes: Vec<Shape>,
    tree: RTree<Entry>,
}

impl Obstacles {
    pub(super) fn new(shapes: Vec<Shape>) -> Self {
        let entries = shapes
            .iter()
            .enumerate()
            .filter(|(_, shape)| !shape.is_row)
            .map(|(index, shape)| {
                let (low, high) = corners(shape.rect);
                GeomWithData::new(Rectangle::from_corners(low, high), index)
            })
            .collect();
        Self {
            shapes,
            tree: RTree::bulk_load(entries),
        }
    }

    pub(super) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The shape itself, or the card of a row: what a line must leave before it turns.
    pub(super) fn outer(&self, shape: usize) -> usize {
        match self.shapes[shape] {
            Shape {
                is_row: true,
                parent: Some(parent),
                ..
            } => parent,
            _ => shape,
        }
    }

    /// The shapes around a shape, from the inside out.
    pub(super) fn ancestors(&self, shape: usize) -> impl Iterator<Item = usize> {
        // A cycle of parents cannot be drawn, so the number of steps is limited.
        std::iter::successors(self.shapes[shape].parent, |at| self.shapes[*at].parent)
            .take(self.shapes.len())
    }

    /// Shapes that overlap an area, except those of `passable` and those inside other obstacles.
    pub(super) fn within(
        &self,
        area: Rect,
        passable: &[usize],
    ) -> impl Iterator<Item = (usize, Rect)> {
        let (low, high) = corners(area);
        self.tree
            .locate_in_envelope_intersecting(AABB::from_corners(low, high))
            .map(|entry| entry.data)
            .filter(move |index| {
                !passable.contains(index)
                    && self
                        .ancestors(*index)
                        .all(|outer| passable.contains(&outer))
            })
            .map(|index| (index, self.shapes[index].rect))
    }

    /// True if no obstacle is nearer to the line than `clearance`.
    pub(super) fn is_free(
        &self,
        points: &[CanvasPoint],
        passable: &[usize],
        clearance: f64,
    ) -> bool {
        points
            .windows(2)
            .all(|pair| self.is_segment_free(pair[0], pair[1], passable, clearance))
    }

    /// Like [`is_free`](Self::is_free), for one segment.
    pub(super) fn is_segment_free(
        &self,
        start: CanvasPoint,
        end: CanvasPoint,
        passable: &[usize],
        clearance: f64,
    ) -> bool {
        let area = spanned(start, end).grown(clearance);
        self.within(area, passable)
            .all(|(_, rect)| !crosses(start, end, rect.grown(clearance)))
    }
}

/// True if a horizontal or vertical segment has a point inside a rectangle. Its border is not inside.
pub(super) fn crosses(start: CanvasPoint, end: CanvasPoint, rect: Rect) -> bool {
    let span = spanned(start, end);
    span.x < rect.right()
        && span.right() > rect.x
        && span.y < rect.bottom()
        && span.bottom() > rect.y
}

/// The rectangle with these opposite corners.
pub(super) fn spanned(start: CanvasPoint, end: CanvasPoint) -> Rect {
    Rect {
        x: start.x.min(end.x),
        y: start.y.min(end.y),
        width: (start.x - end.x).abs(),
        height: (start.y - end.y).abs(),
    }
}

fn corners(rect: Rect) -> ([f64; 2], [f64; 2]) {
    ([rect.x, rect.y], [rect.right(), rect.bottom()])
}
