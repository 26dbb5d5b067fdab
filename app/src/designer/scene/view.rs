//! The choice of what has an element: nodes and lines in view with a margin around it, and the nodes that the keyboard
//! reaches next.
//!
//! Every node keeps its row among the nodes, in the order of the drawing, with or without an element. So Tab leads
//! through all of them: the neighbours of the focused node always have elements, and the view follows the focus.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use canvas::{
    areas::Areas,
    drawing::Drawing,
    edges::Line,
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    moving::Moving,
};
use leptos::prelude::*;

use super::{Dragged, Scene};

/// Width of the margin around the view, in CSS pixels. Smaller pans change no element.
const MARGIN_PX: f64 = 100.0;
/// Below this zoom, names on cards are too small to be read.
const PAINTED_BELOW: f64 = 0.35;
/// Number of nodes in view above which small nodes are painted.
const PAINTED_ABOVE: usize = 150;
/// Space that a label takes beside its middle, in canvas pixels.
const LABEL_REACH: f64 = 90.0;

/// The visible part of the canvas and its zoom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The visible part, in canvas pixels.
    pub visible: Rect,
    /// CSS pixels per canvas pixel.
    pub zoom: f64,
}

impl Seen {
    fn margin(self) -> f64 {
        MARGIN_PX / self.zoom.max(f64::EPSILON)
    }

    /// The visible part with the margin.
    fn area(self) -> Rect {
        self.visible.grown(self.margin())
    }

    /// True if elements that were chosen for `self` are right for `now`, too.
    fn covers(self, now: Seen) -> bool {
        // Farther in, many elements are too much: they cost time at each step of a pan or a drag.
        let is_near = self.zoom <= now.zoom * 1.5 && now.zoom <= self.zoom * 1.1;
        let side = |seen: Seen| seen.zoom < PAINTED_BELOW;
        is_near && side(self) == side(now) && self.area().covers(now.visible)
    }
}

/// Names of the nodes and ids of the edges that have elements.
#[derive(Default)]
pub struct Shown {
    nodes: HashSet<String>,
    lines: HashSet<String>,
}

/// Areas of lines, by number: one for each segment, and one for the label.
pub(super) fn segments(lines: &[Line]) -> Areas {
    let point = |at: CanvasPoint| Rect::at(at, Size::default());
    let areas = lines.iter().enumerate().flat_map(|(number, line)| {
        let spans = line
            .points
            .windows(2)
            .filter_map(move |pair| Rect::around(pair.iter().copied().map(point)));
        let label = line.label.map(|at| point(at).grown(LABEL_REACH));
        spans.chain(label).map(move |area| (number, area))
    });
    Areas::some(areas)
}

impl Scene {
    /// Applies the visible area. Elements change only if the view leaves the margin of the last choice.
    pub fn look(self, now: Seen) {
        let Some(before) = self.seen.try_get_value() else {
            return;
        };
        if !before.covers(now) {
            self.seen.set_value(now);
            self.choose();
        }
    }

    /// Keeps the elements of a node with the focus, and of those beside it in the order of the drawing.
    pub fn focus(self, name: &str) {
        let is_new = self
            .focused
            .try_with_value(|focused| focused.as_deref() != Some(name));
        if is_new == Some(true) {
            self.focused.set_value(Some(name.to_owned()));
            self.choose();
        }
    }

    /// Applies the offset of a drag, and chooses elements again if it is far from the last choice.
    pub(super) fn keep_in_view(self, what: &Arc<Moving>, way: CanvasVector, leaves: bool) {
        let margin = self
            .seen
            .try_get_value()
            .map_or(0.0, |seen| seen.margin() / 2.0);
        let is_chosen = self.dragged.try_update_value(|dragged| match dragged {
            Some(dragged) if Arc::ptr_eq(&dragged.what, what) => {
                dragged.way = way;
                dragged.leaves = leaves;
                let (dx, dy) = (way.dx - dragged.chosen_at.dx, way.dy - dragged.chosen_at.dy);
                let is_near = dx.abs() <= margin && dy.abs() <= margin;
                if !is_near {
                    dragged.chosen_at = way;
                }
                is_near
            }
            _ => {
                *dragged = Some(Dragged {
                    what: what.clone(),
                    way,
                    leaves,
                    chosen_at: way,
                });
                false
            }
        });
        if is_chosen == Some(false) {
            self.choose();
        }
    }

    /// Chooses what has an element.
    pub(super) fn choose(self) {
        let Some((drawing, dragged)) = self.picture() else {
            return;
        };
        let Some(seen) = self.seen.try_get_value() else {
            return;
        };
        let area = seen.area();
        let mut nodes = if seen.zoom > 0.0 {
            in_view(&drawing, dragged.as_ref(), area)
        } else {
            BTreeSet::new()
        };
        let is_painted = seen.zoom < PAINTED_BELOW && nodes.len() > PAINTED_ABOVE;
        let mut lines = HashSet::new();
        if is_painted {
            nodes.clear();
        } else if seen.zoom > 0.0 {
            lines = self.lines_in_view(&drawing, dragged.as_ref(), area);
        }
        let focused = self.focused.try_get_value().flatten();
        let focused = focused.and_then(|name| drawing.owner(&name).map(|node| node.name.clone()));
        nodes.extend(drawing.neighbours(focused.as_deref()));
        let nodes: HashSet<String> = nodes
            .into_iter()
            .map(|at| drawing.nodes()[at].name.clone())
            .collect();
        self.shown.try_update_value(|shown| {
            change(&shown.nodes, &nodes, |name, is_shown| {
                if let Some(signals) = self.node(name) {
                    set(&signals.shown, is_shown);
                }
            });
            change(&shown.lines, &lines, |id, is_shown| {
                if let Some(signals) = self.line(id) {
                    set(&signals.shown, is_shown);
                }
            });
            *shown = Shown { nodes, lines };
        });
        if self.painted.get_untracked() != is_painted {
            self.painted.set(is_painted);
        }
    }

    fn lines_in_view(
        self,
        drawing: &Drawing,
        dragged: Option<&Dragged>,
        area: Rect,
    ) -> HashSet<String> {
        let edges = drawing.edges();
        let mut lines: HashSet<String> = self
            .segments
            .try_with_value(|segments| {
                let found = segments.within_unordered(area);
                found
                    .filter_map(|at| Some(edges.get(at)?.id.clone()))
                    .collect()
            })
            .unwrap_or_default();
        if let Some(dragged) = dragged {
            for edge in dragged.what.lines() {
                let ends = [&edge.from, &edge.to].into_iter();
                let ends = ends.filter_map(|name| Some(dragged.rect(drawing.node(name)?)));
                if Rect::around(ends).is_some_and(|both| both.overlaps(area)) {
                    lines.insert(edge.id.clone());
                }
            }
        }
        lines
    }
}

/// Nodes in an area, by their number. Dragged nodes are where they are on the screen.
fn in_view(drawing: &Drawing, dragged: Option<&Dragged>, area: Rect) -> BTreeSet<usize> {
    let Some(Dragged { what, way, .. }) = dragged else {
        return drawing.numbers_within(area).into_iter().collect();
    };
    let back = CanvasVector {
        dx: -way.dx,
        dy: -way.dy,
    };
    let carried = |at: &usize| what.carries(&drawing.nodes()[*at].name);
    let staying = drawing.numbers_within(area).into_iter();
    let moving = drawing.numbers_within(area.moved(back)).into_iter();
    let growing = what.frames().filter_map(|name| drawing.number(name));
    staying
        .filter(|at| !carried(at))
        .chain(moving.filter(carried))
        .chain(growing)
        .collect()
}

fn set(signal: &ArcRwSignal<bool>, value: bool) {
    if signal.get_untracked() != value {
        signal.set(value);
    }
}

/// Calls `set` with false for names that are gone, and with true for present ones.
fn change(before: &HashSet<String>, now: &HashSet<String>, set: impl Fn(&str, bool)) {
    for name in before.difference(now) {
        set(name, false);
    }
    // A node that was removed and added again has new signals.
    for name in now {
        set(name, true);
    }
}

#[cfg(test)]
mod tests {
    use canvas::{geometry::ScreenPoint, viewport::Viewport};

    use super::*;

    #[test]
    fn pans_within_the_margin_change_no_element_and_zooms_that_leave_many_aside_do() {
        let size = Size::new(1280.3, 720.7);
        for zoom in [0.37, 0.9, 1.0, 1.3] {
            let view = Viewport {
                shift: ScreenPoint::new(-3_000.1, 700.7),
                zoom,
            };
            let seen = |view: Viewport| Seen {
                visible: view.visible(size),
                zoom: view.zoom,
            };
            let before = seen(view);
            let near = MARGIN_PX - 1.0;
            assert!(before.covers(seen(view.panned(near, -near))), "{zoom}");
            assert!(
                !before.covers(seen(view.panned(MARGIN_PX + 1.0, 0.0))),
                "{zoom}"
            );
            let middle = ScreenPoint::new(640.0, 360.0);
            assert!(before.covers(seen(view.zoomed(1.05, middle))), "{zoom}");
            assert!(!before.covers(seen(view.zoomed(1.25, middle))), "{zoom}");
        }
    }
}
