//! The ground of the canvas.

use canvas::{snap, viewport::ZOOM_MAX};
use leptos::prelude::*;

use super::store::Workspace;

/// Distance between two dots of the backdrop at zoom 1, in CSS pixels.
const DOTS_PX: f64 = snap::GRID * 3.0;
/// Width of the backdrop's margin around the canvas, in CSS pixels: the largest distance between two dots.
const MARGIN_PX: f64 = DOTS_PX * ZOOM_MAX;

/// Dots of the grid. They follow a pan by a CSS transform of less than their distance, so panning paints nothing.
#[component]
pub fn Backdrop(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let step = Memo::new(move |_| {
        let mut step = DOTS_PX * workspace.view.get().zoom;
        while step < 14.0 {
            step *= 2.0;
        }
        step
    });
    let transform = move || {
        let (shift, step) = (workspace.view.get().shift, step.get());
        let offset = |shift: f64| (shift + MARGIN_PX).rem_euclid(step);
        format!("translate({}px, {}px)", offset(shift.x), offset(shift.y))
    };
    view! {
        <div
            class="backdrop" style:inset=format!("-{MARGIN_PX}px")
            style:background-size=move || format!("{0}px {0}px", step.get()) style:transform=transform
        ></div>
    }
}
