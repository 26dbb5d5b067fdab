//! A terminal on a server of a deployment, over a websocket.
//!
//! Binary messages are input and output, text messages are JSON: the browser sends [`TerminalRequest`], the server
//! [`TerminalMessage`]. A browser does not learn why a handshake was refused, so only refusals that its page does not
//! cause (no login, a reader, an unknown server) are HTTP responses. All other failures are the message `ended`.
//!
//! Browsers cannot slow a websocket down, so the page reports what is on its screen, and the server sends at most
//! [`TERMINAL_WINDOW`] bytes ahead. Until then the program in the terminal waits. Input and output are two loops: a slow
//! screen does not delay what is typed. The server pings every 20 seconds. A browser that is silent for longer than
//! [`SILENCE`] is gone: its terminal ends, so that the bastion is closed. The browser answers pings for a tab that sleeps,
//! but not while output waits for the tab. The socket is closed with the codes of `stream`.
//!
//! Opening and end are audit events. The content is neither logged nor stored.

use std::{sync::Arc, time::Duration};

use api::{TERMINAL_WINDOW, TerminalMessage, TerminalRequest};
use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::Response,
};
use engine::terminal::{Size, Terminal, TerminalEnd, TerminalEvent, TerminalInput};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use serde::Deserialize;
use tokio::{
    sync::{Semaphore, SemaphorePermit, mpsc},
    time::{Instant, MissedTickBehavior, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    audit::Recorder,
    auth::Member,
    codes,
    extract::Query,
    live_login::LiveLogin,
    problem::{Error, Result, sentence},
    services::Services,
};

const ACTION: &str = "/api/v1/deployments/{id}/servers/{name}/terminal";

const PING_EVERY: Duration = Duration::from_secs(20);
/// Time without a message or pong after which a browser counts as gone.
const SILENCE: Duration = Duration::from_secs(60);
/// Maximum time that a message waits for a browser that does not read.
const SEND_PATIENCE: Duration = Duration::from_secs(60);
/// Maximum time until the browser returns the close frame.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of an input. Pages send long pastes in pieces.
const INPUT_BYTES_MAX: usize = 256 * 1024;
/// Columns and rows that a terminal can have.
const SIZES: std::ops::RangeInclusive<u32> = 1..=1000;

/// The terminal's first size.
#[derive(Deserialize)]
pub struct SizeQuery {
    #[serde(default = "default_columns")]
    columns: u32,
    #[serde(default = "default_rows")]
    rows: u32,
}

fn default_columns() -> u32 {
    80
}

fn default_rows() -> u32 {
    24
}

/// A shell on a server of the deployment; a websocket.
///
/// Binary messages are input and output. Text messages are JSON: the client sends `{"type": "resize", "columns": 80,
/// "rows": 24}` and `{"type": "shown", "bytes": N}`, the server `{"type": "opened"}` and `{"type": "ended", "reason":
/// "..."}`. At most 1 MiB of output is sent before it is reported as shown. The login is that of the deployment's key. Closes with 1000 after the end of the shell, with 1012 when the server stops, with 1008 when the login has ended.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/servers/{name}/terminal", tag = "deployments", params(("id" = String, Path), ("name" = String, Path, description = "Name of the server's resource."), ("columns" = Option<u32>, Query), ("rows" = Option<u32>, Query)), responses((status = 101)))]
pub async fn open(
    State(services): State<Services>,
    Member(caller): Member,
    login: LiveLogin,
    Extension(recorder): Extension<Recorder>,
    Path((id, name)): Path<(String, String)>,
    Query(query): Query<SizeQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response> {
    let engine = &services.engine;
    engine.check_server(caller.tenant(), &id, &name).await?;
    let upgrade = upgrade.map_err(|_| {
        Error::new(
            codes::INVALID_REQUEST,
            "This path supports the websocket protocol only.",
        )
        .hint("Open it with a websocket.")
    })?;
    let size = within(query.columns, query.rows);
    let (engine, closing) = (engine.clone(), services.closing.clone());
    let upgrade = upgrade.max_message_size(INPUT_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let begun = Instant::now();
        let who = (caller.me.user.as_str(), caller.tenant());
        let opened = engine.open_terminal(&caller.actor, &id, &name, size).await;
        let opened = opened.map_err(Error::from);
        let status = opened
            .as_ref()
            .map_or_else(Error::status, |_| StatusCode::SWITCHING_PROTOCOLS);
        let code = opened.as_ref().err().map(Error::code);
        recorder
            .record(who, &format!("OPEN {ACTION}"), status, code)
            .await;
        match opened {
            Err(error) => refuse(socket, &error).await,
            Ok(terminal) => {
                serve(socket, terminal, closing, login).await;
                let action = format!("CLOSE {ACTION} after {} s", begun.elapsed().as_secs());
                recorder.record(who, &action, StatusCode::OK, None).await;
            }
        }
    }))
}

fn within(columns: u32, rows: u32) -> Size {
    let within = |number: u32| number.clamp(*SIZES.start(), *SIZES.end());
    Size {
        columns: within(columns),
        rows: within(rows),
    }
}

async fn refuse(socket: WebSocket, error: &Error) {
    let (to, from) = socket.split();
    let mut to = Outwards(to, window());
    let reason = error.sentences();
    if to.end(reason, close_code::NORMAL, "not opened").await {
        answered(from).await;
    }
}

async fn serve(
    socket: WebSocket,
    terminal: Terminal,
    closing: CancellationToken,
    login: LiveLogin,
) {
    let (to, from) = socket.split();
    let input = terminal.input();
    let window = window();
    let mut inwards = std::pin::pin!(inwards(from, input, window.clone()));
    tokio::select! {
        () = Outwards(to, window).carry(terminal, closing, login) => {
            // The closing handshake, as in `stream`.
            let _ = timeout(GOODBYE_PATIENCE, inwards).await;
        }
        () = &mut inwards => {}
    }
}

/// The output that may be on its way, in bytes.
type Window = Arc<Semaphore>;

fn window() -> Window {
    Arc::new(Semaphore::new(TERMINAL_WINDOW as usize))
}

/// The direction to the browser.
struct Outwards(SplitSink<WebSocket, Message>, Window);

impl Outwards {
    async fn carry(mut self, mut terminal: Terminal, closing: CancellationToken, login: LiveLogin) {
        let mut logged_out = std::pin::pin!(login.ended());
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let window = self.1.clone();
        // Output that waits for room in the window.
        let mut waiting = None::<Bytes>;
        loop {
            let length = waiting
                .as_ref()
                .map_or(0, |bytes| bytes.len().min(TERMINAL_WINDOW as usize));
            let message = tokio::select! {
                room = window.acquire_many(length as u32), if waiting.is_some() => {
                    room.into_iter().for_each(SemaphorePermit::forget);
                    Message::Binary(waiting.take().unwrap_or_default())
                }
                event = terminal.next(), if waiting.is_none() => match event {
                    Some(TerminalEvent::Output(bytes)) => {
                        waiting = Some(bytes);
                        continue;
                    }
                    Some(TerminalEvent::Opened) => text(&TerminalMessage::Opened),
                    Some(TerminalEvent::Ended(end)) => {
                        let (reason, code) = explained(end);
                        self.end(reason, code, "the terminal has ended").await;
                        return;
                    }
                    None => {
                        let reason = "The server failed. Its log has more.".to_owned();
                        self.end(reason, close_code::ERROR, "the server failed").await;
                        return;
                    }
                },
                _ = ping.tick() => Message::Ping(Bytes::new()),
                () = closing.cancelled() => {
                    let (reason, code) = explained(TerminalEnd::ServerStops);
                    self.end(reason, code, "the server stops").await;
                    return;
                }
                () = &mut logged_out => {
                    let (reason, code) = explained(TerminalEnd::LoggedOut);
                    self.end(reason, code, "the login has ended").await;
                    return;
                }
            };
            if !self.send(message).await {
                return;
            }
        }
    }

    /// Sends the last message and the close frame. False if the browser is gone.
    async fn end(&mut self, reason: String, code: u16, short: &'static str) -> bool {
        let close = Message::Close(Some(CloseFrame {
            code,
            reason: short.into(),
        }));
        self.send(text(&TerminalMessage::Ended { reason })).await && self.send(close).await
    }

    async fn send(&mut self, message: Message) -> bool {
        matches!(
            timeout(SEND_PATIENCE, self.0.send(message)).await,
            Ok(Ok(()))
        )
    }
}

/// Passes the browser's messages on, until it closes the socket or is silent for too long.
async fn inwards(
    mut from: SplitStream<WebSocket>,
    input: mpsc::Sender<TerminalInput>,
    window: Window,
) {
    while let Ok(Some(Ok(message))) = timeout(SILENCE, from.next()).await {
        let message = match message {
            Message::Binary(bytes) => TerminalInput::Bytes(bytes),
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(TerminalRequest::Resize { columns, rows }) => {
                    TerminalInput::Resize(within(columns, rows))
                }
                Ok(TerminalRequest::Shown { bytes }) => {
                    let used =
                        (TERMINAL_WINDOW as usize).saturating_sub(window.available_permits());
                    window.add_permits(used.min(bytes as usize));
                    continue;
                }
                Err(_unknown) => continue,
            },
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => continue,
        };
        // After the end of the terminal the close frame is still to come.
        let _ = input.send(message).await;
    }
}

async fn answered(mut from: SplitStream<WebSocket>) {
    let goodbye = async { while let Some(Ok(_)) = from.next().await {} };
    let _ = timeout(GOODBYE_PATIENCE, goodbye).await;
}

fn text(message: &TerminalMessage) -> Message {
    Message::text(serde_json::to_string(message).expect("the message is made of strings"))
}

/// The end of a terminal for users, and the code with which the socket is closed.
fn explained(end: TerminalEnd) -> (String, u16) {
    match end {
        TerminalEnd::Exited(Some(code)) => (
            format!("The shell has ended with exit code {code}."),
            close_code::NORMAL,
        ),
        TerminalEnd::Exited(None) => (
            "The connection to the server was lost.".into(),
            close_code::NORMAL,
        ),
        TerminalEnd::Idle(limit) => (
            format!(
                "Nothing was typed or shown for {} minutes.",
                limit.as_secs().div_ceil(60)
            ),
            close_code::NORMAL,
        ),
        TerminalEnd::LoggedOut => (
            "The login has ended. Log in again.".into(),
            close_code::POLICY,
        ),
        TerminalEnd::ServerStops => (
            "The server of Stackloom stops. Connect again in a minute.".into(),
            close_code::RESTART,
        ),
        TerminalEnd::Failed(why) => (sentence(&why), close_code::NORMAL),
    }
}
