//! Lines as SVG paths. Each line reads only its own route, so a drag redraws only the lines of what moves.

use canvas::{
    drawing::{Edge, EdgeKind},
    edges::{Line, has_label},
    geometry::CanvasPoint,
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
            <For each=move || scene.edges.get() key=identity let:edge>
                {scene.line(&edge.id).map(|signals| move || {
                    let (edge, line) = (edge.clone(), signals.line.clone());
                    signals.shown.get().then(|| view! { <LineView edge line scene stage /> })
                })}
            </For>
        </svg>
    }
}

/// Content of the element of a line. A line with another content becomes another element: a line keeps its id when its
/// end moves, or when the network around its end is folded.
fn identity(edge: &Edge) -> (String, String, String, String, bool) {
    let text = [&edge.id, &edge.from, &edge.to, &edge.label];
    let [id, from, to, label] = text.map(String::clone);
    (id, from, to, label, edge.ghost)
}

/// The labels of all lines, above the nodes.
#[component]
pub fn Labels(
    /// The drawing.
    scene: Scene,
    /// Selection, states and problems.
    stage: Stage,
) -> impl IntoView {
    let labelled = move || {
        scene.edges.with(|edges| {
            edges
                .iter()
                .filter(|edge| has_label(edge))
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    view! {
        <svg class="lines" data-layer="labels" aria-hidden="true">
            <For each=labelled key=identity let:edge>
                {scene.line(&edge.id).map(|signals| move || {
                    let (edge, line) = (edge.clone(), signals.line.clone());
                    signals.shown.get().then(|| view! { <LabelView edge line stage /> })
                })}
            </For>
        </svg>
    }
}

#[component]
fn LabelView(edge: Edge, line: ArcRwSignal<Line>, stage: Stage) -> impl IntoView {
    let place = Memo::new(move |_| line.with(|line| line.label));
    let ends = [edge.from.clone(), edge.to.clone()];
    let touched = Memo::new(move |_| {
        stage
            .selection
            .with(|selection| ends.iter().any(|name| selection.contains(name)))
    });
    move || {
        place.get().map(|at| {
            view! {
                <text
                    class="line-label" text-anchor="middle" dominant-baseline="central" data-edge=edge.id.clone()
                    data-touched=move || touched.get().then_some("true") x=at.x.to_string() y=at.y.to_string()
                >
                    {edge.label.clone()}
                </text>
            }
        })
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
fn LineView(edge: Edge, line: ArcRwSignal<Line>, scene: Scene, stage: Stage) -> impl IntoView {
    let kind = edge.kind;
    let path = {
        let line = line.clone();
        Memo::new(move |_| line.with(|line| line.path.clone()))
    };
    let end = {
        let line = line.clone();
        Memo::new(move |_| line.with(Line::end))
    };
    // The elements that a press hits stay in their places during a drag: nothing is pressed then.
    let pressed = Memo::new(move |last: Option<&(String, CanvasPoint)>| {
        scene.outdated.track();
        match last {
            Some(last) if scene.is_dragged() => last.clone(),
            _ => line.with(|line| (line.path.clone(), line.end())),
        }
    });
    let pressed_end = move || pressed.with(|(_, end)| *end);
    // A line of a reference is selected by its id.
    let own_id = (stage.editable && !edge.ghost).then(|| edge.id.clone());
    let name = edge.resource.clone().or(own_id);
    let touched = {
        let ends = [Some(edge.from.clone()), Some(edge.to.clone()), name.clone()];
        Memo::new(move |_| {
            stage
                .selection
                .with(|selection| ends.iter().flatten().any(|name| selection.contains(name)))
        })
    };
    let faded = {
        let (from, to) = (stage.faded(&edge.from), stage.faded(&edge.to));
        move || (from.get() || to.get()).then_some("true")
    };
    let selected = name.as_deref().map(|name| stage.selected(name));
    let state = edge.resource.as_deref().map(|name| stage.state(name));
    let movable_end = (stage.editable && !edge.ghost).then(|| edge.id.clone());
    let title = match (&edge.resource, edge.label.as_str()) {
        (Some(resource), _) => resource.clone(),
        (None, "") => format!("{} to {}", edge.from, edge.to),
        (None, label) => format!("{}: {} to {}", label, edge.from, edge.to),
    };
    view! {
        <g
            class="line"
            data-kind=word(kind)
            data-from=edge.from.clone()
            data-to=edge.to.clone()
            data-node=edge.resource.clone().filter(|_| !(stage.editable && edge.ghost))
            data-name=name
            data-ghost=edge.ghost.then_some("true")
            data-touched=move || touched.get().then_some("true")
            data-faded=faded
            data-selected=selected.map(|selected| move || selected.get().to_string())
            data-state=state.map(|state| move || state.get())
        >
            <title>{title}</title>
            <path class="line-hit" d=move || pressed.with(|(path, _)| path.clone()) />
            <path class="line-ink" d=move || path.get() />
            {movable_end.map(|id| view! {
                <circle class="line-end" r="9" data-end=id cx=move || pressed_end().x.to_string() cy=move || pressed_end().y.to_string() />
            })}
            <circle
                class="line-pin" r="3.5"
                cx=move || end.get().x.to_string()
                cy=move || end.get().y.to_string()
            />
        </g>
    }
}
