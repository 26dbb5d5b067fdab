//! The canvas: one listener for all its elements, one transformed layer, and floating controls above it.

use canvas::{
    commands::LineEnd,
    drawing::{INTERNET, NodeKind},
    geometry::{CanvasVector, ScreenPoint, Size},
    snap,
};
use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;

use super::{
    arranging::ArrangingNotice,
    backdrop::Backdrop,
    forms::{MenuPanel, Over},
    gesture::{Pointer, PressTarget},
    grip::StartGrip,
    inks::InkProbes,
    lines::{Labels, Lines},
    nodes::Nodes,
    painted::Painted,
    panels::FoldButtons,
    store::Workspace,
    surface,
};
use crate::{browser, ui::Icon};

/// The editable canvas of a design.
#[component]
pub fn Canvas(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let root = workspace.root;
    let stage = workspace.stage();
    let size = RwSignal::new(Size::default());
    let pointer = Pointer::new(workspace, size);
    let space = RwSignal::new(false);
    let ready = RwSignal::new(false);
    let cursor = RwSignal::new((0.0, 0.0));
    // The painted node below the pointer. Its name is too small to be read.
    let named = RwSignal::new(None::<String>);
    let beside_cursor = move || {
        let (x, y) = cursor.get();
        // Near the right edge the hint is drawn to the left of the pointer.
        let is_left = x > size.get().width - 300.0;
        let side = if is_left {
            format!("calc({}px - 100%)", x - 10.0)
        } else {
            format!("{}px", x + 14.0)
        };
        format!("translate({side}, {}px)", y + 18.0)
    };

    surface::show_visible(workspace.scene, workspace.view, size);
    surface::on_resize(root, move |now| {
        size.try_set(now);
        match ready.try_get_untracked() {
            Some(false) => {
                workspace.fit();
                ready.try_set(true);
            }
            Some(true) => workspace.resized(),
            None => {}
        }
    });
    // The node, part or line at an event. Painted ones have no element.
    let under = move |event: &web_sys::Event, at: ScreenPoint| {
        let at = workspace.view.get_untracked().to_canvas(at);
        surface::node_of(event).or_else(|| workspace.scene.painted_target(at))
    };

    let down = move |event: ev::PointerEvent| {
        let Some(at) = surface::point(root, &event) else {
            return;
        };
        workspace.picker.set(None);
        workspace.menu.set(None);
        let is_touch = event.pointer_type() == "touch";
        if !is_touch {
            pointer.forget_fingers();
        } else if pointer.finger_down(event.pointer_id(), at, event.is_primary()) {
            if let Some(element) = root.get_untracked() {
                // The nodes below the fingers can lose their elements during the pinch.
                for id in pointer.finger_ids() {
                    let _ = element.set_pointer_capture(id);
                }
            }
            return;
        }
        let pans = event.button() == 1 || space.get_untracked();
        let grip = match (event.button(), pans) {
            (0, false) if surface::tag_of(&event).is_some() => {
                PressTarget::Handle(surface::tag_of(&event).unwrap_or_default())
            }
            (_, true) => PressTarget::Background,
            (0, _) => match (grip_at(&event), under(&event, at)) {
                (Some(grip), _) => grip,
                (None, Some(name)) if event.shift_key() && is_frame(workspace, &name) => {
                    PressTarget::Marquee(Some(name))
                }
                (None, Some(name)) => PressTarget::Node(owner_for_drag(workspace, name)),
                (None, None) if event.shift_key() => PressTarget::Marquee(None),
                (None, None) => PressTarget::Background,
            },
            _ => return,
        };
        if event.button() == 1 {
            event.prevent_default();
        }
        pointer.press(grip, at);
        if is_touch {
            let on = under(&event, at).filter(|name| name != INTERNET);
            pointer.when_held(move || workspace.open_menu(at, on));
        }
        if surface::node_of(&event).is_none_or(|name| workspace.is_line(&name))
            && let Some(element) = root.get_untracked()
        {
            // With focus, the canvas gets key events. Without focus, the window's listener still gets them.
            let _ = element.focus();
        }
    };
    let moved = move |event: ev::PointerEvent| {
        let Some(at) = surface::point(root, &event) else {
            return;
        };
        if pointer.has_fingers() && pointer.finger_moved(event.pointer_id(), at) {
            return;
        }
        cursor.set((at.x, at.y));
        let painted = if pointer.is_busy() || !surface::is_ground(root, &event) {
            None
        } else {
            let at = workspace.view.get_untracked().to_canvas(at);
            workspace
                .scene
                .painted_at(at)
                .filter(|name| name != INTERNET)
        };
        if named.with_untracked(|now| *now != painted) {
            named.set(painted);
        }
        workspace.pointer.set_value(Some(at));
        if pointer.moved(at)
            && let Some(element) = root.get_untracked()
        {
            // A drag follows the pointer outside the canvas. Without pointer capture it ends at the edge.
            let _ = element.set_pointer_capture(event.pointer_id());
        }
    };
    let up = move |event: ev::PointerEvent| {
        let Some(at) = surface::point(root, &event) else {
            return;
        };
        if pointer.has_fingers() && pointer.finger_up(event.pointer_id()) {
            return;
        }
        // A click on a part selects the part. A drag moves the node that owns it.
        let part = under(&event, at).filter(|_| !pointer.is_dragging());
        pointer.release(
            at,
            event.shift_key() || event.ctrl_key() || event.meta_key(),
        );
        if let Some(part) = part.filter(|part| is_part(workspace, part)) {
            workspace.select(&part);
        }
    };
    let wheel = move |event: ev::WheelEvent| {
        event.prevent_default();
        if named.with_untracked(Option::is_some) {
            named.set(None);
        }
        if let Some(at) = surface::point(root, event.unchecked_ref()) {
            workspace
                .view
                .update(|view| *view = surface::wheel(*view, &event, at));
        }
    };
    let double = move |event: ev::MouseEvent| {
        if let Some(at) = surface::point(root, &event)
            && under(&event, at).is_none_or(|name| is_frame(workspace, &name))
        {
            workspace.pick_item(Some(at), "");
        }
    };
    let menu = move |event: ev::MouseEvent| {
        event.prevent_default();
        if pointer.has_pinched() {
            return;
        }
        if let Some(at) = surface::point(root, &event) {
            let on = under(&event, at).filter(|name| name != INTERNET);
            pointer.cancel();
            workspace.open_menu(at, on);
        }
    };
    let key = move |event: ev::KeyboardEvent| on_key(workspace, pointer, &event);
    let focus_in = move |event: ev::FocusEvent| {
        let focused = surface::node_of(&event);
        if let Some(name) = &focused {
            workspace.scene.focus(name);
        }
        // Only a focus change by keyboard moves the view.
        let by_key = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
            .is_some_and(|element| element.matches(":focus-visible").unwrap_or(false));
        if by_key
            && !pointer.is_busy()
            && let Some(name) = focused
        {
            reveal(workspace, &name);
        }
    };
    Effect::new(move |_| {
        let down = window_event_listener(ev::keydown, move |event| {
            if event.key() == " " && !browser::is_typing(&event) && surface::is_ground(root, &event)
            {
                event.prevent_default();
                space.try_set(true);
            }
        });
        let up = window_event_listener(ev::keyup, move |event| {
            if event.key() == " " {
                space.try_set(false);
            }
        });
        on_cleanup(move || {
            down.remove();
            up.remove();
        });
    });

    let is_far = Memo::new(move |_| workspace.view.get().is_far());
    view! {
        <div
            class="canvas" data-testid="canvas" data-ready=move || ready.get().to_string()
            data-routing=move || workspace.scene.is_routing.get().then_some("true")
            data-doing=move || pointer.doing.get() data-space=move || space.get().then_some("true")
            role="application" aria-label="Canvas" aria-describedby="canvas-keys" tabindex="0" node_ref=root
            on:pointerdown=down on:pointermove=moved on:pointerup=up
            on:pointercancel=move |event| pointer.lost(event.pointer_id())
            on:pointerleave=move |_| { workspace.pointer.set_value(None); named.set(None) }
            on:wheel=wheel on:keydown=key on:focusin=focus_in on:dblclick=double on:contextmenu=menu
            on:dragstart=|event| event.prevent_default()
        >
            <Backdrop workspace />
            <InkProbes inks=stage.icons.inks />
            <Painted scene=workspace.scene stage view=workspace.view size />
            <div
                class="viewport" data-testid="viewport" data-far=move || is_far.get().then_some("true")
                data-glides=move || workspace.glides.get().then_some("true")
                style:transform=move || surface::transform(workspace.view.get())
            >
                <Nodes scene=workspace.scene stage />
                <Lines scene=workspace.scene stage />
                <Labels scene=workspace.scene stage />
                <StartGrip workspace />
                <svg class="lines" data-layer="thread" aria-hidden="true">
                    {move || pointer.connection_line.get().map(|line| view! { <path class="thread" d=line.path /> })}
                </svg>
                <svg class="lines" data-layer="guides" aria-hidden="true">
                    {move || pointer.guides.get().into_iter().map(|guide| view! {
                        <line class="guide" x1=guide.start.x y1=guide.start.y x2=guide.end.x y2=guide.end.y />
                    }).collect_view()}
                </svg>
                {move || pointer.marquee.get().map(|area| view! {
                    <div
                        class="marquee"
                        style:transform=format!("translate({}px, {}px)", area.x, area.y)
                        style:width=format!("{}px", area.width) style:height=format!("{}px", area.height)
                    ></div>
                })}
            </div>
            <Empty workspace />
            {move || workspace.hint.get().filter(|_| pointer.doing.get() != "idle").map(|hint| {
                view! {
                    <div class="hint" data-refused=hint.refused.then_some("true") style:transform=beside_cursor>
                        <Icon name=if hint.refused { "ban" } else { "plus" } />
                        {hint.text}
                    </div>
                }
            })}
            {move || named.get().map(|name| view! {
                <div class="hint" data-name-only="true" aria-hidden="true" style:transform=beside_cursor>{name}</div>
            })}
            <FoldButtons workspace />
            <Over workspace size />
            <MenuPanel workspace />
            <Notice workspace />
            <ArrangingNotice is_arranging=workspace.is_arranging />
            <p id="canvas-keys" class="sr-only">
                "Tab moves from resource to resource, arrow keys move the selected one, Enter opens its form, C connects it with another, Shift and C adds another one and connects it, A adds something, Ctrl and F finds a resource, Delete removes the selected one."
            </p>
            <p class="sr-only" aria-live="polite">{move || workspace.spoken.get()}</p>
        </div>
    }
}

/// The end of a line or the connection handle at an event.
fn grip_at(event: &web_sys::Event) -> Option<PressTarget> {
    let end = |attribute: &str, end: LineEnd| {
        surface::attribute_of(event, attribute).map(|id| PressTarget::End(id, end))
    };
    end("data-start", LineEnd::From)
        .or_else(|| end("data-end", LineEnd::To))
        .or_else(|| surface::attribute_of(event, "data-handle").map(PressTarget::Handle))
}

/// Node to drag: a tag or a line can be selected itself, but a drag moves its owner.
fn owner_for_drag(workspace: Workspace, name: String) -> String {
    workspace
        .drawing
        .with_untracked(|drawing| drawing.owner(&name).map(|node| node.name.clone()))
        .unwrap_or(name)
}

/// True for a network whose inside takes servers. A drop in it adds them to the network.
fn is_frame(workspace: Workspace, name: &str) -> bool {
    workspace.drawing.with_untracked(|drawing| {
        drawing
            .node(name)
            .is_some_and(|node| node.kind == NodeKind::Frame && node.ghost.is_none())
    })
}

fn is_part(workspace: Workspace, name: &str) -> bool {
    workspace
        .drawing
        .with_untracked(|drawing| drawing.node(name).is_none() && drawing.owner(name).is_some())
}

fn reveal(workspace: Workspace, name: &str) {
    let rect = workspace
        .drawing
        .with_untracked(|drawing| drawing.owner(name).map(|node| node.rect));
    if let (Some(rect), Some(screen)) = (rect, surface::size(workspace.root)) {
        let now = workspace.view.get_untracked();
        let next = now.revealing(rect, screen);
        if next != now {
            workspace.view.set(next);
        }
    }
}

/// Keys of the canvas only. See `actions` for the keys of the page.
fn on_key(workspace: Workspace, pointer: Pointer, event: &ev::KeyboardEvent) {
    let focused = surface::node_of(event);
    let step = if event.shift_key() {
        4.0 * snap::GRID
    } else {
        snap::GRID
    };
    let way = |dx: f64, dy: f64| CanvasVector {
        dx: dx * step,
        dy: dy * step,
    };
    let arrow = match event.key().as_str() {
        "ArrowLeft" => Some(way(-1.0, 0.0)),
        "ArrowRight" => Some(way(1.0, 0.0)),
        "ArrowUp" => Some(way(0.0, -1.0)),
        "ArrowDown" => Some(way(0.0, 1.0)),
        _ => None,
    };
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    if let Some(way) = arrow {
        event.prevent_default();
        nudge(workspace, way);
        return;
    }
    match event.key().as_str() {
        "Enter" => {
            if let Some(name) = focused {
                workspace.select(&name);
                workspace.edit_selected();
            }
        }
        " " => {
            if let Some(name) = focused {
                event.prevent_default();
                workspace
                    .selection
                    .update(|selection| selection.toggle(&name));
            }
        }
        "ContextMenu" => menu_by_key(workspace, focused),
        "F10" if event.shift_key() => menu_by_key(workspace, focused),
        "Escape" => {
            if pointer.is_busy() {
                pointer.cancel();
            } else {
                workspace.select_none();
            }
        }
        _ => return,
    }
    event.stop_propagation();
}

/// Opens the context menu at the focused node, at the selection, or in the middle of the canvas.
fn menu_by_key(workspace: Workspace, focused: Option<String>) {
    let view = workspace.view.get_untracked();
    let selected = || {
        workspace
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned))
    };
    let on = focused.filter(|name| name != INTERNET).or_else(selected);
    let at = on.as_ref().and_then(|name| {
        workspace.drawing.with_untracked(|drawing| {
            drawing
                .owner(name)
                .map(|node| view.to_screen(node.rect.centre()))
        })
    });
    let middle = || {
        let size = surface::size(workspace.root).unwrap_or_default();
        ScreenPoint::new(size.width / 2.0, size.height / 2.0)
    };
    workspace.open_menu(at.unwrap_or_else(middle), on);
}

/// Moves the selection, or the view if nothing is selected.
fn nudge(workspace: Workspace, way: CanvasVector) {
    let names = workspace.selected_names();
    if names.is_empty() {
        workspace
            .view
            .update(|view| *view = view.panned(-way.dx * 6.0, -way.dy * 6.0));
        return;
    }
    if let Some(proposal) =
        workspace.with_input(|input| canvas::commands::nudge(input, &names, way))
    {
        workspace.apply_typing(&proposal, Some("nudge"));
    }
}

/// Message on an empty canvas.
#[component]
fn Empty(workspace: Workspace) -> impl IntoView {
    let empty = Memo::new(move |_| {
        workspace.scene.keys.with(Vec::is_empty) && !workspace.is_arranging.get()
    });
    move || {
        empty.get().then(|| {
            view! {
                <div class="canvas-empty">
                    <Icon name="network" />
                    <h2>"Draw your application"</h2>
                    <p>"Drag a network here, put servers into it, and drop software on them. The template is written for you."</p>
                </div>
            }
        })
    }
}

/// Notices on the canvas: an outdated drawing while the text has a syntax error, and the reason for a refused drop.
#[component]
fn Notice(workspace: Workspace) -> impl IntoView {
    let broken = Memo::new(move |_| workspace.editor.with(canvas::editor::Editor::is_broken));
    move || {
        broken.get().then(|| {
            view! {
                <div class="canvas-notice" role="status">
                    <Icon name="triangle-alert" />
                    "The text has a syntax error. The canvas shows the last valid drawing."
                    <button type="button" class="button" data-size="small" on:click=move |_| workspace.drawer.set(super::store::Drawer::Code)>"Open the code"</button>
                </div>
            }
        })
    }
}
