//! The minimap, and the way back to the drawing when it is out of view.

use canvas::{
    drawing::{Drawing, NodeKind},
    geometry::{CanvasPoint, Rect, Size},
};
use leptos::{ev, prelude::*};
use std::fmt::Write;
use wasm_bindgen::JsCast;

use super::{store::Workspace, surface};
use crate::ui::Icon;

/// Size of the minimap in CSS pixels.
const SIZE: Size = Size::new(168.0, 112.0);
/// Margin around the drawing, in canvas pixels.
const MARGIN: f64 = 80.0;

/// Scale and origin of the map.
#[derive(Clone, Copy, PartialEq)]
struct Map {
    area: Rect,
    scale: f64,
}

impl Map {
    fn of(area: Rect) -> Self {
        let scale = (SIZE.width / area.width).min(SIZE.height / area.height);
        Self { area, scale }
    }

    fn rect(self, rect: Rect) -> Rect {
        let (left, top) = self.offset();
        Rect {
            x: (rect.x - self.area.x) * self.scale + left,
            y: (rect.y - self.area.y) * self.scale + top,
            width: (rect.width * self.scale).max(1.0),
            height: (rect.height * self.scale).max(1.0),
        }
    }

    fn point(self, x: f64, y: f64) -> CanvasPoint {
        let (left, top) = self.offset();
        CanvasPoint::new(
            (x - left) / self.scale + self.area.x,
            (y - top) / self.scale + self.area.y,
        )
    }

    fn offset(self) -> (f64, f64) {
        (
            (SIZE.width - self.area.width * self.scale) / 2.0,
            (SIZE.height - self.area.height * self.scale) / 2.0,
        )
    }
}

/// Map of the drawing with the visible part, and a button that leads back to the drawing.
///
/// The map appears if a part of the drawing is outside of the viewport, the button if the whole drawing is.
#[component]
pub fn Minimap(
    /// The page's state.
    workspace: Workspace,
    /// Size of the surface.
    size: RwSignal<Size>,
) -> impl IntoView {
    let visible = Memo::new(move |_| {
        let (view, size) = (workspace.view.get(), size.get());
        (size.width > 0.0).then(|| view.visible(size))
    });
    let bounds = Memo::new(move |_| workspace.drawing.with(|drawing| drawing.bounds()));
    let is_partly_hidden = Memo::new(move |_| match (visible.get(), bounds.get()) {
        (Some(visible), Some(bounds)) => !visible.covers(bounds),
        _ => false,
    });
    let is_lost = Memo::new(move |_| {
        let Some(visible) = visible.get() else {
            return false;
        };
        workspace.drawing.with(|drawing| {
            let nodes = drawing.nodes();
            !nodes.is_empty() && !nodes.iter().any(|node| node.rect.overlaps(visible))
        })
    });
    // Kept while the map is hidden: a pan along the border of the drawing shows and hides it often.
    let map = Memo::new(move |_| Map::of(bounds.get().unwrap_or_default().grown(MARGIN)));
    let paths = Memo::new(move |_| {
        workspace
            .drawing
            .with(|drawing| node_paths(drawing, map.get()))
    });
    let back = move || {
        workspace.fit();
        if let Some(canvas) = workspace.root.get_untracked() {
            // The button disappears, and with it the focus of a keyboard.
            let _ = canvas.focus();
        }
    };
    view! {
        {move || is_lost.get().then(|| view! {
            <button
                type="button" class="button canvas-back"
                on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
                on:click=move |_| back()
            >
                <Icon name="maximize" />
                "Back to content"
            </button>
        })}
        {move || is_partly_hidden.get().then(|| view! { <Open workspace visible map paths /> })}
    }
}

/// SVG paths of frames and of other nodes. Each is one element: a thousand would cost more than the map is worth.
fn node_paths(drawing: &Drawing, map: Map) -> [String; 2] {
    let mut paths = [String::new(), String::new()];
    for node in drawing.nodes() {
        let path = match node.kind {
            NodeKind::Chip => continue,
            NodeKind::Frame => &mut paths[0],
            _ => &mut paths[1],
        };
        let rect = map.rect(node.rect);
        // Writing to a string cannot fail.
        let _ = write!(
            path,
            "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z",
            rect.x, rect.y, rect.width, rect.height, rect.width
        );
    }
    paths
}

#[component]
fn Open(
    workspace: Workspace,
    visible: Memo<Option<Rect>>,
    map: Memo<Map>,
    paths: Memo<[String; 2]>,
) -> impl IntoView {
    let window = Memo::new(move |_| map.get().rect(visible.get().unwrap_or_default()));
    let width = Memo::new(move |_| window.with(|window| format!("{:.1}px", window.width)));
    let height = Memo::new(move |_| window.with(|window| format!("{:.1}px", window.height)));
    let go = move |event: &ev::PointerEvent| {
        let Some(element) = event
            .current_target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
        else {
            return;
        };
        let rect = element.get_bounding_client_rect();
        let to = map.get_untracked().point(
            f64::from(event.client_x()) - rect.left(),
            f64::from(event.client_y()) - rect.top(),
        );
        if let Some(size) = surface::size(workspace.root) {
            workspace.view.update(|view| *view = view.centred(to, size));
        }
    };
    view! {
        <div
            class="minimap" role="img" aria-label="Map of the drawing"
            on:pointerdown=move |event| { event.stop_propagation(); go(&event) }
            on:pointermove=move |event| if event.buttons() == 1 { event.stop_propagation(); go(&event) }
            on:pointerup=|event| event.stop_propagation() on:dblclick=|event| event.stop_propagation()
        >
            <svg width=SIZE.width height=SIZE.height>
                <path class="minimap-frames" d=move || paths.with(|paths| paths[0].clone()) />
                <path class="minimap-nodes" d=move || paths.with(|paths| paths[1].clone()) />
            </svg>
            // Not a part of the SVG: a pan would compute its layout and paint the paths at each step.
            <div
                class="minimap-window" style:width=width style:height=height
                style:transform=move || window.with(|window| format!("translate({:.1}px, {:.1}px)", window.x, window.y))
            ></div>
        </div>
    }
}
