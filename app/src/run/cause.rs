//! The cause of a failed run: the step, the reason, the relevant log lines and the next action.

use api::RunState;
use leptos::prelude::*;

use super::{RunView, header::ResumeButton};
use crate::{
    pages::deployment::{roll_back::RollBackButton, undeploy},
    ui::{
        Icon, prose,
        state::{DisplayState, icon_of},
    },
};

/// Number of log lines in the card.
const LINES: usize = 6;

/// The card, or nothing if no step has failed.
#[component]
pub fn CauseCard(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    let cause = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            let is_bad = matches!(
                model.run.state,
                RunState::Failed | RunState::Failing | RunState::Paused
            );
            is_bad.then(|| {
                let step = model
                    .cause()
                    .map(|step| (step.id.clone(), step.error.clone()));
                let is_update = model.run.kind == api::RunKind::Update;
                (model.run.state, model.run.reason.clone(), step, is_update)
            })
        })
    });
    let closed = RwSignal::new(false);
    move || {
        let (state, reason, step, is_update) = cause.get()?;
        if closed.get() {
            return None;
        }
        let id = step.as_ref().map(|(id, _)| id.clone());
        let error = step
            .and_then(|(_, error)| error)
            .or_else(|| reason.clone())
            .unwrap_or_default();
        let lines = {
            let id = id.clone();
            let reason_above = error.clone();
            move || {
                view.feed.log_version.track();
                let lines = id.as_ref().and_then(|id| {
                    view.feed
                        .log
                        .try_with_value(|log| log.excerpt(id, &reason_above, LINES))
                })?;
                (!lines.is_empty())
                    .then(|| view! { <pre class="cause-lines">{lines.join("\n")}</pre> })
            }
        };
        let title = match (state, &id) {
            (RunState::Paused, _) => String::from("The run is paused"),
            (_, Some(id)) => format!("{id} failed"),
            (_, None) => String::from("The run failed"),
        };
        let show_log = {
            let id = id.clone();
            move |_| {
                view.selected.set(id.clone());
            }
        };
        let log_button = id.map(|id| view! {
            <button type="button" class="button" on:click=show_log><Icon name="terminal" />{format!("Log of {id}")}</button>
        });
        // A run in state Failing cannot be resumed.
        let buttons = state
            .is_final()
            .then(|| view! { <ResumeButton view /><RollBack view /><UndeployButton view /> });
        let resume_paused = (state == RunState::Paused).then(|| view! { <ResumeButton view /> });
        Some(view! {
            <section class="cause" role="alert" data-testid="cause" data-look=state.look()>
                <Icon name=icon_of(state.look()) />
                <div class="cause-body">
                    <h2>{title}</h2>
                    <p class="cause-reason">{prose(&error)}</p>
                    {lines}
                    <p class="quiet">{advice(state, is_update)}</p>
                    <div class="cause-actions">{buttons}{resume_paused}{log_button}</div>
                </div>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon" aria-label="Close" on:click=move |_| closed.set(true)
                >
                    <Icon name="x" />
                </button>
            </section>
        })
    }
}

fn advice(state: RunState, is_update: bool) -> &'static str {
    match state {
        RunState::Paused => {
            "Your session with the cloud has ended. Log in again, then resume. Completed steps are not repeated."
        }
        RunState::Failing => {
            "Running steps may still end, and the bastion is closed. No new steps start."
        }
        _ if is_update => {
            "Fix the cause, then resume: completed steps are not repeated. Or roll back to the state before the change. Or undeploy to remove all resources."
        }
        _ => {
            "Fix the cause, then resume: completed steps are not repeated. Or undeploy to remove the created resources."
        }
    }
}

/// Rollback button of a failed update.
#[component]
fn RollBack(view: RunView) -> impl IntoView {
    let is_change = move || {
        view.feed.model.with(|model| {
            let run = model.as_ref().map(|model| &model.run);
            run.is_some_and(|run| run.kind == api::RunKind::Update)
        })
    };
    let deployment = Signal::derive(move || {
        view.feed
            .model
            .with(|model| model.as_ref().map(|model| model.run.deployment.clone()))
    });
    move || is_change().then(|| view! { <RollBackButton deployment /> })
}

#[component]
fn UndeployButton(view: RunView) -> impl IntoView {
    let undeploy = undeploy::undeploy_action();
    view! {
        <button
            type="button" class="button" data-look="danger-quiet" disabled=move || view.deployment.with(|it| it.is_none())
            on:click=move |_| if let Some(deployment) = view.deployment.peek() { undeploy.run((deployment, crate::client::Force::No)) }
        >
            <Icon name="trash-2" />
            "Undeploy"
        </button>
    }
}
