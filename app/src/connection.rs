//! The connection of this page to the server.
//!
//! It is lost when the browser goes offline, when a request has no response, or when the server cannot use its database. The
//! frame then says so, and the server is asked at intervals. Its first response ends the loss: reads that have failed are
//! repeated, and pages that keep themselves fresh reload. Until then they show what they have.

use leptos::prelude::*;

use crate::{
    browser,
    client::{self, Outage},
};

/// Pause before each question to the server, in milliseconds.
const PAUSE_MS: i32 = 1_000;

/// The connection, for pages.
#[derive(Clone, Copy)]
pub struct Connection {
    outage: RwSignal<Option<Outage>>,
}

/// Provides the connection, for [`crate::App`].
pub fn provide_connection() {
    let connection = Connection {
        outage: RwSignal::new(None),
    };
    provide_context(connection);
    Effect::new(move |_| {
        client::on_outage(move |outage| connection.lose(outage));
        let offline = window_event_listener(leptos::ev::offline, move |_| {
            connection.lose(Outage::Connection);
        });
        on_cleanup(move || offline.remove());
    });
}

/// The connection of this page.
pub fn use_connection() -> Connection {
    expect_context()
}

impl Connection {
    /// The cause of the present loss. `None` while the server responds. Tracks.
    pub fn outage(self) -> Option<Outage> {
        self.outage.get()
    }

    /// True while the server does not respond. Tracks.
    pub fn is_lost(self) -> bool {
        self.outage().is_some()
    }

    /// Begins a loss, which ends with the next response of the server.
    fn lose(self, outage: Outage) {
        if self.outage.try_get_untracked() != Some(None) {
            return;
        }
        self.outage.set(Some(outage));
        leptos::task::spawn_local(async move {
            let mut before = Some(outage);
            while before.is_some() {
                browser::pause(PAUSE_MS).await;
                let now = client::outage().await;
                if now != before {
                    self.outage.try_set(now);
                }
                before = now;
            }
        });
    }

    /// Calls `callback` at the end of each loss, until the owner is disposed.
    pub fn on_return(self, callback: impl Fn() + 'static) {
        Effect::new(move |was_lost: Option<bool>| {
            let is_lost = self.is_lost();
            if was_lost == Some(true) && !is_lost {
                untrack(&callback);
            }
            is_lost
        });
    }
}
