//! The data of the run page, kept up to date.
//!
//! 1. The run's snapshot is displayed at once.
//! 2. The last log lines and all moves are fetched over REST; see [`history`]. States are displayed when the
//!    replay is complete, so that they never go back in time.
//! 3. The websocket continues after the last event number.
//!
//! Event numbers have no gaps. A duplicate is dropped, and a missing event is fetched. A socket that is lost, or silent
//! while the server has new events, is reopened after the last number.
//!
//! Drawing takes at most half of the page's time: after a slow frame there is a pause of its duration. So many log lines
//! are processed as fast as they arrive, and the page still responds to clicks.

mod history;
mod socket;

use api::{Event, Problem, Run, RunState};
use leptos::prelude::*;

use self::{
    history::{End, first},
    socket::Socket,
};
use super::{
    log_store::LogStore,
    model::{Model, Sequence},
};
use crate::{browser, client, connection::use_connection};

/// Number of events per REST request.
const PAGE: u32 = 5_000;
/// Interval between checks of a silent socket, in milliseconds.
const WATCH_MS: u64 = 15_000;
/// Duration of one frame, in milliseconds.
const FRAME_MS: f64 = 1000.0 / 60.0;
/// Maximum pause between two frames, in milliseconds, even on a slow page.
const REST_MAX_MS: f64 = 250.0;
/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The events so far are being fetched.
    Loading,
    /// Events are displayed as they happen.
    Live,
    /// The connection is lost and will be retried.
    Lost,
    /// The run has ended, and all events are loaded.
    Complete,
}

/// A run with its live events.
#[derive(Clone, Copy)]
pub struct Feed {
    /// The run. `None` until the first response.
    pub model: RwSignal<Option<Model>>,
    /// Reason why the run cannot be displayed.
    pub problem: RwSignal<Option<Problem>>,
    /// State of the connection.
    pub freshness: RwSignal<Freshness>,
    /// All log lines. `log_version` signals their changes.
    pub log: StoredValue<LogStore>,
    /// Changes with the log.
    pub log_version: RwSignal<u32>,
    inner: StoredValue<Inner, LocalStorage>,
}

#[derive(Default)]
struct Inner {
    id: String,
    sequence: Sequence,
    waiting: Vec<Event>,
    frame_asked: bool,
    /// No frame is drawn before this time, in milliseconds since 1970. See the module documentation.
    rest_until_ms: f64,
    socket: Option<Socket>,
    /// Time of the last message of the socket, in milliseconds since 1970.
    heard_ms: f64,
    failures: u32,
    /// Number of the current load. Responses for an earlier load are dropped.
    generation: u32,
}

impl Feed {
    /// Follows the run whose id is in the signal.
    pub fn new(id: Signal<String>) -> Feed {
        let feed = Feed {
            model: RwSignal::new(None),
            problem: RwSignal::new(None),
            freshness: RwSignal::new(Freshness::Loading),
            log: StoredValue::new(LogStore::default()),
            log_version: RwSignal::new(0),
            inner: StoredValue::new_local(Inner::default()),
        };
        Effect::new(move |_| {
            let id = id.get();
            feed.inner.update_value(|inner| {
                *inner = Inner {
                    id,
                    generation: inner.generation + 1,
                    ..Inner::default()
                };
            });
            feed.log.set_value(LogStore::default());
            feed.log_version.update(|version| *version += 1);
            feed.model.set(None);
            feed.load();
        });
        use_connection().on_return(move || feed.watch());
        Effect::new(move |_| {
            let watch = set_interval_with_handle(
                move || {
                    if feed.is_silent() {
                        feed.watch();
                    }
                },
                std::time::Duration::from_millis(WATCH_MS),
            );
            let visible =
                window_event_listener(leptos::ev::visibilitychange, move |_| feed.watch());
            on_cleanup(move || {
                if let Ok(watch) = watch {
                    watch.clear();
                }
                visible.remove();
            });
        });
        feed
    }

    /// True if the socket had no message for the interval of the checks.
    fn is_silent(self) -> bool {
        let heard_ms = self.inner.try_with_value(|inner| inner.heard_ms);
        heard_ms.is_some_and(|heard_ms| browser::now_ms() - heard_ms >= WATCH_MS as f64)
    }

    /// Fetches the run again, for example after a resume or a lost connection.
    pub fn load(self) {
        let Some((id, generation)) = self.at() else {
            return;
        };
        self.problem.try_set(None);
        leptos::task::spawn_local(async move {
            match client::run(&id).await {
                Ok(run) if self.is_current(generation) => self.follow(run, generation).await,
                Ok(_) => {}
                Err(problem) if self.is_current(generation) => {
                    let is_shown = self.model.try_with_untracked(Option::is_some);
                    if is_shown == Some(true) && client::is_temporary(&problem) {
                        self.freshness.try_set(Freshness::Lost);
                        self.retry();
                    } else {
                        self.problem.try_set(Some(problem));
                    }
                }
                Err(_) => {}
            }
        });
    }

    /// The run, and the number of the current load.
    fn at(self) -> Option<(String, u32)> {
        self.inner
            .try_with_value(|inner| (inner.id.clone(), inner.generation))
    }

    fn is_current(self, generation: u32) -> bool {
        self.inner
            .try_with_value(|inner| inner.generation == generation)
            == Some(true)
    }

    fn last(self) -> u64 {
        self.inner
            .try_with_value(|inner| inner.sequence.last)
            .unwrap_or_default()
    }

    /// Fetches the events so far, then opens the socket.
    async fn follow(self, run: Run, generation: u32) {
        let is_first = self
            .model
            .try_with_untracked(Option::is_none)
            .unwrap_or(true);
        let is_here = if is_first {
            self.model.try_set(Some(Model::new(run.clone())));
            self.freshness.try_set(Freshness::Loading);
            self.open(&run, generation).await
        } else {
            self.catch_up(&run.id, generation).await
        };
        if !self.is_current(generation) {
            return;
        }
        if is_here.is_err() {
            self.freshness.try_set(Freshness::Lost);
            self.retry();
            return;
        }
        // Events of a run that was just resumed can be late, but the snapshot is right. A failed run can still be
        // rolled back, with events about it. Otherwise the stream ends at once.
        if self.is_over() && run.state.is_final() && run.state != RunState::Failed {
            self.freshness.try_set(Freshness::Complete);
        } else {
            self.connect();
        }
    }

    /// Fetches the end of the run.
    async fn open(self, run: &Run, generation: u32) -> Result<(), Problem> {
        let end = End::fetch(&run.id).await?;
        if !self.is_current(generation) {
            return Ok(());
        }
        let mut replay = Model::beginning(run);
        for event in &end.moves {
            replay.apply(event);
        }
        self.inner
            .try_update_value(|inner| inner.sequence.last = end.last());
        self.log.try_update_value(|log| {
            let from = first(&end.tail);
            log.insert(end.tail, None, from);
        });
        self.log_version.try_update(|version| *version += 1);
        let cause = replay.cause().map(|step| step.id.clone());
        self.model.try_set(Some(settled(replay, run)));
        // Its last lines explain the failure. They may be older than the end.
        match cause {
            Some(step) => self.load_older(Some(step)).await,
            None => self.load_last_lines().await,
        }
    }

    /// Fetches the events after the last number.
    async fn catch_up(self, run: &str, generation: u32) -> Result<(), Problem> {
        loop {
            let page = client::events_after(run, self.last(), PAGE, None).await?;
            if !self.is_current(generation) {
                return Ok(());
            }
            let is_all = page.len() < PAGE as usize;
            let fresh = self.take(page);
            self.apply(fresh);
            if is_all {
                return Ok(());
            }
        }
    }

    /// True if the run has ended and its last event is here.
    fn is_over(self) -> bool {
        self.model
            .try_with_untracked(|model| {
                model
                    .as_ref()
                    .is_some_and(|model| model.run.state.is_final())
            })
            .unwrap_or(true)
    }

    /// True if the run has ended without success.
    fn can_be_resumed(self) -> bool {
        let state = self
            .model
            .try_with_untracked(|model| model.as_ref().map(|model| model.run.state));
        matches!(
            state.flatten(),
            Some(RunState::Failed | RunState::Cancelled)
        )
    }

    fn take(self, events: Vec<Event>) -> Vec<Event> {
        let mut fresh = Vec::new();
        let mut has_gap = false;
        self.inner.try_update_value(|inner| {
            let taken = inner.sequence.accept(events);
            (fresh, has_gap) = (taken.fresh, taken.has_gap);
        });
        if has_gap {
            self.reconnect();
        }
        fresh
    }

    fn apply(self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        if events
            .iter()
            .any(|event| !matches!(event.body, api::EventBody::Log(_)))
        {
            self.model.try_update(|model| {
                if let Some(model) = model {
                    for event in &events {
                        model.apply(event);
                    }
                }
            });
        }
        self.add_lines(events);
    }

    fn add_lines(self, events: Vec<Event>) {
        let Some(added) = self.log.try_update_value(|log| {
            let before = log.total();
            for event in events {
                log.push(event);
            }
            log.total() != before
        }) else {
            return;
        };
        if added {
            self.log_version.try_update(|version| *version += 1);
        }
    }

    /// Draws new events in the next allowed frame. A hidden tab has no frames, so it updates twice a second.
    fn ask_for_frame(self) {
        let Some((asked, rest_until_ms)) = self.inner.try_update_value(|inner| {
            (
                std::mem::replace(&mut inner.frame_asked, true),
                inner.rest_until_ms,
            )
        }) else {
            return;
        };
        if asked {
            return;
        }
        let rest_ms = rest_until_ms - browser::now_ms();
        if browser::document().is_some_and(|document| document.hidden()) {
            browser::after_ms(500, move || self.draw());
        } else if rest_ms > 0.0 {
            browser::after_ms(rest_ms.ceil() as i32, move || {
                browser::on_next_frame(move || self.draw());
            });
        } else {
            browser::on_next_frame(move || self.draw());
        }
    }

    fn draw(self) {
        let begun_ms = browser::now_ms();
        let waiting = self.inner.try_update_value(|inner| {
            inner.frame_asked = false;
            std::mem::take(&mut inner.waiting)
        });
        let Some(waiting) = waiting else {
            return;
        };
        let fresh = self.take(waiting);
        self.apply(fresh);
        // This task runs after the start of the next frame, when this one is on the screen.
        browser::on_next_frame(move || {
            browser::after_ms(0, move || {
                let now_ms = browser::now_ms();
                let took_ms = now_ms - begun_ms - FRAME_MS;
                self.inner.try_update_value(|inner| {
                    inner.rest_until_ms = now_ms + took_ms.clamp(0.0, REST_MAX_MS);
                });
            });
        });
    }
}

/// Model after a complete replay. Steps without events get their state from the snapshot.
fn settled(mut replay: Model, snapshot: &Run) -> Model {
    let is_silent =
        |step: &api::RunStep| step.state == api::StepState::Waiting && step.attempts == 0;
    for (step, known) in replay.run.steps.iter_mut().zip(&snapshot.steps) {
        if is_silent(step) {
            step.clone_from(known);
        }
    }
    if replay.run.state == api::RunState::Queued {
        replay.run.state = snapshot.state;
        replay.run.reason.clone_from(&snapshot.reason);
    }
    if replay.run.started.is_none() {
        replay.run.started.clone_from(&snapshot.started);
    }
    if replay.run.state.is_final() && snapshot.ended.is_some() {
        replay.run.ended.clone_from(&snapshot.ended);
    }
    replay
}
