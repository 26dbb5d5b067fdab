//! Removal of undeployed deployments from the list, for several pages.

use api::Deployment;
use leptos::prelude::*;

use crate::{
    client,
    ui::{Question, use_confirm, use_toasts},
};

/// Function that removes undeployed deployments after a confirmation, and then calls the second argument.
pub fn remove_action() -> Callback<(Vec<Deployment>, Callback<()>)> {
    let confirm = use_confirm();
    let toasts = use_toasts();
    Callback::new(
        move |(deployments, then): (Vec<Deployment>, Callback<()>)| {
            confirm.ask(question(&deployments), move || {
                let deployments = deployments.clone();
                leptos::task::spawn_local(async move {
                    for deployment in deployments {
                        if let Err(problem) = client::remove_deployment(&deployment.id).await {
                            toasts.problem(&problem);
                            break;
                        }
                    }
                    // The page may have been left.
                    then.try_run(());
                });
            });
        },
    )
}

fn question(deployments: &[Deployment]) -> Question {
    let (title, items) = match deployments {
        [one] => (format!("Remove {}?", one.name), Vec::new()),
        many => (
            format!("Remove {} deployments?", many.len()),
            many.iter().map(|one| one.name.clone()).collect(),
        ),
    };
    Question {
        title,
        body: vec![String::from(
            "The runs and their logs are deleted. This cannot be undone. Designs stay, and nothing in the cloud changes.",
        )],
        items,
        action: String::from("Remove"),
        danger: true,
    }
}
