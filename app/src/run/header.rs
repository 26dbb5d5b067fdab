//! The head of the run page: kind, state and actions of the run.

use api::{Named, Run, RunState};
use leptos::prelude::*;

use super::{RunView, away::NotifyButton, feed::Freshness, hooks};
use crate::{
    client,
    connection::use_connection,
    pages::deployment::design::{DesignVersionLink, known_design},
    session::use_session,
    time::{self, Ago},
    ui::{
        Icon, Question, StateBadge,
        state::{DisplayState, RunLook, run_title},
        use_confirm, use_toasts,
    },
};

/// The head line of the run page.
#[component]
pub fn RunHeader(view: RunView) -> impl IntoView {
    let clock = time::use_clock();
    let model = view.feed.model;
    // The stream of events does not tell who took its place.
    let is_replaced = Memo::new(move |_| {
        let id = view.id.get();
        let is_replaced = |run: &Run| run.id == id && run.replaced_by.is_some();
        view.runs
            .with(|runs| runs.is_some_and(|runs| runs.iter().any(is_replaced)))
    });
    let look = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            Some(RunLook {
                state: model.run.state,
                is_replaced: is_replaced.get(),
                waits_for_user: hooks::waiting(model).next().is_some(),
            })
        })
    });
    let state = Memo::new(move |_| look.get().map(|look| look.state));
    let progress =
        Memo::new(move |_| model.with(|model| model.as_ref().map(|model| model.progress())));
    let title = move || {
        let name = view.name();
        model.with(|model| {
            model
                .as_ref()
                .map(|model| format!("{} {}", run_title(&model.run), name.unwrap_or_default()))
        })
    };
    let took = move || {
        model.with(|model| {
            let run = &model.as_ref()?.run;
            let started = run.started.as_deref().or(Some(&run.created));
            let now = if run.ended.is_none() {
                clock.now()
            } else {
                None
            };
            time::span(started, run.ended.as_deref(), now)
        })
    };
    let left = Memo::new(move |_| {
        let now = clock.now()?;
        let left = model.with(|model| model.as_ref()?.time_left(now))?;
        Some(if left.is_rough {
            let title =
                "Estimated from earlier steps; some of these steps are the first of their kind";
            (time::rough_rest(left.milliseconds), title)
        } else {
            let title = "Estimated from earlier steps of the same kind";
            (time::rest(left.milliseconds), title)
        })
    });
    let begun = Memo::new(move |_| {
        let begun = |run: &Run| (run.author.clone(), run.created.clone());
        model.with(|model| model.as_ref().map(|model| begun(&model.run)))
    });
    let who = move || {
        let (author, created) = begun.get()?;
        Some(view! { <span>"by "{author}", "<Ago time=created /></span> })
    };
    let design = known_design(move || view.content.with(|content| content?.design.clone()));
    let version = move || {
        let (id, version) = view.content.with(|content| {
            let content = content?;
            Some((content.design.clone()?, content.design_version))
        })?;
        Some(view! { <DesignVersionLink id version known=design /> })
    };
    let place = move || {
        let standing = view
            .standing
            .get()
            .filter(|it| it.is_current() && it.count > 1)?;
        Some(view! { <span>{format!("run {} of {}", standing.number, standing.count)}</span> })
    };
    let bar = move || {
        progress.get().map(|(done, all)| {
            let percent = move || view.percent.get().unwrap_or_default();
            let steps = format!("{done} of {all} steps");
            view! {
                <div
                    class="run-bar" role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax="100" aria-valuenow=percent
                    aria-valuetext=steps.clone() data-look=move || state.get().map(DisplayState::look)
                >
                    <span style:width=move || format!("{}%", percent())></span>
                </div>
                <span class="run-count">{move || format!("{} %", percent())}" · "{steps}</span>
            }
        })
    };
    let connection = use_connection();
    let freshness = move || match view.feed.freshness.get() {
        // The top bar says it for the whole page.
        Freshness::Lost if connection.is_lost() => None,
        Freshness::Lost => Some(view! {
            <span class="run-lost" role="status"><Icon name="wifi-off" />"Connection lost. Reconnecting; no events will be lost."</span>
        }),
        _ => None,
    };
    view! {
        <header class="run-head">
            <h1>{title}</h1>
            <span
                class="run-state" role="status" data-testid="run-state" data-state=move || state.get().map(Named::word)
            >
                {move || look.get().map(|state| view! { <StateBadge state /> })}
            </span>
            {bar}
            <span class="run-elapsed" title="Elapsed">{took}</span>
            {move || left.get().map(|(left, title)| view! { <span class="run-left meta" title=title>{left}</span> })}
            <span class="run-who meta">{who}" "{version}" "{place}</span>
            {freshness}
            <span class="grow"></span>
            <NotifyButton view />
            <RunActions view state />
        </header>
    }
}

#[component]
fn RunActions(view: RunView, state: Memo<Option<RunState>>) -> impl IntoView {
    let session = use_session();
    let locked = move || !session.can_change();
    let cancel = view.canceller();
    let allows_follow_up = Memo::new(move |_| view.allows_follow_up());
    let buttons = move || {
        match state.get() {
        Some(RunState::Cancelling) => view! {
            <button type="button" class="button" data-look="danger-quiet" disabled=locked on:click=move |_| cancel.run(())>
                <Icon name="ban" />
                "Force cancel"
            </button>
        }
        .into_any(),
        Some(RunState::Queued | RunState::Running | RunState::Failing) => view! {
            <button type="button" class="button" data-look="danger-quiet" disabled=locked on:click=move |_| cancel.run(())>
                <Icon name="ban" />
                "Cancel"
            </button>
        }
        .into_any(),
        Some(RunState::Failed | RunState::Cancelled | RunState::Paused) if allows_follow_up.get() => {
            view! { <ResumeButton view step=None /> }.into_any()
        }
        Some(RunState::Succeeded | RunState::Failed | RunState::Cancelled | RunState::Paused) => view! {
            <a class="button" href=move || view.deployment_href()>
                <Icon name="arrow-right" />
                "Deployment"
            </a>
        }
        .into_any(),
        None => ().into_any(),
    }
    };
    view! { <div class="run-actions">{buttons}</div> }
}

/// Button that resumes a stopped run: steps that failed, were stopped or skipped run again, the others do not.
#[component]
pub fn ResumeButton(
    /// State of the page.
    view: RunView,
    /// Id of the failed step that the button names, because it runs again first.
    step: Option<String>,
) -> impl IntoView {
    let session = use_session();
    let toasts = use_toasts();
    let busy = RwSignal::new(false);
    let resume = move |_| {
        let id = view.id.get_untracked();
        busy.set(true);
        leptos::task::spawn_local(async move {
            match client::run_resume(&id).await {
                Ok(()) => view.feed.load(),
                Err(problem) => {
                    toasts.problem(&problem);
                    view.refresh();
                }
            }
            busy.try_set(false);
        });
    };
    view! {
        <button
            type="button" class="button" data-look="primary" disabled=move || busy.get() || !session.can_change() on:click=resume
            title="Runs the steps that failed, were stopped or skipped. Completed steps are not repeated."
        >
            <Icon name="play" />
            {match step {
                Some(step) => format!("Resume: try {step} again"),
                None => String::from("Resume"),
            }}
        </button>
    }
}

impl RunView {
    /// Cancels the run after a confirmation. If the run is being cancelled already, its end is forced.
    pub fn canceller(self) -> Callback<()> {
        let confirm = use_confirm();
        let toasts = use_toasts();
        Callback::new(move |()| {
            let is_forced = self.feed.model.with_untracked(|model| {
                model
                    .as_ref()
                    .is_some_and(|model| model.run.state == RunState::Cancelling)
            });
            let id = self.id.get_untracked();
            let question = if is_forced {
                Question {
                    title: String::from("Force the cancel?"),
                    body: vec![String::from(
                        "Steps that are still stopping are aborted now. Resources that they were creating may stay in the cloud. An undeploy searches for them.",
                    )],
                    items: Vec::new(),
                    action: String::from("Force cancel"),
                    danger: true,
                }
            } else {
                Question {
                    title: String::from("Cancel this run?"),
                    body: vec![String::from(
                        "No new steps start, running steps are stopped, and the bastion is closed. Created resources stay. You can resume the run or undeploy.",
                    )],
                    items: Vec::new(),
                    action: String::from("Cancel the run"),
                    danger: true,
                }
            };
            confirm.ask(question, move || {
                let id = id.clone();
                leptos::task::spawn_local(async move {
                    if let Err(problem) = client::run_cancel(&id).await {
                        toasts.problem(&problem);
                    }
                });
            });
        })
    }
}
