//! What happens in a run, while it happens, over a websocket.
//!
//! Every text frame is one JSON array of events, in order of `seq` and without a gap: first what is
//! stored after `?after=N`, then what comes. A client that lost its socket opens another one with
//! the last number that it has; nothing is missing, nothing comes twice. The server pings every 20
//! seconds. It closes with 1000 once the run's final event was sent, with 1012 when the server stops
//! (come back), with 1011 when it failed.
//!
//! A slow client slows nothing but itself: while a frame waits to be taken, the engine's stream is
//! not read, and goes on from storage afterwards.

use std::time::Duration;

use axum::{
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures::{SinkExt, StreamExt, stream::BoxStream};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::events::EventsQuery;
use crate::{
    auth::Caller,
    codes,
    extract::Query,
    problem::{Error, Result},
    services::Services,
};

const PING_EVERY: Duration = Duration::from_secs(20);

/// How long a frame may wait for a client that takes nothing.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// The same events as `/events`, then live; a websocket.
///
/// Every text frame is a JSON array of events, in order of `seq` and without a gap. Closes with 1000
/// after the final event of the run, with 1012 when the server stops.
#[utoipa::path(get, path = "/api/v1/runs/{id}/stream", tag = "runs", params(("id" = String, Path), ("after" = Option<u64>, Query)), responses((status = 101)))]
pub async fn open(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response> {
    let events = services
        .engine
        .stream(caller.tenant(), &id, query.after)
        .await?;
    let upgrade = upgrade.map_err(|_| {
        Error::new(
            codes::INVALID_REQUEST,
            "This path speaks the websocket protocol only.",
        )
        .hint("Open it with a websocket, or ask `/events` instead.")
    })?;
    let closing = services.closing.clone();
    Ok(upgrade
        .max_message_size(4096)
        .on_upgrade(move |socket| serve(socket, events, closing)))
}

async fn serve(
    socket: WebSocket,
    mut events: BoxStream<'static, Vec<api::Event>>,
    closing: CancellationToken,
) {
    let (mut to, mut from) = socket.split();
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            batch = events.next() => match batch {
                Some(batch) => match serde_json::to_string(&batch) {
                    Ok(text) => Message::text(text),
                    Err(error) => {
                        tracing::error!("events could not be written as JSON: {error}");
                        close(close_code::ERROR, "the server failed")
                    }
                },
                None => close(close_code::NORMAL, "the run has ended"),
            },
            _ = ping.tick() => Message::Ping(Vec::new().into()),
            () = closing.cancelled() => close(close_code::RESTART, "the server stops"),
            // Pongs, and whatever else a client says, are of no interest; its leaving is.
            said = from.next() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let is_last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(SEND_PATIENCE, to.send(message)).await;
        if is_last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}
