//! The console of a server: its last lines, and the way to its screen.

use api::{ConsoleLog, ansi};
use leptos::{html::Pre, prelude::*};

use crate::{
    client,
    load::{Load, Loaded},
    ui::{CopyButton, Icon, Modal, ProblemCard, prose, skeleton, use_toasts},
};

/// Dialog with the console of a server.
#[component]
pub fn ConsoleDialog(
    /// Id of the deployment.
    deployment: String,
    /// Name of the server's resource. `None` while the dialog is closed.
    server: RwSignal<Option<String>>,
) -> impl IntoView {
    move || {
        let name = server.get()?;
        let open = RwSignal::new(true);
        Effect::new(move |_| {
            if !open.get() {
                server.set(None);
            }
        });
        let title = format!("Console of {name}");
        let place = StoredValue::new((deployment.clone(), name));
        Some(view! {
            <Modal open title size="large">
                <Console place open />
            </Modal>
        })
    }
}

#[component]
fn Console(place: StoredValue<(String, String)>, open: RwSignal<bool>) -> impl IntoView {
    let log = Load::new(move || {
        let (deployment, server) = place.get_value();
        async move { client::console_log(&deployment, &server).await }
    });
    let text = move || match log.state() {
        Loaded::Ready(ConsoleLog { text }) if text.trim().is_empty() => view! {
            <p class="quiet">"The server has written nothing to its console yet."</p>
        }
        .into_any(),
        Loaded::Ready(log) => view! { <Lines text=readable(&log.text) /> }.into_any(),
        Loaded::Loading => skeleton::rows(6),
        Loaded::Failed(problem) => {
            view! { <ProblemCard problem retry=Callback::new(move |()| log.reload()) /> }.into_any()
        }
    };
    let refusal = RwSignal::new(None::<String>);
    let serial = RwSignal::new(None::<String>);
    view! {
        <p class="quiet">"What the server wrote to its console, the last 500 lines. It needs neither SSH nor a network."</p>
        {text}
        {move || refusal.get().map(|why| view! {
            <p class="quiet" role="status">"This cloud offers no graphical console. "{prose(&why)}</p>
        })}
        {move || serial.get().map(|url| view! {
            <p class="quiet" role="status">
                "This cloud offers a serial console only. It is a websocket, which needs a client of its own. Its address contains a token: "
                <code class="id">{url.clone()}</code>
                <CopyButton text=url label=String::from("Copy the address of the serial console") />
            </p>
        })}
        <div class="dialog-actions">
            <GraphicalButton place serial refusal />
            <button type="button" class="button" on:click=move |_| log.reload()><Icon name="refresh-cw" />"Refresh"</button>
            <button type="button" class="button" data-look="primary" on:click=move |_| open.set(false)>"Close"</button>
        </div>
    }
}

/// The lines, scrolled to the last one.
#[component]
fn Lines(text: String) -> impl IntoView {
    let lines = NodeRef::<Pre>::new();
    Effect::new(move |_| {
        if let Some(lines) = lines.get() {
            request_animation_frame(move || lines.set_scroll_top(lines.scroll_height()));
        }
    });
    view! {
        <div class="console">
            <pre class="console-lines" tabindex="0" role="log" aria-label="Console log" node_ref=lines>{text.clone()}</pre>
            <CopyButton text label=String::from("Copy the console log") />
        </div>
    }
}

/// Button that opens the graphical console at the cloud. Then its link: only a click may open a tab.
#[component]
fn GraphicalButton(
    place: StoredValue<(String, String)>,
    /// Receives the address of a serial console.
    serial: RwSignal<Option<String>>,
    /// Receives the cloud's reason.
    refusal: RwSignal<Option<String>>,
) -> impl IntoView {
    let toasts = use_toasts();
    let is_asked = RwSignal::new(false);
    let url = RwSignal::new(None::<String>);
    let ask = move |_| {
        let (deployment, server) = place.get_value();
        is_asked.set(true);
        serial.set(None);
        refusal.set(None);
        leptos::task::spawn_local(async move {
            let answer = client::graphical_console(&deployment, &server).await;
            is_asked.try_set(false);
            match answer {
                Ok(console) if console.url.starts_with("ws") => {
                    serial.try_set(Some(console.url));
                }
                Ok(console) => {
                    url.try_set(Some(console.url));
                }
                Err(problem) if problem.code == "cloud-error" => {
                    refusal.try_set(Some(problem.detail));
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    move || {
        match url.get() {
        Some(url) => view! {
            <a class="button" href=url target="_blank" rel="external noopener noreferrer">
                <Icon name="external-link" />
                "Show the screen in a new tab"
            </a>
        }
        .into_any(),
        None => view! {
            <button type="button" class="button" disabled=is_asked on:click=ask><Icon name="monitor" />"Graphical console"</button>
        }
        .into_any(),
    }
    }
}

/// Lines without escape sequences and without what a carriage return has overwritten.
fn readable(text: &str) -> String {
    let lines = text.lines().map(|line| ansi::plain(ansi::final_text(line)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_messages_are_readable() {
        let text = "[\u{1b}[32m  OK  \u{1b}[0m] Started ssh.service\r\n10 %\r100 %\r\nlogin: ";
        assert_eq!(
            readable(text),
            "[  OK  ] Started ssh.service\n100 %\nlogin: "
        );
    }
}
