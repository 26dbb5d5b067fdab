//! The selected step: action, resource, attempts, duration and error.

use leptos::prelude::*;

use super::{RunView, steps::follow};
use crate::{
    time,
    ui::{
        CopyButton, prose,
        state::{DisplayState, badge, step_title},
    },
};

/// A strip above the log, or nothing if no step is selected.
#[component]
pub fn StepDetail(view: RunView) -> impl IntoView {
    let clock = time::use_clock();
    move || {
        let id = view.selected.get()?;
        let step = follow(view.feed.model, id.clone());
        let physical_id = move || {
            let resource =
                step.with(|step| step.as_ref().and_then(|step| step.resource.clone()))?;
            let live = view.feed.model.with(|model| {
                model
                    .as_ref()
                    .and_then(|model| model.resources.get(&resource))
                    .and_then(|(_, id)| id.clone())
            });
            live.or_else(|| {
                view.deployment.with(|deployment| {
                    deployment?
                        .resources
                        .iter()
                        .find(|it| it.name == resource)
                        .and_then(|it| it.physical_id.clone())
                })
            })
        };
        let facts = move || {
            step.with(|step| {
                let step = step.as_ref()?;
                let now = if step.ended.is_none() { clock.now() } else { None };
                let usual = step.expected_ms.filter(|_| step.ended.is_none());
                let usual = usual.map(|usual| format!("usually {}", time::duration(usual as f64)));
                let took = time::span(step.started.as_deref(), step.ended.as_deref(), now);
                Some(view! {
                    {badge(step.state.look(), step_title(step))}
                    {took.map(|took| view! { <span>{took}</span> })}
                    {usual.map(|usual| view! { <span>{usual}</span> })}
                    {(step.attempts > 1).then(|| view! { <span>{format!("{} attempts", step.attempts)}</span> })}
                    {(!step.after.is_empty()).then(|| view! { <span class="truncate" title=step.after.join(", ")>{format!("after {}", step.after.join(", "))}</span> })}
                })
            })
        };
        let error = move || {
            step.with(|step| step.as_ref().and_then(|step| step.error.clone()))
                .map(|error| view! { <p class="step-error">{prose(&error)}</p> })
        };
        Some(view! {
            <div class="step-detail">
                <div class="step-facts">
                    <strong class="mono">{id}</strong>
                    {facts}
                    {move || physical_id().map(|id| view! {
                        <span class="mono truncate" title="The cloud's id">{id.clone()}</span>
                        <CopyButton text=id label="Copy the cloud's id" />
                    })}
                </div>
                {error}
            </div>
        })
    }
}
