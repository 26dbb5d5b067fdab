//! Pointer gestures on the canvas.
//!
//! ```text
//! idle --press--> pressed --moved 4 px--> panning | moving | connecting | marking --release--> idle
//!                    +--------release-------> a click: select
//! ```
//! Pointer moves are collected and handled once per animation frame. Before a release the last move is handled. While a
//! drag holds the pointer at the border of the canvas, the view pans. Escape and a lost pointer end a gesture without a
//! change. A second finger ends the gesture of the first one, and begins a pinch.

mod line;
mod moving;
mod pinch;

use std::{collections::HashSet, sync::Arc};

use canvas::{
    commands::{self, LineEnd},
    drawing::{Drawing, Edge, INTERNET, NodeKind},
    edges::{Line, Routes},
    geometry::{Rect, ScreenPoint, Size},
    moving::Moving,
    selection::Selection,
    snap::Guide,
    viewport::Viewport,
};
use leptos::prelude::*;

use super::{
    hover::{clear, show},
    store::Workspace,
    surface,
};
use crate::browser;

/// Distance in CSS pixels after which a press becomes a drag.
const SLOP_PX: f64 = 4.0;
/// Time after which a press of a finger opens the context menu, in milliseconds.
const HOLD_MS: i32 = 550;

/// Target of a press.
#[derive(Clone, Debug, PartialEq)]
pub enum PressTarget {
    /// The empty canvas, or a mouse button that pans.
    Background,
    /// The empty canvas or the inside of a network, by its name, with Shift held, for a selection rectangle.
    Marquee(Option<String>),
    /// A node, by name.
    Node(String),
    /// The connection handle of a node, by the node's name.
    Handle(String),
    /// An end of a line, by the id of its edge. The start of the selected line only: at the starts of others are the
    /// connection handles of nodes.
    End(String, LineEnd),
}

#[derive(Clone, Debug)]
enum State {
    Idle,
    Pressed {
        grip: PressTarget,
        at: ScreenPoint,
    },
    Panning {
        at: ScreenPoint,
        before: Viewport,
    },
    Moving {
        what: Arc<Moving>,
        at: ScreenPoint,
    },
    Connecting {
        from: String,
    },
    Reconnecting {
        edge: Edge,
        end: LineEnd,
    },
    Marking {
        at: ScreenPoint,
    },
    Pinching {
        fingers: [ScreenPoint; 2],
        before: Viewport,
    },
}

/// State of the pointer on the canvas.
#[derive(Clone, Copy)]
pub struct Pointer {
    workspace: Workspace,
    /// Size of the canvas.
    size: RwSignal<Size>,
    state: StoredValue<State>,
    latest: StoredValue<Option<ScreenPoint>>,
    scheduled: StoredValue<bool>,
    /// Selection rectangle during its drag.
    pub marquee: RwSignal<Option<Rect>>,
    /// Line during its drag.
    pub connection_line: RwSignal<Option<Line>>,
    /// Alignment guides of the dragged node.
    pub guides: RwSignal<Vec<Guide>>,
    /// Number of presses, to recognise a press that lasts.
    presses: StoredValue<u32>,
    /// Selection before the drag of a node that was not selected.
    selected: StoredValue<Option<Selection>>,
    /// Fingers on the canvas by pointer id, in the order of their presses. Empty for a mouse.
    fingers: StoredValue<Vec<(i32, ScreenPoint)>>,
    /// True from a pinch until the next press.
    has_pinched: StoredValue<bool>,
    /// Routes around the nodes, during the drag of a line.
    routes: StoredValue<Option<Routes>>,
    /// Name of the current drag, for the cursor. Empty if there is no drag.
    pub doing: RwSignal<&'static str>,
}

impl Pointer {
    /// State without a gesture.
    pub fn new(workspace: Workspace, size: RwSignal<Size>) -> Self {
        Self {
            workspace,
            size,
            state: StoredValue::new(State::Idle),
            latest: StoredValue::new(None),
            scheduled: StoredValue::new(false),
            marquee: RwSignal::new(None),
            connection_line: RwSignal::new(None),
            guides: RwSignal::default(),
            presses: StoredValue::new(0),
            selected: StoredValue::new(None),
            fingers: StoredValue::default(),
            has_pinched: StoredValue::new(false),
            routes: StoredValue::new(None),
            doing: RwSignal::new("idle"),
        }
    }

    /// Handles a pressed button.
    pub fn press(self, grip: PressTarget, at: ScreenPoint) {
        self.latest.set_value(None);
        self.state.set_value(State::Pressed { grip, at });
        self.presses.update_value(|presses| *presses += 1);
    }

    /// Calls `callback` if the current press lasts without becoming a drag. It then ends without a click.
    pub fn when_held(self, callback: impl FnOnce() + 'static) {
        let press = self.presses.get_value();
        browser::after_ms(HOLD_MS, move || {
            let is_held = self.presses.try_get_value() == Some(press)
                && self
                    .state
                    .try_with_value(|state| matches!(state, State::Pressed { .. }))
                    == Some(true);
            if is_held {
                self.end();
                callback();
            }
        });
    }

    /// Handles a pointer move. Returns true when the gesture becomes a drag.
    pub fn moved(self, at: ScreenPoint) -> bool {
        let begins = match self.state.get_value() {
            State::Idle => return false,
            State::Pressed { grip, at: start } => {
                if start.distance(at) < SLOP_PX {
                    return false;
                }
                self.begin(grip, start);
                true
            }
            _ => false,
        };
        self.schedule(at);
        begins
    }

    /// Handles this move in the next animation frame, if no later one replaces it.
    fn schedule(self, at: ScreenPoint) {
        self.latest.set_value(Some(at));
        if self
            .scheduled
            .try_update_value(|scheduled| !std::mem::replace(scheduled, true))
            == Some(true)
        {
            browser::on_next_frame(move || {
                self.scheduled
                    .try_update_value(|scheduled| *scheduled = false);
                let held_at = self.pan_at_edge();
                self.flush();
                if let Some(at) = held_at {
                    self.schedule(at);
                }
            });
        }
    }

    /// Pans if a drag holds the pointer at the border of the canvas. Returns the place of the pointer if it pans.
    fn pan_at_edge(self) -> Option<ScreenPoint> {
        let at = self.latest.try_get_value()??;
        let (dx, dy) = Viewport::pan_at_edge(at, self.size.try_get_untracked()?);
        if dx == 0.0 && dy == 0.0 {
            return None;
        }
        let pans = self.state.try_update_value(|state| match state {
            // The start of the drag moves with the content.
            State::Moving { at, .. } | State::Marking { at } => {
                *at = ScreenPoint::new(at.x + dx, at.y + dy);
                true
            }
            State::Connecting { .. } | State::Reconnecting { .. } => true,
            _ => false,
        });
        (pans == Some(true)).then(|| {
            let view = self.workspace.view;
            view.update(|view| *view = view.panned(dx, dy));
            at
        })
    }

    /// Handles a released button. With `add` a click extends the selection.
    pub fn release(self, at: ScreenPoint, add: bool) {
        if !matches!(self.state.get_value(), State::Idle | State::Pressed { .. }) {
            self.latest.set_value(Some(at));
            self.flush();
        }
        let workspace = self.workspace;
        match self.state.get_value() {
            State::Pressed {
                grip:
                    PressTarget::Node(name)
                    | PressTarget::Handle(name)
                    | PressTarget::Marquee(Some(name)),
                ..
            } => {
                if name == INTERNET {
                    workspace.select_none();
                } else if add && !workspace.is_line(&name) {
                    workspace.seal();
                    workspace
                        .selection
                        .update(|selection| selection.toggle(&name));
                } else {
                    workspace.select(&name);
                }
            }
            State::Pressed {
                grip: PressTarget::End(id, _),
                ..
            } => {
                let line = workspace
                    .drawing
                    .with_untracked(|drawing| drawing.edge(&id)?.resource.clone());
                workspace.select(&line.unwrap_or(id));
            }
            State::Pressed { .. } => workspace.select_none(),
            State::Moving { what, at: start } => {
                let way = self.way_with_guides(&what, start, at).0;
                let to = workspace.view.get_untracked().to_canvas(at);
                match workspace.with_input(|input| commands::shift(input, what.names(), way, to)) {
                    Some(Ok(proposal)) => {
                        workspace.apply(&proposal);
                    }
                    Some(Err(refusal)) => {
                        workspace.announce(&refusal.0);
                        workspace.refresh();
                        self.reset_positions();
                    }
                    None => {}
                }
            }
            State::Connecting { from } => match self.connection(&from, at) {
                Some(Ok(proposal)) => {
                    workspace.apply(&proposal);
                }
                Some(Err(refusal)) => workspace.announce(&refusal.0),
                None if self.over(at).is_none() && surface::is_over(workspace.root, at) => {
                    workspace.pick_connected_item(&from, at);
                }
                None => {}
            },
            State::Reconnecting { edge, end } => match self.reconnection(&edge, end, at) {
                Some(Ok(proposal)) => {
                    workspace.apply(&proposal);
                }
                Some(Err(refusal)) => workspace.announce(&refusal.0),
                None => {}
            },
            State::Marking { at: start } => {
                let area = self.area(start, at);
                let names = workspace
                    .drawing
                    .with_untracked(|drawing| inside(drawing, area));
                workspace.selection.set(Selection::of(names));
            }
            State::Panning { .. } | State::Pinching { .. } | State::Idle => {}
        }
        self.end();
    }

    /// Ends the gesture without a change.
    pub fn cancel(self) {
        if let State::Panning { before, .. } | State::Pinching { before, .. } =
            self.state.get_value()
        {
            self.workspace.view.set(before);
        }
        if let Some(selected) = self.selected.get_value() {
            self.workspace.selection.set(selected);
        }
        self.reset_positions();
        self.end();
    }

    /// True while the button is pressed.
    pub fn is_busy(self) -> bool {
        self.state
            .try_with_value(|state| !matches!(state, State::Idle))
            .unwrap_or_default()
    }

    /// True once a press has become a drag.
    pub fn is_dragging(self) -> bool {
        self.state
            .try_with_value(|state| !matches!(state, State::Idle | State::Pressed { .. }))
            .unwrap_or_default()
    }

    fn begin(self, grip: PressTarget, at: ScreenPoint) {
        let workspace = self.workspace;
        let state = match grip {
            PressTarget::Background => State::Panning {
                at,
                before: workspace.view.get_untracked(),
            },
            PressTarget::Marquee(_) => State::Marking { at },
            PressTarget::Handle(from) => {
                let ends = workspace
                    .with_input(|input| commands::can_connect(input, &from))
                    .unwrap_or_default();
                let owner = self.owner(&from);
                let ends: HashSet<String> = ends.into_iter().chain(owner).collect();
                workspace.eligible.set(Some(Arc::new(ends)));
                self.prepare_routes();
                State::Connecting { from }
            }
            PressTarget::End(id, end) => {
                let edge = workspace
                    .drawing
                    .with_untracked(|drawing| drawing.edge(&id).cloned());
                let Some(edge) = edge else {
                    self.end();
                    return;
                };
                let ends = workspace.with_input(|input| {
                    commands::other_ends(input, &edge, end)
                        .into_iter()
                        .chain([end.opposite().of(&edge).to_owned()])
                        .collect::<HashSet<String>>()
                });
                workspace.eligible.set(ends.map(Arc::new));
                self.prepare_routes();
                State::Reconnecting { edge, end }
            }
            PressTarget::Node(name) => {
                let movable = workspace.drawing.with_untracked(|drawing| {
                    drawing.node(&name).is_some_and(|node| node.ghost.is_none())
                });
                if !movable
                    || workspace
                        .editor
                        .with_untracked(canvas::editor::Editor::is_broken)
                {
                    State::Panning {
                        at,
                        before: workspace.view.get_untracked(),
                    }
                } else {
                    let selected = workspace
                        .selection
                        .with_untracked(|selection| selection.contains(&name));
                    let names = if selected {
                        workspace.selected_names()
                    } else {
                        vec![name.clone()]
                    };
                    if !selected && name != INTERNET {
                        self.selected
                            .set_value(Some(workspace.selection.get_untracked()));
                        workspace.select(&name);
                    }
                    let drawing = workspace.drawing.get_untracked();
                    State::Moving {
                        what: Arc::new(Moving::new(drawing, names, &name)),
                        at,
                    }
                }
            }
        };
        self.doing.set(match state {
            State::Panning { .. } => "panning",
            State::Moving { .. } => "moving",
            State::Connecting { .. } | State::Reconnecting { .. } => "connecting",
            State::Marking { .. } => "marking",
            _ => "idle",
        });
        self.state.set_value(state);
    }

    /// Handles the latest move.
    fn flush(self) {
        let Some(Some(at)) = self.latest.try_update_value(Option::take) else {
            return;
        };
        let Some(state) = self.state.try_get_value() else {
            return;
        };
        let workspace = self.workspace;
        match state {
            State::Panning { at: start, before } => {
                workspace
                    .view
                    .set(before.panned(at.x - start.x, at.y - start.y));
            }
            State::Moving { what, at: start } => self.move_nodes(what, start, at),
            State::Connecting { from } => {
                let to = workspace.view.get_untracked().to_canvas(at);
                self.draw_line(&self.owner(&from).unwrap_or_default(), to);
                let answer = self.connection(&from, at);
                let over = self.over(at).filter(|name| *name != from);
                show(workspace, answer.as_ref(), over);
            }
            State::Reconnecting { edge, end } => {
                let to = workspace.view.get_untracked().to_canvas(at);
                let fixed = self.owner(end.opposite().of(&edge));
                self.draw_line(&fixed.unwrap_or_default(), to);
                let answer = self.reconnection(&edge, end, at);
                show(workspace, answer.as_ref(), self.over(at));
            }
            State::Marking { at: start } => self.marquee.set(Some(self.area(start, at))),
            State::Pinching { fingers, before } => self.pinch(fingers, before),
            State::Idle | State::Pressed { .. } => {}
        }
    }

    fn area(self, start: ScreenPoint, end: ScreenPoint) -> Rect {
        let view = self.workspace.view.get_untracked();
        let (a, b) = (view.to_canvas(start), view.to_canvas(end));
        Rect {
            x: a.x.min(b.x),
            y: a.y.min(b.y),
            width: (a.x - b.x).abs(),
            height: (a.y - b.y).abs(),
        }
    }

    /// Moves every node back to its position in the drawing.
    fn reset_positions(self) {
        let drawing = self.workspace.drawing.get_untracked();
        self.workspace.scene.show(&drawing);
    }

    fn end(self) {
        self.state.set_value(State::Idle);
        self.latest.set_value(None);
        self.selected.set_value(None);
        self.workspace.scene.end_drag();
        self.doing.set("idle");
        self.marquee.set(None);
        self.connection_line.set(None);
        self.routes.set_value(None);
        self.guides.set(Vec::new());
        clear(self.workspace);
    }
}

fn inside(drawing: &Drawing, area: Rect) -> Vec<String> {
    let all = drawing
        .nodes()
        .iter()
        .filter(|node| node.kind != NodeKind::Internet && node.ghost.is_none());
    all.filter(|node| {
        let within = area.covers(node.rect);
        // A frame must be completely inside the rectangle. For other nodes an overlap is sufficient.
        within || (node.kind != NodeKind::Frame && node.rect.overlaps(area))
    })
    .map(|node| node.name.clone())
    .collect()
}
