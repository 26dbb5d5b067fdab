//! The servers' present state in the cloud, and the menu that starts, stops and reboots them.

use api::{Deployment, LiveServer, PowerAction};
use leptos::prelude::*;

use super::live::polled;
use crate::{
    browser, client, links,
    load::Load,
    session::use_session,
    ui::{Icon, Menu, Question, menu, plain_text, use_confirm, use_toasts},
};

/// Nova's status of a running server.
const RUNNING: &str = "ACTIVE";

/// Times after an action at which the states are read again, in milliseconds: the page's interval is longer than most actions.
const LOOK_AGAIN_MS: [i32; 3] = [2_000, 6_000, 10_000];

/// The servers as the cloud has them, refreshed at an interval.
pub fn live_servers(deployment: Load<Deployment>) -> Load<Vec<LiveServer>> {
    polled(deployment, |id| async move { client::servers(&id).await })
}

/// Nova's status of a suspended server.
const SUSPENDED: &str = "SUSPENDED";

/// The state of a server in the cloud, and its addresses.
#[component]
pub fn LiveState(
    /// Name of the server.
    name: String,
    /// True if the server is suspended with its deployment.
    is_suspended: bool,
    /// The servers.
    servers: Load<Vec<LiveServer>>,
) -> impl IntoView {
    let expected = if is_suspended { SUSPENDED } else { RUNNING };
    move || {
        servers.with(|all| {
            let server = all?.iter().find(|server| server.name == name)?;
            let (state, is_expected) = match (&server.status, &server.task) {
                (None, _) => ("gone from the cloud".to_owned(), false),
                (Some(status), Some(task)) => (format!("{status}, {task}"), false),
                (Some(status), None) => (status.clone(), status == expected),
            };
            let tone = (!is_expected).then_some("warning");
            let title = server.fault.clone();
            let addresses = server.addresses.join(", ");
            Some(view! {
                <span class="server-live">
                    <span class="pill" data-tone=tone title=title>{state}</span>
                    {(!addresses.is_empty()).then(|| view! { <span class="meta mono">{addresses}</span> })}
                </span>
            })
        })
    }
}

/// Link to the terminal of a server, or a button that tells why there is none.
#[component]
pub fn TerminalButton(
    /// Id of the deployment.
    deployment: String,
    /// Name of the server.
    name: String,
    /// The servers.
    servers: Load<Vec<LiveServer>>,
) -> impl IntoView {
    let session = use_session();
    let href = links::terminal(&deployment, &name);
    let label = format!("Terminal on {name}");
    let obstacle = Memo::new(move |_| {
        servers.with(|all| {
            let server = all?.iter().find(|server| server.name == name)?;
            server.no_terminal.clone()
        })
    });
    let content = || view! { <Icon name="terminal" />"Terminal" };
    move || {
        if !session.can_change() {
            return ().into_any();
        }
        match obstacle.get() {
            Some(why) => {
                let why = format!("No terminal: {}.", plain_text(&why));
                view! {
                    <button type="button" class="button" data-size="small" disabled aria-label=format!("{label}. {why}") title=why.clone()>
                        {content()}
                    </button>
                }
                .into_any()
            }
            None => view! {
                <a class="button" data-size="small" href=href.clone() aria-label=label.clone()>{content()}</a>
            }
            .into_any(),
        }
    }
}

/// The menu of a server.
#[component]
pub fn PowerMenu(
    /// Id of the deployment.
    deployment: String,
    /// Name of the server.
    name: String,
    /// Number of the menu on the page.
    number: usize,
    /// The servers.
    servers: Load<Vec<LiveServer>>,
) -> impl IntoView {
    let session = use_session();
    let (confirm, toasts) = (use_confirm(), use_toasts());
    let place = StoredValue::new((deployment, name.clone()));
    let menu_id = format!("power-{number}");
    let close = StoredValue::new(menu_id.clone());
    let act = move |action: PowerAction| {
        let (deployment, name) = place.get_value();
        leptos::task::spawn_local(async move {
            match client::power(&deployment, &name, action).await {
                Ok(()) => {
                    toasts.done(format!("{name} {}", under_way(action)));
                    servers.reload();
                    for pause_ms in LOOK_AGAIN_MS {
                        browser::after_ms(pause_ms, move || servers.reload());
                    }
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    let ask = move |action: PowerAction| {
        close.with_value(|id| menu::close(id));
        let name = place.with_value(|(_, name)| name.clone());
        let (title, action_name) = match action {
            PowerAction::Start => return act(action),
            PowerAction::Stop => (format!("Stop {name}?"), "Stop"),
            PowerAction::Reboot => (format!("Reboot {name}?"), "Reboot"),
        };
        let question = Question {
            title,
            body: vec!["What runs on the server ends. Its disks and addresses stay.".to_owned()],
            items: Vec::new(),
            action: action_name.to_owned(),
            danger: true,
        };
        confirm.ask(question, move || act(action));
    };
    let is_running = move || {
        servers.with(|all| {
            let name = place.with_value(|(_, name)| name.clone());
            let server = all?.iter().find(|server| server.name == name)?;
            Some(server.status.as_deref() == Some(RUNNING))
        })
    };
    let label = format!("Power of {name}");
    let items = move || {
        match is_running() {
        None => view! { <p class="menu-note">"The cloud does not report the server's state."</p> }.into_any(),
        Some(false) => view! {
            <button type="button" class="menu-item" on:click=move |_| ask(PowerAction::Start)><Icon name="play" />"Start"</button>
        }
        .into_any(),
        Some(true) => view! {
            <button type="button" class="menu-item" on:click=move |_| ask(PowerAction::Reboot)><Icon name="rotate-cw" />"Reboot"</button>
            <button type="button" class="menu-item" data-danger on:click=move |_| ask(PowerAction::Stop)><Icon name="power" />"Stop"</button>
        }
        .into_any(),
    }
    };
    let menu = StoredValue::new((menu_id, label));
    move || {
        session.can_change().then(|| {
            let (id, label) = menu.get_value();
            view! {
                <Menu id label button=view! { <Icon name="power" /> }.into_any()>{items}</Menu>
            }
        })
    }
}

fn under_way(action: PowerAction) -> &'static str {
    match action {
        PowerAction::Start => "is being started",
        PowerAction::Stop => "is being stopped",
        PowerAction::Reboot => "is being rebooted",
    }
}
