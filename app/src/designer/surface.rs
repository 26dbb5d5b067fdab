//! The element of a canvas: its size, points on it, and hit tests.

use canvas::{
    geometry::{Rect, ScreenPoint, Size},
    viewport::Viewport,
};
use leptos::{ev, html, prelude::*};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, Event, ResizeObserver};

use super::scene::{Scene, Seen};

/// The size of the surface, in CSS pixels.
pub fn size(root: NodeRef<html::Div>) -> Option<Size> {
    let element = root.get_untracked()?;
    let (width, height) = (
        f64::from(element.client_width()),
        f64::from(element.client_height()),
    );
    (width > 0.0 && height > 0.0).then_some(Size::new(width, height))
}

/// Viewport that contains all of `bounds`, above the buttons at the lower edge.
pub fn fit(root: NodeRef<html::Div>, bounds: Rect) -> Option<Viewport> {
    let (free, element) = (size(root)?, root.get_untracked()?);
    let controls = element.query_selector(".canvas-controls").ok().flatten();
    let taken = controls.map_or(0.0, |controls| {
        let top = controls.get_bounding_client_rect().top();
        element.get_bounding_client_rect().bottom() - top
    });
    let height = (free.height - taken).max(1.0);
    Some(Viewport::fitting(bounds, Size::new(free.width, height)))
}

/// Position of the pointer on the surface.
pub fn point(root: NodeRef<html::Div>, event: &web_sys::MouseEvent) -> Option<ScreenPoint> {
    client_point(
        root,
        f64::from(event.client_x()),
        f64::from(event.client_y()),
    )
}

/// Converts a point of the window to a point of the surface.
pub fn client_point(root: NodeRef<html::Div>, x: f64, y: f64) -> Option<ScreenPoint> {
    let rect = root.get_untracked()?.get_bounding_client_rect();
    Some(ScreenPoint::new(x - rect.left(), y - rect.top()))
}

/// True if the point is on the surface.
pub fn is_over(root: NodeRef<html::Div>, at: ScreenPoint) -> bool {
    size(root)
        .is_some_and(|size| at.x >= 0.0 && at.y >= 0.0 && at.x < size.width && at.y < size.height)
}

/// Updates the visible area of the scene, at each change of the viewport or of the surface's size.
pub fn show_visible(scene: Scene, view: RwSignal<Viewport>, size: RwSignal<Size>) {
    Effect::new(move |_| {
        let (view, size) = (view.get(), size.get());
        if size.width > 0.0 && size.height > 0.0 {
            scene.look(Seen {
                visible: view.visible(size),
                zoom: view.zoom,
            });
        }
    });
}

/// Name of the node, part or line at the target of an event, including `@internet`.
pub fn node_of(event: &Event) -> Option<String> {
    attribute_of(event, "data-name")
}

/// Nearest value of an attribute, from the event's target outwards.
pub fn attribute_of(event: &Event, attribute: &str) -> Option<String> {
    let target = event.target()?.dyn_into::<Element>().ok()?;
    target
        .closest(&format!("[{attribute}]"))
        .ok()??
        .get_attribute(attribute)
}

/// Name of the tag under a point of the surface.
pub fn tag_at(root: NodeRef<html::Div>, at: ScreenPoint) -> Option<String> {
    let rect = root.get_untracked()?.get_bounding_client_rect();
    let (x, y) = (rect.left() + at.x, rect.top() + at.y);
    let element = crate::browser::document()?.element_from_point(x as f32, y as f32)?;
    let tag = element.closest(".tag[data-node]").ok()??;
    tag.get_attribute("data-node")
}

/// Name of the tag at the target of an event, if it is a resource of the template.
pub fn tag_of(event: &Event) -> Option<String> {
    let target = event.target()?.dyn_into::<Element>().ok()?;
    let tag = target.closest(".tag[data-node]").ok()??;
    tag.get_attribute("data-node")
}

/// True if the target of the event is the surface itself and not an element on it.
pub fn is_ground(root: NodeRef<html::Div>, event: &Event) -> bool {
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    matches!((target, root.get_untracked()), (Some(target), Some(root)) if target.is_same_node(Some(&root)))
}

/// The CSS transform of the layer.
pub fn transform(view: Viewport) -> String {
    format!(
        "translate({}px, {}px) scale({})",
        view.shift.x, view.shift.y, view.zoom
    )
}

/// Viewport after a wheel event. The wheel zooms. With Shift, or with sideways scrolling on a touchpad, it pans.
pub fn wheel(view: Viewport, event: &ev::WheelEvent, at: ScreenPoint) -> Viewport {
    let lines = if event.delta_mode() == 1 { 16.0 } else { 1.0 };
    let (dx, dy) = (event.delta_x() * lines, event.delta_y() * lines);
    if event.shift_key() {
        return view.panned(-dy - dx, 0.0);
    }
    if dx != 0.0 && !event.ctrl_key() {
        return view.panned(-dx, -dy);
    }
    let speed = if event.ctrl_key() || event.meta_key() {
        0.01
    } else {
        0.0022
    };
    view.zoomed((-dy * speed).exp(), at)
}

/// Calls `callback` with the surface's size, now and after each change.
pub fn on_resize(root: NodeRef<html::Div>, callback: impl Fn(Size) + 'static) {
    let callback = std::rc::Rc::new(callback);
    Effect::new(move |_| {
        let Some(element) = root.get() else { return };
        let callback = callback.clone();
        on_resize_of(&element, move |_| {
            if let Some(size) = size(root) {
                callback(size);
            }
        });
    });
}

/// Calls `callback` with an element's size, now and after each change, until the owner is disposed.
pub fn on_resize_of(element: &Element, callback: impl Fn(Size) + 'static) {
    let measured = element.clone();
    let on_resize = Closure::<dyn Fn()>::new(move || {
        callback(Size::new(
            f64::from(measured.client_width()),
            f64::from(measured.client_height()),
        ));
    });
    let Ok(observer) = ResizeObserver::new(on_resize.as_ref().unchecked_ref()) else {
        return;
    };
    observer.observe(element);
    // The observer and its callback end with the owner.
    let registration = StoredValue::new_local(Some((observer, on_resize)));
    on_cleanup(move || {
        registration.try_update_value(|registration| {
            if let Some((observer, _)) = registration.take() {
                observer.disconnect();
            }
        });
    });
}
