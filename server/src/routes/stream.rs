//! The live events of a run, over a websocket.
//!
//! Every text frame is one JSON array of events, in order of `seq` and without gaps: first the stored events after
//! `?after=N`, then new ones. A client that lost its socket opens another one with the number of its last event. Then
//! no event is missing or repeated. The server pings every 20 seconds. It closes with these codes:
//!
//! - 1000 after the run's final event,
//! - 1008 when the login of the socket has ended, so that the client must log in again,
//! - 1011 when the server failed,
//! - 1012 when the server stops and the client should reconnect.
//!
//! A slow client delays no others: while a frame waits for it, the engine's stream is not read, and continues from
//! storage afterwards.
//!
//! An event after a pause is sent at once. Events in quick succession are sent together, every [`PACE`], because for a
//! browser the wake-up for a frame costs more than its content.

use std::{pin::pin, time::Duration};

use axum::{
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures::{
    FutureExt, SinkExt, Stream, StreamExt,
    stream::{self, BoxStream, SplitStream},
};
use tokio::time::{Instant, MissedTickBehavior, timeout_at};
use tokio_util::sync::CancellationToken;

use super::events::EventsQuery;
use crate::{
    auth::Caller,
    codes,
    extract::Query,
    live_login::LiveLogin,
    problem::{Error, Result},
    services::Services,
};

const PING_EVERY: Duration = Duration::from_secs(20);

/// Minimum time between two frames.
const PACE: Duration = Duration::from_millis(10);

/// Approximate number of events in one frame.
const FRAME: usize = 2000;

/// Maximum time that a frame waits for a client that does not read.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time until the client returns the close frame.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(5);

/// The same events as `/events`, then live; a websocket.
///
/// Every text frame is a JSON array of events, in order of `seq` and without a gap. Closes with 1000 after the final
/// event of the run, with 1012 when the server stops, with 1008 when the login has ended.
#[utoipa::path(get, path = "/api/v1/runs/{id}/stream", tag = "runs", params(("id" = String, Path), ("after" = Option<u64>, Query)), responses((status = 101)))]
pub async fn open(
    State(services): State<Services>,
    caller: Caller,
    login: LiveLogin,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response> {
    let events = services
        .engine
        .stream(caller.tenant(), &id, query.after)
        .await?;
    let slots = services.sockets.of(caller.tenant());
    let slot = slots.try_acquire_owned().map_err(|_| {
        Error::new(
            codes::TOO_MANY_STREAMS,
            "This project has as many live streams open as it may have at once.",
        )
        .hint("Close pages of runs that nobody watches, or use `/events` instead.")
        .retry_after(PING_EVERY)
    })?;
    let upgrade = upgrade.map_err(|_| {
        Error::new(
            codes::INVALID_REQUEST,
            "This path supports the websocket protocol only.",
        )
        .hint("Open it with a websocket, or use `/events` instead.")
    })?;
    let closing = services.closing.clone();
    Ok(upgrade
        .max_message_size(4096)
        .on_upgrade(move |socket| async move {
            serve(socket, events, closing, login).await;
            drop(slot);
        }))
}

async fn serve(
    socket: WebSocket,
    events: BoxStream<'static, Vec<api::Event>>,
    closing: CancellationToken,
    login: LiveLogin,
) {
    let mut ended = pin!(login.ended());
    // The stream owns an unfinished frame, not the `select!`, so that a ping does not drop it.
    let mut frames = pin!(frames(events));
    let (mut to, mut from) = socket.split();
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            frame = frames.next() => match frame {
                Some(events) => match serde_json::to_string(&events) {
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
            () = &mut ended => close(close_code::POLICY, "the login has ended"),
            // Messages of the client, such as pongs, are ignored. Only the close frame is handled.
            message = from.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let is_last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(SEND_PATIENCE, to.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
        if is_last {
            return answered(from).await;
        }
    }
}

/// Reads until the client has also closed its side.
///
/// This is the closing handshake of RFC 6455, section 7.1.1. If a connection is dropped with unread data of the client
/// (such as a pong), it is reset. A reset discards data that the client has not read yet: the last events and the close
/// code.
async fn answered(mut from: SplitStream<WebSocket>) {
    let goodbye = async { while let Some(Ok(_)) = from.next().await {} };
    let _ = tokio::time::timeout(GOODBYE_PATIENCE, goodbye).await;
}

/// The frames: all available events, and if the last frame was less than [`PACE`] ago, also the events until then.
fn frames(
    events: BoxStream<'static, Vec<api::Event>>,
) -> impl Stream<Item = Vec<api::Event>> + Send {
    stream::unfold(
        (events.fuse(), Instant::now()),
        |(mut events, due)| async move {
            let mut frame = events.next().await?;
            while frame.len() < FRAME
                && let Some(more) = before(due, events.next()).await
            {
                frame.extend(more);
            }
            Some((frame, (events, Instant::now() + PACE)))
        },
    )
}

/// The next item before `due`. Later, only an item that is available at once.
async fn before<T>(due: Instant, next: impl Future<Output = Option<T>>) -> Option<T> {
    if Instant::now() < due {
        timeout_at(due, next).await.ok().flatten()
    } else {
        next.now_or_never().flatten()
    }
}

fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}

#[cfg(test)]
mod tests {
    use api::{Event, EventBody, LogLevel, LogLine, LogStream};

    use super::*;

    fn line(seq: u64) -> Event {
        Event {
            seq,
            time: String::new(),
            body: EventBody::Log(LogLine {
                step: "web:create".into(),
                host: None,
                play: None,
                task: None,
                stream: LogStream::Engine,
                level: LogLevel::Info,
                text: "hello".into(),
                position: None,
            }),
        }
    }

    fn numbers(frame: Option<Vec<Event>>) -> Vec<u64> {
        frame.into_iter().flatten().map(|event| event.seq).collect()
    }

    #[tokio::test]
    async fn a_line_after_a_pause_goes_at_once_and_a_flood_goes_together() {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let mut frames = pin!(frames(receiver.boxed()));

        sender.unbounded_send(vec![line(1)]).unwrap();
        assert_eq!(numbers(frames.next().now_or_never().unwrap()), [1]);

        sender.unbounded_send(vec![line(2)]).unwrap();
        assert!(frames.next().now_or_never().is_none(), "it waits for more");
        sender.unbounded_send(vec![line(3)]).unwrap();
        assert_eq!(numbers(frames.next().await), [2, 3]);

        sender.unbounded_send(vec![line(4)]).unwrap();
        drop(sender);
        assert_eq!(numbers(frames.next().await), [4]);
        assert!(frames.next().await.is_none());
    }
}
