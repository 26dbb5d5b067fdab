//! A `<details>` that opens when it is wanted, and stays as the user leaves it.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;

/// State of a `<details>`.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    /// True while it is open.
    pub is_open: RwSignal<bool>,
    /// True since it was opened for the first time, when its content is built.
    pub is_built: RwSignal<bool>,
}

impl Fold {
    /// A closed one, which opens each time `is_wanted` becomes true.
    pub fn new(is_wanted: Memo<bool>) -> Self {
        let fold = Self {
            is_open: RwSignal::new(is_wanted.get_untracked()),
            is_built: RwSignal::new(is_wanted.get_untracked()),
        };
        Effect::new(move |_| {
            if is_wanted.get() {
                fold.is_built.set(true);
                fold.is_open.set(true);
            }
        });
        fold
    }

    /// Keeps the state after a click of the user.
    pub fn toggled(self, event: &ev::Event) {
        let target = event.current_target();
        let details = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let is_open = details.is_some_and(|details| details.has_attribute("open"));
        if is_open {
            self.is_built.set(true);
        }
        if self.is_open.get_untracked() != is_open {
            self.is_open.set(is_open);
        }
    }
}
