//! All deployments of the project.

use api::{Deployment, DeploymentState};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    client,
    frame::{Crumb, use_frame},
    load::Load,
    time::Ago,
    ui::{Empty, Icon, StateBadge, skeleton},
};

/// The list of deployments, or an explanation if it is empty.
#[component]
pub fn DeploymentsPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Deployments")]);
    let deployments = Load::new(client::deployments);
    let query = RwSignal::new(String::new());
    let gone = RwSignal::new(false);
    refresh_while_busy(deployments);
    let list = deployments.view(
        || skeleton::rows(5),
        move |deployments: Vec<Deployment>| {
            if deployments.is_empty() {
                return view! {
                    <Empty
                        icon="rocket" title="Nothing is deployed yet"
                        text="A deployment has the resources of a design in your project. Open a design, check its plan, and press Deploy."
                    >
                        <a class="button" data-look="primary" href="/designs">"Choose a design"</a>
                    </Empty>
                }
                .into_any();
            }
            view! { <DeploymentTable deployments query gone /> }.into_any()
        },
    );
    view! {
        <Title text="Deployments" />
        <div class="page">
            <header class="page-head">
                <div>
                    <h1>"Deployments"</h1>
                    <p>"Current and past deployments of the project."</p>
                </div>
            </header>
            {list}
        </div>
    }
}

/// Reloads while a run is active, because the run changes the displayed states.
fn refresh_while_busy(deployments: Load<Vec<Deployment>>) {
    let busy = Memo::new(move |_| {
        deployments.with(|all| {
            all.is_some_and(|all| all.iter().any(|it| it.state == DeploymentState::Busy))
        })
    });
    Effect::new(move |_| {
        if !busy.get() {
            return;
        }
        let tick = set_interval_with_handle(
            move || deployments.reload(),
            std::time::Duration::from_secs(4),
        );
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
}

#[component]
fn DeploymentTable(
    deployments: Vec<Deployment>,
    query: RwSignal<String>,
    gone: RwSignal<bool>,
) -> impl IntoView {
    let gone_count = deployments
        .iter()
        .filter(|it| it.state == DeploymentState::Undeployed)
        .count();
    let deployments = StoredValue::new(deployments);
    let shown = move || {
        let query = query.get().to_lowercase();
        let gone = gone.get();
        let mut shown: Vec<Deployment> = deployments.with_value(|all| {
            all.iter()
                .filter(|it| {
                    (gone || it.state != DeploymentState::Undeployed)
                        && it.name.to_lowercase().contains(&query)
                })
                .cloned()
                .collect()
        });
        shown.sort_by(|one, other| other.updated.cmp(&one.updated));
        shown
    };
    view! {
        <div class="page-tools">
            <label class="search">
                <Icon name="search" />
                <input
                    class="input" type="search" aria-label="Search deployments" placeholder="Search" prop:value=move || query.get()
                    on:input=move |event| query.set(event_target_value(&event))
                />
            </label>
            {(gone_count > 0).then(|| view! {
                <button
                    type="button" class="button" data-look="ghost" aria-pressed=move || gone.get().to_string()
                    on:click=move |_| gone.update(|gone| *gone = !*gone)
                >
                    {format!("Show undeployed ({gone_count})")}
                </button>
            })}
        </div>
        <div class="table">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Name"</th><th scope="col" class="fit">"State"</th><th scope="col" class="fit">"Updated"</th>
                        <th scope="col" class="fit">"By"</th><th scope="col" class="fit">"Last run"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=shown key=|it| (it.id.clone(), it.state, it.updated.clone()) let:it>
                        <tr data-link data-deployment=it.name.clone()>
                            <td><a class="row-link" href=format!("/deployments/{}", it.id)>{it.name.clone()}</a></td>
                            <td class="fit"><StateBadge state=it.state /></td>
                            <td class="fit quiet"><Ago time=it.updated /></td>
                            <td class="fit quiet">{it.author}</td>
                            <td class="fit">
                                <div class="row-actions">
                                    {it.last_run.map(|run| view! { <a class="link" href=format!("/runs/{run}")>"Open"</a> })}
                                </div>
                            </td>
                        </tr>
                    </For>
                </tbody>
            </table>
            {move || shown().is_empty().then(|| view! { <p class="table-none">"No deployment matches."</p> })}
        </div>
    }
}
