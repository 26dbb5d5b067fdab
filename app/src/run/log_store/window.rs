//! A window of lines far before the end of the log: around a linked line or a hit.
//!
//! The lines between the window and the end are not loaded. So the view has either the lines of the window, or those from a
//! number on to the end. The window grows in both directions. Once it reaches the lines at the end, they are one again.

use std::ops::Range;

use api::Event;

use super::LogStore;

impl LogStore {
    /// Shows these lines: all of the range, of one step or of all. Dropped if the view is of another step.
    pub fn open_window(&mut self, events: Vec<Event>, step: Option<&str>, range: Range<u64>) {
        if step == self.settings.step.as_deref() {
            self.add(events);
            self.window = Some(range);
            self.join_window();
            self.show_again(None);
        }
    }

    /// Adds lines to the window: all of a range that touches it. Dropped if the window was left meanwhile.
    pub fn extend_window(&mut self, events: Vec<Event>, step: Option<&str>, range: Range<u64>) {
        let is_of_view = step == self.settings.step.as_deref();
        let window = self
            .window
            .clone()
            .filter(|window| is_of_view && range.start <= window.end && window.start <= range.end);
        if let Some(window) = window {
            let first = self.first_shown();
            self.add(events);
            self.window = Some(window.start.min(range.start)..window.end.max(range.end));
            self.join_window();
            self.show_again(first);
        }
    }

    /// Shows the lines at the end.
    pub fn leave_window(&mut self) {
        if self.window.take().is_some() {
            self.show_again(None);
        }
    }

    /// Numbers of the lines in the window. `None` while the view has the lines at the end.
    pub fn window(&self) -> Option<Range<u64>> {
        self.window.clone()
    }

    /// Numbers of the lines that the view has, unless a filter hides them.
    pub fn shown(&self) -> Range<u64> {
        let step = self.settings.step.as_deref();
        self.window().unwrap_or_else(|| self.from(step)..u64::MAX)
    }

    /// Joins the window with the lines at the end, if there is nothing between them.
    pub(super) fn join_window(&mut self) {
        let step = self.settings.step.as_deref();
        let from = self.from(step);
        if let Some(window) = self.window.take_if(|window| window.end >= from) {
            let from = window.start.min(from);
            match step {
                Some(step) => drop(self.from_of_step.insert(step.to_owned(), from)),
                None => self.from = from,
            }
        }
    }
}
