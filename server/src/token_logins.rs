//! Results of Keystone's token checks, kept for some minutes in memory only, so that a click does not need a call.
//!
//! A revoked token is detected after that time. While the cloud cannot be reached, a result stays valid until the
//! token's own expiry.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use openstack::{CloudConfig, Secret};
use sha2::{Digest, Sha256};

use crate::{
    codes,
    problem::{Error, Result},
};

const REMEMBERED_FOR: Duration = Duration::from_secs(300);
/// Time for which a refused token is refused again without a call.
const REFUSED_FOR: Duration = Duration::from_secs(30);
const REMEMBERED_MAX: usize = 10_000;

/// The OpenStack sessions by token.
#[derive(Clone, Default)]
pub struct TokenLogins {
    known: Arc<Mutex<HashMap<[u8; 32], Known>>>,
    refused: Arc<Mutex<HashMap<[u8; 32], Instant>>>,
}

#[derive(Clone)]
struct Known {
    session: openstack::Session,
    checked: Instant,
}

impl TokenLogins {
    /// True if the cloud has accepted the token, and it has not expired.
    pub fn is_known(&self, cloud: &CloudConfig, token: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&key(&cloud.name, token));
        known.is_some_and(|known| known.session.expires_at() > jiff::Timestamp::now())
    }

    /// True if the cloud has just refused the token.
    pub fn is_refused(&self, cloud: &CloudConfig, token: &str) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let at = refused.get(&key(&cloud.name, token));
        at.is_some_and(|at| at.elapsed() < REFUSED_FOR)
    }

    /// The OpenStack session of a token that the cloud accepts. True if the token was not known before.
    pub async fn session(
        &self,
        cloud: &CloudConfig,
        token: &str,
    ) -> Result<(openstack::Session, bool)> {
        let key = key(&cloud.name, token);
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        let known = known.filter(|known| known.session.expires_at() > jiff::Timestamp::now());
        if let Some(known) = known
            .as_ref()
            .filter(|known| known.checked.elapsed() < REMEMBERED_FOR)
        {
            return Ok((known.session.clone(), false));
        }
        match openstack::Session::from_token(cloud, Secret::new(token)).await {
            Ok(session) => {
                let is_new = self.remember(&session);
                Ok((session, is_new))
            }
            Err(error) if error.is_transient() && known.is_some() => {
                tracing::warn!(
                    "cloud `{}` cannot check a token, which stays in use: {error}",
                    cloud.name
                );
                let known = known.map(|known| (known.session, false));
                known.ok_or_else(not_signed_in)
            }
            Err(openstack::Error::WrongCredentials { .. }) => {
                self.forget(&cloud.name, token);
                Err(not_signed_in())
            }
            Err(error) => Err(Error::from_login(&error)),
        }
    }

    /// Caches a session after a login, which saves the next check. True if its token was not known before.
    pub fn remember(&self, session: &openstack::Session) -> bool {
        let key = key(&session.cloud().name, session.token().expose());
        let known = Known {
            session: session.clone(),
            checked: Instant::now(),
        };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED_MAX {
            all.retain(|_, known| known.checked.elapsed() < REMEMBERED_FOR);
        }
        if all.len() >= REMEMBERED_MAX {
            all.clear();
        }
        all.insert(key, known).is_none()
    }

    /// Removes a session, and refuses its token for some time.
    pub fn forget(&self, cloud: &str, token: &str) {
        let key = key(cloud, token);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&key);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= REMEMBERED_MAX {
            refused.retain(|_, at| at.elapsed() < REFUSED_FOR);
        }
        if refused.len() >= REMEMBERED_MAX {
            refused.clear();
        }
        refused.insert(key, Instant::now());
    }
}

fn key(cloud: &str, token: &str) -> [u8; 32] {
    Sha256::new()
        .chain_update(cloud)
        .chain_update([0])
        .chain_update(token)
        .finalize()
        .into()
}

/// The refusal of a request without a valid login.
pub fn not_signed_in() -> Error {
    Error::new(codes::NOT_SIGNED_IN, "This needs a login.")
        .hint("Log in, or send `X-Auth-Token` and `X-Stackloom-Cloud`. Sessions end with the cloud's token.")
}
