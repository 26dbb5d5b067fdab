//! All deployments of the project.

use std::sync::Arc;

use api::{CheckSummary, Deployment, DeploymentState, Named as _};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    client,
    frame::{Crumb, use_frame},
    load::{Load, keep_fresh},
    pages::deployment::remove::remove_action,
    session::use_session,
    time::Ago,
    ui::{
        Empty, Icon, MoreRows, ROWS, StateBadge, skeleton,
        state::{DeploymentLook, RunLook, badge, run_title},
    },
};

/// The list of deployments, or an explanation if it is empty.
#[component]
pub fn DeploymentsPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Deployments")]);
    let deployments = Load::new(client::deployments);
    let busy = Memo::new(move |_| {
        deployments.with(|all| {
            all.is_some_and(|all| all.iter().any(|it| it.state == DeploymentState::Running))
        })
    });
    keep_fresh(busy, move || deployments.reload());
    let has_some =
        Memo::new(move |_| deployments.with(|all| all.is_some_and(|all| !all.is_empty())));
    // The table outlives a reload, which keeps the focus of its controls.
    let list = move || {
        if has_some.get() {
            return view! { <DeploymentTable deployments /> }.into_any();
        }
        deployments.view(
            || skeleton::rows(5),
            |_| view! {
                <Empty
                    icon="rocket" title="Nothing is deployed yet"
                    text="A deployment has the resources of a design in your project. Open a design, check its plan, and press Deploy."
                >
                    <a class="button" data-look="primary" href="/designs">"Choose a design"</a>
                </Empty>
            },
        )
    };
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

/// Filter by state. The words are those of the address and of the buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    /// All that have or may have resources in the cloud.
    Live,
    Only(DeploymentState),
}

impl Filter {
    fn all() -> impl Iterator<Item = Filter> {
        let states = DeploymentState::ALL.iter().copied().map(Filter::Only);
        std::iter::once(Filter::Live).chain(states)
    }

    fn label(self) -> &'static str {
        match self {
            Filter::Live => "Live",
            Filter::Only(state) => state.title(),
        }
    }

    fn has(self, it: &Deployment) -> bool {
        match self {
            Filter::Live => it.state != DeploymentState::Undeployed,
            Filter::Only(state) => it.state == state,
        }
    }
}

/// True if the name, the author or an address contains the text, which is in lower case.
fn matches(it: &Deployment, query: &str) -> bool {
    let addresses = it.summary.iter().flat_map(|summary| &summary.addresses);
    it.name.to_lowercase().contains(query)
        || it.author.to_lowercase().contains(query)
        || addresses.into_iter().any(|one| one.contains(query))
}

#[component]
fn DeploymentTable(deployments: Load<Vec<Deployment>>) -> impl IntoView {
    let session = use_session();
    let remove = remove_action();
    let query = RwSignal::new(String::new());
    let filter = RwSignal::new(Filter::Live);
    let rows = RwSignal::new(ROWS);
    let buttons = Filter::all()
        .map(|one| {
            let count = Memo::new(move |_| {
                deployments
                    .with(|all| all.map_or(0, |all| all.iter().filter(|it| one.has(it)).count()))
            });
            view! {
                <button
                    type="button" aria-pressed=move || (filter.get() == one).to_string()
                    disabled=move || count.get() == 0 && one != Filter::Live
                    on:click=move |_| {
                        filter.set(one);
                        rows.set(ROWS);
                    }
                >
                    {one.label()}<span class="count">{move || count.get()}</span>
                </button>
            }
        })
        .collect_view();
    let sorted = Memo::new(move |_| {
        let mut all: Vec<Arc<Deployment>> =
            deployments.with(|all| all.into_iter().flatten().cloned().map(Arc::new).collect());
        all.sort_by(|one, other| other.updated.cmp(&one.updated));
        all
    });
    let shown = Memo::new(move |_| {
        let query = query.get().trim().to_lowercase();
        let filter = filter.get();
        sorted.with(|all| {
            let fitting = all
                .iter()
                .filter(|it| filter.has(it) && matches(it, &query));
            fitting.cloned().collect::<Vec<_>>()
        })
    });
    let page =
        move || shown.with(|shown| shown.iter().take(rows.get()).cloned().collect::<Vec<_>>());
    let reload = Callback::new(move |()| deployments.reload());
    let removal = move || {
        let is_offered = filter.get() == Filter::Only(DeploymentState::Undeployed)
            && shown.with(|shown| !shown.is_empty());
        is_offered.then(|| {
            let ask = move |_| {
                let all: Vec<Deployment> = shown.with_untracked(|shown| shown.iter().map(|it| Deployment::clone(it)).collect());
                remove.run((all, reload));
            };
            view! {
                <span class="grow"></span>
                <button
                    type="button" class="button" data-look="danger-quiet" disabled=move || !session.can_change() on:click=ask
                >
                    <Icon name="trash-2" />
                    "Remove these"
                </button>
            }
        })
    };
    let count = Memo::new(move |_| shown.with(Vec::len));
    view! {
        <div class="page-tools">
            <label class="search">
                <Icon name="search" />
                <input
                    class="input" type="search" aria-label="Search deployments" placeholder="Name, user or address" prop:value=move || query.get()
                    on:input=move |event| {
                        query.set(event_target_value(&event));
                        rows.set(ROWS);
                    }
                />
            </label>
            <div class="segments" role="group" aria-label="State">{buttons}</div>
            {removal}
        </div>
        <div class="table deployments">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Name"</th><th scope="col" class="fit">"State"</th><th scope="col" class="fit">"Check"</th>
                        <th scope="col" class="fit">"Servers"</th>
                        <th scope="col">"Addresses"</th><th scope="col">"Last run"</th><th scope="col" class="fit">"Age"</th>
                        <th scope="col" class="fit">"By"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=page key=|it| row_key(it) let:it>
                        <DeploymentRow it />
                    </For>
                </tbody>
            </table>
            {move || shown.with(Vec::is_empty).then(|| view! { <p class="table-none" role="status">"No deployment matches."</p> })}
        </div>
        <MoreRows rows count />
    }
}

/// Key of a row: all values that the row shows.
fn row_key(it: &Deployment) -> (String, String, DeploymentState, String) {
    let summary = it.summary.as_ref();
    let run = summary.and_then(|summary| summary.run.as_ref());
    let check = summary.and_then(|summary| summary.check.as_ref());
    let rest = format!(
        "{:?} {:?} {:?}",
        run.map(|run| (&run.id, RunLook::from(run))),
        check.map(|check| &check.time),
        summary.map(|summary| (summary.servers, &summary.addresses)),
    );
    (it.id.clone(), it.updated.clone(), it.state, rest)
}

/// Number of addresses in a row.
const ADDRESSES: usize = 2;

#[component]
fn DeploymentRow(it: Arc<Deployment>) -> impl IntoView {
    let summary = it.summary.clone().unwrap_or_default();
    let hidden = summary.addresses.len().saturating_sub(ADDRESSES);
    let all = summary.addresses.join(", ");
    let addresses = summary
        .addresses
        .iter()
        .take(ADDRESSES)
        .map(|address| view! { <code class="id">{address.clone()}</code> })
        .collect_view();
    let look = DeploymentLook::of(&it, summary.run.as_slice());
    let run = summary.run.map(|run| {
        let when = run.ended.clone().unwrap_or_else(|| run.created.clone());
        view! {
            <span class="last-run">
                <a class="link" href=format!("/runs/{}", run.id)>{run_title(&run)}</a>
                <StateBadge state=RunLook::from(&run) />
                <span class="quiet"><Ago time=when /></span>
            </span>
        }
    });
    view! {
        <tr data-link data-deployment=it.name.clone()>
            <td><a class="row-link" href=format!("/deployments/{}", it.id)>{it.name.clone()}</a></td>
            <td class="fit"><StateBadge state=look /></td>
            <td class="fit">{summary.check.map(check_view)}</td>
            <td class="fit count-cell">{summary.servers}</td>
            <td title=all>
                <span class="addresses">{addresses}{(hidden > 0).then(|| view! { <span class="meta">{format!("and {hidden} more")}</span> })}</span>
            </td>
            <td>{run}</td>
            <td class="fit quiet"><Ago time=it.created.clone() /></td>
            <td class="fit quiet">{it.author.clone()}</td>
        </tr>
    }
}

/// The worst finding of the last check, and the number of the others.
fn check_view(check: CheckSummary) -> AnyView {
    let state = match check.worst {
        Some(kind) => view! { <StateBadge state=kind /> }.into_any(),
        None => badge("succeeded", "As deployed"),
    };
    let others = check.findings.saturating_sub(1);
    view! {
        <span class="last-check" title=format!("Checked {}", check.time)>
            {state}
            {(others > 0).then(|| view! { <span class="meta">{format!("and {others} more")}</span> })}
        </span>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_search_finds_names_users_and_addresses() {
        let it: Deployment = serde_json::from_value(json!({
            "id": "d", "name": "Shop", "state": "deployed", "created": "1", "updated": "2", "author": "ann", "last_run": null,
            "summary": {"servers": 1, "addresses": ["172.31.0.7"], "run": null},
        }))
        .unwrap();
        for (query, found) in [
            ("sho", true),
            ("ann", true),
            ("31.0.7", true),
            ("10.", false),
        ] {
            assert_eq!(matches(&it, query), found, "{query}");
        }
        assert!(Filter::Live.has(&it));
        assert!(!Filter::Only(DeploymentState::Failed).has(&it));
    }
}
