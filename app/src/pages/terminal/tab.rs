//! One tab: a terminal, its state, and the ways on after its end.

use api::Problem;
use leptos::{html, prelude::*, task::spawn_local};
use wasm_bindgen::prelude::*;

use super::module::{self, Module, Mounted, Page};
use crate::{
    browser, client, links,
    script::script,
    ui::{Icon, ProblemCard},
};

/// A tab.
#[derive(Clone, PartialEq, Eq)]
pub struct Tab {
    /// Number among all tabs of the page.
    pub key: u32,
    /// Name of the server's resource.
    pub server: String,
    /// State of the terminal.
    pub state: RwSignal<TabState>,
}

impl Tab {
    /// Id of the tab's element.
    pub fn id(&self) -> String {
        format!("terminal-tab-{}", self.key)
    }
}

/// The state of a tab.
#[derive(Clone, PartialEq)]
pub enum TabState {
    /// The script is loaded, or the shell is opened.
    Connecting,
    /// The shell is there.
    Open,
    /// The shell has ended, or was not opened, for this reason.
    Closed(String),
    /// The script could not be loaded.
    Failed(Problem),
}

impl TabState {
    /// The state as a word.
    pub fn word(&self) -> &'static str {
        match self {
            TabState::Connecting => "connecting",
            TabState::Open => "open",
            TabState::Closed(_) | TabState::Failed(_) => "closed",
        }
    }
}

/// The content of a tab. Tabs in the background keep their terminals.
#[component]
pub fn TabPanel(tab: Tab, current: RwSignal<u32>, deployment: Memo<String>) -> impl IntoView {
    let tab_id = StoredValue::new(tab.id());
    let Tab { key, server, state } = tab;
    let place = NodeRef::<html::Div>::new();
    let terminal = RwSignal::new_local(None::<Mounted>);
    let is_current = move || current.get() == key;
    let own = links::terminal(&deployment.get_untracked(), &server);
    let path = format!(
        "/api/v1/deployments/{}/servers/{}/terminal",
        browser::encode(&deployment.get_untracked()),
        browser::encode(&server)
    );
    let label = format!("Terminal on {server}. Press Shift F6 to leave it.");
    let show = move |module: &Module| {
        let Some(place) = place.get_untracked() else {
            return Ok(());
        };
        let page = Page {
            opened: Closure::new(move || drop(state.try_set(TabState::Open))),
            ended: Closure::new(move |reason: String| {
                let reason = if reason.is_empty() {
                    "The connection to Stackloom was lost.".to_owned()
                } else {
                    reason
                };
                state.try_set(TabState::Closed(reason));
            }),
            leave: Closure::new(move || {
                tab_id.try_with_value(|id| browser::focus(id));
            }),
        };
        let mounted = module::mount(module, &place, &path, &label, page)?;
        mounted.connect();
        mounted.focus();
        terminal.try_set(Some(mounted));
        Ok::<(), JsValue>(())
    };
    let show = StoredValue::new_local(show);
    let load = move || {
        state.set(TabState::Connecting);
        spawn_local(async move {
            let missing = || TabState::Failed(client::page_missing());
            let failed = match script("terminal").await {
                Ok(module) => {
                    let shown = show.try_with_value(|show| show(module.unchecked_ref()));
                    shown.is_some_and(|shown| shown.is_err()).then(missing)
                }
                Err(problem) => Some(TabState::Failed(problem)),
            };
            if let Some(failed) = failed {
                state.try_set(failed);
            }
        });
    };
    Effect::new(move |_| {
        if place.get().is_some() {
            load();
        }
    });
    Effect::new(move |_| {
        if is_current() {
            terminal.with(|terminal| terminal.iter().for_each(Mounted::focus));
        }
    });
    on_cleanup(move || {
        let mounted = terminal.try_update_untracked(Option::take);
        mounted.flatten().iter().for_each(Mounted::destroy);
    });
    let again = move |_| {
        state.set(TabState::Connecting);
        spawn_local(async move {
            // A refused websocket does not say that the login has ended. This read leads to the login page then.
            if matches!(client::me().await, Err(problem) if problem.status == 401) {
                return;
            }
            terminal.try_with_untracked(|terminal| {
                terminal.iter().for_each(|terminal| {
                    terminal.connect();
                    terminal.focus();
                });
            });
        });
    };
    let status = move || {
        match state.get() {
        TabState::Connecting => view! { <p role="status">"Connecting…"</p> }.into_any(),
        TabState::Open => ().into_any(),
        TabState::Closed(reason) => view! {
            <p role="status"><strong>"Closed. "</strong>{reason}</p>
            <button type="button" class="button" data-look="primary" on:click=again><Icon name="refresh-cw" />"Connect again"</button>
        }
        .into_any(),
        TabState::Failed(problem) => {
            let retry = Callback::new(move |()| load());
            view! { <ProblemCard problem retry /> }.into_any()
        }
    }
    };
    view! {
        <section
            class="terminal-panel" role="tabpanel" id=format!("terminal-{key}") aria-labelledby=tab_id.get_value()
            hidden=move || !is_current()
        >
            <div class="terminal-screen" node_ref=place></div>
            <footer class="terminal-foot">
                <div class="terminal-status">{status}</div>
                <span class="meta">"All keys go to the server. "<kbd>"Shift"</kbd>" "<kbd>"F6"</kbd>" leaves the terminal."</span>
                <a class="link meta" href=own target="_blank" rel="noopener"><Icon name="external-link" />"New window"</a>
            </footer>
        </section>
    }
}
