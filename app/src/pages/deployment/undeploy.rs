//! Undeploy of a deployment, for several pages. The confirmation lists the resources.

use api::{Deployment, ResourceState};
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::{
    client::{self, Force},
    pages::terminal,
    ui::{Question, use_confirm, use_toasts},
};

/// Function that starts the run after a confirmation and opens its page.
pub fn undeploy_action() -> Callback<(Deployment, Force)> {
    let confirm = use_confirm();
    let toasts = use_toasts();
    let navigate = StoredValue::new_local(use_navigate());
    Callback::new(move |(deployment, force): (Deployment, Force)| {
        let id = deployment.id.clone();
        let seen = deployment.last_run.clone();
        confirm.ask(question(&deployment, force), move || {
            let (id, seen) = (id.clone(), seen.clone());
            leptos::task::spawn_local(async move {
                match client::undeploy(&id, force, seen.as_deref()).await {
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

fn question(deployment: &Deployment, force: Force) -> Question {
    let going: Vec<String> = deployment
        .resources
        .iter()
        .filter(|resource| resource.state != ResourceState::Removed)
        .map(|resource| format!("{}  {}", resource.name, resource.resource_type))
        .collect();
    let mut body = vec![match going.len() {
        0 => String::from("All resources of this deployment are removed from the cloud."),
        1 => String::from("One resource is removed from the cloud, with all its data:"),
        many => format!("{many} resources are removed from the cloud, with all their data:"),
    }];
    let mut resources = deployment.resources.iter();
    if resources.any(|one| {
        [terminal::SERVER, "OS::Cinder::Volume"].contains(&one.resource_type.as_str())
            && one.physical_id.is_some()
    }) {
        body.push(String::from(
            "Snapshots of its servers and volumes that were taken here are deleted with them.",
        ));
    }
    if force == Force::Yes {
        body.push(String::from(
            "With force, resources that cannot be removed stay in the cloud, and the run reports them.",
        ));
    }
    Question {
        title: format!("Undeploy {}?", deployment.name),
        body,
        items: going,
        action: String::from(if force == Force::Yes {
            "Force undeploy"
        } else {
            "Undeploy"
        }),
        danger: true,
    }
}
