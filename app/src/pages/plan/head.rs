//! The head of the page: number of changes, quota, the deployment's name or the one to update, and the button.

use api::{DeploymentState, OnFailure};
use leptos::{ev::SubmitEvent, prelude::*};

use super::{
    Page,
    address::MissingNote,
    changes,
    obstacle::ObstacleNote,
    quota::{self, QuotaLine},
    start::is_outdated,
    version::{NewerVersionNote, VersionLine},
};
use crate::{
    load::Loaded,
    session::use_session,
    time::Ago,
    ui::{Icon, ProblemNote, state::run_title},
};

#[component]
pub(super) fn Head(page: Page, deploy: Callback<()>) -> impl IntoView {
    let session = use_session();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        deploy.run(());
    };
    // A design can be deployed again, or update one of its deployments.
    let targets = move || {
        let (design, target) = (page.design(), page.target.get());
        page.deployments.with(|deployments| {
            deployments
                .into_iter()
                .flatten()
                .filter(|it| {
                    (design.is_some() && it.design == design) || target.as_ref() == Some(&it.id)
                })
                .filter(|it| it.state != DeploymentState::Undeployed)
                .map(|it| (it.id.clone(), it.name.clone()))
                .collect::<Vec<_>>()
        })
    };
    let choice = move || {
        let targets = targets();
        (!targets.is_empty() && page.design().is_some()).then(|| view! {
            <label class="sr-only" for="plan-target">"Deploy as"</label>
            <select
                class="input" id="plan-target"
                on:change=move |event| {
                    let value = event_target_value(&event);
                    page.target.set((!value.is_empty()).then_some(value));
                }
            >
                <option value="">"New deployment"</option>
                {targets.into_iter().map(|(id, name)| {
                    let chosen = page.target.with_untracked(|target| target.as_ref() == Some(&id));
                    view! { <option value=id selected=chosen>{format!("Update {name}")}</option> }
                }).collect_view()}
            </select>
        })
    };
    let is_new = move || page.target.with(Option::is_none);
    let disabled = move || page.busy.get() || !session.can_change() || !page.is_deployable();
    let back_to = move || {
        page.run().map(|run| {
            let deployment = format!("/deployments/{}", run.deployment);
            let has_last_good = page.deployments.with(|all| {
                let found = all?.iter().find(|it| it.id == run.deployment)?;
                Some(found.can_roll_back)
            });
            let hidden = page.form.has_hidden().then(|| {
                let elsewhere = (has_last_good == Some(true)).then(|| view! {
                    "The roll-back on "<a class="link" href=deployment>"the deployment's page"</a>
                    " takes back those of the last successful change."
                });
                view! { " Hidden parameters keep their present values. "{elsewhere} }
            });
            view! {
                <p class="meta">
                    "To the content of "<a class="link" href=format!("/runs/{}", run.id)>{run_title(&run)}" by "{run.author.clone()}</a>
                    ", "<Ago time=run.created />"."{hidden}
                </p>
            }
        })
    };
    view! {
        <header class="plan-head">
            <div class="plan-summary">
                <h1>{move || if page.run().is_some() { "Plan of a roll-back" } else { "Plan" }}</h1>
                <VersionLine page />
                <Counts page />
                <QuotaLine plan=page.plan />
                {back_to}
            </div>
            <form class="plan-deploy" on:submit=submit>
                {choice}
                <div class="plan-name" hidden=move || !is_new()>
                    <label for="deployment-name">"Deployment name"</label>
                    <input
                        class="input" id="deployment-name" autocomplete="off" spellcheck="false" maxlength="63" pattern="[A-Za-z0-9_\\-]+"
                        title="Letters, digits, - and _" required=is_new prop:value=move || page.name.get()
                        on:input=move |event| page.name.set(event_target_value(&event))
                    />
                </div>
                <label class="plan-on-failure" hidden=is_new>
                    <input
                        type="checkbox" prop:checked=move || page.on_failure.get() == OnFailure::Rollback
                        on:change=move |event| page.on_failure.set(if event_target_checked(&event) {
                            OnFailure::Rollback
                        } else {
                            OnFailure::Stop
                        })
                    />
                    "Roll back if it fails"
                </label>
                <label class="plan-on-failure" hidden=move || page.plan.with(quota::fits)>
                    <input
                        type="checkbox" prop:checked=move || page.despite_quota.get()
                        on:change=move |event| page.despite_quota.set(event_target_checked(&event))
                    />
                    "Deploy despite the quota"
                </label>
                <button type="submit" class="button" data-look="primary" data-size="large" disabled=disabled>
                    <Icon name="rocket" />
                    {move || page.verb()}
                </button>
            </form>
        </header>
        <NewerVersionNote page />
        <MissingNote page />
        <ObstacleNote page />
        <ProblemNote problem=page.refused />
        {move || page.refused.with(|refused| is_outdated(refused.as_ref())).then(|| view! {
            <p class="plan-again">
                <button type="button" class="button" on:click=move |_| page.plan_again()><Icon name="rotate-cw" />"Show the new plan"</button>
            </p>
        })}
    }
}

#[component]
fn Counts(page: Page) -> impl IntoView {
    move || {
        page.plan.with(|plan| {
            let Loaded::Ready(plan) = plan else {
                return ().into_any();
            };
            let steps = plan
                .workflow
                .as_ref()
                .map_or(0, |workflow| workflow.steps.len());
            let counts = changes::counts(plan);
            view! {
                <ul class="plan-counts" aria-label="Changes">
                    {counts.into_iter().map(|(word, look, count)| view! {
                        <li data-action=look><strong>{count}</strong>" "{word}</li>
                    }).collect_view()}
                    <li><strong>{steps}</strong>" steps"</li>
                </ul>
            }
            .into_any()
        })
    }
}
