//! The standing permission: who gave it, until when, and what for. It is given and revoked here.

use api::{Deployment, DeploymentState, Permission};
use leptos::prelude::*;

use super::permission_form::{PermissionForm, PermissionNotes, can_give};
use crate::{
    client,
    load::Load,
    session::use_session,
    time::{self, Ago},
    ui::{Icon, Question, prose, use_confirm, use_toasts},
};

/// The section of the permission. Nothing for a deployment without resources in the cloud.
#[component]
pub fn PermissionSection(
    /// The deployment.
    deployment: Load<Deployment>,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        deployment.with(|it| {
            it.filter(|it| it.state != DeploymentState::Undeployed)
                .map(|it| it.permission.clone())
        })
    });
    move || {
        let body = match shown.get()? {
            Some(permission) => view! { <Given permission deployment /> }.into_any(),
            None => view! { <Missing deployment /> }.into_any(),
        };
        Some(view! { <section class="section" aria-label="Unattended work">{body}</section> })
    }
}

/// The form for a new permission.
#[component]
fn Missing(deployment: Load<Deployment>) -> impl IntoView {
    let toasts = use_toasts();
    let form = PermissionForm::empty();
    let is_busy = RwSignal::new(false);
    let session = use_session();
    let locked = Signal::derive(move || is_busy.get() || !session.can_change());
    let cannot_give = move || locked.get() || !can_give(session) || form.request().is_none();
    let give = move |_| {
        let (Some(it), Some(request)) = (deployment.peek(), untrack(|| form.request())) else {
            return;
        };
        if let Some(problem) = request.problem() {
            return toasts.warn(format!("Not given: {problem}."));
        }
        is_busy.set(true);
        leptos::task::spawn_local(async move {
            let given = client::permission_give(&it.id, &request).await;
            let _gone = is_busy.try_set(false);
            match given {
                Ok(_) => deployment.reload(),
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    view! {
        <div class="section-head"><h2>"Unattended work"</h2></div>
        <details class="permission">
            <summary>"Let the server act while nobody is logged in"</summary>
            <PermissionNotes />
            {form.fields(locked)}
            <button type="button" class="button" data-size="small" disabled=cannot_give on:click=give>
                "Give permission"
            </button>
        </details>
    }
}

#[component]
fn Given(permission: Permission, deployment: Load<Deployment>) -> impl IntoView {
    let session = use_session();
    let revoke = revoker(deployment);
    let locked = move || !session.can_change();
    let Permission {
        author,
        created,
        expires,
        may,
        has_access_rules,
        opens_secrets,
        problem,
    } = permission;
    let until = time::day(&expires).to_owned();
    let minutes = may.check_minutes;
    let every = minutes.map_or(
        String::from("Check at an interval"),
        |minutes| match minutes {
            1 => String::from("Check every minute"),
            minutes => format!("Check every {minutes} minutes"),
        },
    );
    let box_for = |text: String, is_checked: bool| {
        view! { <li><label class="check"><input type="checkbox" checked=is_checked disabled=true />{text}</label></li> }
    };
    let restriction = if has_access_rules {
        "The cloud restricts it to the services that Stackloom uses."
    } else {
        "The cloud has no access rules: it can do all that the role of a member permits in this project."
    };
    view! {
        <div class="section-head">
            <h2>"Unattended work"</h2>
            <span class="meta">{format!("Permitted by {author} ")}<Ago time=created />{format!(", until {until}")}</span>
            <button type="button" class="button" data-look="danger-quiet" data-size="small" disabled=locked on:click=move |_| revoke.run(())>
                "Revoke"
            </button>
        </div>
        <div class="permission">
            <ul class="permission-fields" aria-label="Permitted actions">
                {box_for(String::from("Scale when a policy is signalled"), may.scale)}
                {box_for(every, minutes.is_some())}
                {box_for(String::from("Repair what a check finds"), may.repair)}
            </ul>
            <p class="quiet">
                {restriction}
                {opens_secrets.then_some(" It also opens private keys and hidden parameters of this deployment: the cloud has no key \
                    manager, and the server's own key is all that protects them.")}
            </p>
            {problem.map(|problem| view! {
                <div class="problem-note" role="note">
                    <Icon name="circle-x" />
                    <div><p><strong>"The last time, it could not be used."</strong></p><p class="quiet">{prose(&problem)}</p></div>
                </div>
            })}
        </div>
    }
}

/// Revokes the permission after a confirmation.
fn revoker(deployment: Load<Deployment>) -> Callback<()> {
    let confirm = use_confirm();
    let toasts = use_toasts();
    Callback::new(move |()| {
        let Some(it) = deployment.peek() else { return };
        let author = it.permission.map(|one| one.author).unwrap_or_default();
        let question = Question {
            title: format!("Revoke the permission of {}?", it.name),
            body: vec![
                String::from(
                    "Signals to policies are refused from now on, and nothing is checked or repaired by itself.",
                ),
                format!(
                    "The server destroys its copy of the secret at once. The application credential is deleted now if {author} \
                     revokes it, else at the next login of {author}."
                ),
            ],
            items: Vec::new(),
            action: String::from("Revoke"),
            danger: true,
        };
        let id = it.id;
        confirm.ask(question, move || {
            let id = id.clone();
            leptos::task::spawn_local(async move {
                match client::permission_revoke(&id).await {
                    Ok(()) => deployment.reload(),
                    Err(problem) => toasts.problem(&problem),
                }
            });
        });
    })
}
