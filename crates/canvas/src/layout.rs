//! The positions and sizes of nodes, and free space between them.
//!
//! A frame is as large as its contents. [`crate::arrangement`] finds positions for nodes without one.

use std::collections::BTreeMap;

use crate::{
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    node::NodeKind,
    snap,
};

/// Positions by resource name.
pub type Places = BTreeMap<String, Place>;

/// Position of a node, and the size chosen by the user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Left, in canvas pixels.
    pub x: f64,
    /// Top, in canvas pixels.
    pub y: f64,
    /// Minimum width.
    pub width: Option<f64>,
    /// Minimum height.
    pub height: Option<f64>,
    /// Corner that a folded frame had before it was folded. `None` if it is not folded.
    ///
    /// The places of its contents are relative to this corner, so a move of the folded frame does not change them.
    pub folded: Option<CanvasPoint>,
}

impl Place {
    /// A position without a chosen size.
    pub fn at(corner: CanvasPoint) -> Self {
        Self {
            x: corner.x,
            y: corner.y,
            ..Self::default()
        }
    }

    /// The corner, unless a coordinate is out of range or not a number (a layout can come from any client).
    pub(crate) fn corner(self) -> Option<CanvasPoint> {
        let sane = |value: f64| value.is_finite() && value.abs() < 1e6;
        (sane(self.x) && sane(self.y)).then_some(CanvasPoint::new(self.x, self.y))
    }
}

/// Width of a card.
pub const CARD_WIDTH: f64 = 216.0;
/// Height of a server's name, image and flavor.
pub const SERVER_HEADER: f64 = 56.0;
/// Height of a plain card.
pub const CARD_HEIGHT: f64 = 56.0;
/// Height of a row of software, with the gap below it.
pub const CHIP_HEIGHT: f64 = 32.0;
const CHIP_GAP: f64 = 4.0;
/// Distance of chips from their server's edges.
const CHIP_INSET: f64 = 8.0;
/// Height of a row of tags. The row is always reserved, so that nodes do not move when ghosts appear.
pub const TAGS_HEIGHT: f64 = 32.0;
/// Number of tags in a row.
pub const TAGS_IN_ROW: usize = 7;
/// Size of routers and the Internet.
pub const PILL: Size = Size::new(144.0, 48.0);
/// Height of a frame's name and CIDRs.
pub const FRAME_HEADER: f64 = 48.0;
/// Distance between a frame's edge and its contents.
pub const FRAME_PADDING: f64 = 16.0;
/// Size of an empty frame.
pub const FRAME_MIN: Size = Size::new(CARD_WIDTH + 2.0 * FRAME_PADDING, 176.0);

/// Gap between cards.
pub(crate) const GAP: f64 = 16.0;
/// Width after which frames go to the next row.
const ROW_WIDTH_MAX: f64 = 1600.0;

/// Size of a node with so many chips and tags. The final size of a frame depends on its children, see
/// [`frame_around`].
pub fn size_of(kind: NodeKind, chips: usize, tags: usize) -> Size {
    match kind {
        NodeKind::Frame => FRAME_MIN,
        NodeKind::Router | NodeKind::Internet => PILL,
        NodeKind::Chip => Size::new(CARD_WIDTH - 2.0 * CHIP_INSET, CHIP_HEIGHT),
        NodeKind::Card if tags == 0 => Size::new(CARD_WIDTH, CARD_HEIGHT),
        NodeKind::Card => Size::new(CARD_WIDTH, CARD_HEIGHT + tags_height(tags)),
        NodeKind::Server => {
            let rows = chips as f64 * (CHIP_HEIGHT + CHIP_GAP);
            Size::new(CARD_WIDTH, SERVER_HEADER + rows + tags_height(tags))
        }
    }
}

fn tags_height(tags: usize) -> f64 {
    TAGS_HEIGHT * tags.div_ceil(TAGS_IN_ROW).max(1) as f64
}

/// The frame `least`, grown around its children.
pub fn frame_around(least: Rect, children: impl IntoIterator<Item = Rect>) -> Rect {
    children.into_iter().fold(least, |frame, child| {
        frame.union(Rect {
            x: child.x - FRAME_PADDING,
            y: child.y - FRAME_HEADER,
            width: child.width + 2.0 * FRAME_PADDING,
            height: child.height + FRAME_HEADER + FRAME_PADDING,
        })
    })
}

/// The smallest frame at a corner.
pub fn empty_frame(corner: CanvasPoint) -> Rect {
    Rect::at(corner, FRAME_MIN)
}

/// Rectangle of a chip in its server.
pub fn chip_rect(server: Rect, row: usize) -> Rect {
    Rect {
        x: server.x + CHIP_INSET,
        y: server.y + SERVER_HEADER + row as f64 * (CHIP_HEIGHT + CHIP_GAP),
        width: server.width - 2.0 * CHIP_INSET,
        height: CHIP_HEIGHT,
    }
}

/// The first free position at or after `wanted`: to the right, then in the next row.
pub fn free_spot(wanted: Rect, taken: &[Rect], gap: f64) -> CanvasPoint {
    free_spot_in_rows(wanted.x, wanted, taken, gap)
}

/// Like [`free_spot`], in rows that begin at `start`, a horizontal position.
pub(crate) fn free_spot_in_rows(start: f64, wanted: Rect, taken: &[Rect], gap: f64) -> CanvasPoint {
    let mut spot = wanted;
    // Each step passes at least one rectangle, or starts a new row.
    for _ in 0..=4 * taken.len() {
        let Some(in_the_way) = taken
            .iter()
            .find(|rect| rect.grown(gap - 0.5).overlaps(spot))
        else {
            break;
        };
        spot.x = up_to_grid(in_the_way.right() + gap);
        if spot.right() - start > ROW_WIDTH_MAX {
            spot.x = start;
            let row = Rect {
                x: start,
                width: ROW_WIDTH_MAX,
                ..spot
            };
            let below = taken
                .iter()
                .filter(|rect| rect.grown(gap - 0.5).overlaps(row))
                .map(|rect| rect.bottom());
            spot.y = up_to_grid(below.fold(spot.y, f64::max) + gap);
        }
    }
    spot.corner()
}

/// Like [`free_spot`], but downwards only, for nodes that stay in a column.
pub fn free_below(wanted: Rect, taken: &[Rect], gap: f64) -> CanvasPoint {
    let mut spot = wanted;
    for _ in 0..=taken.len() {
        let Some(in_the_way) = taken
            .iter()
            .find(|rect| rect.grown(gap - 0.5).overlaps(spot))
        else {
            break;
        };
        spot.y = up_to_grid(in_the_way.bottom() + gap);
    }
    spot.corner()
}

fn up_to_grid(value: f64) -> f64 {
    (value / snap::GRID).ceil() * snap::GRID
}

/// Unfolds a frame in `places`: its contents get the position in it that they had before.
pub fn unfold<'a>(places: &mut Places, frame: &str, contents: impl Iterator<Item = &'a str>) {
    let Some(place) = places.get_mut(frame) else {
        return;
    };
    let Some(before) = place.folded.take() else {
        return;
    };
    let way = CanvasPoint::new(place.x, place.y).since(before);
    for name in contents {
        if let Some(place) = places.get_mut(name) {
            (place.x, place.y) = (place.x + way.dx, place.y + way.dy);
        }
    }
}

/// Offsets of the nodes around a node that has grown: every top-level node that overlaps `fixed` is moved to the right
/// or down, by the shorter distance, with its contents.
pub fn make_room(rects: &[(String, Rect)], fixed: &str) -> Vec<(String, CanvasVector)> {
    let mut now: Vec<(String, Rect)> = rects.to_vec();
    let mut queue = vec![fixed.to_owned()];
    let mut moved: BTreeMap<String, CanvasVector> = BTreeMap::new();
    let mut iterations = 0;
    while let Some(name) = queue.pop() {
        iterations += 1;
        let Some(rect) = now
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, rect)| *rect)
        else {
            continue;
        };
        for (other, place) in &mut now {
            if *other == name
                || *other == fixed
                || !place.overlaps(rect)
                || iterations > 4 * rects.len()
            {
                continue;
            }
            let (right, down) = (
                up_to_grid(rect.right() + GAP - place.x),
                up_to_grid(rect.bottom() + GAP - place.y),
            );
            let way = if right <= down {
                CanvasVector { dx: right, dy: 0.0 }
            } else {
                CanvasVector { dx: 0.0, dy: down }
            };
            *place = place.moved(way);
            let sum = moved.entry(other.clone()).or_default();
            *sum = CanvasVector {
                dx: sum.dx + way.dx,
                dy: sum.dy + way.dy,
            };
            queue.push(other.clone());
        }
    }
    moved.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: f64, y: f64) -> Rect {
        Rect {
            x,
            y,
            width: 100.0,
            height: 50.0,
        }
    }

    #[test]
    fn a_free_spot_overlaps_nothing() {
        let mut taken = Vec::new();
        for _ in 0..60 {
            let spot = free_spot(rect(0.0, 0.0), &taken, GAP);
            let found = Rect::at(spot, rect(0.0, 0.0).size());
            assert!(
                taken.iter().all(|other: &Rect| !other.overlaps(found)),
                "{found:?}"
            );
            taken.push(found);
        }
        assert!(
            taken.iter().any(|rect| rect.y > 0.0),
            "sixty do not fit into one row"
        );
    }

    #[test]
    fn a_frame_grows_on_all_sides() {
        let frame = frame_around(
            empty_frame(CanvasPoint::new(0.0, 0.0)),
            [rect(-50.0, -50.0), rect(600.0, 300.0)],
        );
        assert!(frame.x <= -50.0 - FRAME_PADDING && frame.right() >= 700.0 + FRAME_PADDING);
        assert!(frame.y <= -50.0 - FRAME_HEADER && frame.bottom() >= 350.0 + FRAME_PADDING);
    }

    #[test]
    fn neighbours_make_room() {
        let rects = [
            (
                "a".to_owned(),
                Rect {
                    width: 300.0,
                    ..rect(0.0, 0.0)
                },
            ),
            ("b".to_owned(), rect(200.0, 0.0)),
            ("c".to_owned(), rect(310.0, 10.0)),
        ];
        let offsets = make_room(&rects, "a");
        let after: Vec<Rect> = rects
            .iter()
            .map(|(name, rect)| {
                offsets
                    .iter()
                    .find(|(moved, _)| moved == name)
                    .map_or(*rect, |(_, offset)| rect.moved(*offset))
            })
            .collect();
        assert_eq!(after[0], rects[0].1, "what has grown stays");
        assert!(
            !after[0].overlaps(after[1])
                && !after[0].overlaps(after[2])
                && !after[1].overlaps(after[2])
        );
    }
}
