//! Dragged nodes: they follow the pointer, snap to others, and their frames grow.

use std::sync::Arc;

use canvas::{
    commands,
    geometry::{CanvasVector, ScreenPoint},
    moving::Moving,
    snap::Guide,
};
use leptos::prelude::*;

use super::{Pointer, State};
use crate::designer::hover::show;

/// Distance in CSS pixels at which a dragged node snaps to the lines of others.
const GUIDE_PX: f64 = 5.0;

impl Pointer {
    /// Moves nodes with the pointer and grows the frames around them.
    pub(super) fn move_nodes(self, what: Arc<Moving>, start: ScreenPoint, at: ScreenPoint) {
        let workspace = self.workspace;
        let what = match what.renewed(&workspace.drawing.get_untracked()) {
            Some(what) => {
                let what = Arc::new(what);
                self.state.set_value(State::Moving {
                    what: what.clone(),
                    at: start,
                });
                what
            }
            None => what,
        };
        let (way, guides) = self.way_with_guides(&what, start, at);
        if self.guides.with_untracked(|now| *now != guides) {
            self.guides.set(guides);
        }
        // The move of several nodes changes positions only, so there is nothing to announce.
        let to = workspace.view.get_untracked().to_canvas(at);
        let answer = what
            .is_single()
            .then(|| workspace.with_input(|input| commands::shift(input, what.names(), way, to)))
            .flatten();
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
        // A server that would leave its frame does not resize it.
        let leaves = changes && what.names().len() == 1;
        workspace.scene.drag(&what, way, leaves);
    }

    /// Offset of the dragged node, snapped to the nodes beside it or to the grid.
    pub(super) fn way_with_guides(
        self,
        what: &Moving,
        start: ScreenPoint,
        at: ScreenPoint,
    ) -> (CanvasVector, Vec<Guide>) {
        let view = self.workspace.view.get_untracked();
        what.way(view.way(start, at), GUIDE_PX / view.zoom)
    }
}
