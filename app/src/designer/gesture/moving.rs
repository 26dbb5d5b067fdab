//! Dragged nodes: they follow the pointer, snap to others, and their frames grow.

use std::collections::HashSet;

use canvas::{
    commands,
    drawing::NodeKind,
    geometry::{CanvasVector, Rect, ScreenPoint},
    layout,
    snap::{self, Guide},
};
use leptos::prelude::*;

use super::Pointer;
use crate::designer::hover::show;

/// Distance in CSS pixels at which a dragged node snaps to the lines of others.
const GUIDE_PX: f64 = 5.0;

impl Pointer {
    /// Moves nodes with the pointer and grows the frames around them.
    pub(super) fn move_nodes(
        self,
        names: &[String],
        held: &str,
        start: ScreenPoint,
        at: ScreenPoint,
    ) {
        let workspace = self.workspace;
        let (way, guides) = self.way_with_guides(names, held, start, at);
        if self.guides.with_untracked(|now| *now != guides) {
            self.guides.set(guides);
        }
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

    /// Offset of the dragged node, snapped to the nodes beside it or to the grid.
    pub(super) fn way_with_guides(
        self,
        names: &[String],
        held: &str,
        start: ScreenPoint,
        at: ScreenPoint,
    ) -> (CanvasVector, Vec<Guide>) {
        let view = self.workspace.view.get_untracked();
        let way = view.way(start, at);
        self.workspace.drawing.with_untracked(|drawing| {
            let Some(node) = drawing.node(held) else {
                return (way, Vec::new());
            };
            if node.kind == NodeKind::Chip {
                return (snap::way_to_grid(node.rect.corner(), way), Vec::new());
            }
            let others: Vec<Rect> = drawing
                .nodes()
                .iter()
                .filter(|other| {
                    other.kind != NodeKind::Chip
                        && other.parent == node.parent
                        && other.name != held
                        && !names.contains(&other.name)
                })
                .map(|other| other.rect)
                .collect();
            snap::way_to_guides(node.rect, way, &others, GUIDE_PX / view.zoom)
        })
    }
}
