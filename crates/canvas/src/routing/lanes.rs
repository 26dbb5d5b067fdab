//! Lanes: segments of different lines that run on top of each other are moved apart.

use std::collections::HashMap;

use super::{
    Link,
    obstacles::Obstacles,
    path::{Ends, simplified},
};
use crate::geometry::CanvasPoint;

/// Distance between two lanes, in canvas pixels.
const LANE: f64 = 6.0;
/// Lanes that are tried, in this order.
const TRIED: [f64; 7] = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0];
/// Shortest segment beside a moved one, in canvas pixels.
const REST_MIN: f64 = 4.0;

/// A segment: its line, and the range along it.
type Span = (usize, f64, f64);

/// Used lanes, by direction and rounded position.
#[derive(Default)]
struct Lanes(HashMap<(bool, i64), Vec<Span>>);

impl Lanes {
    fn key(start: CanvasPoint, end: CanvasPoint) -> (bool, f64, f64, f64) {
        if start.y == end.y {
            (true, start.y, start.x.min(end.x), start.x.max(end.x))
        } else {
            (false, start.x, start.y.min(end.y), start.y.max(end.y))
        }
    }

    fn is_taken(&self, line: usize, start: CanvasPoint, end: CanvasPoint) -> bool {
        let (is_row, at, low, high) = Self::key(start, end);
        let lane = at.round() as i64;
        let reach = LANE as i64 - 2;
        (lane - reach..=lane + reach).any(|lane| {
            let spans = self.0.get(&(is_row, lane)).into_iter().flatten();
            spans
                .filter(|(other, ..)| *other != line)
                .any(|(_, from, to)| low < *to && high > *from)
        })
    }

    fn take(&mut self, line: usize, points: &[CanvasPoint]) {
        for pair in points.windows(2) {
            let (is_row, at, low, high) = Self::key(pair[0], pair[1]);
            self.0
                .entry((is_row, at.round() as i64))
                .or_default()
                .push((line, low, high));
        }
    }
}

/// Moves inner segments away from those of earlier lines, if the new place is free. The segments at the ports stay.
pub(super) fn separate(obstacles: &Obstacles, links: &[Link], paths: &mut [Vec<CanvasPoint>]) {
    let mut lanes = Lanes::default();
    for (line, path) in paths.iter_mut().enumerate() {
        let inner = 1..path.len().saturating_sub(2);
        if inner
            .clone()
            .any(|at| lanes.is_taken(line, path[at], path[at + 1]))
        {
            let link = &links[line];
            let passable = Ends::of(obstacles, link.from, link.to).passable;
            for at in inner {
                if let Some(moved) = TRIED.iter().find_map(|lane| {
                    let moved = shifted(path, at, lane * LANE)?;
                    let is_better = !lanes.is_taken(line, moved[at], moved[at + 1])
                        && (*lane == 0.0 || is_inner_free(obstacles, &moved, at, &passable));
                    is_better.then_some(moved)
                }) {
                    *path = moved;
                }
            }
            *path = simplified(path);
        }
        lanes.take(line, path);
    }
}

/// The path with one segment moved sideways, if its neighbours keep their directions.
fn shifted(path: &[CanvasPoint], at: usize, by: f64) -> Option<Vec<CanvasPoint>> {
    let mut moved = path.to_vec();
    for point in &mut moved[at..=at + 1] {
        if path[at].y == path[at + 1].y {
            point.y += by;
        } else {
            point.x += by;
        }
    }
    let keeps_direction = |index: usize| {
        let old = (
            path[index + 1].x - path[index].x,
            path[index + 1].y - path[index].y,
        );
        let new = (
            moved[index + 1].x - moved[index].x,
            moved[index + 1].y - moved[index].y,
        );
        let along = old.0 * new.0 + old.1 * new.1;
        along > 0.0 && new.0.hypot(new.1) >= REST_MIN && (new.0 == 0.0 || new.1 == 0.0)
    };
    (by == 0.0 || keeps_direction(at - 1) && keeps_direction(at + 1)).then_some(moved)
}

/// Whether the moved segment and its neighbours cross no node. Segments at ports touch only their own node.
fn is_inner_free(
    obstacles: &Obstacles,
    path: &[CanvasPoint],
    at: usize,
    passable: &[usize],
) -> bool {
    (at - 1..=at + 1).all(|segment| {
        let (start, end) = (path[segment], path[segment + 1]);
        let is_port = segment == 0 || segment + 2 == path.len();
        // A port's segment only becomes longer or shorter, so its far end decides.
        let (start, end) = if is_port && segment == 0 {
            (end, end)
        } else if is_port {
            (start, start)
        } else {
            (start, end)
        };
        obstacles.is_segment_free(start, end, passable, 0.0)
    })
}
