//! Arrangement of the selected nodes: tidy up, align, distribute. Nodes glide to their new positions.

use canvas::commands::{self, Alignment, Axis, CommandInput, Proposal};
use leptos::prelude::*;

use super::Workspace;
use crate::browser;

/// The alignments, each with its icon and label.
pub const ALIGNMENTS: [(&str, &str, Alignment); 6] = [
    ("align-start-vertical", "Align left", Alignment::Left),
    ("align-center-vertical", "Align centre", Alignment::Centre),
    ("align-end-vertical", "Align right", Alignment::Right),
    ("align-start-horizontal", "Align top", Alignment::Top),
    ("align-center-horizontal", "Align middle", Alignment::Middle),
    ("align-end-horizontal", "Align bottom", Alignment::Bottom),
];

/// The directions of equal gaps, each with its icon and label.
pub const DISTRIBUTIONS: [(&str, &str, Axis); 2] = [
    (
        "align-horizontal-distribute-center",
        "Distribute across",
        Axis::Across,
    ),
    (
        "align-vertical-distribute-center",
        "Distribute down",
        Axis::Down,
    ),
];

impl Workspace {
    /// Tidies up the selection, or the whole drawing without one.
    pub fn tidy(self) {
        let names = self.selected_names();
        let names = if names.len() > 1 { names } else { Vec::new() };
        let follows = names.is_empty();
        if self.arrange(move |input| commands::tidy(input, &names)) && follows {
            self.fit();
        }
    }

    /// Aligns the selected nodes.
    pub fn align(self, to: Alignment) {
        let names = self.selected_names();
        self.arrange(move |input| commands::align(input, &names, to));
    }

    /// Gives the selected nodes equal gaps.
    pub fn distribute(self, axis: Axis) {
        let names = self.selected_names();
        self.arrange(move |input| commands::distribute(input, &names, axis));
    }

    fn arrange(self, propose: impl FnOnce(&CommandInput<'_>) -> Option<Proposal>) -> bool {
        let Some(Some(proposal)) = self.with_input(propose) else {
            self.announce("Nothing to move");
            return false;
        };
        self.glides.set(true);
        browser::after_ms(400, move || {
            self.glides.try_set(false);
        });
        self.apply(&proposal)
    }
}
