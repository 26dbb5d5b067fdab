//! Pointer gestures on the canvas.
//!
//! ```text
//! idle --press--> pressed --moved 4 px--> panning | moving | connecting | marking --release--> idle
//!                    +--------release-------> a click: select
//! ```
//! Pointer moves are collected and handled once per animation frame. Before a release the last move is handled. Escape
//! and a lost pointer end a gesture without a change.

use std::{collections::HashSet, sync::Arc};

use canvas::{
    commands::{self, Item, Proposal, Refusal},
    drawing::{Drawing, INTERNET, NodeKind},
    edges::{Line, Routes},
    geometry::{CanvasVector, Rect, ScreenPoint},
    layout,
    selection::Selection,
    snap,
    viewport::Viewport,
};
use leptos::prelude::*;

use super::{
    stage::Aim,
    store::{Hint, Workspace},
    surface,
};
use crate::browser;

/// Distance in CSS pixels after which a press becomes a drag.
const SLOP_PX: f64 = 4.0;

/// Target of a press.
#[derive(Clone, Debug, PartialEq)]
pub enum PressTarget {
    /// The empty canvas, or a mouse button that pans.
    Background,
    /// The empty canvas with Shift held, for a selection rectangle.
    Marquee,
    /// A node, by name.
    Node(String),
    /// The connection handle of a node, by the node's name.
    Handle(String),
}

#[derive(Clone, Debug, PartialEq)]
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
        names: Vec<String>,
        held: String,
        at: ScreenPoint,
    },
    Connecting {
        from: String,
    },
    Marking {
        at: ScreenPoint,
    },
}

/// State of the pointer on the canvas.
#[derive(Clone, Copy)]
pub struct Pointer {
    workspace: Workspace,
    state: StoredValue<State>,
    latest: StoredValue<Option<ScreenPoint>>,
    scheduled: StoredValue<bool>,
    /// Selection rectangle during its drag.
    pub marquee: RwSignal<Option<Rect>>,
    /// Line during its drag.
    pub connection_line: RwSignal<Option<Line>>,
    /// Routes around the nodes, during the drag of a line.
    routes: StoredValue<Option<Routes>>,
    /// Name of the current drag, for the cursor. Empty if there is no drag.
    pub doing: RwSignal<&'static str>,
}

impl Pointer {
    /// State without a gesture.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            state: StoredValue::new(State::Idle),
            latest: StoredValue::new(None),
            scheduled: StoredValue::new(false),
            marquee: RwSignal::new(None),
            connection_line: RwSignal::new(None),
            routes: StoredValue::new(None),
            doing: RwSignal::new("idle"),
        }
    }

    /// Handles a pressed button.
    pub fn press(self, grip: PressTarget, at: ScreenPoint) {
        self.latest.set_value(None);
        self.state.set_value(State::Pressed { grip, at });
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
        self.latest.set_value(Some(at));
        if self
            .scheduled
            .try_update_value(|scheduled| !std::mem::replace(scheduled, true))
            == Some(true)
        {
            browser::on_next_frame(move || {
                self.scheduled
                    .try_update_value(|scheduled| *scheduled = false);
                self.flush();
            });
        }
        begins
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
                grip: PressTarget::Node(name) | PressTarget::Handle(name),
                ..
            } => {
                if name == INTERNET {
                    workspace.select_none();
                } else if add {
                    workspace.seal();
                    workspace
                        .selection
                        .update(|selection| selection.toggle(&name));
                } else {
                    workspace.select(&name);
                }
            }
            State::Pressed { .. } => workspace.select_none(),
            State::Moving {
                names,
                held,
                at: start,
            } => {
                let way = self.way(&held, start, at);
                let to = workspace.view.get_untracked().to_canvas(at);
                match workspace.with_input(|input| commands::shift(input, &names, way, to)) {
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
                None => {}
            },
            State::Marking { at: start } => {
                let area = self.area(start, at);
                let names = workspace
                    .drawing
                    .with_untracked(|drawing| inside(drawing, area));
                workspace.selection.set(Selection::of(names));
            }
            State::Panning { .. } | State::Idle => {}
        }
        self.end();
    }

    /// Ends the gesture without a change.
    pub fn cancel(self) {
        if let State::Panning { before, .. } = self.state.get_value() {
            self.workspace.view.set(before);
        }
        self.reset_positions();
        self.end();
    }

    /// True while the button is pressed.
    pub fn is_busy(self) -> bool {
        self.state
            .try_get_value()
            .is_some_and(|state| state != State::Idle)
    }

    /// True once a press has become a drag.
    pub fn is_dragging(self) -> bool {
        self.state
            .try_get_value()
            .is_some_and(|state| !matches!(state, State::Idle | State::Pressed { .. }))
    }

    fn begin(self, grip: PressTarget, at: ScreenPoint) {
        let workspace = self.workspace;
        let state = match grip {
            PressTarget::Background => State::Panning {
                at,
                before: workspace.view.get_untracked(),
            },
            PressTarget::Marquee => State::Marking { at },
            PressTarget::Handle(from) => {
                let ends = workspace
                    .with_input(|input| commands::can_connect(input, &from))
                    .unwrap_or_default();
                let ends: HashSet<String> = ends.into_iter().chain([from.clone()]).collect();
                workspace.eligible.set(Some(Arc::new(ends)));
                let routes = workspace
                    .drawing
                    .with_untracked(|drawing| Routes::around(drawing.nodes()));
                self.routes.set_value(Some(routes));
                State::Connecting { from }
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
                        workspace.selection.with_untracked(|selection| {
                            selection.names().map(str::to_owned).collect()
                        })
                    } else {
                        vec![name.clone()]
                    };
                    if !selected && name != INTERNET {
                        workspace.select(&name);
                    }
                    State::Moving {
                        names,
                        held: name,
                        at,
                    }
                }
            }
        };
        self.doing.set(match state {
            State::Panning { .. } => "panning",
            State::Moving { .. } => "moving",
            State::Connecting { .. } => "connecting",
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
            State::Moving {
                names,
                held,
                at: start,
            } => self.move_nodes(&names, &held, start, at),
            State::Connecting { from } => {
                let to = workspace.view.get_untracked().to_canvas(at);
                let line = self
                    .routes
                    .with_value(|routes| routes.as_ref().map(|routes| routes.loose(&from, to)));
                self.connection_line.set(line);
                let answer = self.connection(&from, at);
                let over = self.over(at).filter(|name| *name != from);
                show(workspace, answer.as_ref(), over);
            }
            State::Marking { at: start } => self.marquee.set(Some(self.area(start, at))),
            State::Idle | State::Pressed { .. } => {}
        }
    }

    /// Moves nodes with the pointer and grows the frames around them.
    fn move_nodes(self, names: &[String], held: &str, start: ScreenPoint, at: ScreenPoint) {
        let workspace = self.workspace;
        let way = self.way(held, start, at);
        let to = workspace.view.get_untracked().to_canvas(at);
        let answer = workspace.with_input(|input| commands::shift(input, names, way, to));
        let changes = matches!(&answer, Some(Ok(proposal)) if !proposal.edits.is_empty())
            || matches!(answer, Some(Err(_)));
        let over = match &answer {
            Some(Ok(proposal)) => proposal.target.clone(),
            _ => None,
        };
        show(
            workspace,
            if changes { answer.as_ref() } else { None },
            over,
        );
        let drawing = workspace.drawing.get_untracked();
        let mut carried = HashSet::new();
        for name in names {
            for node in drawing.subtree(name) {
                if carried.insert(node.name.clone()) {
                    workspace.scene.set_rect(&node.name, node.rect.moved(way));
                }
            }
        }
        let mut changed = carried.clone();
        // Resizes frames around the moved nodes. A server that would leave its frame is not included.
        let leaves = changes && names.len() == 1;
        for frame in drawing
            .nodes()
            .iter()
            .filter(|node| node.kind == NodeKind::Frame && !carried.contains(&node.name))
        {
            let children: Vec<_> = drawing.children(&frame.name).collect();
            if children.iter().any(|child| carried.contains(&child.name)) {
                let rects = children
                    .iter()
                    .filter(|child| !(leaves && carried.contains(&child.name)))
                    .map(|child| {
                        if carried.contains(&child.name) {
                            child.rect.moved(way)
                        } else {
                            child.rect
                        }
                    });
                workspace.scene.set_rect(
                    &frame.name,
                    layout::frame_around(layout::empty_frame(frame.rect.corner()), rects),
                );
                changed.insert(frame.name.clone());
            }
        }
        workspace.scene.follow(&changed);
    }

    /// Offset of the dragged node, snapped to the grid.
    fn way(self, held: &str, start: ScreenPoint, at: ScreenPoint) -> CanvasVector {
        let way = self.workspace.view.get_untracked().way(start, at);
        let corner = self
            .workspace
            .drawing
            .with_untracked(|drawing| drawing.node(held).map(|node| node.rect.corner()));
        corner.map_or(way, |corner| snap::way_to_grid(corner, way))
    }

    fn over(self, at: ScreenPoint) -> Option<String> {
        let at = self.workspace.view.get_untracked().to_canvas(at);
        self.workspace
            .drawing
            .with_untracked(|drawing| drawing.hit(at).map(|node| node.name.clone()))
    }

    fn connection(self, from: &str, at: ScreenPoint) -> Option<Result<Proposal, Refusal>> {
        let over = self.over(at).filter(|name| name != from)?;
        self.workspace.with_input(|input| {
            // A drag from one server to another connects their software, or the server with the frame around the
            // target.
            let frame = input
                .drawing
                .node(&over)
                .and_then(|node| node.parent.clone());
            commands::connect(input, from, &over).or_else(|refusal| match frame {
                Some(frame) if frame != from => {
                    commands::connect(input, from, &frame).map_err(|_| refusal)
                }
                _ => Err(refusal),
            })
        })
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
        self.doing.set("idle");
        self.marquee.set(None);
        self.connection_line.set(None);
        self.routes.set_value(None);
        clear(self.workspace);
    }
}

/// Handles a palette drag, inside or outside the canvas.
pub fn hover_item(workspace: Workspace, item: &Item, at: ScreenPoint) {
    if !surface::is_over(workspace.root, at) {
        clear(workspace);
        return;
    }
    let to = workspace.view.get_untracked().to_canvas(at);
    let answer = workspace.with_input(|input| commands::drop_item(input, item, to));
    let over = workspace
        .drawing
        .with_untracked(|drawing| drawing.hit(to).map(|node| node.name.clone()));
    show(workspace, answer.as_ref(), over);
}

/// Ends a palette drag.
pub fn drop_item(workspace: Workspace, item: &Item, at: ScreenPoint) {
    clear(workspace);
    if !surface::is_over(workspace.root, at) || workspace.is_broken() {
        return;
    }
    let to = workspace.view.get_untracked().to_canvas(at);
    match workspace.with_input(|input| commands::drop_item(input, item, to)) {
        Some(Ok(proposal)) => {
            workspace.apply(&proposal);
        }
        Some(Err(refusal)) => workspace.refuse_drop(&refusal.0),
        None => {}
    }
}

/// Highlights the target of a drag and displays the effect of a drop.
fn show(workspace: Workspace, answer: Option<&Result<Proposal, Refusal>>, over: Option<String>) {
    let (aim, hint) = match answer {
        None => (Aim::default(), None),
        Some(Ok(proposal)) => (
            Aim {
                target: proposal.target.clone(),
                refused: false,
            },
            Some(Hint {
                text: proposal.label.clone(),
                refused: false,
            }),
        ),
        Some(Err(refusal)) => (
            Aim {
                target: over,
                refused: true,
            },
            Some(Hint {
                text: refusal.0.clone(),
                refused: true,
            }),
        ),
    };
    if workspace.aim.with_untracked(|now| *now != aim) {
        workspace.aim.set(aim);
    }
    if workspace.hint.with_untracked(|now| *now != hint) {
        workspace.hint.set(hint);
    }
}

/// Removes the highlights and hints of a drag.
pub fn clear(workspace: Workspace) {
    show(workspace, None, None);
    if workspace.eligible.with_untracked(Option::is_some) {
        workspace.eligible.set(None);
    }
}

fn inside(drawing: &Drawing, area: Rect) -> Vec<String> {
    let all = drawing
        .nodes()
        .iter()
        .filter(|node| node.kind != NodeKind::Internet && node.ghost.is_none());
    all.filter(|node| {
        let within = node.rect.union(area) == area;
        // A frame must be completely inside the rectangle. For other nodes an overlap is sufficient.
        within || (node.kind != NodeKind::Frame && node.rect.overlaps(area))
    })
    .map(|node| node.name.clone())
    .collect()
}
