//! The deployment that the design's changes are for: the note with its last check and the way back, the states on the
//! canvas, and the operations on it.
//!
//! The address `/designs/:id?deployment=...` is that of a design that was opened from a deployment. Its plan updates this
//! deployment.

use api::{Deployment, DeploymentState, Run};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::store::Workspace;
use crate::{
    client,
    load::{Load, Loaded, keep_fresh},
    operations::{
        check::{CheckButtons, CheckNote},
        permission::PermissionSection,
        resource::{Operation, OperationDialogs, Operations},
    },
    time,
    ui::{Icon, Modal, StateBadge, state::DeploymentLook},
};

/// Id of the deployment to update, from the page's address.
pub fn target() -> Memo<Option<String>> {
    let query = use_query_map();
    Memo::new(move |_| query.with(|query| query.get("deployment")))
}

/// The note on the deployment to update, with the dialogs of its operations.
#[component]
pub fn DeploymentNote(
    /// The page's state.
    workspace: Workspace,
    /// Id of the deployment.
    id: String,
) -> impl IntoView {
    let deployment = Load::new(move || {
        let id = id.clone();
        async move { client::deployment(&id).await }
    });
    let busy = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it.filter(|it| it.state == DeploymentState::Running);
            it.map(|it| it.id.clone())
        })
    });
    // The note shows the state of an active run, such as `Paused`.
    let active_run = Load::new(move || {
        let id = busy.get();
        async move {
            match id {
                Some(id) => client::newest_run(&id).await,
                None => Ok(None),
            }
        }
    });
    let is_busy = Memo::new(move |_| busy.with(Option::is_some));
    keep_fresh(is_busy, move || {
        deployment.reload();
        active_run.reload();
    });
    let operations = Operations::new(deployment);
    workspace.deployed.set(Some(operations));
    // The signals of the operations end with this note.
    on_cleanup(move || {
        workspace.deployed.try_set(None);
    });
    let permission = RwSignal::new(false);
    view! {
        <div class="design-target" role="note" aria-label="Deployment to update">
            <Icon name="pencil" />
            <About deployment active_run />
            <CheckNote checking=operations.checking />
            {move || operations.is_permitted().then(|| view! {
                <CheckButtons checking=operations.checking />
                <PermissionButton deployment open=permission />
            })}
            <StopLink workspace />
        </div>
        <OperationDialogs operations />
        <Modal open=permission title="Standing permission" size="large">
            <PermissionSection deployment />
            <div class="dialog-actions">
                <button type="button" class="button" data-look="primary" on:click=move |_| permission.set(false)>"Close"</button>
            </div>
        </Modal>
    }
}

/// The link to the page on which the design is for a new deployment.
#[component]
pub fn StopLink(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    view! {
        <a
            class="button" data-size="small" href=format!("/designs/{}", workspace.saving.id())
            title="Plan and deploy the design as a new deployment"
        >
            "Stop updating it"
        </a>
    }
}

/// Name and state of the deployment, with the way to its page.
#[component]
fn About(deployment: Load<Deployment>, active_run: Load<Option<Run>>) -> impl IntoView {
    move || match deployment.state() {
        Loaded::Ready(it) => {
            let look = active_run.with(|run| {
                let run = run.map(Option::as_slice).unwrap_or_default();
                DeploymentLook::of(&it, run)
            });
            view! {
                <p>
                    "Changes are planned for "
                    <a class="link" href=format!("/deployments/{}", it.id)>{it.name.clone()}</a>
                    ". "<StateBadge state=look />
                </p>
            }
            .into_any()
        }
        Loaded::Failed(problem) => view! {
            <p>"The deployment that was to be updated cannot be shown: "{problem.detail}</p>
        }
        .into_any(),
        Loaded::Loading => view! { <p>"Changes are planned for a deployment."</p> }.into_any(),
    }
}

/// The button that opens the standing permission.
#[component]
fn PermissionButton(deployment: Load<Deployment>, open: RwSignal<bool>) -> impl IntoView {
    let end = Memo::new(move |_| {
        deployment.with(|it| {
            it.filter(|it| it.state != DeploymentState::Undeployed)
                .map(|it| it.permission.as_ref().map(|one| one.expires.clone()))
        })
    });
    move || {
        let end = end.get()?;
        let until = end.map_or_else(
            || "not permitted".to_owned(),
            |end| format!("until {}", time::day(&end)),
        );
        Some(view! {
            <button
                type="button" class="button" data-size="small" title="The permission to act while nobody is logged in"
                on:click=move |_| open.set(true)
            >
                <Icon name="shield" />
                "Unattended work: "{until}
            </button>
        })
    }
}

impl Workspace {
    /// The operations on the deployment that apply to the selected resources. Empty without a deployment.
    pub fn operations(self) -> Vec<(Operation, Callback<()>)> {
        let Some(Some(operations)) = self.deployed.try_get_untracked() else {
            return Vec::new();
        };
        let found = untrack(|| operations.on(&self.selected_names()));
        let found = found.into_iter();
        found
            .map(|operation| {
                let started = operation.clone();
                let run = Callback::new(move |()| operations.start(started.clone()));
                (operation, run)
            })
            .collect()
    }
}
