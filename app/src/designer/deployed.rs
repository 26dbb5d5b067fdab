//! The deployment that the design's changes are for: the note with the way back, and the states on the canvas.
//!
//! The address `/designs/:id?deployment=...` is that of a design that was opened from a deployment. Its plan updates this
//! deployment.

use std::{collections::HashMap, time::Duration};

use api::{Deployment, DeploymentState};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::store::Workspace;
use crate::{
    browser,
    client::{self, Answer},
    load::{Load, Loaded},
    ui::{Icon, StateBadge, state::DisplayState},
};

/// Interval at which the states are read again while a run works on the deployment.
const REFRESH: Duration = Duration::from_secs(4);

/// Id of the deployment to update, from the page's address.
pub fn target() -> Memo<Option<String>> {
    let query = use_query_map();
    Memo::new(move |_| query.with(|query| query.get("deployment")))
}

/// Name and state of the deployment to update, with ways to its page and out of the update. Nothing if there is none.
#[component]
pub fn DeploymentNote(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let target = target();
    let deployment = Load::new(move || {
        let target = target.get();
        async move { fetch(target).await }
    });
    Effect::new(move |_| {
        let states = deployment.with(|it| it.and_then(Option::as_ref).map(states));
        workspace.deployed.set(states.unwrap_or_default());
    });
    let is_busy = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it.and_then(Option::as_ref);
            it.is_some_and(|it| it.state == DeploymentState::Busy)
        })
    });
    Effect::new(move |_| {
        if !is_busy.get() {
            return;
        }
        let look = move || {
            if browser::is_visible() {
                deployment.reload();
            }
        };
        let tick = set_interval_with_handle(look, REFRESH);
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
    let about = move || match deployment.state() {
        Loaded::Ready(Some(it)) => view! {
            <p>
                "Changes are planned for "
                <a class="link" href=format!("/deployments/{}", it.id)>{it.name.clone()}</a>
                ". "<StateBadge state=it.state />
            </p>
        }
        .into_any(),
        Loaded::Failed(problem) => view! {
            <p>"The deployment that was to be updated cannot be shown: "{problem.detail}</p>
        }
        .into_any(),
        _ => view! { <p>"Changes are planned for a deployment."</p> }.into_any(),
    };
    move || {
        target.with(Option::is_some).then(|| view! {
            <div class="design-target" role="note" aria-label="Deployment to update">
                <Icon name="pencil" />
                {about}
                <a
                    class="button" data-size="small" href=format!("/designs/{}", workspace.saving.id())
                    title="Plan and deploy the design as a new deployment"
                >
                    "Stop updating it"
                </a>
            </div>
        })
    }
}

async fn fetch(target: Option<String>) -> Answer<Option<Deployment>> {
    match target {
        Some(id) => client::deployment(&id).await.map(Some),
        None => Ok(None),
    }
}

/// API names of the states of drawn resources, by resource name.
fn states(deployment: &Deployment) -> HashMap<String, String> {
    let resources = deployment.resources.iter();
    resources
        // Resources that a pass adds to members are not drawn.
        .filter(|resource| !resource.derived || !resource.name.contains('/'))
        .map(|resource| (resource.name.clone(), resource.state.word().to_owned()))
        .collect()
}
