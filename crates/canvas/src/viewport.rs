//! The viewport: the visible part of the canvas.
//!
//! It is a shift and a zoom: `screen = canvas * zoom + shift`. The page applies both to one transformed layer, so
//! panning changes no node.

use crate::geometry::{CanvasPoint, CanvasVector, Rect, ScreenPoint, Size};

/// Smallest zoom.
pub const ZOOM_MIN: f64 = 0.02;
/// Largest zoom.
pub const ZOOM_MAX: f64 = 3.0;
/// Free space around a fitted drawing, in CSS pixels.
const FIT_MARGIN_PX: f64 = 48.0;
/// Free space on small screens, as a fraction of the shorter side.
const FIT_MARGIN_PART: f64 = 0.06;
/// Largest zoom for fitting.
const FIT_ZOOM_MAX: f64 = 1.0;

/// Distance from the border of the screen within which a drag pans, in CSS pixels.
const EDGE_PX: f64 = 24.0;
/// Largest pan at the border of the screen, in CSS pixels per frame.
const EDGE_SPEED_PX: f64 = 14.0;

/// Below this zoom the small text of a card is not readable.
const FAR_ZOOM: f64 = 0.6;

/// A shift and a zoom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Position of the canvas's origin on the screen.
    pub shift: ScreenPoint,
    /// CSS pixels per canvas pixel, from [`ZOOM_MIN`] to [`ZOOM_MAX`].
    pub zoom: f64,
}

impl Default for Viewport {
    fn default() -> Self {
        Self {
            shift: ScreenPoint::new(0.0, 0.0),
            zoom: 1.0,
        }
    }
}

impl Viewport {
    /// True if the zoom is so small that a card shows only its name.
    pub fn is_far(self) -> bool {
        self.zoom < FAR_ZOOM
    }

    /// Point of the canvas at a point of the screen.
    pub fn to_canvas(self, point: ScreenPoint) -> CanvasPoint {
        CanvasPoint::new(
            (point.x - self.shift.x) / self.zoom,
            (point.y - self.shift.y) / self.zoom,
        )
    }

    /// Point of the screen at a point of the canvas.
    pub fn to_screen(self, point: CanvasPoint) -> ScreenPoint {
        ScreenPoint::new(
            point.x * self.zoom + self.shift.x,
            point.y * self.zoom + self.shift.y,
        )
    }

    /// Canvas offset for a pointer move.
    pub fn way(self, from: ScreenPoint, to: ScreenPoint) -> CanvasVector {
        CanvasVector {
            dx: (to.x - from.x) / self.zoom,
            dy: (to.y - from.y) / self.zoom,
        }
    }

    /// Viewport shifted by CSS pixels.
    pub fn panned(self, dx: f64, dy: f64) -> Self {
        Self {
            shift: ScreenPoint::new(self.shift.x + dx, self.shift.y + dy),
            zoom: self.zoom,
        }
    }

    /// Pan of one frame for a drag with the pointer at the border of the screen or outside, in CSS pixels: the nearer to
    /// the border, the faster. The content moves away from that border.
    pub fn pan_at_edge(at: ScreenPoint, screen: Size) -> (f64, f64) {
        let part = |distance: f64| (1.0 - distance / EDGE_PX).clamp(0.0, 1.0);
        let pan = |at: f64, room: f64| EDGE_SPEED_PX * (part(at) - part(room - at));
        (pan(at.x, screen.width), pan(at.y, screen.height))
    }

    /// Viewport zoomed by a factor. The point at `about` stays in place.
    pub fn zoomed(self, factor: f64, about: ScreenPoint) -> Self {
        let zoom = (self.zoom * factor).clamp(ZOOM_MIN, ZOOM_MAX);
        let real = zoom / self.zoom;
        let shift = ScreenPoint::new(
            about.x - (about.x - self.shift.x) * real,
            about.y - (about.y - self.shift.y) * real,
        );
        Self { shift, zoom }
    }

    /// Viewport after two fingers moved from one pair of points to another. The point between them stays between them.
    pub fn pinched(self, from: [ScreenPoint; 2], to: [ScreenPoint; 2]) -> Self {
        let middle =
            |[a, b]: [ScreenPoint; 2]| ScreenPoint::new((a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
        let distance = |[a, b]: [ScreenPoint; 2]| a.distance(b).max(1.0);
        let (start, end) = (middle(from), middle(to));
        self.panned(end.x - start.x, end.y - start.y)
            .zoomed(distance(to) / distance(from), end)
    }

    /// Viewport that contains all of `bounds` in the middle of a screen of this size, never magnified.
    pub fn fitting(bounds: Rect, screen: Size) -> Self {
        let margin = (screen.width.min(screen.height) * FIT_MARGIN_PART).min(FIT_MARGIN_PX);
        let room = |pixels: f64| (pixels - 2.0 * margin).max(1.0);
        let zoom = (room(screen.width) / bounds.width.max(1.0))
            .min(room(screen.height) / bounds.height.max(1.0))
            .clamp(ZOOM_MIN, FIT_ZOOM_MAX);
        let centre = bounds.centre();
        Self {
            shift: ScreenPoint::new(
                screen.width / 2.0 - centre.x * zoom,
                screen.height / 2.0 - centre.y * zoom,
            ),
            zoom,
        }
    }

    /// Viewport with a point of the canvas in the middle of a screen of this size.
    pub fn centred(self, point: CanvasPoint, screen: Size) -> Self {
        let now = self.to_screen(point);
        self.panned(screen.width / 2.0 - now.x, screen.height / 2.0 - now.y)
    }

    /// Visible part of the canvas on a screen of this size.
    pub fn visible(self, screen: Size) -> Rect {
        let corner = self.to_canvas(ScreenPoint::new(0.0, 0.0));
        Rect::at(
            corner,
            Size::new(screen.width / self.zoom, screen.height / self.zoom),
        )
    }

    /// Viewport shifted by the shortest distance that makes `rect` visible.
    pub fn revealing(self, rect: Rect, screen: Size) -> Self {
        let (start, end) = (
            self.to_screen(rect.corner()),
            self.to_screen(CanvasPoint::new(rect.right(), rect.bottom())),
        );
        let nudge = |low: f64, high: f64, room: f64| {
            if low < 16.0 {
                16.0 - low
            } else if high > room - 16.0 {
                (room - 16.0 - high).max(16.0 - low)
            } else {
                0.0
            }
        };
        self.panned(
            nudge(start.x, end.x, screen.width),
            nudge(start.y, end.y, screen.height),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn zooming_keeps_the_point_under_the_pointer(
            x in -500.0..500.0f64, y in -500.0..500.0f64, zoom in 0.2..2.0f64, factor in 0.5..2.0f64,
            px in 0.0..1000.0f64, py in 0.0..1000.0f64,
        ) {
            let before = Viewport { shift: ScreenPoint::new(x, y), zoom };
            let about = ScreenPoint::new(px, py);
            let after = before.zoomed(factor, about);
            let (a, b) = (before.to_canvas(about), after.to_canvas(about));
            prop_assert!((a.x - b.x).abs() < 1e-6 && (a.y - b.y).abs() < 1e-6);
        }

        #[test]
        fn a_pinch_keeps_the_point_between_the_fingers(
            points in proptest::array::uniform8(0.0..800.0f64), zoom in 0.2..2.0f64,
        ) {
            let [a, b, c, d, e, f, g, h] = points;
            let (from, to) = (
                [ScreenPoint::new(a, b), ScreenPoint::new(c, d)],
                [ScreenPoint::new(e, f), ScreenPoint::new(g, h)],
            );
            let middle = |[a, b]: [ScreenPoint; 2]| ScreenPoint::new((a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
            let before = Viewport { shift: ScreenPoint::new(30.0, -70.0), zoom };
            let (under, now) = (before.to_canvas(middle(from)), before.pinched(from, to).to_canvas(middle(to)));
            prop_assert!((under.x - now.x).abs() < 1e-6 && (under.y - now.y).abs() < 1e-6);
        }

        #[test]
        fn coordinates_convert_to_the_screen_and_back(x in -1e4..1e4f64, y in -1e4..1e4f64, zoom in 0.1..3.0f64) {
            let view = Viewport { shift: ScreenPoint::new(17.0, -4.0), zoom };
            let back = view.to_canvas(view.to_screen(CanvasPoint::new(x, y)));
            prop_assert!((back.x - x).abs() < 1e-6 && (back.y - y).abs() < 1e-6);
        }
    }

    #[test]
    fn zoom_to_fit_shows_every_node() {
        for width in [4000.0, 40_000.0] {
            let bounds = Rect {
                x: -300.0,
                y: 40.0,
                width,
                height: 900.0,
            };
            let screen = Size::new(1000.0, 600.0);
            let seen = Viewport::fitting(bounds, screen).visible(screen);
            assert!(seen.contains(bounds.corner()));
            assert!(seen.right() > bounds.right() && seen.bottom() > bounds.bottom());
        }
    }

    #[test]
    fn a_drag_pans_at_the_border_only_and_fastest_outside() {
        let screen = Size::new(800.0, 600.0);
        let pan = |x: f64, y: f64| Viewport::pan_at_edge(ScreenPoint::new(x, y), screen);
        assert_eq!(pan(EDGE_PX, 300.0), (0.0, 0.0));
        assert_eq!(pan(-50.0, 300.0), (EDGE_SPEED_PX, 0.0));
        assert_eq!(pan(400.0, 700.0), (0.0, -EDGE_SPEED_PX));
        let (slow, fast) = (pan(790.0, 300.0).0, pan(799.0, 300.0).0);
        assert!(fast < slow && slow < 0.0);
    }

    #[test]
    fn fingers_twice_as_far_apart_double_the_zoom() {
        let fingers = |left: f64, right: f64| [left, right].map(|x| ScreenPoint::new(x, 50.0));
        let wide = Viewport::default().pinched(fingers(100.0, 200.0), fingers(60.0, 260.0));
        assert!((wide.zoom - 2.0).abs() < 1e-9);
        let back = wide.pinched(fingers(60.0, 260.0), fingers(100.0, 200.0));
        assert!((back.zoom - 1.0).abs() < 1e-9 && back.shift.x.abs() < 1e-6);
    }

    #[test]
    fn revealing_a_visible_node_does_not_move_the_view() {
        let view = Viewport::default();
        let screen = Size::new(800.0, 600.0);
        let inside = Rect {
            x: 100.0,
            y: 100.0,
            width: 50.0,
            height: 50.0,
        };
        assert_eq!(view.revealing(inside, screen), view);
        let outside = inside.moved(CanvasVector { dx: 900.0, dy: 0.0 });
        assert!(
            view.revealing(outside, screen)
                .visible(screen)
                .overlaps(outside)
        );
    }
}
