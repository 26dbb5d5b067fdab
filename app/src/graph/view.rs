//! Drawing of a workflow: lines in one SVG, steps as buttons on top.

use std::collections::{BTreeMap, HashMap, HashSet};

use api::{Named as _, StepKind, StepState};
use canvas::{
    geometry::Rect,
    layered::{self, Lane, Sizes},
};
use leptos::{ev, html, prelude::*};
use web_sys::Element;

use crate::{
    browser,
    designer::surface::{attribute_of, on_resize_of},
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
/// Number of steps up to which every step has an element. Of a larger workflow those in view have one: the keyboard reaches
/// the others in the list of steps.
const ALL_UP_TO: usize = 300;
/// Steps of a large workflow have elements up to this distance from the view, in pixels of the drawing.
const NEAR: f64 = 200.0;
/// Height of a band in pixels of the drawing. Lines that begin in the same band share an element, because a large workflow
/// has thousands of them. The browser paints a large drawing in tiles, and each tile costs all lines of the elements that it
/// touches, so one element for all lines would be slow to scroll.
const BAND: f64 = 500.0;
/// Minimum zoom. Smaller text is hard to read.
const ZOOM_MIN: f64 = 0.7;

/// A line between two steps.
struct GraphLine {
    /// Id of the step at its start.
    from: String,
    /// Id of the step at its end.
    to: String,
    /// True if one of them is in the lane below.
    is_aside: bool,
    /// Upper end, in pixels of the drawing.
    top: f64,
    /// Commands of the path.
    path: String,
}

/// The verb of a step, for users.
pub fn step_verb(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Create => "Create",
        StepKind::Update => "Update",
        StepKind::Delete => "Remove",
        StepKind::WaitForSsh => "Wait for SSH",
        StepKind::OpenBastion => "Open the bastion",
        StepKind::CloseBastion => "Close the bastion",
        StepKind::Install => "Install",
        StepKind::Configure => "Configure",
        StepKind::Pause => "Pause",
        StepKind::Hook => "Wait for you",
        StepKind::Sweep => "Remove strays",
        StepKind::Command => "Command",
        StepKind::Suspend => "Suspend",
        StepKind::Resume => "Resume",
        StepKind::Snapshot => "Snapshot",
        StepKind::Restore => "Restore",
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
        StepKind::Install => "download",
        StepKind::Configure => "box",
        StepKind::Pause => "circle-pause",
        StepKind::Hook => "hand",
        StepKind::Sweep => "trash-2",
        StepKind::Command => "terminal",
        StepKind::Suspend => "circle-pause",
        StepKind::Resume => "play",
        StepKind::Snapshot => "camera",
        StepKind::Restore => "undo-2",
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

    let lines = StoredValue::new(
        drawing
            .edges
            .iter()
            .map(|layered::Line { from, to, points }| GraphLine {
                from: steps[*from].id.clone(),
                to: steps[*to].id.clone(),
                is_aside: lanes[*from] == Lane::Side || lanes[*to] == Lane::Side,
                top: points
                    .iter()
                    .map(|point| point.1)
                    .fold(f64::INFINITY, f64::min),
                path: layered::path(points),
            })
            .collect::<Vec<_>>(),
    );
    let main = lines.with_value(|lines| bands(lines, |line| !line.is_aside));
    let aside = lines.with_value(|lines| bands(lines, |line| line.is_aside));
    let on_path = Memo::new(move |_| {
        let is_on = |path: &HashSet<String>, line: &GraphLine| {
            path.contains(&line.from) && path.contains(&line.to)
        };
        critical.with(|path| lines.with_value(|lines| bands(lines, |line| is_on(path, line))))
    });
    let near = Memo::new(move |_| {
        selected.with(|selected| match selected {
            Some(id) => {
                lines.with_value(|lines| bands(lines, |line| line.from == *id || line.to == *id))
            }
            None => Vec::new(),
        })
    });
    let paths = |bands: Vec<String>| {
        let path = |band: String| view! { <path d=band /> };
        bands.into_iter().map(path).collect_view()
    };
    let lane = drawing.side_lane.map(|top| {
        view! {
            <div class="graph-lane" style:top=format!("{}px", top + MARGIN)>
                <span>"Bastion and clean-up"</span>
            </div>
        }
    });
    let count = steps.len();
    let ids: HashMap<String, usize> = steps.iter().map(|step| step.id.clone()).zip(0..).collect();
    let corners: Vec<(f64, f64)> = drawing
        .nodes
        .into_iter()
        .map(|(x, y)| (x + MARGIN, y + MARGIN))
        .collect();
    let placed: Vec<(GraphStep, (f64, f64))> = steps.into_iter().zip(corners.clone()).collect();
    let placed = StoredValue::new(placed);
    // Zoomed so that the whole graph is visible if the text stays readable. Otherwise the graph scrolls.
    let (root, sheet) = (NodeRef::<html::Div>::new(), NodeRef::<html::Div>::new());
    let zoom = RwSignal::new(1.0_f64);
    let seen = RwSignal::new(Rect::default());
    let look = move || {
        let elements = root.try_get_untracked().flatten();
        let elements = elements.zip(sheet.try_get_untracked().flatten());
        if let Some(rect) = elements.and_then(|(root, sheet)| visible(&root, &sheet, width)) {
            seen.try_set(rect);
        }
    };
    Effect::new(move |_| {
        if let Some(root) = root.get() {
            on_resize_of(&root, move |room| {
                let fits = (room.width / width).min(room.height / height);
                zoom.try_set(fits.clamp(ZOOM_MIN, 1.0));
                browser::on_next_frame(look);
            });
        }
    });
    let focused = RwSignal::new(None::<usize>);
    let is_small = count <= ALL_UP_TO;
    let shown: Vec<RwSignal<bool>> = (0..count).map(|_| RwSignal::new(is_small)).collect();
    if !is_small {
        let shown = shown.clone();
        // Only signals of steps that come into view or leave it are set. Memos of a common list would all run at each
        // frame of a scroll, and each would look for itself among the subscribers of the list.
        Effect::new(move |_| {
            let (seen, focused) = (seen.get(), focused.get());
            let chosen = selected.with(|id| ids.get(id.as_ref()?).copied());
            for (at, (corner, shown)) in corners.iter().zip(&shown).enumerate() {
                let is_kept = focused == Some(at) || chosen == Some(at);
                let is_shown = is_kept || node_rect(*corner).overlaps(seen);
                if shown.get_untracked() != is_shown {
                    shown.set(is_shown);
                }
            }
        });
    }
    let node = move |at: usize| {
        let (step, (x, y)) = placed.with_value(|placed| placed.get(at).cloned())?;
        Some(view! { <StepNode step x y at state critical selected /> })
    };
    // Each has its place in the document: an element that moves there would lose the focus.
    let nodes = shown
        .into_iter()
        .enumerate()
        .map(|(at, shown)| move || if shown.get() { node(at) } else { None })
        .collect_view();
    let on_focus = move |event: ev::FocusEvent| {
        focused.set(attribute_of(&event, "data-at").and_then(|at| at.parse().ok()));
    };
    view! {
        <div
            class="graph" role="group" aria-label="Workflow" tabindex="0" node_ref=root on:scroll=move |_| look()
            on:focusin=on_focus on:focusout=move |_| focused.set(None)
        >
            <div
                class="graph-sheet" node_ref=sheet style:zoom=move || zoom.get().to_string() style:width=format!("{width}px")
                style:height=format!("{height}px")
            >
                {lane}
                <svg width=width height=height aria-hidden="true">
                    <g transform=format!("translate({MARGIN} {MARGIN})")>
                        <g>{paths(main)}</g>
                        <g data-aside="true">{paths(aside)}</g>
                        <g data-critical="true">{move || paths(on_path.get())}</g>
                        <g data-near="true">{move || paths(near.get())}</g>
                    </g>
                </svg>
                {nodes}
            </div>
        </div>
    }
}

/// Paths of some of the lines: one for each band in which some of them begin.
fn bands(lines: &[GraphLine], is_it: impl Fn(&GraphLine) -> bool) -> Vec<String> {
    let mut bands = BTreeMap::<usize, String>::new();
    for line in lines.iter().filter(|line| is_it(line)) {
        let band = (line.top / BAND) as usize;
        bands.entry(band).or_default().push_str(&line.path);
    }
    bands.into_values().collect()
}

/// The part of the drawing that is in view and near it, in pixels of the drawing. `width` is the drawing's.
fn visible(root: &Element, sheet: &Element, width: f64) -> Option<Rect> {
    let (room, drawn) = (
        root.get_bounding_client_rect(),
        sheet.get_bounding_client_rect(),
    );
    let zoom = drawn.width() / width;
    if zoom <= 0.0 || !zoom.is_finite() {
        return None;
    }
    let rect = Rect {
        x: (room.left() - drawn.left()) / zoom,
        y: (room.top() - drawn.top()) / zoom,
        width: room.width() / zoom,
        height: room.height() / zoom,
    };
    Some(rect.grown(NEAR))
}

fn node_rect((x, y): (f64, f64)) -> Rect {
    Rect {
        x,
        y,
        width: SIZES.width,
        height: SIZES.height,
    }
}

#[component]
fn StepNode(
    step: GraphStep,
    /// Left edge, in pixels of the drawing.
    x: f64,
    /// Top edge, in pixels of the drawing.
    y: f64,
    /// Index of the step.
    at: usize,
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
            type="button" class="graph-node" data-graph-step=step.id data-at=at data-look=look data-critical=move || is_critical.get().to_string() aria-pressed=is_selected aria-label=label
            style:left=format!("{x}px") style:top=format!("{y}px")
            on:click=move |_| selected.update(|selected| {
                let id = id.get_value();
                *selected = if selected.as_ref() == Some(&id) { None } else { Some(id) };
            })
        >
            <span class="graph-icon" data-look=look>{icon}</span>
            <span class="graph-words">
                <span class="graph-title">{title}</span>
                " "
                <span class="graph-verb">{step_verb(step.kind)}</span>
            </span>
        </button>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_share_a_path_with_those_that_begin_near_them() {
        let line = |name: &str, top: f64| GraphLine {
            from: format!("{name}:create"),
            to: format!("{name}:delete"),
            is_aside: false,
            top,
            path: format!("M0 {top}"),
        };
        let lines = [
            line("web", 20.0),
            line("low", 3.0 * BAND),
            line("db", 72.0),
            line("other", 90.0),
        ];
        let found = bands(&lines, |line| line.from != "other:create");
        assert_eq!(found, ["M0 20M0 72", "M0 1500"]);
    }
}
