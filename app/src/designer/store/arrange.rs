//! Arrangement of the selected nodes: tidy up, align, distribute, fold. Nodes glide to their new positions. Nodes that
//! lack a position get one.

use canvas::{
    commands::{self, Alignment, Axis, CommandInput, Proposal, Tidying},
    drawing::{Node, Unplaced},
};
use leptos::prelude::*;

use super::Workspace;
use crate::{browser, designer::arranging::ARRANGED_AT_ONCE, worker};

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
    /// Tidies up the selection, or the whole drawing without one. The worker arranges a large drawing.
    pub fn tidy(self) {
        let names = self.selected_names();
        let names = if names.len() > 1 { names } else { Vec::new() };
        let count = self.drawing.with_untracked(|drawing| drawing.nodes().len());
        if count <= ARRANGED_AT_ONCE {
            let proposal = self.with_input(|input| commands::tidy(input, &names));
            self.show_tidied(proposal.flatten(), names.is_empty());
        } else if self.is_tidying.try_get_value() == Some(false) {
            self.is_tidying.set_value(true);
            leptos::task::spawn_local(async move {
                let proposal = self.tidied_by_worker(&names).await;
                self.show_tidied(proposal, names.is_empty());
                self.is_tidying.try_set_value(false);
            });
        }
    }

    /// Asks the worker until the drawing is the same after the answer. `None` if nothing moves, or if the page is left.
    async fn tidied_by_worker(self, names: &[String]) -> Option<Proposal> {
        loop {
            let drawing = self.drawing.try_get_untracked()?;
            let tidying = Tidying::of(&drawing, names);
            let rects = worker::arranged(tidying.arrangement()).await;
            if *self.drawing.try_get_untracked()? == *drawing {
                return tidying.proposal(&rects);
            }
        }
    }

    fn show_tidied(self, proposal: Option<Proposal>, is_whole: bool) {
        if self.show_arranged(proposal) && is_whole {
            self.fit();
        }
    }

    /// Lets the worker find the positions that nodes lack, and draws them then.
    pub(super) fn place_by_worker(self, unplaced: Unplaced) {
        // The drawing after the present answer is of the newest text.
        if self.is_arranging.try_get_untracked() != Some(false) {
            return;
        }
        let follows = self.is_fitted();
        self.is_arranging.set(true);
        leptos::task::spawn_local(async move {
            let rects = worker::arranged(unplaced.arrangement()).await;
            let drawing = unplaced.placed(&rects);
            self.editor
                .try_update_untracked(|editor| editor.place_missing(&drawing));
            let is_left = self.is_arranging.try_set(false).is_some();
            if is_left {
                return;
            }
            self.draw();
            if follows {
                self.fit();
            }
        });
    }

    /// Aligns the selected nodes.
    pub fn align(self, to: Alignment) {
        let names = self.selected_names();
        self.arrange(move |input| commands::align(input, &names, to));
    }

    /// Distributes the selected nodes with equal gaps.
    pub fn distribute(self, axis: Axis) {
        let names = self.selected_names();
        self.arrange(move |input| commands::distribute(input, &names, axis));
    }

    fn arrange(self, propose: impl FnOnce(&CommandInput<'_>) -> Option<Proposal>) {
        let proposal = self.with_input(propose).flatten();
        self.show_arranged(proposal);
    }

    fn show_arranged(self, proposal: Option<Proposal>) -> bool {
        let Some(proposal) = proposal else {
            self.announce("Nothing to move");
            return false;
        };
        self.glide();
        self.apply(&proposal)
    }

    /// Animates nodes on the way to their new positions.
    fn glide(self) {
        self.glides.set(true);
        browser::after_ms(400, move || {
            self.glides.try_set(false);
        });
    }

    /// Folds a network to a card with the number of its servers, or unfolds it. The focus moves to the canvas, because
    /// the network becomes another element. Returns false for other resources.
    pub fn fold(self, network: &str) -> bool {
        let is_done = self.toggle_fold(network);
        if let Some(canvas) = self.root.get_untracked().filter(|_| is_done) {
            // The canvas is on the page, so the focus cannot fail.
            let _ = canvas.focus();
        }
        is_done
    }

    fn toggle_fold(self, network: &str) -> bool {
        let types = self.types.get_untracked();
        let label = self
            .editor
            .try_update(|editor| editor.fold(network, &types))
            .flatten();
        let Some(label) = label else { return false };
        self.glide();
        self.changed();
        self.announce(&label);
        true
    }

    /// Folds the network of the selection, or unfolds it. For a server, its network is used.
    pub fn fold_selected(self) {
        if self.selected_network().is_none_or(|name| !self.fold(&name)) {
            self.announce("Select a network to fold it");
        }
    }

    /// The network that is selected, or that contains the selected resource.
    fn selected_network(self) -> Option<String> {
        let lead = self
            .selection
            .with_untracked(|selection| selection.lead().map(str::to_owned))?;
        self.drawing.with_untracked(|drawing| {
            let around = |node: &&Node| drawing.node(node.parent.as_deref()?);
            let mut nodes = std::iter::successors(drawing.owner(&lead), around);
            let network = nodes.find(|node| node.is_network())?;
            Some(network.name.clone())
        })
    }

    /// True for a folded network, false for one with visible contents, `None` for other resources.
    pub fn is_folded(self, name: &str) -> Option<bool> {
        self.drawing.with_untracked(|drawing| {
            let node = drawing.node(name).filter(|node| node.is_network())?;
            node.ghost.is_none().then_some(node.is_folded)
        })
    }

    /// Unfolds the network that hides a resource, so that the resource can be seen.
    pub fn unhide(self, name: &str) {
        let frame = self
            .drawing
            .with_untracked(|drawing| drawing.folded_frame(name).map(str::to_owned));
        if let Some(frame) = frame {
            self.toggle_fold(&frame);
        }
    }
}
