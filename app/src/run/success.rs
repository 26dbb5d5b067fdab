//! The end of a run that succeeded: its duration, compared with the previous run of its kind, what changed, and the outputs.

use std::collections::BTreeMap;

use api::{OutputValue, Run, RunKind, RunState, StepState};
use leptos::prelude::*;

use super::{
    RunView,
    changed::{Outcome, changed, summary},
};
use crate::{
    time,
    ui::{CopyButton, Icon, SecretText, prose, state::run_title},
};

/// Number of outputs in the card. The rest is on the deployment's page.
const OUTPUTS: usize = 4;

/// The card, or nothing if the run did not succeed, a step of it failed, or it is not the newest.
#[component]
pub fn SuccessCard(view: RunView) -> impl IntoView {
    let run = Memo::new(move |_| {
        view.feed.model.with(|model| {
            let run = &model.as_ref()?.run;
            // A forced undeploy succeeds although some steps fail.
            let is_clean = run.steps.iter().all(|step| step.state != StepState::Failed);
            (run.state == RunState::Succeeded && is_clean).then(|| {
                let changes = run.kind.changes_resources().then(|| changed(run));
                let run = Run {
                    steps: Vec::new(),
                    ..run.clone()
                };
                (run, changes)
            })
        })
    });
    let closed = RwSignal::new(false);
    // The end of a run that was resumed opens the card again.
    Effect::new(move |_| {
        run.track();
        closed.set(false);
    });
    move || {
        let (run, changes) = run.get()?;
        if closed.get() || !view.is_latest() {
            return None;
        }
        let took = time::span(run.started.as_deref(), run.ended.as_deref(), None);
        let before = view.runs.with(|runs| compared(&run, runs?)).map(|before| {
            let href = format!(
                "/deployments/{}/compare?from={}&to={}",
                run.deployment, before.run, run.id
            );
            view! { {format!("The one before took {}. ", time::duration(before.took_ms))}<a class="link" href=href>"Compare"</a> }
        });
        let mut outputs = view.deployment.with(|it| {
            let outputs = it.map(|it| it.outputs.clone()).unwrap_or_default();
            outputs.into_iter().collect::<Vec<_>>()
        });
        let rest = outputs.len().saturating_sub(OUTPUTS);
        outputs.truncate(OUTPUTS);
        let title = match run.kind {
            RunKind::Undeploy => "All resources are removed".to_owned(),
            _ => format!("{} succeeded", run_title(&run)),
        };
        let outputs = matches!(run.kind, RunKind::Deploy | RunKind::Update).then(|| {
            let rest = (rest > 0).then(|| {
                let more = format!("{rest} more on the deployment's page");
                view! { <p><a class="link" href=view.deployment_href()>{more}</a></p> }
            });
            view! { {outputs_view(outputs)}{rest} }
        });
        Some(view! {
            <section class="success" role="status" data-testid="success">
                <Icon name="circle-check" />
                <div class="success-body">
                    <h2>{title}</h2>
                    <p class="quiet">{took.map(|took| format!("It took {took}. "))}{before}</p>
                    {changes.map(changes_view)}
                    {outputs}
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

/// The changes, folded behind their counts.
fn changes_view(changes: BTreeMap<Outcome, Vec<String>>) -> AnyView {
    if changes.is_empty() {
        return view! { <p class="quiet">"Nothing had to change."</p> }.into_any();
    }
    let counts = summary(&changes);
    let groups = changes
        .into_iter()
        .map(|(outcome, names)| {
            view! { <dt>{outcome.title()}</dt><dd class="mono">{names.join(", ")}</dd> }
        })
        .collect_view();
    view! {
        <details class="success-changes">
            <summary>"What changed: "{counts}</summary>
            <dl>{groups}</dl>
        </details>
    }
    .into_any()
}

fn outputs_view(outputs: Vec<(String, OutputValue)>) -> impl IntoView {
    let rows = outputs
        .into_iter()
        .filter_map(|(name, output)| {
            let Some(value) = output.value else {
                // Such as a secret, which readers do not get.
                let error = output.error?;
                return Some(view! {
                    <div class="success-output" data-output=name.clone()>
                        <dt>{name.clone()}</dt>
                        <dd class="quiet">{prose(&error)}</dd>
                    </div>
                }
                .into_any());
            };
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Only these schemes become links: `javascript:` in an output must stay text.
            let is_address = text.starts_with("http://") || text.starts_with("https://");
            let open = is_address.then(|| view! {
                <a class="button" data-look="primary" href=text.clone() target="_blank" rel="external noopener noreferrer">
                    <Icon name="external-link" />"Open"
                </a>
            });
            let shown = if output.secret {
                view! { <SecretText name=name.clone() text /> }.into_any()
            } else {
                view! { <code class="truncate">{text.clone()}</code><CopyButton text label=format!("Copy {name}") />{open} }.into_any()
            };
            Some(view! {
                <div class="success-output" data-output=name.clone()>
                    <dt>{name.clone()}</dt>
                    <dd>{shown}</dd>
                </div>
            }
            .into_any())
        })
        .collect_view();
    view! { <dl class="success-outputs">{rows}</dl> }
}

/// An earlier run to compare with.
#[derive(Debug, PartialEq)]
struct Before {
    /// Id of the run.
    run: String,
    /// Duration of the run in milliseconds.
    took_ms: f64,
}

/// The previous run of the same kind that succeeded. `None` if there is none.
fn compared(run: &Run, runs: &[Run]) -> Option<Before> {
    let took = |run: &Run| {
        let ended = time::parse(run.ended.as_deref()?)?;
        Some(ended - time::parse(run.started.as_deref()?)?)
    };
    let before = runs.iter().find(|one| {
        one.kind == run.kind
            && one.rolls_back == run.rolls_back
            && one.state == RunState::Succeeded
            && one.created < run.created
    })?;
    Some(Before {
        run: before.id.clone(),
        took_ms: took(before)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(kind: &str, created: &str, ended: &str) -> Run {
        let time = |second: &str| format!("2026-01-01T00:00:{second}Z");
        serde_json::from_value(json!({
            "id": created, "deployment": "d", "kind": kind, "state": "succeeded", "author": "demo",
            "created": time(created), "started": time(created), "ended": time(ended),
        }))
        .unwrap()
    }

    #[test]
    fn a_run_is_compared_with_the_previous_one_of_its_kind() {
        let runs = [
            run("update", "40", "45"),
            run("update", "20", "32"),
            run("deploy", "00", "09"),
        ];
        let before = |at: usize| compared(&runs[at], &runs);
        let twenty = Before {
            run: "20".to_owned(),
            took_ms: 12_000.0,
        };
        assert_eq!(before(0), Some(twenty));
        assert_eq!(before(1), None);
        assert_eq!(before(2), None);
    }
}
