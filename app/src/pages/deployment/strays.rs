//! Strays: objects in the cloud with the deployment's marker that belong to none of its resources.

use api::{Deployment, DeploymentState, Stray};
use leptos::prelude::*;

use crate::{
    client,
    load::{Load, Loaded},
    ui::{CopyButton, data_table, prose},
};

/// Table of strays, or nothing if there are none. The cloud is searched again after each run.
#[component]
pub fn Strays(deployment: Load<Deployment>) -> impl IntoView {
    let settled = Memo::new(move |_| {
        deployment.with(|it| {
            it.filter(|it| it.state != DeploymentState::Running)
                .map(|it| (it.id.clone(), it.updated.clone()))
        })
    });
    let strays = Load::new(move || {
        let settled = settled.get();
        async move {
            match settled {
                Some((id, _)) => client::strays(&id).await,
                None => Ok(Vec::new()),
            }
        }
    });
    move || {
        match strays.state() {
        Loaded::Ready(strays) if !strays.is_empty() => table(strays).into_any(),
        // If the search in the cloud fails, the rest of the page still works.
        Loaded::Failed(problem) => view! {
            <p class="quiet" role="note">"The cloud could not be searched for strays: "{prose(&problem.detail)}</p>
        }
        .into_any(),
        Loaded::Ready(_) | Loaded::Loading => ().into_any(),
    }
    }
}

fn table(strays: Vec<Stray>) -> impl IntoView {
    let count = strays.len();
    let rows = strays
        .into_iter()
        .map(|stray| {
            let id = stray.physical_id;
            let fate = stray
                .why_kept
                .map_or_else(|| String::from("An undeploy removes it."), |why| format!("Stays: {why}."));
            view! {
                <tr>
                    <td>{stray.resource}{stray.name.map(|name| view! { <span class="meta">" "{name}</span> })}</td>
                    <td class="quiet">{stray.resource_type}</td>
                    <td><span class="id-cell"><code class="id">{id.clone()}</code><CopyButton text=id label=String::from("Copy the id of the stray") /></span></td>
                    <td class="quiet">{prose(&fate)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="section" aria-label="Strays">
            <div class="section-head"><h2>"Strays"</h2><span class="meta">{count}</span></div>
            <p class="quiet">"The cloud has created these for this deployment after the answer to the request was lost. No resource uses them."</p>
            {data_table(["Requested for", "Type", "Id in the cloud", "What happens to it"], rows)}
        </section>
    }
}
