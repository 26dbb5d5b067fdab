//! The login of a long connection, such as a socket. The connection must not outlive the login.
//!
//! A request checks its login once. A connection of hours checks it again: at the end of the session (a logout, or
//! another login in the same browser), at the expiry of the token, and periodically, because a token can be revoked and
//! a session can be removed by another process with the same database.

use std::time::Duration;

use axum::{extract::FromRequestParts, http::request::Parts};
use jiff::Timestamp;
use tokio::{sync::broadcast, time::timeout};
use tower_sessions::session::Id;

use crate::{
    auth::{self, Login},
    codes,
    problem::{Error, Result},
    services::Services,
    session_store::Ended,
};

/// The longest time between two checks of a login.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// A login that can end.
pub struct LiveLogin {
    services: Services,
    login: Login,
    /// Id of the browser's session. `None` for programs.
    session: Option<Id>,
    expires: Timestamp,
    /// Subscribed before the login was checked, so that no end is missed.
    ends: broadcast::Receiver<Ended>,
}

impl FromRequestParts<Services> for LiveLogin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, services: &Services) -> Result<LiveLogin> {
        let ends = services.sessions.ends();
        let (login, session) = auth::login_of(parts).await?;
        if session.is_none() {
            auth::check_token(services, &login, parts).await?;
        }
        let known = auth::openstack_session(services, &login).await?;
        Ok(LiveLogin {
            services: services.clone(),
            login,
            session,
            expires: known.expires_at(),
            ends,
        })
    }
}

impl LiveLogin {
    /// Returns when the login has ended.
    pub async fn ended(mut self) {
        // Boxed, so that the requests of a check take memory during the check only, and not during the wait for the next.
        while Box::pin(self.is_valid()).await {
            let left = self.expires.duration_since(Timestamp::now());
            let left = Duration::try_from(left).unwrap_or_default();
            // Without an announcement it is checked after the timeout.
            let _ = timeout(LOOK_EVERY.min(left), self.announced()).await;
        }
    }

    /// Returns when this session was announced as ended, or announcements were missed.
    async fn announced(&mut self) {
        let ours = self.session.as_ref().map(Ended::of);
        while let Ok(ended) = self.ends.recv().await {
            if Some(ended) == ours {
                return;
            }
        }
    }

    async fn is_valid(&self) -> bool {
        if self.expires <= Timestamp::now() {
            return false;
        }
        if let Some(session) = &self.session {
            match self.services.sessions.is_open(session).await {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => tracing::warn!("a session cannot be checked now: {error}"),
            }
        }
        // An unreachable cloud is no reason to end a login.
        match auth::openstack_session(&self.services, &self.login).await {
            Err(error) => !error.is(codes::NOT_SIGNED_IN),
            Ok(_) => true,
        }
    }
}
