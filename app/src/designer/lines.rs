//! Lines as SVG paths. Each line reads only the positions of its two ends, so a drag redraws only its own lines.

use canvas::{
    drawing::{Edge, EdgeKind},
    edges::{self, Line},
    geometry::Rect,
};
use leptos::prelude::*;

use super::{scene::Scene, stage::Stage};

/// All lines of a scene, above the frames and below the cards.
#[component]
pub fn Lines(
    /// The drawing.
    scene: Scene,
    /// Selection, states and problems.
    stage: Stage,
) -> impl IntoView {
    view! {
        <svg class="lines" aria-hidden="true">
            <For each=move || scene.edges.get() key=|edge| (edge.id.clone(), edge.label.clone(), edge.ghost) let:edge>
                {match (scene.node(&edge.from), scene.node(&edge.to)) {
                    (Some(from), Some(to)) => Some(view! { <LineView edge from=from.rect to=to.rect stage /> }),
                    _ => None,
                }}
            </For>
        </svg>
    }
}

fn word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Interface => "interface",
        EdgeKind::RouterInterface => "router-interface",
        EdgeKind::Gateway => "gateway",
        EdgeKind::Relation => "relation",
        EdgeKind::Reference => "reference",
        EdgeKind::Order => "order",
    }
}

#[component]
fn LineView(
    edge: Edge,
    from: ArcRwSignal<Rect>,
    to: ArcRwSignal<Rect>,
    stage: Stage,
) -> impl IntoView {
    let kind = edge.kind;
    let line: Memo<Line> = Memo::new(move |_| edges::route(kind, from.get(), to.get()));
    let touched = {
        let ends = [
            Some(edge.from.clone()),
            Some(edge.to.clone()),
            edge.resource.clone(),
        ];
        Memo::new(move |_| {
            stage
                .selection
                .with(|selection| ends.iter().flatten().any(|name| selection.contains(name)))
        })
    };
    let selected = edge.resource.as_deref().map(|name| stage.selected(name));
    let state = edge.resource.as_deref().map(|name| stage.state(name));
    // On a short line the label would cover the nodes.
    let room = edge.label.chars().count() as f64 * 6.0 + 40.0;
    let tight = Memo::new(move |_| {
        line.with(|line| (line.end.x - line.start.x).hypot(line.end.y - line.start.y) < room)
    });
    let path = move || line.with(|line| line.path.clone());
    let says = match (&edge.resource, edge.label.as_str()) {
        (Some(resource), _) => resource.clone(),
        (None, "") => format!("{} to {}", edge.from, edge.to),
        (None, label) => format!("{}: {} to {}", label, edge.from, edge.to),
    };
    let label =
        (kind == EdgeKind::Relation || kind == EdgeKind::Interface).then(|| edge.label.clone());
    view! {
        <g
            class="line"
            data-kind=word(kind)
            data-from=edge.from.clone()
            data-to=edge.to.clone()
            data-node=edge.resource.clone().filter(|_| !(stage.editable && edge.ghost))
            data-name=edge.resource.clone()
            data-ghost=edge.ghost.then_some("true")
            data-touched=move || touched.get().then_some("true")
            data-selected=selected.map(|selected| move || selected.get().to_string())
            data-state=state.map(|state| move || state.get())
        >
            <title>{says}</title>
            <path class="line-hit" d=path />
            <path class="line-ink" d=path />
            <circle
                class="line-pin" r="3.5"
                cx=move || line.with(|line| line.end.x.to_string())
                cy=move || line.with(|line| line.end.y.to_string())
            />
            {label.filter(|label| !label.is_empty()).map(|label| view! {
                <text
                    class="line-label" text-anchor="middle" data-tight=move || tight.get().then_some("true")
                    x=move || line.with(|line| line.middle.x.to_string())
                    y=move || line.with(|line| (line.middle.y - 6.0).to_string())
                >
                    {label}
                </text>
            })}
        </g>
    }
}
