//! Who is logged in.

use api::Me;
use leptos::prelude::*;

use crate::{browser, client};

/// The person, once known.
#[derive(Clone, Copy)]
pub struct Session {
    /// `None` until the server said who it is.
    pub me: RwSignal<Option<Me>>,
}

/// For [`crate::App`].
pub fn provide_session() {
    provide_context(Session {
        me: RwSignal::new(None),
    });
}

/// The session of this page.
pub fn use_session() -> Session {
    expect_context()
}

impl Session {
    /// Ask the server who is logged in, unless it is known already.
    pub fn ensure(self) {
        if self.me.try_with_untracked(Option::is_some) != Some(false) {
            return;
        }
        leptos::task::spawn_local(async move {
            match client::me().await {
                Ok(me) => {
                    self.me.try_set(Some(me));
                }
                // The login page comes next.
                Err(problem) if problem.status == 401 => {}
                Err(_) => browser::after_ms(3_000, move || self.ensure()),
            }
        });
    }

    /// May change things. Not before the page is live and the server said so: until then a click would be lost.
    pub fn can_change(self) -> bool {
        self.me
            .with(|me| me.as_ref().is_some_and(|me| me.can_change))
    }

    /// End the session and go to the login page.
    pub fn log_out(self) {
        leptos::task::spawn_local(async move {
            // Without an answer the cookie stays, but the person still leaves the page.
            let _ = client::logout().await;
            self.me.try_set(None);
            browser::go("/login");
        });
    }
}
