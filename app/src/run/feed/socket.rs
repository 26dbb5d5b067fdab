//! The websocket of a run page: opened after the last event number, and again when it is lost or silent.

use std::cell::Cell;

use api::Event;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{CloseEvent, MessageEvent, WebSocket};

use super::{Feed, Freshness};
use crate::{browser, client};

/// Websocket close code for a normal closure: the run has ended.
const CLOSED_NORMALLY: u16 = 1000;

/// Websocket close code of the server for a page that is too slow for live events.
const CLOSED_TOO_SLOW: u16 = 1013;

/// Pause before a lost websocket is opened again, in milliseconds. Each failure doubles it.
const RETRY_MS: i32 = 250;

/// Maximum number of these doublings: the longest pause is 8 s.
const RETRY_DOUBLINGS_MAX: u32 = 5;

/// Websocket with its callbacks. Dropping it closes the socket and ends the callbacks.
pub(super) struct Socket {
    socket: WebSocket,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_close: Closure<dyn FnMut(CloseEvent)>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        // Closing a closed socket has no effect.
        let _ = self.socket.close();
    }
}

impl Feed {
    pub(super) fn connect(self) {
        let Some((id, generation)) = self.at() else {
            return;
        };
        let Some(location) = browser::window().map(|window| window.location()) else {
            return;
        };
        let (Ok(scheme), Ok(host)) = (location.protocol(), location.host()) else {
            return;
        };
        let scheme = if scheme == "https:" { "wss" } else { "ws" };
        let address = format!(
            "{scheme}://{host}/api/v1/runs/{}/stream?after={}",
            browser::encode(&id),
            self.last()
        );
        let Ok(socket) = WebSocket::new(&address) else {
            self.retry();
            return;
        };
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            let Some(text) = message.data().as_string() else {
                return;
            };
            // Messages that are not lists of events are ignored.
            let Ok(events) = serde_json::from_str::<Vec<Event>>(&text) else {
                return;
            };
            self.inner.try_update_value(|inner| {
                inner.failures = 0;
                inner.heard_ms = browser::now_ms();
                inner.waiting.extend(events);
            });
            self.ask_for_frame();
        });
        let was_open = Cell::new(false);
        let on_close = Closure::<dyn FnMut(CloseEvent)>::new(move |event: CloseEvent| {
            if !self.is_current(generation) || was_open.replace(true) {
                return;
            }
            if event.code() == CLOSED_NORMALLY {
                // Delayed, because the last events can still wait for their frame.
                browser::after_ms(50, move || self.finish());
            } else if event.code() == CLOSED_TOO_SLOW {
                // The missed events are fetched from storage, after the last one that is here. Not in the socket's own
                // callback, which would drop itself.
                browser::after_ms(0, move || {
                    if self.is_current(generation) {
                        self.load();
                    }
                });
            } else {
                self.freshness.try_set(Freshness::Lost);
                self.retry();
            }
        });
        socket.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        self.freshness.try_set(Freshness::Live);
        // Dropping the old socket closes it.
        self.inner.try_update_value(|inner| {
            inner.socket = Some(Socket {
                socket,
                _on_message: on_message,
                _on_close: on_close,
            });
        });
    }

    /// Handles the end of the stream. If the run has not ended, the socket is opened again.
    fn finish(self) {
        let waiting = self
            .inner
            .try_update_value(|inner| std::mem::take(&mut inner.waiting));
        if let Some(waiting) = waiting {
            let fresh = self.take(waiting);
            self.apply(fresh);
        }
        if self.is_over() {
            self.freshness.try_set(Freshness::Complete);
        } else {
            self.retry();
        }
    }

    /// Opens a new socket after the last number. The pause before it grows with every failure.
    pub(super) fn retry(self) {
        let Some((failures, generation)) = self.inner.try_update_value(|inner| {
            inner.failures += 1;
            (inner.failures, inner.generation)
        }) else {
            return;
        };
        let pause_ms = RETRY_MS << failures.min(RETRY_DOUBLINGS_MAX);
        browser::after_ms(pause_ms, move || {
            if self.is_current(generation) {
                self.load();
            }
        });
    }

    pub(super) fn reconnect(self) {
        let generation = self.inner.try_with_value(|inner| inner.generation);
        // Not called in the socket's own callback, which would drop itself.
        browser::after_ms(0, move || {
            if generation.is_some_and(|generation| self.is_current(generation)) {
                self.connect();
            }
        });
    }

    /// Checks a silent socket. It can fail without an event, for example on a suspended machine, or behind a proxy that
    /// swallows frames. If the server has newer events, they are fetched, and another socket is opened.
    ///
    /// A stopped run can be resumed, for example from another page, and then has new events.
    pub(super) fn watch(self) {
        let may_go_on = match self.freshness.try_get_untracked() {
            Some(Freshness::Live) => false,
            Some(Freshness::Complete) if self.can_be_resumed() => true,
            _ => return,
        };
        let Some((id, generation)) = self.at() else {
            return;
        };
        let before = self.last();
        leptos::task::spawn_local(async move {
            let news = client::events_after(&id, before, 1, None).await;
            if !self.is_current(generation) || self.last() != before {
                return;
            }
            match news {
                Ok(news) if may_go_on => {
                    if !news.is_empty() {
                        self.load();
                    }
                }
                // A stopped run is checked in any case.
                Err(_) if may_go_on => {}
                // The events may be in transit: check once more before replacing the socket.
                Ok(news) if !news.is_empty() => browser::after_ms(2_000, move || {
                    if self.is_current(generation) && self.last() == before {
                        self.load();
                    }
                }),
                Ok(_) => {}
                Err(_) => {
                    self.freshness.try_set(Freshness::Lost);
                    self.retry();
                }
            }
        });
    }
}
