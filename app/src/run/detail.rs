//! The selected step: action, resource, duration, what it waits for, error, and the reasons of earlier attempts.

use api::{RunStep, StepState};
use leptos::prelude::*;

use super::{
    RunView,
    steps::{follow, follow_note},
    waiting::{queue_reason, unfinished, waits_from},
};
use crate::{
    time,
    ui::{CopyButton, StateBadge, prose, state::StepLook},
};

/// Number of steps that a waiting step names. The rest is counted.
const NAMED_MAX: usize = 5;

/// A strip above the log, or nothing if no step is selected.
#[component]
pub fn StepDetail(
    /// State of the page.
    view: RunView,
    /// The last log line of a step by its id. Tracks.
    last_line: Callback<String, Option<String>>,
) -> impl IntoView {
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
                // A later run can have replaced the resource.
                if !view.is_current() {
                    return None;
                }
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
                    <StateBadge state=StepLook::from(step) />
                    {took.map(|took| view! { <span>{took}</span> })}
                    {usual.map(|usual| view! { <span>{usual}</span> })}
                    {(step.attempts > 1).then(|| view! { <span>{format!("{} attempts", step.attempts)}</span> })}
                })
            })
        };
        let note = follow_note(view.feed.model, step, last_line);
        let note = move || note().map(|note| view! { <p class="step-wait">{prose(&note)}</p> });
        let error = move || {
            // The note of a retrying step has it.
            let is_shown = |step: &&RunStep| step.state != StepState::Retrying;
            step.with(|step| step.as_ref().filter(is_shown)?.error.clone())
                .map(|error| view! { <p class="step-error">{prose(&error)}</p> })
        };
        let attempts = view! { <EarlierAttempts view id=id.clone() step /> };
        Some(view! {
            <div class="step-detail">
                <div class="step-facts">
                    <strong class="mono">{id.clone()}</strong>
                    {facts}
                    {move || physical_id().map(|id| view! {
                        <span class="mono truncate" title="The cloud's id">{id.clone()}</span>
                        <CopyButton text=id label="Copy the cloud's id" />
                    })}
                </div>
                <Waits view id last_line />
                {note}
                {error}
                {attempts}
            </div>
        })
    }
}

/// Failed attempts of a step with their reasons, apart from the last one if its error is shown.
#[component]
fn EarlierAttempts(view: RunView, id: String, step: Memo<Option<RunStep>>) -> impl IntoView {
    let earlier = Memo::new(move |_| {
        let step = step.get()?;
        view.feed.model.with(|model| {
            let failures = model.as_ref()?.failures(&id);
            let shown = usize::from(step.error.is_some());
            let earlier = failures.iter().take(failures.len().saturating_sub(shown));
            let earlier = earlier.map(|failure| {
                let after = time::span(failure.started.as_deref(), Some(&failure.time), None);
                let after = after.map(|after| format!(" after {after}"));
                let head = format!("Attempt {}{}: ", failure.number, after.unwrap_or_default());
                (head, failure.error.clone())
            });
            Some(earlier.collect::<Vec<_>>())
        })
    });
    let count = Memo::new(move |_| earlier.with(|earlier| earlier.as_ref().map_or(0, Vec::len)));
    let is_any = Memo::new(move |_| count.get() > 0);
    let summary = move || match count.get() {
        1 => String::from("1 earlier attempt failed"),
        many => format!("{many} earlier attempts failed"),
    };
    let items = move || {
        let earlier = earlier.get().unwrap_or_default().into_iter();
        earlier
            .map(|(head, error)| view! { <li>{head}{prose(&error)}</li> })
            .collect_view()
    };
    move || {
        is_any.get().then(|| {
            view! { <details class="step-attempts"><summary>{summary}</summary><ol>{items}</ol></details> }
        })
    }
}

/// The obstacles of a step that has not started: other steps with the last lines of those at work, or a limit with the time
/// that it has waited.
#[component]
fn Waits(view: RunView, id: String, last_line: Callback<String, Option<String>>) -> impl IntoView {
    let model = view.feed.model;
    let clock = time::use_clock();
    let waits = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            let step = model.step(&id)?;
            let before = unfinished(model, step);
            let before: Vec<String> = before.into_iter().map(|step| step.id.clone()).collect();
            let reason = queue_reason(model, step);
            Some((
                before,
                reason.map(|reason| (reason, waits_from(model, step))),
            ))
        })
    });
    move || {
        let (before, reason) = waits.get()?;
        let rest = before.len().saturating_sub(NAMED_MAX);
        let rest = (rest > 0).then(|| view! { <li>{format!("and {rest} more")}</li> });
        let named = before
            .iter()
            .take(NAMED_MAX)
            .map(|id| view! { <WaitsFor view id=id.clone() last_line /> })
            .collect_view();
        let steps = (!before.is_empty()).then(|| {
            view! { <div class="step-wait">"Waits for" <ul>{named}{rest}</ul></div> }
        });
        let reason = reason.map(|(reason, from)| {
            let so_far = move || {
                let waited = clock.now()? - from?;
                Some(format!("So far {}.", time::duration(waited)))
            };
            view! { <p class="step-wait">{reason}<span>{so_far}</span></p> }
        });
        Some(view! { {steps}{reason} })
    }
}

/// A step that another one waits for: a button that selects it, the time since its start, and its own note.
#[component]
fn WaitsFor(
    view: RunView,
    id: String,
    last_line: Callback<String, Option<String>>,
) -> impl IntoView {
    let step = follow(view.feed.model, id.clone());
    let look = Memo::new(move |_| step.with(|step| step.as_ref().map(StepLook::from)));
    let note = follow_note(view.feed.model, step, last_line);
    let clock = time::use_clock();
    let took = move || {
        let started = step.with(|step| step.as_ref()?.started.clone())?;
        time::span(Some(&started), None, clock.now())
    };
    let chosen = id.clone();
    view! {
        <li>
            <button type="button" class="link mono" on:click=move |_| view.selected.set(Some(chosen.clone()))>{id}</button>
            {move || look.get().map(|state| view! { <StateBadge state /> })}
            {move || took().map(|took| view! { <span>{took}</span> })}
            <span class="truncate">{move || note().map(|note| prose(&note))}</span>
        </li>
    }
}
