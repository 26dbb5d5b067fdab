//! The logged-in user.

use api::CurrentUser;
use leptos::prelude::*;

use crate::{browser, client};

/// Session of this page.
#[derive(Clone, Copy)]
pub struct Session {
    /// The user. `None` until the server has responded.
    pub me: RwSignal<Option<CurrentUser>>,
}

/// Provides the session, for [`crate::App`].
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
    /// Fetches the logged-in user, if not loaded yet.
    pub fn ensure(self) {
        if self.me.try_with_untracked(Option::is_some) != Some(false) {
            return;
        }
        leptos::task::spawn_local(async move {
            match client::me().await {
                Ok(me) => {
                    self.me.try_set(Some(me));
                }
                // The client redirects to the login page.
                Err(problem) if problem.status == 401 => {}
                Err(_) => browser::after_ms(3_000, move || self.ensure()),
            }
        });
    }

    /// True if the user has permission to make changes. False until the page is hydrated and the user is loaded,
    /// because an earlier click would be lost.
    pub fn can_change(self) -> bool {
        self.me
            .with(|me| me.as_ref().is_some_and(|me| me.can_change))
    }

    /// Ends the session and opens the login page.
    pub fn log_out(self) {
        leptos::task::spawn_local(async move {
            // Without a response the cookie stays, but the user still leaves the page.
            let _ = client::logout().await;
            self.me.try_set(None);
            browser::forget_tab();
            browser::navigate("/login");
        });
    }
}
