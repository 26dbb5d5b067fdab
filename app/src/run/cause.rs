//! The cause of a failed run: the step, the last lines of its program, the reason, and the next actions.

use api::{RunState, StepKind};
use hot::document::Document;
use leptos::prelude::*;

use super::{RunView, header::ResumeButton};
use crate::{
    links::DesignLink,
    pages::deployment::{
        design::{KnownDesign, known_design},
        roll_back::RollBackButton,
        undeploy,
    },
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
                // Several servers can have failed: the run names them all.
                let cause = model.cause().filter(|step| step.kind != StepKind::Command);
                let step = cause.map(|step| (step.id.clone(), step.error.clone()));
                let is_update = model.run.kind == api::RunKind::Update;
                (model.run.state, model.run.reason.clone(), step, is_update)
            })
        })
    });
    let is_newest = Memo::new(move |_| view.is_newest());
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
        let edit = is_newest
            .get()
            .then(|| view! { <EditButtons view step=id.clone() error=error.clone() /> });
        let title = match (state, &id) {
            (RunState::Paused, _) => String::from("The run is paused"),
            (_, Some(id)) => format!("{id} failed"),
            (RunState::Failing, None) => String::from("The run is failing"),
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
        // A run in state Failing cannot be resumed, nor one that a newer run has replaced.
        let is_newest = is_newest.get();
        let buttons = (is_newest && state.is_final())
            .then(|| view! { <ResumeButton view /><RollBack view /><UndeployButton view /> });
        let resume_paused =
            (is_newest && state == RunState::Paused).then(|| view! { <ResumeButton view /> });
        Some(view! {
            <section class="cause" role="alert" data-testid="cause" data-look=state.look()>
                <Icon name=icon_of(state.look()) />
                <div class="cause-body">
                    <h2>{title}</h2>
                    {lines}
                    <p class="cause-reason">{prose(&error)}</p>
                    {is_newest.then(|| view! { <p class="quiet">{advice(state, is_update)}</p> })}
                    <div class="cause-actions">{resume_paused}{edit}{buttons}{log_button}</div>
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

/// Links to the property at fault, and to the plan that continues with the changed design.
#[component]
fn EditButtons(view: RunView, step: Option<String>, error: String) -> impl IntoView {
    let design = known_design(move || view.content.with(|content| content?.design.clone()));
    move || {
        if design.with(|known| known == Some(&Some(KnownDesign::Deleted))) {
            return None;
        }
        let resource = step.as_ref().and_then(|step| {
            view.feed.model.with_untracked(|model| {
                let step = model.as_ref()?.step(step)?;
                Some((step.resource.clone()?, step.kind))
            })
        });
        let is_over = view.is_over();
        view.content.with(|content| {
            let content = content?;
            let deployment = view.deployment.with(|it| it.map(|it| it.id.clone()));
            let link = DesignLink {
                design: content.design.as_deref()?,
                deployment: deployment.as_deref(),
                ..DesignLink::default()
            };
            let document = Document::parse(content.template.clone());
            let edit = resource.as_ref().and_then(|(name, kind)| {
                let name = planner::members::drawn(name);
                let drawn = document.template().resource(name)?;
                let properties: Vec<&str> =
                    drawn.properties.iter().map(|one| one.name.as_str()).collect();
                let property = property_at_fault(&error, *kind, &properties);
                let href = DesignLink { resource: Some(name), property, ..link }.editor();
                let what = property.unwrap_or(name).to_owned();
                Some(view! { <a class="button" href=href><Icon name="pencil" />"Edit "<code>{what}</code></a> })
            });
            // The plan of an update of this deployment. The design may have a newer version by now.
            let go_on = is_over.then(|| view! {
                <a class="button" href=link.plan()><Icon name="rocket" />"Update and continue"</a>
            });
            Some(view! { {edit}{go_on} })
        })
    }
}

/// The property that an error names in backticks, otherwise the one that usually is at fault for this kind of step.
fn property_at_fault<'a>(error: &str, kind: StepKind, properties: &[&'a str]) -> Option<&'a str> {
    let known = |name: &str| properties.iter().find(|one| **one == name).copied();
    let named = error.split('`').skip(1).step_by(2);
    let usual = match kind {
        StepKind::Configure => known("script"),
        StepKind::WaitForSsh => known("user_data"),
        _ => None,
    };
    named
        .filter_map(|name| known(name.split('.').next().unwrap_or(name)))
        .next()
        .or(usual)
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
            "Was the cause outside, such as a quota? Resume: completed steps are not repeated. Was it in the design? Edit it, then update. Or roll back to the state before the change."
        }
        _ => {
            "Was the cause outside, such as a quota? Resume: completed steps are not repeated. Was it in the design? Edit it, then update. Or undeploy to remove the created resources."
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_property_at_fault_is_named_or_usual() {
        let of = |error, kind| property_at_fault(error, kind, &["flavor", "networks", "script"]);
        let create = StepKind::Create;
        assert_eq!(of("`web` has no `flavor`", create), Some("flavor"));
        assert_eq!(of("`networks.0.port`: gone", create), Some("networks"));
        assert_eq!(of("no host has room", create), None);
        assert_eq!(of("it ended with 3", StepKind::Configure), Some("script"));
    }
}
