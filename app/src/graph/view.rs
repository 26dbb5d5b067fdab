//! Drawing of a workflow: lines in one SVG, steps as buttons on top.

use std::collections::{HashMap, HashSet};

use api::{StepKind, StepState};
use canvas::layered::{self, Lane, Sizes};
use leptos::{html, prelude::*};

use crate::{
    designer::surface::on_resize_of,
    ui::{
        Icon,
        state::{DisplayState, StepLook, icon_of},
    },
};

/// One step of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphStep {
    /// Id, such as `web:create`.
    pub id: String,
    /// Kind of step.
    pub kind: StepKind,
    /// Resource. `None` for steps of the whole run.
    pub resource: Option<String>,
    /// Ids of the steps that this one waits for.
    pub after: Vec<String>,
    /// True if the step runs whenever the run ends.
    pub always_run: bool,
}

const SIZES: Sizes = Sizes {
    width: 164.0,
    height: 40.0,
    column_gap: 44.0,
    row_gap: 12.0,
};
const MARGIN: f64 = 20.0;
/// Minimum zoom. Smaller text is hard to read.
const ZOOM_MIN: f64 = 0.7;

/// The verb of a step, for users.
pub fn step_verb(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Create => "Create",
        StepKind::Update => "Update",
        StepKind::Delete => "Delete",
        StepKind::WaitForSsh => "Wait for SSH",
        StepKind::OpenBastion => "Open the bastion",
        StepKind::CloseBastion => "Close the bastion",
        StepKind::Configure => "Configure",
        StepKind::Pause => "Pause",
        StepKind::Hook => "Wait for you",
        StepKind::Sweep => "Remove strays",
        StepKind::Command => "Command",
        StepKind::Suspend => "Suspend",
        StepKind::Resume => "Resume",
    }
}

/// The icon of a step.
pub fn step_icon(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Create => "plus",
        StepKind::Update => "pencil",
        StepKind::Delete => "minus",
        StepKind::WaitForSsh => "terminal",
        StepKind::OpenBastion | StepKind::CloseBastion => "shield",
        StepKind::Configure => "box",
        StepKind::Pause => "circle-pause",
        StepKind::Hook => "hand",
        StepKind::Sweep => "trash-2",
        StepKind::Command => "terminal",
        StepKind::Suspend => "circle-pause",
        StepKind::Resume => "play",
    }
}

/// Drawing of a workflow. With `state` it contains the states of a run; a plan has none.
#[component]
pub fn WorkflowGraph(
    /// All steps.
    steps: Vec<GraphStep>,
    /// The state of a step by its id. Tracks.
    #[prop(optional, into)]
    state: Option<Callback<String, StepState>>,
    /// Ids of the steps on the critical path. A plan has none.
    #[prop(optional, into)]
    critical: Signal<HashSet<String>>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let index: HashMap<&str, usize> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| (step.id.as_str(), at))
        .collect();
    let edges: Vec<(usize, usize)> = steps
        .iter()
        .enumerate()
        .flat_map(|(to, step)| {
            step.after
                .iter()
                .filter_map(|before| index.get(before.as_str()).copied())
                .map(move |from| (from, to))
                .collect::<Vec<_>>()
        })
        .collect();
    let lanes: Vec<Lane> = steps
        .iter()
        .map(|step| {
            let aside = step.always_run
                || matches!(step.kind, StepKind::OpenBastion | StepKind::CloseBastion);
            if aside { Lane::Side } else { Lane::Main }
        })
        .collect();
    let drawing = layered::draw(&lanes, &edges, SIZES);
    let (width, height) = (drawing.width + 2.0 * MARGIN, drawing.height + 2.0 * MARGIN);

    let lines = drawing
        .edges
        .iter()
        .map(|layered::Line { from, to, points }| {
            let (from_id, to_id) = (steps[*from].id.clone(), steps[*to].id.clone());
            let aside = lanes[*from] == Lane::Side || lanes[*to] == Lane::Side;
            let near = move || {
                selected
                    .with(|selected| {
                        selected
                            .as_ref()
                            .is_some_and(|it| *it == from_id || *it == to_id)
                    })
                    .to_string()
            };
            let (from_id, to_id) = (steps[*from].id.clone(), steps[*to].id.clone());
            let on_path = move || {
                critical
                    .with(|path| path.contains(&from_id) && path.contains(&to_id))
                    .to_string()
            };
            view! { <path d=layered::path(points) data-aside=aside.to_string() data-near=near data-critical=on_path /> }
        })
        .collect_view();
    let lane = drawing.side_lane.map(|top| {
        view! {
            <div class="graph-lane" style:top=format!("{}px", top + MARGIN)>
                <span>"Bastion and clean-up"</span>
            </div>
        }
    });
    let nodes = steps
        .into_iter()
        .zip(drawing.nodes)
        .map(|(step, (x, y))| view! { <StepNode step x=x + MARGIN y=y + MARGIN state critical selected /> })
        .collect_view();
    // Zoomed so that the whole graph is visible if the text stays readable. Otherwise the graph scrolls.
    let root = NodeRef::<html::Div>::new();
    let zoom = RwSignal::new(1.0_f64);
    Effect::new(move |_| {
        if let Some(root) = root.get() {
            on_resize_of(&root, move |room| {
                let fits = (room.width / width).min(room.height / height);
                zoom.try_set(fits.clamp(ZOOM_MIN, 1.0));
            });
        }
    });
    view! {
        <div class="graph" role="group" aria-label="Workflow" tabindex="0" node_ref=root>
            <div class="graph-sheet" style:zoom=move || zoom.get().to_string() style:width=format!("{width}px") style:height=format!("{height}px")>
                {lane}
                <svg width=width height=height aria-hidden="true">
                    <g transform=format!("translate({MARGIN} {MARGIN})")>{lines}</g>
                </svg>
                {nodes}
            </div>
        </div>
    }
}

#[component]
fn StepNode(
    step: GraphStep,
    x: f64,
    y: f64,
    state: Option<Callback<String, StepState>>,
    critical: Signal<HashSet<String>>,
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let id = StoredValue::new(step.id.clone());
    let kind = step.kind;
    let now = Memo::new(move |_| {
        let state = state?.run(id.get_value());
        Some(StepLook { kind, state })
    });
    let look = move || now.get().map(DisplayState::look);
    let is_selected = move || {
        selected
            .with(|selected| id.with_value(|id| selected.as_ref() == Some(id)))
            .to_string()
    };
    let is_critical =
        Memo::new(move |_| critical.with(|path| id.with_value(|id| path.contains(id))));
    let title = step
        .resource
        .clone()
        .unwrap_or_else(|| step_verb(step.kind).to_owned());
    let icon = move || match now.get() {
        Some(state) => view! { <Icon name=icon_of(state.look()) /> },
        None => view! { <Icon name=step_icon(step.kind) /> },
    };
    let spoken = format!("{title} {}", step_verb(step.kind));
    let label = move || {
        let state = now
            .get()
            .map(|state| format!(", {}", state.title()))
            .unwrap_or_default();
        let path = if is_critical.get() {
            ", on the critical path"
        } else {
            ""
        };
        format!("{spoken}{state}{path}")
    };
    view! {
        <button
            type="button" class="graph-node" data-graph-step=step.id data-look=look data-critical=move || is_critical.get().to_string() aria-pressed=is_selected aria-label=label
            style:left=format!("{x}px") style:top=format!("{y}px")
            on:click=move |_| selected.update(|selected| {
                let id = id.get_value();
                *selected = if selected.as_ref() == Some(&id) { None } else { Some(id) };
            })
        >
            <span class="graph-icon" data-look=look>{icon}</span>
            <span class="graph-words">
                <span class="graph-title">{title}</span>
                <span class="graph-verb">{step_verb(step.kind)}</span>
            </span>
        </button>
    }
}
