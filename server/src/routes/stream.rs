//! The live events of a run, over a websocket.
//!
//! Every text frame is one JSON array of events, in order of `seq` and without gaps: first the stored events after
//! `?after=N`, then new ones. A client that lost its socket opens another one with the number of its last event. Then
//! no event is missing or repeated. The server pings every 20 seconds, and drops a connection from which nothing came for
//! a minute. Otherwise it closes with these codes:
//!
//! - 1000 after the run's final event,
//! - 1008 when the login of the socket has ended, so that the client must log in again,
//! - 1011 when the server or its database failed,
//! - 1012 when the server stops and the client should reconnect,
//! - 1013 when the client is too slow for live events, with the reason `resume after N`: it should reconnect with
//!   `?after=N`, and then gets what it missed from storage.
//!
//! All viewers of a run share the JSON texts of its live events. A slow client delays no others. A viewer holds little
//! memory: frames have a limited size, because a socket keeps a buffer for its largest one, and compression, with its
//! tables for each socket, is not offered.
//!
//! An event after a pause is sent at once. Events in quick succession are sent together, every [`PACE`] or, with many
//! viewers, less often (see [`pace`]), because the wake-up for a frame costs more than its content.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::{
    body::Bytes,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{
            CloseFrame, Message, Utf8Bytes, WebSocket, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    response::Response,
};
use engine::{
    Tenant,
    journal::{EventBatch, EventText, Interruption, TEXT_BYTES},
};
use futures::{
    FutureExt, SinkExt, Stream, StreamExt,
    stream::{self, BoxStream, Fuse, SplitStream},
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, MissedTickBehavior, sleep_until},
};
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

/// Pings, and the silence after which a client counts as gone.
#[derive(Clone, Copy)]
struct Heartbeat {
    ping_every: Duration,
    /// Time without a message or pong.
    silence: Duration,
}

const HEARTBEAT: Heartbeat = Heartbeat {
    ping_every: PING_EVERY,
    silence: Duration::from_secs(60),
};

/// Minimum time between two frames of a viewer.
const PACE: Duration = Duration::from_millis(10);

/// Minimum time between two frames of the server, to whichever viewers. A frame takes about half of it of one processor.
const SERVER_PACE: Duration = Duration::from_micros(100);

/// Viewers of this process.
static VIEWERS: AtomicU32 = AtomicU32::new(0);

/// Maximum size of a frame of several texts. A socket keeps a buffer for its largest frame.
const FRAME_BYTES: usize = TEXT_BYTES;

/// Size of the buffer for messages of a client. They are small: pongs and the close frame.
const READ_BUFFER_BYTES: usize = 512;

/// Maximum time that a frame waits for a client that does not read.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// Time of sending after which the client must have read earlier messages: buffers were full.
const TAKEN_SLOWLY: Duration = Duration::from_secs(1);

/// Maximum time until the client returns the close frame.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(5);

/// The same events as `/events`, then live; a websocket.
///
/// Every text frame is a JSON array of events, in order of `seq` and without a gap. Closes with 1000 after the final
/// event of the run, with 1012 when the server stops, with 1008 when the login has ended, with 1013 and the reason
/// `resume after N` when the client is too slow.
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
    let slot = slot(&services, caller.tenant())?;
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
        .read_buffer_size(READ_BUFFER_BYTES)
        .on_upgrade(move |socket| async move {
            let ended = Box::pin(login.ended());
            serve(socket, events, query.after, HEARTBEAT, closing, ended).await;
            drop(slot);
        }))
}

/// One of the project's live streams. It is free again when the permit is dropped.
///
/// # Errors
/// If the project has too many.
pub(super) fn slot(services: &Services, tenant: &Tenant) -> Result<OwnedSemaphorePermit> {
    let slots = services.sockets.of(tenant);
    slots.try_acquire_owned().map_err(|_| {
        Error::new(
            codes::TOO_MANY_STREAMS,
            "This project has as many live streams open as it may have at once.",
        )
        .hint("Close pages of runs that nobody watches, or use `/events` instead.")
        .retry_after(PING_EVERY)
    })
}

/// Events of the engine.
type Events = BoxStream<'static, Result<EventBatch, Interruption>>;

/// Sends the events after the number `seen`. `ended` completes at the end of the login.
async fn serve(
    socket: WebSocket,
    events: Events,
    mut seen: u64,
    heartbeat: Heartbeat,
    closing: CancellationToken,
    ended: impl Future<Output = ()>,
) {
    let _viewer = Viewer::new();
    let mut ended = pin!(ended);
    // The stream owns an unfinished frame, not the `select!`, so that a ping does not drop it.
    let mut frames = pin!(frames(events, pace));
    let (mut to, mut from) = socket.split();
    let mut ping = tokio::time::interval(heartbeat.ping_every);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    loop {
        // In this order, a pong that waits is read before the silence is judged, a flood of events does not keep the server
        // from pinging, and a flood of messages does not keep it from closing.
        let message = tokio::select! {
            biased;
            () = closing.cancelled() => close(close_code::RESTART, "the server stops"),
            () = &mut ended => close(close_code::POLICY, "the login has ended"),
            // Pongs and other messages have no content. Only the close frame is handled.
            message = from.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {
                    heard = Instant::now();
                    continue;
                }
            },
            _ = ping.tick() => Message::Ping(Vec::new().into()),
            () = sleep_until(heard + heartbeat.silence) => return,
            frame = frames.next() => match frame {
                Some(Ok(frame)) => {
                    seen = frame.last();
                    Message::Text(frame.text())
                }
                Some(Err(Interruption::TooSlow)) => close(close_code::AGAIN, &format!("resume after {seen}")),
                Some(Err(Interruption::Storage(error))) => {
                    tracing::warn!(%error, "a viewer's stream ends early; it will ask again");
                    close(close_code::ERROR, "the database failed; try again")
                }
                None => close(close_code::NORMAL, "the run has ended"),
            },
        };
        let is_last = matches!(message, Message::Close(_));
        let begun = Instant::now();
        let sent = tokio::time::timeout(SEND_PATIENCE, to.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
        if begun.elapsed() >= TAKEN_SLOWLY {
            heard = Instant::now();
        }
        if is_last {
            return answered(from).await;
        }
    }
}

/// Counts in [`VIEWERS`] until it is dropped.
struct Viewer;

impl Viewer {
    fn new() -> Viewer {
        VIEWERS.fetch_add(1, Ordering::Relaxed);
        Viewer
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        VIEWERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Time between two frames of one viewer, such that all together take half of a processor at most.
fn pace() -> Duration {
    PACE.max(SERVER_PACE * VIEWERS.load(Ordering::Relaxed))
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

/// Texts that are sent together. There is at least one.
#[derive(Default)]
struct Frame(Vec<EventText>);

impl Frame {
    fn bytes(&self) -> usize {
        self.0.iter().map(|text| text.json.len()).sum()
    }

    fn has_room_for(&self, text: &EventText) -> bool {
        self.0.is_empty() || self.bytes() + text.json.len() <= FRAME_BYTES
    }

    /// The number of the last event.
    fn last(&self) -> u64 {
        self.0.last().map_or(0, |text| text.last)
    }

    /// All events as one JSON array. The bytes of a single text are shared with the other viewers.
    fn text(&self) -> Utf8Bytes {
        let text = match &self.0[..] {
            [text] => text.json.clone(),
            texts => joined(texts),
        };
        Utf8Bytes::try_from(text).expect("JSON is UTF-8")
    }
}

/// The arrays of several texts as one.
fn joined(texts: &[EventText]) -> Bytes {
    let mut all = Vec::with_capacity(texts.iter().map(|text| text.json.len()).sum());
    for EventText { json, .. } in texts {
        all.push(if all.is_empty() { b'[' } else { b',' });
        all.extend_from_slice(&json[1..json.len() - 1]);
    }
    all.push(b']');
    all.into()
}

/// The frames: all available events. A frame comes `pace` after the last one, or later if there is no event. An
/// interruption comes after the events before it.
fn frames(
    events: Events,
    pace: fn() -> Duration,
) -> impl Stream<Item = Result<Frame, Interruption>> + Send {
    let frames = Frames {
        events: events.fuse(),
        pace,
        texts: VecDeque::new(),
        interruption: None,
        due: Instant::now(),
    };
    stream::unfold(frames, |mut frames| async move {
        let frame = frames.next().await?;
        Some((frame, frames))
    })
}

struct Frames {
    events: Fuse<Events>,
    pace: fn() -> Duration,
    /// Texts that are not in a frame yet.
    texts: VecDeque<EventText>,
    /// The interruption after these texts.
    interruption: Option<Interruption>,
    /// Time from which the next frame can be sent.
    due: Instant,
}

impl Frames {
    async fn next(&mut self) -> Option<Result<Frame, Interruption>> {
        while self.texts.is_empty() {
            if let Some(interruption) = self.interruption.take() {
                return Some(Err(interruption));
            }
            // To be woken for each event of the pause costs more than to send them together at its end.
            if Instant::now() < self.due {
                sleep_until(self.due).await;
            }
            let next = self.events.next().await?;
            self.take(next);
        }
        let mut frame = Frame::default();
        loop {
            match self.texts.front() {
                Some(text) if frame.has_room_for(text) => frame.0.extend(self.texts.pop_front()),
                Some(_) => break,
                None if frame.bytes() >= FRAME_BYTES || self.interruption.is_some() => break,
                None => match self.events.next().now_or_never().flatten() {
                    Some(next) => self.take(next),
                    None => break,
                },
            }
        }
        self.due = Instant::now() + (self.pace)();
        Some(Ok(frame))
    }

    fn take(&mut self, next: Result<EventBatch, Interruption>) {
        match next {
            Ok(batch) => self.texts.extend(batch.texts().iter().cloned()),
            Err(interruption) => self.interruption = Some(interruption),
        }
    }
}

fn close(code: u16, reason: &str) -> Message {
    Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }))
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{Arc, Mutex},
    };

    use api::{Event, EventBody, LogLevel, LogLine, LogStream};
    use axum::{Router, routing::get};
    use tokio::net::TcpListener;
    use tokio_tungstenite::tungstenite;

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

    fn lines(numbers: &[u64]) -> Result<EventBatch, Interruption> {
        let lines: Vec<Event> = numbers.iter().map(|seq| line(*seq)).collect();
        Ok(lines.into())
    }

    fn numbers(text: &str) -> Vec<u64> {
        let events: Vec<Event> = serde_json::from_str(text).unwrap();
        events.iter().map(|event| event.seq).collect()
    }

    #[tokio::test]
    async fn a_line_after_a_pause_goes_at_once_and_a_flood_goes_together() {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let mut frames = pin!(frames(receiver.boxed(), || PACE));
        let sent = |frame: Option<Result<Frame, Interruption>>| {
            let frame = frame.unwrap().unwrap();
            let numbers = numbers(&frame.text());
            assert_eq!(numbers.last(), Some(&frame.last()));
            numbers
        };

        sender.unbounded_send(lines(&[1])).unwrap();
        assert_eq!(sent(frames.next().now_or_never().unwrap()), [1]);

        sender.unbounded_send(lines(&[2, 3])).unwrap();
        assert!(frames.next().now_or_never().is_none(), "it waits for more");
        sender.unbounded_send(lines(&[4])).unwrap();
        assert_eq!(sent(frames.next().await), [2, 3, 4]);

        sender.unbounded_send(lines(&[5])).unwrap();
        sender.unbounded_send(Err(Interruption::TooSlow)).unwrap();
        drop(sender);
        assert_eq!(sent(frames.next().await), [5]);
        assert!(matches!(
            frames.next().await,
            Some(Err(Interruption::TooSlow))
        ));
        assert!(frames.next().await.is_none());
    }

    #[tokio::test]
    async fn a_flood_comes_in_frames_of_limited_size() {
        let all: Vec<u64> = (1..=4000).collect();
        let mut batches: Vec<_> = all.chunks(1500).map(lines).collect();
        batches.push(Err(Interruption::TooSlow));
        let frames: Vec<_> = frames(stream::iter(batches).boxed(), || PACE)
            .collect()
            .await;
        let (interruption, frames) = frames.split_last().unwrap();
        assert!(matches!(interruption, Err(Interruption::TooSlow)));
        let mut seen = Vec::new();
        for frame in frames {
            let text = frame.as_ref().unwrap().text();
            assert!(text.len() < FRAME_BYTES + 500, "{}", text.len());
            seen.extend(numbers(&text));
        }
        assert_eq!(seen, all);
    }

    #[tokio::test]
    async fn a_frame_of_one_text_shares_its_bytes() {
        let batch = lines(&[1, 2]).unwrap();
        let texts = [(); 2].map(|()| Frame(batch.texts().to_vec()).text());
        assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());
        assert_eq!(numbers(&texts[0]), [1, 2]);
    }

    /// Sends these events to a viewer. Returns the numbers that it got, and its close frame.
    async fn viewed(events: Vec<Result<EventBatch, Interruption>>) -> (Vec<u64>, u16, String) {
        let events = Arc::new(Mutex::new(Some(stream::iter(events).boxed())));
        let open = move |upgrade: WebSocketUpgrade| {
            let events = events.lock().unwrap().take().unwrap();
            let closing = CancellationToken::new();
            let answer = upgrade
                .on_upgrade(|socket| serve(socket, events, 7, HEARTBEAT, closing, pending()));
            std::future::ready(answer)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("ws://{}/", listener.local_addr().unwrap());
        let router = Router::new().route("/", get(open));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        let (mut socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        let mut seen = Vec::new();
        loop {
            match socket.next().await.unwrap().unwrap() {
                tungstenite::Message::Text(text) => seen.extend(numbers(&text)),
                tungstenite::Message::Close(Some(close)) => {
                    serving.abort();
                    return (seen, close.code.into(), close.reason.to_string());
                }
                _ => {}
            }
        }
    }

    #[tokio::test]
    async fn an_interrupted_viewer_is_told_where_to_resume() {
        let slow = vec![lines(&[8, 9]), lines(&[10]), Err(Interruption::TooSlow)];
        let told = viewed(slow).await;
        assert_eq!(told, (vec![8, 9, 10], 1013, "resume after 10".into()));
        let told = viewed(vec![Err(Interruption::TooSlow)]).await;
        assert_eq!(told, (vec![], 1013, "resume after 7".into()));

        let failed = Interruption::Storage(store::testing::transient_error());
        let (seen, code, _) = viewed(vec![lines(&[8]), Err(failed)]).await;
        assert_eq!((seen, code), (vec![8], 1011));
        assert_eq!(viewed(vec![lines(&[8])]).await.1, 1000);
    }

    #[tokio::test]
    async fn a_viewer_that_answers_no_ping_is_gone() {
        let (gone, mut left) = tokio::sync::mpsc::channel::<()>(1);
        let open = move |upgrade: WebSocketUpgrade| {
            let gone = gone.clone();
            let answer = upgrade.on_upgrade(move |socket| async move {
                let heartbeat = Heartbeat {
                    ping_every: Duration::from_millis(20),
                    silence: Duration::from_millis(200),
                };
                let closing = CancellationToken::new();
                let events = stream::pending().boxed();
                serve(socket, events, 0, heartbeat, closing, pending()).await;
                // The test may have ended.
                let _ = gone.send(()).await;
            });
            std::future::ready(answer)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("ws://{}/", listener.local_addr().unwrap());
        let router = Router::new().route("/", get(open));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });

        let (mut socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        // Reading answers pings: for several times the silence, the socket stays open.
        for _ in 0..30 {
            let message = socket.next().await.unwrap().unwrap();
            assert!(
                matches!(message, tungstenite::Message::Ping(_)),
                "{message:?}"
            );
        }
        assert!(left.try_recv().is_err());
        left.recv().await.unwrap();
        serving.abort();
    }
}
