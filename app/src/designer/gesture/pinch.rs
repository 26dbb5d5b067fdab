//! Two fingers: they zoom around the middle between them, and pan with it.
//!
//! When a finger is lifted, the view stays. The other finger does nothing until it is lifted too, or a new one joins it.

use canvas::{geometry::ScreenPoint, viewport::Viewport};
use leptos::prelude::*;

use super::{Pointer, State};

impl Pointer {
    /// Handles a finger that touches the canvas. `is_first` if no other finger touches the screen. Returns true if the
    /// finger belongs to a pinch.
    pub fn finger_down(self, id: i32, at: ScreenPoint, is_first: bool) -> bool {
        if is_first {
            self.forget_fingers();
        }
        let count = self.fingers.try_update_value(|fingers| {
            fingers.push((id, at));
            fingers.len()
        });
        if count == Some(2) {
            self.begin_pinch();
        }
        count.is_some_and(|count| count > 1)
    }

    /// Handles a moving finger. Returns true if it belongs to a pinch.
    pub fn finger_moved(self, id: i32, at: ScreenPoint) -> bool {
        let is_known = self.fingers.try_update_value(|fingers| {
            let finger = fingers.iter_mut().find(|finger| finger.0 == id);
            let is_known = finger.is_some();
            if let Some(finger) = finger {
                finger.1 = at;
            }
            is_known
        });
        let pinches = is_known == Some(true) && self.is_pinching();
        if pinches {
            self.schedule(at);
        }
        pinches
    }

    /// Handles a lifted finger. Returns true if its gesture has ended already: it pinched, or opened a menu.
    pub fn finger_up(self, id: i32) -> bool {
        let is_over = self.is_pinching() || !self.is_busy();
        if self.is_pinching() {
            self.flush();
            self.end();
        }
        self.forget_finger(id);
        if is_over && self.pair().is_some() {
            self.begin_pinch();
        }
        is_over
    }

    /// Handles a pointer that the browser took away.
    pub fn lost(self, id: i32) {
        self.forget_finger(id);
        self.cancel();
    }

    /// Forgets all fingers, at a press of something else.
    pub fn forget_fingers(self) {
        self.fingers.try_update_value(Vec::clear);
        self.has_pinched.set_value(false);
    }

    /// True from a pinch until the next press. Browsers report a short touch of two fingers as a request for a menu.
    pub fn has_pinched(self) -> bool {
        self.has_pinched.try_get_value().unwrap_or_default()
    }

    /// True while a finger touches the canvas. False for a mouse.
    pub fn has_fingers(self) -> bool {
        self.fingers
            .try_with_value(|fingers| !fingers.is_empty())
            .unwrap_or_default()
    }

    /// Pointer ids of the fingers on the canvas.
    pub fn finger_ids(self) -> Vec<i32> {
        self.fingers
            .with_value(|fingers| fingers.iter().map(|(id, _)| *id).collect())
    }

    fn is_pinching(self) -> bool {
        self.state
            .try_with_value(|state| matches!(state, State::Pinching { .. }))
            .unwrap_or_default()
    }

    /// Shows the canvas as the fingers hold it.
    pub(super) fn pinch(self, start: [ScreenPoint; 2], before: Viewport) {
        if let Some(now) = self.pair() {
            self.workspace.view.set(before.pinched(start, now));
        }
    }

    fn begin_pinch(self) {
        let Some(fingers) = self.pair() else {
            return;
        };
        let (is_pan, is_drag) = self.state.with_value(|state| {
            let is_idle = matches!(state, State::Idle | State::Pressed { .. });
            (matches!(state, State::Panning { .. }), !is_idle)
        });
        // A pan goes on where it is. Other drags move back.
        if is_drag && !is_pan {
            self.cancel();
        } else {
            self.flush();
            self.end();
        }
        self.state.set_value(State::Pinching {
            fingers,
            before: self.workspace.view.get_untracked(),
        });
        self.has_pinched.set_value(true);
        self.doing.set("pinching");
    }

    /// Places of the first two fingers.
    fn pair(self) -> Option<[ScreenPoint; 2]> {
        self.fingers
            .try_with_value(|fingers| match &fingers[..] {
                [(_, first), (_, second), ..] => Some([*first, *second]),
                _ => None,
            })
            .flatten()
    }

    fn forget_finger(self, id: i32) {
        self.fingers
            .try_update_value(|fingers| fingers.retain(|finger| finger.0 != id));
    }
}
