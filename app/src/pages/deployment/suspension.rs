//! Suspension of a deployment, and its end: the buttons, their confirmations, and the note of a suspended deployment.

use api::{Deployment, DeploymentState, ResourceState, Run};
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::{
    client::{self, Suspension},
    load::Load,
    pages::terminal,
    session::use_session,
    ui::{Icon, Question, use_confirm, use_toasts},
};

/// The buttons that are possible now: of a suspension or resumption that failed, both.
#[component]
pub fn SuspensionButtons(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Runs of the deployment.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    let session = use_session();
    let ask = asker(deployment);
    let possible = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it?;
            let is_between = it.state == DeploymentState::Failed && runs.with(ended_by_suspension);
            let has_servers = it
                .resources
                .iter()
                .any(|one| one.resource_type == terminal::SERVER && one.physical_id.is_some());
            let suspend = it.state == DeploymentState::Deployed || is_between;
            let resume = it.state == DeploymentState::Suspended || is_between;
            Some((suspend && has_servers, resume))
        })
    });
    let button = move |which: Suspension, look: Option<&'static str>| {
        let (icon, word) = match which {
            Suspension::Suspend => ("circle-pause", "Suspend"),
            Suspension::Resume => ("play", "Resume servers"),
        };
        view! {
            <button
                type="button" class="button" data-look=look disabled=move || !session.can_change()
                on:click=move |_| ask.run(which)
            >
                <Icon name=icon />
                {word}
            </button>
        }
    };
    move || {
        let (suspend, resume) = possible.get()?;
        Some(view! {
            {resume.then(|| button(Suspension::Resume, Some("primary")))}
            {suspend.then(|| button(Suspension::Suspend, None))}
        })
    }
}

/// True if the last change of a deployment was its suspension or resumption.
fn ended_by_suspension(runs: Option<&Vec<Run>>) -> bool {
    let changes = runs.into_iter().flatten();
    let changes = changes.filter(|run| !run.kind.keeps_deployment());
    let last = changes.max_by(|one, other| one.created.cmp(&other.created));
    last.is_some_and(|run| run.kind.is_suspension())
}

/// Function that starts the run after a confirmation and opens its page.
fn asker(deployment: Load<Deployment>) -> Callback<Suspension> {
    let (confirm, toasts) = (use_confirm(), use_toasts());
    let navigate = StoredValue::new_local(use_navigate());
    Callback::new(move |which| {
        let Some(it) = deployment.peek() else { return };
        let (id, seen) = (it.id.clone(), it.last_run.clone());
        confirm.ask(question(&it, which), move || {
            let (id, seen) = (id.clone(), seen.clone());
            leptos::task::spawn_local(async move {
                match client::suspension(&id, which, seen.as_deref()).await {
                    Ok(started) => {
                        navigate.try_with_value(|navigate| {
                            navigate(&format!("/runs/{}", started.run), Default::default())
                        });
                    }
                    Err(problem) => toasts.problem(&problem),
                }
            });
        });
    })
}

fn question(deployment: &Deployment, which: Suspension) -> Question {
    let servers = deployment.resources.iter().filter(|one| {
        let is_concerned = which == Suspension::Suspend || one.state == ResourceState::Suspended;
        one.resource_type == terminal::SERVER && one.physical_id.is_some() && is_concerned
    });
    let items = servers.map(|one| one.name.clone()).collect();
    let text = String::from;
    match which {
        Suspension::Suspend => Question {
            title: format!("Suspend {}?", deployment.name),
            body: vec![
                text(
                    "These servers stop where they are, with their memory kept on their hosts. What runs on them cannot be reached until they are resumed.",
                ),
                text(
                    "Addresses, volumes and networks stay. Volumes and floating IPs still cost, and the servers still count against the quota.",
                ),
            ],
            items,
            action: text("Suspend"),
            danger: true,
        },
        Suspension::Resume => Question {
            title: format!("Resume {}?", deployment.name),
            body: vec![text(
                "These servers continue where they were suspended, with their memory and addresses. Connections from that time have probably ended.",
            )],
            items,
            action: text("Resume"),
            danger: false,
        },
    }
}

/// The note on the page of a suspended deployment.
#[component]
pub fn SuspendedNote() -> impl IntoView {
    view! {
        <div class="suspended-note deployment-way-on" role="note">
            <span class="state" data-look="paused"><Icon name="circle-pause" /></span>
            <div>
                <p><strong>"The servers are suspended."</strong>" Their memory and their addresses are kept."</p>
                <p class="quiet">"Volumes and floating IPs still cost. Resume the servers before you change or scale them, or run a command on them; an undeploy is possible at any time."</p>
            </div>
        </div>
    }
}
