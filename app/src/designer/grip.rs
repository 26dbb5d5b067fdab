//! The grip at the start of the selected line.
//!
//! The connection handle of a node can be at the same place. So the grip is above the nodes, and only while its line is
//! selected.

use canvas::{commands, drawing::Edge, edges::Line};
use leptos::prelude::*;

use super::store::Workspace;

/// The grip of the selected line, if its start can be moved.
#[component]
pub fn StartGrip(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let edge = Memo::new(move |_| movable_line(workspace));
    let grip = move || {
        let edge = edge.get()?;
        let signals = workspace.scene.line(&edge.id)?;
        let is_shown = signals.shown.get();
        is_shown.then(|| view! { <Grip edge line=signals.line /> })
    };
    view! { <svg class="lines" data-layer="grip" aria-hidden="true">{grip}</svg> }
}

/// The selected line, if its start can be moved.
fn movable_line(workspace: Workspace) -> Option<Edge> {
    let lead = workspace
        .selection
        .with(|selection| selection.lead().map(str::to_owned))?;
    let edge = workspace.drawing.with(|drawing| {
        let mut edges = drawing.edges().iter();
        edges
            .find(|edge| edge.resource.as_deref().unwrap_or(&edge.id) == lead)
            .cloned()
    })?;
    workspace
        .with_input(|input| commands::has_movable_start(input, &edge))?
        .then_some(edge)
}

#[component]
fn Grip(edge: Edge, line: ArcRwSignal<Line>) -> impl IntoView {
    let start = Memo::new(move |_| line.with(Line::start));
    let x = move || start.get().x.to_string();
    let y = move || start.get().y.to_string();
    let Edge { id, resource, .. } = edge;
    let name = resource.unwrap_or_else(|| id.clone());
    view! {
        <g class="line-start" data-name=name>
            <title>"Drag the start to another resource"</title>
            <circle class="line-end" r="9" data-start=id cx=x cy=y />
            <circle class="line-pin" r="5" cx=x cy=y />
        </g>
    }
}
