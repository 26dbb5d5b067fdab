//! Labels on lines: on the longest free segment, apart from nodes and from each other.

use super::{
    Link,
    obstacles::{Obstacles, spanned},
    path::Ends,
};
use crate::geometry::{CanvasPoint, Rect};

/// Height of a label, in canvas pixels.
const HEIGHT: f64 = 16.0;
/// Places along a segment that are tried, as fractions.
const PLACES: [f64; 5] = [0.5, 0.3, 0.7, 0.15, 0.85];

/// The middle of each label.
pub(super) fn place(
    obstacles: &Obstacles,
    links: &[Link],
    paths: &[Vec<CanvasPoint>],
) -> Vec<Option<CanvasPoint>> {
    let mut taken: Vec<Rect> = Vec::new();
    let places = links.iter().zip(paths).map(|(link, path)| {
        if link.label_width <= 0.0 || path.is_empty() {
            return None;
        }
        let mut passable = Ends::of(obstacles, link.from, link.to).passable;
        // A label may be on the frame around an end, but not on the end.
        passable.retain(|shape| *shape != link.from && *shape != link.to);
        let mut segments: Vec<(CanvasPoint, CanvasPoint)> =
            path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let length = |(start, end): &(CanvasPoint, CanvasPoint)| {
            let span = spanned(*start, *end);
            // Text is horizontal, so a horizontal segment carries it better.
            span.width * 2.0 + span.height
        };
        segments.sort_by(|a, b| length(b).total_cmp(&length(a)));
        let places = segments.iter().flat_map(|(start, end)| {
            PLACES.map(|part| {
                CanvasPoint::new(
                    start.x + (end.x - start.x) * part,
                    start.y + (end.y - start.y) * part,
                )
            })
        });
        let area = |at: CanvasPoint| Rect {
            x: at.x - link.label_width / 2.0,
            y: at.y - HEIGHT / 2.0,
            width: link.label_width,
            height: HEIGHT,
        };
        let is_free = |at: &CanvasPoint| {
            let rect = area(*at);
            !taken.iter().any(|other| other.overlaps(rect))
                && obstacles
                    .within(rect, &passable)
                    .all(|(_, node)| !node.overlaps(rect))
        };
        let found = places.into_iter().find(is_free)?;
        taken.push(area(found));
        Some(found)
    });
    places.collect()
}
