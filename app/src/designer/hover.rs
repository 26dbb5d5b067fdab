//! Preview of a drag, also of one from the palette: the highlighted node, and the text beside the pointer.

use canvas::{
    commands::{self, Item, Proposal, Refusal},
    geometry::ScreenPoint,
};
use leptos::prelude::*;

use super::{
    stage::Aim,
    store::{Hint, Workspace},
    surface,
};

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
        Some(Ok(proposal)) if workspace.apply(&proposal) => workspace.remember_item(item),
        Some(Err(refusal)) => workspace.refuse_drop(&refusal.0),
        _ => {}
    }
}

/// Highlights the target of a drag and displays the effect of a drop.
pub fn show(
    workspace: Workspace,
    answer: Option<&Result<Proposal, Refusal>>,
    over: Option<String>,
) {
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
