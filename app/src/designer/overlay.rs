//! State of what lies over the canvas and beside it: the context menu, the list of choices, and the folded panels.

use canvas::geometry::ScreenPoint;
use leptos::prelude::*;

use crate::browser;

const PALETTE_KEY: &str = "designer-palette";
const INSPECTOR_KEY: &str = "designer-inspector";
const DRAWER_KEY: &str = "designer-drawer-place";

/// An open context menu.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextMenu {
    /// Point on the canvas element.
    pub at: ScreenPoint,
    /// Resource under the pointer. `None` for the empty canvas.
    pub on: Option<String>,
}

/// Purpose of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// Adds an item at the point.
    Add,
    /// Adds an item at the point and connects it to a resource.
    AddTo(String),
    /// Connects a resource with another one.
    Connect(String),
    /// Selects a resource and moves it into view.
    Find,
}

/// An open list.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    /// Purpose of the list.
    pub purpose: Purpose,
    /// Point on the canvas element at which it is displayed, and at which an item is added.
    pub at: ScreenPoint,
    /// Text with which the search begins.
    pub search: String,
}

/// A control of the inspector that gets the focus, as soon as the inspector is loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct NextFocus {
    /// Dotted id of the control.
    pub id: String,
    /// Time in which its form is built, in milliseconds.
    pub after_ms: i32,
}

/// Whether the panels are unfolded, and the drawer's place.
#[derive(Clone, Copy)]
pub struct Panels {
    /// The palette, on the left.
    pub palette: RwSignal<bool>,
    /// The form of the selection, on the right.
    pub inspector: RwSignal<bool>,
    /// True if the open drawer is beside the canvas, false below it.
    pub drawer_is_beside: RwSignal<bool>,
}

impl Panels {
    /// The panels as they were left. Unfolded at first.
    pub fn remembered() -> Self {
        let is_open = |key| browser::remembered(key).as_deref() != Some("folded");
        Self {
            palette: RwSignal::new(is_open(PALETTE_KEY)),
            inspector: RwSignal::new(is_open(INSPECTOR_KEY)),
            drawer_is_beside: RwSignal::new(
                browser::remembered(DRAWER_KEY).as_deref() == Some("beside"),
            ),
        }
    }

    /// Moves the drawer from below the canvas to its side, or back.
    pub fn move_drawer(self) {
        let is_beside = !self.drawer_is_beside.get_untracked();
        self.drawer_is_beside.set(is_beside);
        browser::remember(DRAWER_KEY, if is_beside { "beside" } else { "below" });
    }

    /// Folds or unfolds the palette.
    pub fn toggle_palette(self) {
        set(self.palette, PALETTE_KEY, !self.palette.get_untracked());
    }

    /// Folds or unfolds the form.
    pub fn toggle_inspector(self) {
        self.set_inspector(!self.inspector.get_untracked());
    }

    /// Folds or unfolds the form.
    pub fn set_inspector(self, is_open: bool) {
        if self.inspector.get_untracked() != is_open {
            set(self.inspector, INSPECTOR_KEY, is_open);
        }
    }
}

fn set(signal: RwSignal<bool>, key: &str, is_open: bool) {
    signal.set(is_open);
    browser::remember(key, if is_open { "open" } else { "folded" });
}
