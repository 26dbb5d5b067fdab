//! The run page: a run with live updates.
//!
//! One stream of events provides the data of all parts ([`feed`]). The canvas, the graph, the timeline, the steps and
//! the log are views of the same data and share the selection. The complex parts ([`model`], [`log_store`],
//! [`ansi`](api::ansi)) are pure and have unit tests.

mod away;
mod cause;
mod chain;
mod changed;
mod critical;
mod detail;
pub mod feed;
mod header;
mod hooks;
pub mod log_store;
mod log_view;
pub mod model;
mod plan;
mod rows;
mod split;
mod standing;
mod steps;
mod success;
mod timeline;
mod waiting;

use std::collections::{HashMap, HashSet};

use api::{
    DeployedResource, Deployment, DeploymentState, ResourceState, Run, RunContent, RunState,
    StepState,
};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_location, use_params_map};

use self::{
    cause::CauseCard,
    critical::critical_path,
    detail::StepDetail,
    feed::{Feed, Freshness},
    header::RunHeader,
    hooks::Hooks,
    log_view::LogView,
    model::Model,
    plan::RunPlan,
    split::Split,
    standing::{OldRunNote, Standing},
    steps::StepList,
    success::SuccessCard,
    timeline::Timeline,
};
use crate::{
    browser, client,
    designer::board::Board,
    frame::{Crumb, use_frame},
    graph::{GraphStep, WorkflowGraph},
    load::{Load, Loaded, keep_fresh},
    session::use_session,
    time,
    ui::state::run_title,
    ui::{Command, Empty, ProblemCard, icon::Icon, skeleton, use_palette},
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
    /// Template and drawing, as of the start of the run.
    pub content: Load<RunContent>,
    /// All runs of the deployment.
    runs: Load<Vec<Run>>,
    /// Position of the run among these. `None` until they are loaded.
    pub standing: Memo<Option<Standing>>,
    /// Part of the run that is done, in percent. `None` until the run is loaded.
    pub percent: Memo<Option<u32>>,
    /// The selected step.
    pub selected: RwSignal<Option<String>>,
}

/// View in the upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upper {
    Canvas,
    Graph,
    Timeline,
    Plan,
}

impl RunView {
    fn name(self) -> Option<String> {
        self.deployment
            .with(|deployment| deployment.map(|deployment| deployment.name.clone()))
    }

    /// True if the run can be resumed, rolled back or followed by an undeploy: no newer run has replaced it. Commands,
    /// snapshots and restorations can only be resumed while they are paused. Tracks.
    pub fn allows_follow_up(self) -> bool {
        let keeps_deployment = self.standing.with(|standing| {
            let standing = standing.as_ref();
            standing.is_some_and(|standing| standing.keeps_deployment)
        });
        self.is_latest() && (!keeps_deployment || self.is_paused())
    }

    /// True if no newer run has replaced this one. Tracks.
    pub fn is_latest(self) -> bool {
        self.standing
            .with(|standing| standing.as_ref().is_some_and(Standing::is_latest))
    }

    /// True if the deployment was not changed after this run. Tracks.
    pub fn is_current(self) -> bool {
        self.standing
            .with(|standing| standing.as_ref().is_some_and(Standing::is_current))
    }

    /// True if the user may change the deployment, and it is neither busy nor undeployed nor suspended, in whole or in part.
    /// Tracks.
    pub fn can_change(self) -> bool {
        let is_open = self.deployment.with(|it| {
            it.is_some_and(|it| {
                let suspended = |one: &DeployedResource| one.state == ResourceState::Suspended;
                matches!(
                    it.state,
                    DeploymentState::Deployed | DeploymentState::Failed
                ) && !it.resources.iter().any(suspended)
            })
        });
        is_open && use_session().can_change()
    }

    fn is_paused(self) -> bool {
        self.feed.model.with(|model| {
            let run = model.as_ref().map(|model| &model.run);
            run.is_some_and(|run| run.state == api::RunState::Paused)
        })
    }

    /// True if the run has ended. Tracks.
    pub fn is_over(self) -> bool {
        self.feed.model.with(|model| {
            let model = model.as_ref();
            model.is_some_and(|model| model.run.state.is_final())
        })
    }

    /// True if the run can be cancelled. Tracks.
    pub fn is_active(self) -> bool {
        self.feed.model.with(|model| {
            let state = model.as_ref().map(|model| model.run.state);
            matches!(
                state,
                Some(RunState::Queued | RunState::Running | RunState::Failing)
            )
        })
    }

    /// Loads what other runs may have changed.
    pub fn refresh(self) {
        self.runs.reload();
        self.deployment.reload();
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
    let id = Memo::new(move |_| params.with(|params| params.get("id")).unwrap_or_default());
    let feed = Feed::new(id.into());
    let clock = time::use_clock();
    let deployment_id = Memo::new(move |_| {
        feed.model
            .with(|model| model.as_ref().map(|model| model.run.deployment.clone()))
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
    let runs = Load::new(move || {
        let id = deployment_id.get();
        async move {
            match id {
                Some(id) => client::runs(&id).await,
                None => std::future::pending().await,
            }
        }
    });
    let view = RunView {
        id: id.into(),
        feed,
        deployment,
        content: Load::new(move || {
            let id = id.get();
            async move { client::run_content(&id).await }
        }),
        runs,
        standing: Memo::new(move |_| id.with(|id| runs.with(|runs| Standing::of(runs?, id)))),
        percent: Memo::new(move |_| {
            feed.model.with(|model| {
                let model = model.as_ref()?;
                let is_over = model.run.state.is_final();
                let now = if is_over { None } else { clock.now() };
                Some(model.percent(now))
            })
        }),
        selected: RwSignal::new(None),
    };
    refresh(view);
    look_for_successor(view);
    away::keep_tab_icon(view);
    follow_address(view);
    let title = move || {
        let name = view.name().unwrap_or_default();
        feed.model.with(|model| match model {
            Some(model) => {
                let percent = view.percent.get().unwrap_or_default();
                let mark = mark_of(model.run.state);
                if model.run.state.is_final() {
                    format!("{mark} {name}")
                } else {
                    format!("{mark} {percent}% {name}")
                }
            }
            None => String::from("Run"),
        })
    };
    use_frame().crumbs(move || {
        let name = view.name().unwrap_or_else(|| String::from("Deployment"));
        let run = feed.model.with(|model| {
            let title = model.as_ref().map(|model| run_title(&model.run));
            title.map_or_else(|| String::from("Run"), |title| format!("{title} run"))
        });
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::link(name, view.deployment_href()),
            Crumb::here(run),
        ]
    });
    let cancel = view.canceller();
    let session = use_session();
    let cancel = Command::new("Run", "ban", "Cancel the run", move || cancel.run(()));
    use_palette().register(vec![
        cancel.when(move || session.can_change() && view.is_active()),
        Command::new("Run", "terminal", "Show the log of all steps", move || {
            view.selected.try_set(None);
        }),
    ]);

    let failed = Memo::new(move |_| {
        let is_shown = feed.model.with_untracked(Option::is_some);
        feed.problem.get().filter(|_| !is_shown)
    });
    let body = move || {
        // Built anew for another run, and not when this one is loaded again: the log keeps its filter and its search.
        id.track();
        match failed.get() {
            Some(problem) => {
                view! { <ProblemCard problem retry=Callback::new(move |()| feed.load()) /> }
                    .into_any()
            }
            None => view! { <Body view /> }.into_any(),
        }
    };
    view! {
        <Title text=title />
        <div class="run">{body}</div>
    }
}

/// Selects the step of the page's address, or none, after each navigation to it: by a link, or by the browser's "back".
fn follow_address(view: RunView) {
    let location = use_location();
    Effect::new(move |_| {
        let step = location.query.with(|query| query.get("step"));
        let own = format!("/runs/{}", view.id.get());
        // On the way to another page, the query is already that of the other page.
        if location.pathname.get_untracked() == own {
            view.selected.set(step);
        }
    });
}

/// Looks for the run that replaces this one, from its end until it has begun.
fn look_for_successor(view: RunView) {
    let is_awaited = Memo::new(move |_| {
        let id = view.id.get();
        let is_replaced = view.runs.with(|runs| {
            let run = runs?.iter().find(|run| run.id == id)?;
            let reason = run.reason.as_deref().unwrap_or_default();
            Some(run.replaced_by.is_some() && !reason.contains("did not begin"))
        });
        view.is_over() && view.is_latest() && is_replaced == Some(true)
    });
    Effect::new(move |_| {
        if !is_awaited.get() {
            return;
        }
        let tick =
            set_interval_with_handle(move || view.refresh(), std::time::Duration::from_secs(3));
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
}

/// Loads deployment and runs again when they can have changed: at the end of the run, after its last event (a rollback
/// may follow), when the user returns to the page, and now and then after the end: others may have begun the next run.
fn refresh(view: RunView) {
    let freshness = Memo::new(move |_| view.feed.freshness.get());
    let is_over = Memo::new(move |_| view.is_over());
    Effect::new(move |before: Option<(Freshness, bool)>| {
        let now = (freshness.get(), is_over.get());
        if before.is_some_and(|before| before != now && now.1) {
            view.refresh();
        }
        now
    });
    Effect::new(move |_| {
        let back = window_event_listener(leptos::ev::focus, move |_| view.refresh());
        on_cleanup(move || back.remove());
    });
    keep_fresh(Memo::new(|_| false), move || {
        if untrack(|| view.is_over()) {
            view.refresh();
        }
    });
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
    let last_line = Callback::new(move |step: String| {
        view.feed.log_version.track();
        let line = view.feed.log.try_with_value(|log| log.last_line(&step));
        line.flatten()
    });
    let lower = move || {
        if !has_run.get() {
            return view! { <div class="run-lower"><div class="run-steps">{skeleton::rows(6)}</div><div class="log"></div></div> }.into_any();
        }
        view! {
            <div class="run-lower">
                <div class="run-steps"><StepList model=view.feed.model selected=view.selected last_line /></div>
                <div class="run-log">
                    <StepDetail view last_line />
                    <LogView feed=view.feed step=view.selected />
                </div>
            </div>
        }
        .into_any()
    };
    view! {
        <RunHeader view />
        <OldRunNote view />
        <Hooks view />
        <CauseCard view />
        <SuccessCard view />
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
            Some("plan") => Upper::Plan,
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
        Upper::Plan => view! { <RunPlan view /> }.into_any(),
    };
    view! {
        <div class="run-upper">
            <div class="segments run-views" role="group" aria-label="View">
                {choice(Upper::Canvas, "canvas", "Canvas", "blocks")}
                {choice(Upper::Graph, "graph", "Graph", "workflow")}
                {choice(Upper::Timeline, "timeline", "Timeline", "chart-gantt")}
                {choice(Upper::Plan, "plan", "Plan", "file-text")}
            </div>
            {content}
        </div>
    }
}

/// Drawing with live states. Selecting a node selects its last step that has started.
#[component]
fn RunBoard(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    let template = part(view.content, |it| it.template.clone());
    let layout = part(view.content, |it| it.layout.clone());
    let beside = part(view.content, |it| it.beside.clone());
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
    let loaded = Memo::new(move |_| match view.content.state() {
        Loaded::Loading => Loaded::Loading,
        Loaded::Ready(_) => Loaded::Ready(()),
        Loaded::Failed(problem) => Loaded::Failed(problem),
    });
    move || {
        match loaded.get() {
        Loaded::Ready(()) => {
            view! { <Board template beside layout states selected=node /> }.into_any()
        }
        Loaded::Loading => skeleton::panel(),
        Loaded::Failed(problem) if problem.status == 404 => view! {
            <Empty
                icon="history" title="The drawing of this run is not stored"
                text="A deployment keeps the drawings of its newest runs, and this run is older. Its graph, steps and log are complete."
            />
        }
        .into_any(),
        Loaded::Failed(problem) => {
            let retry = Callback::new(move |()| view.content.reload());
            view! { <ProblemCard problem retry /> }.into_any()
        }
    }
    }
}

/// A part of the run's content. Its default until the content is loaded.
fn part<T: Default + PartialEq + Send + Sync + 'static>(
    content: Load<RunContent>,
    look: fn(&RunContent) -> T,
) -> Memo<T> {
    Memo::new(move |_| content.with(|content| content.map(look).unwrap_or_default()))
}

#[component]
fn RunGraph(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    // The steps change only with the run. A changed state does not rebuild the graph.
    let run =
        Memo::new(move |_| model.with(|model| model.as_ref().map(|model| model.run.id.clone())));
    let steps = Memo::new(move |_| {
        run.track();
        model.with_untracked(|model| {
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
    let path = Memo::new(move |_| {
        let path = |model: &Option<Model>| model.as_ref().map(|model| critical_path(&model.run));
        model.with(path).unwrap_or_default()
    });
    move || view! { <WorkflowGraph steps=steps.get() state critical=path selected=view.selected /> }
}
