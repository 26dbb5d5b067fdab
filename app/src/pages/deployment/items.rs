//! The catalogue items that the deployment uses, their versions, and the change to another version.
//!
//! A change shows which files of the item differ, and then its plan. It starts after a confirmation.

use std::collections::BTreeMap;

use api::{
    DeployedItem, Deployment, DeploymentState, OnFailure, Plan, PlanRequest, UpgradeRequest,
};
use leptos::{
    ev::{self, SubmitEvent},
    prelude::*,
};

use crate::{
    client, links,
    load::Load,
    operations::proposal::{Proposals, changed, problems},
    pages::catalog_item::changes::VersionChanges,
    session::use_session,
    ui::{ACTIONS, Icon, Modal, Question, data_table, plain_text},
};

/// The section of the items, or nothing if the deployment uses none.
#[component]
pub fn Items(deployment: Load<Deployment>) -> impl IntoView {
    let proposals = Proposals::new();
    let items = Memo::new(move |_| {
        deployment.with(|it| {
            it.map(|it| (it.items.clone(), it.state))
                .unwrap_or((Vec::new(), DeploymentState::Running))
        })
    });
    move || {
        let (items, state) = items.get();
        (!items.is_empty()).then(|| {
            let is_busy = matches!(state, DeploymentState::Running | DeploymentState::Suspended);
            let rows = items
                .into_iter()
                .map(|item| view! { <ItemRow item is_busy deployment proposals /> })
                .collect_view();
            view! {
                <section class="section" aria-label="Catalogue items">
                    <h2>"Catalogue items"</h2>
                    {data_table(["Item", "Version", "Components", ACTIONS], rows)}
                </section>
            }
        })
    }
}

#[component]
fn ItemRow(
    item: DeployedItem,
    /// True while a run is active on the deployment, or it is suspended.
    is_busy: bool,
    deployment: Load<Deployment>,
    proposals: Proposals,
) -> impl IntoView {
    let session = use_session();
    let open = RwSignal::new(false);
    let others = item.versions.iter().any(|version| *version != item.version);
    let newest = item.versions.first();
    let newest = newest.filter(|newest| **newest != item.version).cloned();
    let title = format!("Another version of {}", item.name);
    let page = links::item(&item.name, newest.is_some().then_some(&*item.version));
    let shown = item.clone();
    view! {
        <tr data-item=item.name.clone()>
            <td><a class="link" href=page>{item.name.clone()}</a></td>
            <td class="fit">
                {item.version.clone()}
                {newest.map(|newest| view! { " " <span class="pill">{format!("{newest} is available")}</span> })}
            </td>
            <td class="quiet">{item.components.join(", ")}</td>
            <td class="fit">
                {others.then(|| view! {
                    <button
                        type="button" class="button" data-size="small" disabled=move || is_busy || !session.can_change()
                        on:click=move |_| open.set(true)
                    >
                        <Icon name="refresh-cw" />
                        "Change version"
                    </button>
                    <Modal open title=title size="large">
                        <Form item=shown.clone() open deployment proposals />
                    </Modal>
                })}
            </td>
        </tr>
    }
}

#[component]
fn Form(
    item: DeployedItem,
    open: RwSignal<bool>,
    deployment: Load<Deployment>,
    proposals: Proposals,
) -> impl IntoView {
    let others = item.versions.iter();
    let others = others.filter(|version| **version != item.version).cloned();
    let others: Vec<String> = others.collect();
    let version = RwSignal::new(others.first().cloned().unwrap_or_default());
    let goes_back = RwSignal::new(true);
    let batch = RwSignal::new(1_u32);
    let components = item.components.len();
    let set_batch = move |event: ev::Event| {
        let given = event_target_value(&event).parse::<u32>();
        batch.set(given.unwrap_or(1).max(1));
    };
    let item = StoredValue::new(item);
    let (name, from) = item.with_value(|item| (item.name.clone(), item.version.clone()));
    let options = others.into_iter().map(|other| {
        let (own, shown) = (other.clone(), other.clone());
        view! { <option value=other selected=move || version.with(|version| *version == own)>{shown}</option> }
    });
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        open.set(false);
        let Some(it) = deployment.peek() else { return };
        let on_failure = if goes_back.get_untracked() {
            OnFailure::Rollback
        } else {
            OnFailure::Stop
        };
        propose(
            proposals,
            &it,
            item.get_value(),
            version.get_untracked(),
            (batch.get_untracked(), on_failure),
        );
    };
    view! {
        <form class="dialog-form" on:submit=submit>
            <div class="field">
                <label for="item-version">"Version"</label>
                <select class="input" id="item-version" on:change=move |event| version.set(event_target_value(&event))>
                    {options.collect_view()}
                </select>
                <p class="help">{format!("Now it is {}.", item.with_value(|item| item.version.clone()))}</p>
            </div>
            <section aria-label="What changes in the item"><VersionChanges item=name from to=version.into() /></section>
            {(components > 1).then(|| view! {
                <div class="field">
                    <label for="item-batch">"Components at the same time"</label>
                    <input
                        class="input" id="item-batch" type="number" min="1" max=components.to_string() required prop:value=move || batch.get().to_string()
                        on:change=set_batch
                    />
                    <p class="help">{format!("Of {components}. The next ones begin when these are healthy.")}</p>
                </div>
            })}
            <label class="check">
                <input type="checkbox" prop:checked=goes_back on:change=move |event| goes_back.set(event_target_checked(&event)) />
                "Roll back if a component fails or is not healthy"
            </label>
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class="button" data-look="primary">"Plan the change"</button>
            </div>
        </form>
    }
}

fn propose(
    proposals: Proposals,
    deployment: &Deployment,
    item: DeployedItem,
    version: String,
    (batch, on_failure): (u32, OnFailure),
) {
    let request = PlanRequest {
        versions: BTreeMap::from([(item.name.clone(), version.clone())]),
        ..deployment.plan_request()
    };
    let id = deployment.id.clone();
    let (named, wanted) = (item.clone(), version.clone());
    let start = move |plan: Plan| {
        let request = UpgradeRequest {
            item: item.name.clone(),
            version: version.clone(),
            batch: Some(batch),
            on_failure,
            base_run: plan.base_run,
            plan_digest: plan.digest,
        };
        let id = id.clone();
        async move { client::upgrade(&id, &request).await }
    };
    proposals.propose(
        request,
        move |plan| question(&named, &wanted, (batch, on_failure), plan),
        start,
    );
}

/// The confirmation with the plan's changes and problems.
fn question(
    item: &DeployedItem,
    version: &str,
    (batch, on_failure): (u32, OnFailure),
    plan: &Plan,
) -> Question {
    let how = match batch {
        1 => "one after the other. The next one begins when the one before is healthy.".to_owned(),
        _ => format!("{batch} at a time. The next ones begin when all of them are healthy."),
    };
    let mut body = vec![format!(
        "The components are set up with the other version, {how}"
    )];
    if on_failure == OnFailure::Rollback {
        body.push(format!("If one fails, all return to {}.", item.version));
    }
    body.extend(problems(plan));
    let items = changed(plan).map(|change| {
        let because = change.because.as_deref().unwrap_or("changed");
        format!("{}: {}", change.resource, plain_text(because))
    });
    Question {
        title: format!("{}: {} → {version}?", item.name, item.version),
        body,
        items: items.collect(),
        action: "Change version".to_owned(),
        danger: false,
    }
}
