//! The connection of this page to the server.
//!
//! It is lost when the browser goes offline, when a read has no response, or when the server cannot use its database. The
//! frame then says so, and the server is asked at intervals. Its first response ends the loss: reads that have failed are
//! repeated, and pages that keep themselves fresh reload. Until then they show what they have.

use leptos::prelude::*;

use crate::{browser, client};

/// Pause before each question to the server, in milliseconds.
const PAUSE_MS: i32 = 1_000;

/// The connection, for pages.
#[derive(Clone, Copy)]
pub struct Connection {
    is_lost: RwSignal<bool>,
}

/// Provides the connection, for [`crate::App`].
pub fn provide_connection() {
    let connection = Connection {
        is_lost: RwSignal::new(false),
    };
    provide_context(connection);
    Effect::new(move |_| {
        let offline = window_event_listener(leptos::ev::offline, move |_| connection.lose());
        on_cleanup(move || offline.remove());
    });
}

/// The connection of this page.
pub fn use_connection() -> Connection {
    expect_context()
}

impl Connection {
    /// True while the server does not respond. Tracks.
    pub fn is_lost(self) -> bool {
        self.is_lost.get()
    }

    /// Begins a loss, which ends with the next response of the server.
    pub fn lose(self) {
        if self.is_lost.try_get_untracked() != Some(false) {
            return;
        }
        self.is_lost.set(true);
        leptos::task::spawn_local(async move {
            browser::pause(PAUSE_MS).await;
            while !client::server_responds().await {
                browser::pause(PAUSE_MS).await;
            }
            self.is_lost.try_set(false);
        });
    }

    /// Calls `callback` at the end of each loss, until the owner is disposed.
    pub fn on_return(self, callback: impl Fn() + 'static) {
        Effect::new(move |was_lost: Option<bool>| {
            let is_lost = self.is_lost.get();
            if was_lost == Some(true) && !is_lost {
                untrack(&callback);
            }
            is_lost
        });
    }
}
