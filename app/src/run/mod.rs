//! The run page: a run with live updates.
//!
//! One stream of events provides the data of all parts ([`feed`]). The canvas, the graph, the timeline, the steps and
//! the log are views of the same data and share the selection. The complex parts ([`model`], [`log_store`], [`ansi`])
//! are pure and have unit tests.

pub mod ansi;
mod cause;
mod detail;
pub mod feed;
mod header;
pub mod log_store;
mod log_view;
pub mod model;
mod split;
mod steps;
mod timeline;

use std::collections::{HashMap, HashSet};

use api::{Deployment, Layout, RunState, StepState};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};

use self::{
    cause::CauseCard, detail::StepDetail, feed::Feed, header::RunHeader, log_view::LogView,
    split::Split, steps::StepList, timeline::Timeline,
};
use crate::{
    browser, client,
    designer::board::Board,
    frame::{Crumb, use_frame},
    graph::{GraphStep, WorkflowGraph},
    load::Load,
    ui::state::kind_title,
    ui::{Command, ProblemCard, icon::Icon, skeleton, use_palette},
};

/// State shared by the parts of this page.
#[derive(Clone, Copy)]
pub struct RunView {
    /// Id of the run.
    pub id: Signal<String>,
    /// The run.
    pub feed: Feed,
    /// Deployment of the run.
    pub deployment: Load<Deployment>,
    /// The selected step.
    pub selected: RwSignal<Option<String>>,
}

/// View in the upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upper {
    Canvas,
    Graph,
    Timeline,
}

impl RunView {
    fn name(self) -> Option<String> {
        self.deployment
            .with(|deployment| deployment.map(|deployment| deployment.name.clone()))
    }

    fn deployment_href(self) -> String {
        let id = self
            .feed
            .model
            .with(|model| model.as_ref().map(|model| model.run.deployment.clone()));
        format!("/deployments/{}", id.unwrap_or_default())
    }
}

/// The page of `/runs/:id`.
#[component]
pub fn RunPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id")).unwrap_or_default());
    let feed = Feed::new(id.into());
    let deployment_id = Memo::new(move |_| {
        feed.model
            .with(|model| model.as_ref().map(|model| model.run.deployment.clone()))
    });
    let is_over = Memo::new(move |_| {
        feed.model.with(|model| {
            model
                .as_ref()
                .is_some_and(|model| model.run.state.is_final())
        })
    });
    let deployment = Load::new(move || {
        let id = deployment_id.get();
        async move {
            match id {
                Some(id) => client::deployment(&id).await,
                // The run is not loaded yet. This request never completes and is replaced by the next one.
                None => std::future::pending().await,
            }
        }
    });
    // Outputs and resource states are final when the run has ended.
    Effect::new(move |before: Option<bool>| {
        let over = is_over.get();
        if over && before == Some(false) {
            deployment.reload();
        }
        over
    });
    let view = RunView {
        id: id.into(),
        feed,
        deployment,
        selected: RwSignal::new(None),
    };
    Effect::new(move |_| {
        if let Some(step) = query.with(|query| query.get("step")) {
            view.selected.set(Some(step));
        }
    });
    let title = move || {
        let name = view.name().unwrap_or_default();
        feed.model.with(|model| match model {
            Some(model) => {
                let (done, all) = model.progress();
                let mark = mark_of(model.run.state);
                if model.run.state.is_final() {
                    format!("{mark} {name}")
                } else {
                    format!("{mark} {done}/{all} {name}")
                }
            }
            None => String::from("Run"),
        })
    };
    use_frame().crumbs(move || {
        let name = view.name().unwrap_or_else(|| String::from("Deployment"));
        let kind = feed.model.with(|model| {
            model
                .as_ref()
                .map_or("Run", |model| kind_title(model.run.kind))
        });
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::link(name, view.deployment_href()),
            Crumb::here(format!("{kind} run")),
        ]
    });
    let cancel = view.canceller();
    use_palette().register(vec![
        Command::new("Run", "ban", "Cancel the run", move || {
            if !is_over.get_untracked() {
                cancel.run(());
            }
        }),
        Command::new("Run", "terminal", "Show the log of all steps", move || {
            view.selected.try_set(None);
        }),
    ]);

    let body = move || match feed.problem.get() {
        Some(problem) if feed.model.with_untracked(Option::is_none) => {
            view! { <ProblemCard problem retry=Callback::new(move |()| feed.load()) /> }.into_any()
        }
        _ => view! { <Body view /> }.into_any(),
    };
    view! {
        <Title text=title />
        <div class="run">{body}</div>
    }
}

/// Symbol of a state in the page's title.
fn mark_of(state: RunState) -> &'static str {
    match state {
        RunState::Succeeded => "✓",
        RunState::Failed | RunState::Failing => "✗",
        RunState::Cancelled | RunState::Cancelling => "■",
        RunState::Paused => "‖",
        RunState::Queued | RunState::Running => "●",
    }
}

#[component]
fn Body(view: RunView) -> impl IntoView {
    let has_run = Memo::new(move |_| view.feed.model.with(Option::is_some));
    let lower = move || {
        if !has_run.get() {
            return view! { <div class="run-lower"><div class="run-steps">{skeleton::rows(6)}</div><div class="log"></div></div> }.into_any();
        }
        view! {
            <div class="run-lower">
                <div class="run-steps"><StepList model=view.feed.model selected=view.selected /></div>
                <div class="run-log">
                    <StepDetail view />
                    <LogView feed=view.feed step=view.selected />
                </div>
            </div>
        }
        .into_any()
    };
    view! {
        <RunHeader view />
        <CauseCard view />
        <Split key="run.split" upper=view! { <UpperHalf view /> }.into_any() lower=lower.into_any() />
    }
}

#[component]
fn UpperHalf(view: RunView) -> impl IntoView {
    let shown = RwSignal::new(Upper::Canvas);
    Effect::new(move |_| {
        shown.set(match browser::remembered("run.view").as_deref() {
            Some("graph") => Upper::Graph,
            Some("timeline") => Upper::Timeline,
            _ => Upper::Canvas,
        });
    });
    let choice = move |which: Upper, key: &'static str, label: &'static str, icon: &'static str| {
        view! {
            <button
                type="button" aria-pressed=move || (shown.get() == which).to_string()
                on:click=move |_| { shown.set(which); browser::remember("run.view", key); }
            >
                <Icon name=icon />
                {label}
            </button>
        }
    };
    let content = move || match shown.get() {
        Upper::Canvas => view! { <RunBoard view /> }.into_any(),
        Upper::Graph => view! { <RunGraph view /> }.into_any(),
        Upper::Timeline => {
            view! { <Timeline model=view.feed.model selected=view.selected /> }.into_any()
        }
    };
    view! {
        <div class="run-upper">
            <div class="segments run-views" role="group" aria-label="View">
                {choice(Upper::Canvas, "canvas", "Canvas", "blocks")}
                {choice(Upper::Graph, "graph", "Graph", "workflow")}
                {choice(Upper::Timeline, "timeline", "Timeline", "chart-gantt")}
            </div>
            {content}
        </div>
    }
}

/// Drawing with live states. Selecting a node selects its last step that has started.
#[component]
fn RunBoard(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    let drawing = Memo::new(move |_| {
        view.deployment.with(|deployment| {
            deployment.map(|it| (it.template.clone(), it.layout.clone(), it.beside.clone()))
        })
    });
    let template = Memo::new(move |_| {
        drawing
            .with(|it| it.as_ref().map(|it| it.0.clone()))
            .unwrap_or_default()
    });
    let layout = Memo::new(move |_| {
        drawing
            .with(|it| it.as_ref().map(|it| it.1.clone()))
            .unwrap_or_else(Layout::default)
    });
    let beside = Memo::new(move |_| {
        drawing
            .with(|it| it.as_ref().map(|it| it.2.clone()))
            .unwrap_or_default()
    });
    // Resources that passes add to members are not drawn, if the loaded deployment contains them.
    let added: Memo<HashSet<String>> = Memo::new(move |_| {
        view.deployment.with(|deployment| {
            let resources = deployment.into_iter().flat_map(|it| &it.resources);
            resources
                .filter(|resource| resource.derived && resource.name.contains('/'))
                .map(|resource| resource.name.clone())
                .collect()
        })
    });
    let states: Memo<HashMap<String, String>> = Memo::new(move |_| {
        let mut states = model.with(|model| {
            let model = model.as_ref();
            model
                .map(|model| model.states_of_resources())
                .unwrap_or_default()
        });
        added.with(|added| states.retain(|name, _| !added.contains(name)));
        states
    });
    let node = RwSignal::new(None::<String>);
    Effect::new(move |before: Option<Option<String>>| {
        let chosen = node.get();
        if before.is_some_and(|before| before != chosen)
            && let Some(resource) = &chosen
        {
            let step = model.with_untracked(|model| {
                let steps = &model.as_ref()?.run.steps;
                let of_resource = || {
                    steps.iter().filter(|step| {
                        let of = step.resource.as_deref();
                        of.is_some_and(|of| {
                            of == resource || planner::members::drawn(of) == resource
                        })
                    })
                };
                of_resource()
                    .rfind(|step| step.state != StepState::Waiting)
                    .or(of_resource().next())
                    .map(|it| it.id.clone())
            });
            view.selected.set(step);
        }
        chosen
    });
    let is_drawn = Memo::new(move |_| drawing.with(Option::is_some));
    move || {
        if is_drawn.get() {
            view! { <Board template beside layout states selected=node /> }.into_any()
        } else {
            skeleton::panel()
        }
    }
}

#[component]
fn RunGraph(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    // The steps change only with the run. A changed state does not rebuild the graph.
    let steps = Memo::new(move |_| {
        model.with(|model| {
            let steps = model
                .as_ref()
                .map(|model| model.run.steps.as_slice())
                .unwrap_or_default();
            steps
                .iter()
                .map(|step| GraphStep {
                    id: step.id.clone(),
                    kind: step.kind,
                    resource: step.resource.clone(),
                    after: step.after.clone(),
                    always_run: false,
                })
                .collect::<Vec<_>>()
        })
    });
    let state = Callback::new(move |id: String| {
        model.with(|model| {
            model
                .as_ref()
                .and_then(|model| model.step(&id))
                .map_or(StepState::Waiting, |step| step.state)
        })
    });
    move || view! { <WorkflowGraph steps=steps.get() state selected=view.selected /> }
}
