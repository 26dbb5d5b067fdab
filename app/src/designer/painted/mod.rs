//! Many small nodes and their lines, painted.
//!
//! Where a name cannot be read any more, an element for each node costs much and shows nothing more than a rectangle
//! with its colours. The picture has the same places, selection, states and problems. Presses find the node by the
//! drawing's index. The keyboard and screen readers find elements, see `scene::view`.
//!
//! Gestures paint little. The picture is larger than the view and follows it by a CSS transform; it is painted again when
//! the view rests, or leaves what is painted. What a drag moves, and the border of its target, are painted on a second
//! element above.

mod brush;
mod eye;

use std::time::Duration;

use canvas::{
    geometry::{ScreenPoint, Size},
    viewport::Viewport,
};
use leptos::{html, leptos_dom::helpers::debounce, prelude::*};

use self::{
    brush::{Brush, Layer},
    eye::Eye,
};
use super::{
    scene::Scene,
    stage::{Aim, Stage},
};

/// Width of the picture's margin around the view, in CSS pixels.
const MARGIN_PX: f64 = 200.0;
/// Largest factor between the zoom of the view and that of the picture.
const STRETCH_MAX: f64 = 1.3;
/// Time without a change after which the view rests.
const REST: Duration = Duration::from_millis(150);

/// The picture, if the scene is painted.
#[component]
pub fn Painted(
    /// The drawing.
    scene: Scene,
    /// Selection, states and problems.
    stage: Stage,
    /// The viewport.
    view: RwSignal<Viewport>,
    /// Size of the surface.
    size: RwSignal<Size>,
) -> impl IntoView {
    move || {
        let is_painted = scene.painted.get();
        is_painted.then(|| view! { <Picture scene stage view size /> })
    }
}

#[component]
fn Picture(
    scene: Scene,
    stage: Stage,
    view: RwSignal<Viewport>,
    size: RwSignal<Size>,
) -> impl IntoView {
    let still = NodeRef::<html::Canvas>::new();
    let moving = NodeRef::<html::Canvas>::new();
    // The view for which the picture is painted.
    let painted = RwSignal::new(view.get_untracked());
    let mut paint_at_rest = debounce(REST, move |()| {
        if let Some(now) = view.try_get_untracked() {
            painted.try_set(now);
        }
    });
    Effect::new(move |_| {
        let (now, size) = (view.get(), size.get());
        match painted.get_untracked() {
            same if same == now => {}
            before if covers(before, now, size) => paint_at_rest(()),
            _ => painted.set(now),
        }
    });
    let paint = move |canvas: NodeRef<html::Canvas>, layer: Layer| {
        let (Some(canvas), Some((drawing, dragged))) = (canvas.get(), scene.picture()) else {
            return;
        };
        let aim = match layer {
            Layer::Still => Aim::default(),
            Layer::Moving => stage.aim.get(),
        };
        let (view, margin) = match layer {
            Layer::Still => (painted.get(), MARGIN_PX),
            Layer::Moving if dragged.is_some() || aim.target.is_some() => (view.get(), 0.0),
            // It is only cleared.
            Layer::Moving => (view.get_untracked(), 0.0),
        };
        let size = size.get();
        stage.icons.inks.with(|inks| {
            let Some(brush) = Brush::on(&canvas, layer, view, size, margin, inks) else {
                return;
            };
            if layer == Layer::Still || dragged.is_some() {
                Eye::open(stage, |eye| {
                    brush.paint(scene, &drawing, dragged.as_ref(), layer, eye);
                });
            }
            brush.target(&drawing, dragged.as_ref(), &aim);
            brush.show();
        });
    };
    Effect::new(move |_| {
        scene.outdated.track();
        paint(still, Layer::Still);
    });
    Effect::new(move |_| {
        scene.outdated.track();
        scene.moved.track();
        paint(moving, Layer::Moving);
    });
    view! {
        <div
            class="painted" aria-hidden="true" style:inset=format!("-{MARGIN_PX}px")
            style:transform=move || following(painted.get(), view.get())
        >
            <canvas node_ref=still></canvas>
        </div>
        <canvas class="painted-moving" aria-hidden="true" node_ref=moving></canvas>
    }
}

/// True if a picture that is painted for one view can be shown for another.
fn covers(painted: Viewport, now: Viewport, size: Size) -> bool {
    let stretch = now.zoom / painted.zoom;
    let area = painted.visible(size).grown(MARGIN_PX / painted.zoom);
    (1.0 / STRETCH_MAX..=STRETCH_MAX).contains(&stretch) && area.covers(now.visible(size))
}

/// The CSS transform of a picture that is painted for one view and shown for another. Its origin is the picture's corner.
fn following(painted: Viewport, now: Viewport) -> String {
    let stretch = now.zoom / painted.zoom;
    let corner = ScreenPoint::new(-MARGIN_PX, -MARGIN_PX);
    let there = now.to_screen(painted.to_canvas(corner));
    let (x, y) = (there.x - corner.x, there.y - corner.y);
    format!("translate({x}px, {y}px) scale({stretch})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_serves_the_views_within_its_margin() {
        let size = Size {
            width: 1280.3,
            height: 720.7,
        };
        // Far from the origin, sums of coordinates are rounded.
        let painted = Viewport {
            shift: ScreenPoint::new(-3_000_000.1, 700_000.7),
            zoom: 0.3,
        };
        let near = painted.panned(MARGIN_PX - 1.0, 1.0 - MARGIN_PX);
        assert!(covers(painted, near, size));
        assert!(!covers(painted, painted.panned(MARGIN_PX + 1.0, 0.0), size));
        let middle = ScreenPoint::new(640.0, 360.0);
        assert!(covers(painted, painted.zoomed(1.2, middle), size));
        assert!(!covers(painted, painted.zoomed(0.5, middle), size));
    }
}
