//! Terminals on the servers of a deployment, as tabs.
//!
//! The terminal itself is a script (`web/terminal.ts`), loaded with the first tab. It owns the connection; a tab shows
//! its state. Leaving the page ends all of them, so a person who needs one for longer opens it in a separate window.

mod module;
mod tab;

use api::{Deployment, ResourceState};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;

use self::tab::{Tab, TabPanel, TabState};
use crate::{
    client,
    frame::{Crumb, use_frame},
    load::Load,
    session::use_session,
    ui::{Empty, Icon, prose, skeleton},
};

/// The type of resources that can have a terminal.
pub const SERVER: &str = "OS::Nova::Server";

/// The page of `/deployments/:id/terminal/:server`.
#[component]
pub fn TerminalPage() -> impl IntoView {
    let params = use_params_map();
    let param = move |name| params.with(|params| params.get(name)).unwrap_or_default();
    let id = Memo::new(move |_| param("id"));
    let server = Memo::new(move |_| param("server"));
    let deployment = Load::new(move || {
        let id = id.get();
        async move { client::deployment(&id).await }
    });
    let name = move || deployment.with(|it| it.map(|it| it.name.clone()));
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::link(
                name().unwrap_or_else(|| String::from("Deployment")),
                format!("/deployments/{}", id.get()),
            ),
            Crumb::here("Terminal"),
        ]
    });
    let is_here = Memo::new(move |_| deployment.with(|it| it.is_some()));
    let session = use_session();
    // The server refuses a reader's websocket, and a browser does not learn why.
    let can_change = Memo::new(move |_| session.me.with(|me| me.as_ref().map(|me| me.can_change)));
    let body = move || {
        let skeleton = || view! { <div class="page">{skeleton::rows(8)}</div> }.into_any();
        match (is_here.get(), can_change.get()) {
            (false, _) => deployment.view(skeleton, |_| ()),
            (true, None) => skeleton(),
            (true, Some(true)) => view! { <Terminals deployment first=server id /> }.into_any(),
            (true, Some(false)) => view! {
                <Empty
                    icon="lock" title="No terminal with read access" is_page=true
                    text="A terminal needs a role in this project that may change deployments. The deployment's page names these roles."
                />
            }
            .into_any(),
        }
    };
    view! {
        <Title text=move || format!("Terminal · {}", server.get()) />
        {body}
    }
}

#[component]
fn Terminals(deployment: Load<Deployment>, first: Memo<String>, id: Memo<String>) -> impl IntoView {
    let tabs = RwSignal::new(Vec::<Tab>::new());
    let current = RwSignal::new(0_u32);
    let next = StoredValue::new(0_u32);
    let open = Callback::new(move |server: String| {
        let key = next.try_update_value(|next| {
            *next += 1;
            *next
        });
        let Some(key) = key else { return };
        tabs.update(|tabs| {
            tabs.push(Tab {
                key,
                server,
                state: RwSignal::new(TabState::Connecting),
            });
        });
        current.set(key);
    });
    let close = Callback::new(move |key: u32| {
        tabs.update(|tabs| tabs.retain(|tab| tab.key != key));
        if current.get_untracked() == key {
            let last = tabs.with_untracked(|tabs| tabs.last().map(|tab| tab.key));
            current.set(last.unwrap_or_default());
        }
    });
    Effect::new(move |_| {
        let server = first.get();
        let is_open = tabs.with_untracked(|tabs| tabs.iter().any(|tab| tab.server == server));
        if !is_open && untrack(|| has_server(deployment, &server)) {
            open.run(server);
        }
    });
    let servers = Memo::new(move |_| {
        deployment.with(|it| {
            let resources = it.map(|it| it.resources.as_slice()).unwrap_or_default();
            let servers = resources
                .iter()
                .filter(|one| one.resource_type == SERVER && one.state == ResourceState::Ready);
            servers.map(|one| one.name.clone()).collect::<Vec<_>>()
        })
    });
    let offers = move || {
        let offer = |server: String| {
            let label = server.clone();
            view! {
                <button type="button" class="button" data-size="small" on:click=move |_| open.run(server.clone())>
                    <Icon name="plus" />{label}
                </button>
            }
        };
        servers.get().into_iter().map(offer).collect_view()
    };
    let head = move |tab: Tab| {
        let id = tab.id();
        let Tab { key, server, state } = tab;
        let label = format!("Close the terminal on {server}");
        view! {
            <span class="terminal-tab" data-state=move || state.with(TabState::word)>
                <button
                    type="button" role="tab" id=id aria-controls=format!("terminal-{key}")
                    aria-selected=move || (current.get() == key).to_string() on:click=move |_| current.set(key)
                >
                    <Icon name="terminal" />{server}
                </button>
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small" aria-label=label
                    on:click=move |_| close.run(key)
                >
                    <Icon name="x" />
                </button>
            </span>
        }
    };
    let owned = move || {
        let ids = |tabs: &Vec<Tab>| tabs.iter().map(Tab::id).collect::<Vec<_>>().join(" ");
        tabs.with(ids)
    };
    let none = move || {
        let server = first.get();
        if has_server(deployment, &server) {
            return prose("No terminal is open. Open one above.");
        }
        prose(&format!("The deployment has no server `{server}`."))
    };
    let panel = move |tab: Tab| view! { <TabPanel tab current deployment=id /> };
    view! {
        <div class="terminals">
            <h1 class="sr-only">"Terminals"</h1>
            <div class="terminal-bar">
                <div class="terminal-tabs">
                    // A tab list may have no children but tabs. So it owns them, and they stand beside their close buttons.
                    <div role="tablist" aria-label="Terminals" aria-owns=owned></div>
                    <For each=move || tabs.get() key=|tab| tab.key children=head />
                </div>
                <div class="terminal-offers" role="group" aria-label="Open a terminal">{offers}</div>
            </div>
            <For each=move || tabs.get() key=|tab| tab.key children=panel />
            {move || tabs.with(Vec::is_empty).then(|| view! { <p class="terminal-none quiet">{none}</p> })}
        </div>
    }
}

/// True if the deployment has a server of this name. Tracks.
fn has_server(deployment: Load<Deployment>, name: &str) -> bool {
    deployment.with(|it| {
        let mut resources = it.into_iter().flat_map(|it| &it.resources);
        resources.any(|one| one.resource_type == SERVER && one.name == name)
    })
}
