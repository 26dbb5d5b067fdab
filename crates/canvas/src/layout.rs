//! The positions of nodes.
//!
//! Positions chosen by the user are kept to the pixel. Other nodes are placed as in a sketch: the Internet on top,
//! routers below it, frames side by side with their servers in a grid, all other nodes below. Nodes never overlap. A
//! frame is as large as its contents.

use std::collections::{BTreeMap, HashMap};

use crate::{
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    node::{Edge, INTERNET, Node, NodeKind},
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
    fn corner(self) -> Option<CanvasPoint> {
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

/// Gap between frames.
const FRAME_GAP: f64 = 56.0;
/// Gap between cards.
const GAP: f64 = 16.0;
/// Number of servers side by side in a frame.
const COLUMNS_MAX: usize = 3;
/// Width after which frames go to the next row.
const ROW_WIDTH_MAX: f64 = 1600.0;

/// Size of a node. The final size of a frame depends on its children, see [`frame_around`].
pub fn size_of(node: &Node, chips: usize) -> Size {
    match node.kind {
        NodeKind::Frame => FRAME_MIN,
        NodeKind::Router | NodeKind::Internet => PILL,
        NodeKind::Chip => Size::new(CARD_WIDTH - 2.0 * CHIP_INSET, CHIP_HEIGHT),
        NodeKind::Card => Size::new(
            CARD_WIDTH,
            CARD_HEIGHT
                + if node.parts.is_empty() {
                    0.0
                } else {
                    tags_height(node)
                },
        ),
        NodeKind::Server => {
            let rows = chips as f64 * (CHIP_HEIGHT + CHIP_GAP);
            Size::new(CARD_WIDTH, SERVER_HEADER + rows + tags_height(node))
        }
    }
}

fn tags_height(node: &Node) -> f64 {
    TAGS_HEIGHT * node.parts.len().div_ceil(TAGS_IN_ROW).max(1) as f64
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
    let start = wanted.x;
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

/// Sets the rectangle of every node.
pub fn arrange(nodes: &mut [Node], edges: &[Edge], places: &Places) {
    let place = |node: &Node| places.get(&node.name).copied();
    let mut inside: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        if let Some(parent) = &node.parent {
            inside.entry(parent.clone()).or_default().push(at);
        }
    }
    let none = Vec::new();
    for node in nodes.iter_mut() {
        let chips = inside.get(&node.name).unwrap_or(&none).len();
        node.rect = Rect::at(CanvasPoint::default(), size_of(node, chips));
    }

    // Frames with a position, or with a positioned child, come first, then the others.
    let frames: Vec<usize> = (0..nodes.len())
        .filter(|at| nodes[*at].kind == NodeKind::Frame)
        .collect();
    let mut taken: Vec<Rect> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    for &frame in &frames {
        let children = inside.get(&nodes[frame].name).unwrap_or(&none);
        let placed = children.iter().filter_map(|&child| {
            Some(Rect::at(
                place(&nodes[child])?.corner()?,
                nodes[child].rect.size(),
            ))
        });
        let around = Rect::around(placed);
        let own = place(&nodes[frame]);
        let corner = own.and_then(Place::corner).or_else(|| {
            around.map(|rect| CanvasPoint::new(rect.x - FRAME_PADDING, rect.y - FRAME_HEADER))
        });
        match corner {
            Some(corner) => {
                let rect = set_frame(nodes, frame, children, corner, places);
                taken.push(rect);
            }
            None => free.push(frame),
        }
    }
    // Other nodes with a position are obstacles for those without one.
    for node in nodes
        .iter_mut()
        .filter(|node| node.parent.is_none() && node.kind != NodeKind::Frame)
    {
        if let Some(corner) = places.get(&node.name).and_then(|place| place.corner()) {
            node.rect = Rect::at(corner, node.rect.size());
            taken.push(node.rect);
        }
    }
    let is_placed = |node: &Node| {
        places
            .get(&node.name)
            .is_some_and(|place| place.corner().is_some())
    };
    let top = taken
        .iter()
        .map(|rect| rect.y)
        .fold(f64::INFINITY, f64::min);
    let start = if taken.is_empty() {
        CanvasPoint::default()
    } else {
        Rect::around(taken.iter().copied())
            .map(Rect::corner)
            .unwrap_or_default()
    };
    let mut wanted = CanvasPoint::new(start.x, if top.is_finite() { top } else { start.y });
    for frame in free {
        let children = inside.get(&nodes[frame].name).unwrap_or(&none);
        let size = set_frame(nodes, frame, children, wanted, places).size();
        let spot = free_spot(Rect::at(wanted, size), &taken, FRAME_GAP);
        taken.push(set_frame(nodes, frame, children, spot, places));
        wanted = CanvasPoint::new(start.x, spot.y);
    }

    set_routers(nodes, edges, &mut taken, &is_placed);
    set_internet(nodes, edges, &mut taken, &is_placed);
    set_other_nodes(nodes, &mut taken, &is_placed);

    // The position of a chip follows from its server.
    for at in 0..nodes.len() {
        if nodes[at].kind == NodeKind::Server {
            for (row, &chip) in inside
                .get(&nodes[at].name)
                .unwrap_or(&none)
                .iter()
                .enumerate()
            {
                nodes[chip].rect = chip_rect(nodes[at].rect, row);
            }
        }
    }
}

/// Places a frame and its children at a corner. Returns the frame's rectangle.
fn set_frame(
    nodes: &mut [Node],
    frame: usize,
    children: &[usize],
    corner: CanvasPoint,
    places: &Places,
) -> Rect {
    let own = places.get(&nodes[frame].name).copied().unwrap_or_default();
    let mut least = empty_frame(corner);
    least.width = least.width.max(own.width.unwrap_or_default());
    least.height = least.height.max(own.height.unwrap_or_default());
    let mut taken = Vec::new();
    let mut free = Vec::new();
    for &child in children {
        match places
            .get(&nodes[child].name)
            .and_then(|place| place.corner())
        {
            Some(corner) => {
                nodes[child].rect = Rect::at(corner, nodes[child].rect.size());
                taken.push(nodes[child].rect);
            }
            None => free.push(child),
        }
    }
    let columns = (children.len() as f64)
        .sqrt()
        .ceil()
        .clamp(1.0, COLUMNS_MAX as f64) as usize;
    let column = |index: usize| corner.x + FRAME_PADDING + index as f64 * (CARD_WIDTH + GAP);
    for child in free {
        let size = nodes[child].rect.size();
        let spot = (0..columns)
            .map(|index| {
                free_below(
                    Rect::at(
                        CanvasPoint::new(column(index), corner.y + FRAME_HEADER),
                        size,
                    ),
                    &taken,
                    GAP,
                )
            })
            .min_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)))
            .unwrap_or(corner);
        nodes[child].rect = Rect::at(spot, size);
        taken.push(nodes[child].rect);
    }
    nodes[frame].rect = frame_around(least, taken);
    nodes[frame].rect
}

/// Places routers above the middle of the frames that they connect.
fn set_routers(
    nodes: &mut [Node],
    edges: &[Edge],
    taken: &mut Vec<Rect>,
    is_placed: &dyn Fn(&Node) -> bool,
) {
    let above = 64.0 + PILL.height;
    for at in 0..nodes.len() {
        if nodes[at].kind != NodeKind::Router || is_placed(&nodes[at]) {
            continue;
        }
        let joined = edges.iter().filter(|edge| edge.from == nodes[at].name);
        let frames = joined.filter_map(|edge| {
            nodes
                .iter()
                .find(|node| node.name == edge.to && node.is_network())
        });
        let around = Rect::around(frames.map(|node| node.rect));
        let all = Rect::around(taken.iter().copied()).unwrap_or_default();
        let (x, y) = match around {
            Some(rect) => (rect.centre().x - PILL.width / 2.0, rect.y - above),
            None => (all.x, all.y - above),
        };
        set_at(&mut nodes[at], CanvasPoint::new(x, y), taken);
    }
}

/// Places the Internet above the routers that are connected to it.
fn set_internet(
    nodes: &mut [Node],
    edges: &[Edge],
    taken: &mut Vec<Rect>,
    is_placed: &dyn Fn(&Node) -> bool,
) {
    let Some(at) = nodes.iter().position(|node| node.name == INTERNET) else {
        return;
    };
    if is_placed(&nodes[at]) {
        return;
    }
    let leading = edges.iter().filter(|edge| edge.to == INTERNET);
    let routers = leading.filter_map(|edge| nodes.iter().find(|node| node.name == edge.from));
    let around =
        Rect::around(routers.map(|node| node.rect)).or_else(|| Rect::around(taken.iter().copied()));
    let around = around.unwrap_or_default();
    let corner = CanvasPoint::new(
        around.centre().x - PILL.width / 2.0,
        around.y - 64.0 - PILL.height,
    );
    set_at(&mut nodes[at], corner, taken);
}

/// Places servers without a network and all other cards in rows below.
fn set_other_nodes(nodes: &mut [Node], taken: &mut Vec<Rect>, is_placed: &dyn Fn(&Node) -> bool) {
    let all = Rect::around(taken.iter().copied());
    let start = all
        .map(|rect| CanvasPoint::new(rect.x, rect.bottom() + FRAME_GAP))
        .unwrap_or_default();
    for node in nodes.iter_mut() {
        let waits = matches!(node.kind, NodeKind::Server | NodeKind::Card) && node.parent.is_none();
        if waits && !is_placed(node) {
            set_at(node, start, taken);
        }
    }
}

fn set_at(node: &mut Node, wanted: CanvasPoint, taken: &mut Vec<Rect>) {
    let spot = free_spot(
        Rect::at(snap::to_grid(wanted), node.rect.size()),
        taken,
        GAP,
    );
    node.rect = Rect::at(spot, node.rect.size());
    taken.push(node.rect);
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
