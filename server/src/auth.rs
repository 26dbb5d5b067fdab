//! Authentication and authorisation of requests.
//!
//! A person has a cookie. Its session contains the cloud's name, the Keystone token and the key to their sealed
//! secrets, and cannot be read without the cookie (see `session_store`). A program sends `X-Auth-Token` and
//! `X-Stackloom-Cloud` instead. Both result in a [`Caller`]: a route with this parameter responds 401 to all others, a
//! route with a [`Member`] responds 403 to users with read access only.

use std::{net::IpAddr, time::Instant};

use api::CurrentUser;
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use engine::{Actor, Tenant, VaultKey};
use openstack::CloudConfig;
use serde::{Deserialize, Serialize};
use store::SessionOwner;
use time::OffsetDateTime;
use tower_sessions::{
    Expiry, Session,
    session::{self, Id},
    session_store,
};
use tracing::Instrument;

use crate::{
    attempts::AddressKey,
    audit::{Recorder, Who},
    client::ClientAddress,
    codes,
    config::Config,
    doors::too_many_here,
    problem::{Error, Result},
    services::Services,
    session_store::session_failed,
    token_logins::not_signed_in,
};

/// Name of the session cookie over plain HTTP.
pub const COOKIE: &str = "stackloom_session";
/// Name of the session cookie over TLS. Browsers accept a name with this prefix from this host over TLS only, so that
/// other hosts of the domain cannot set it.
pub const TLS_COOKIE: &str = "__Host-stackloom_session";
/// Header with a Keystone token.
pub const TOKEN_HEADER: &str = "x-auth-token";
/// Header with the name of the token's cloud.
pub const CLOUD_HEADER: &str = "x-stackloom-cloud";

const SESSION_KEY: &str = "login";

/// An authenticated user.
#[derive(Clone)]
pub struct Caller {
    /// The user's data for pages, without quotas.
    pub me: CurrentUser,
    /// The user's identity for the engine.
    pub actor: Actor,
}

/// A [`Caller`] with a role for changes.
pub struct Member(pub Caller);

impl Caller {
    /// The caller of a session that the cloud has accepted.
    ///
    /// # Errors
    /// If the token is not scoped to a project. Everything that is stored belongs to one.
    pub fn new(
        config: &Config,
        cloud: &CloudConfig,
        session: openstack::Session,
        vault_key: Option<VaultKey>,
    ) -> Result<Caller> {
        let project = session.project().ok_or_else(|| {
            Error::new(
                codes::UNKNOWN_PROJECT,
                "The token is not scoped to a project. Everything in Stackloom belongs to one.",
            )
            .hint("Log in to a project.")
            .path("project")
        })?;
        let me = CurrentUser {
            cloud: cloud.name.clone(),
            user: session.user().name.clone(),
            project: project.name.clone(),
            project_id: project.id.clone(),
            roles: session
                .roles()
                .iter()
                .map(|role| role.name.clone())
                .collect(),
            can_change: config
                .member_roles
                .iter()
                .any(|role| session.has_role(role)),
            member_roles: config.member_roles.clone(),
            expires: session.expires_at().to_string(),
            is_restricted: session.is_restricted(),
            quotas: Default::default(),
        };
        let tenant = Tenant {
            cloud: cloud.name.clone(),
            project_id: project.id.clone(),
        };
        let user = me.user.clone();
        Ok(Caller {
            me,
            actor: Actor {
                tenant,
                user,
                session,
                vault_key,
            },
        })
    }

    /// The owner of the caller's sessions.
    pub fn owner(&self) -> SessionOwner {
        SessionOwner {
            cloud: self.me.cloud.clone(),
            user_id: self.actor.session.user().id.clone(),
        }
    }

    /// The project that the caller works in.
    pub fn tenant(&self) -> &Tenant {
        &self.actor.tenant
    }
}

impl FromRequestParts<Services> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, services: &Services) -> Result<Caller> {
        let (login, browser) = login_of(parts).await?;
        if browser.is_none() {
            check_token(services, &login, parts).await?;
        }
        let session = openstack_session(services, &login).await?;
        let cloud = session.cloud().clone();
        let caller = Caller::new(&services.config, &cloud, session, login.vault_key())?;
        if let Some(who) = parts.extensions.get::<Who>() {
            who.is(&caller.me.user, caller.tenant());
        }
        Ok(caller)
    }
}

/// The login of a request, from its headers or else from its session. Also returns the session's id.
pub async fn login_of(parts: &Parts) -> Result<(Login, Option<Id>)> {
    if let Some(login) = Login::of_headers(&parts.headers)? {
        return Ok((login, None));
    }
    let session = parts.extensions.get::<Session>();
    let session = session.ok_or_else(not_signed_in)?;
    let login = Login::of_session(session).await?;
    Ok((login.ok_or_else(not_signed_in)?, session.id()))
}

/// Checks an unknown token with the cloud, within the limits for unauthenticated clients.
///
/// # Errors
/// If the token was refused, or many tokens from this address were.
pub async fn check_token(services: &Services, login: &Login, parts: &mut Parts) -> Result<()> {
    let cloud = services.cloud(&login.cloud)?;
    if services.tokens.is_known(cloud, &login.token) {
        return Ok(());
    }
    if services.tokens.is_refused(cloud, &login.token) {
        return Err(not_signed_in());
    }
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(parts, services).await;
    let place = AddressKey::of(address);
    let attempts = &services.attempts;
    let begun = attempts.begin_at(place, None, Instant::now());
    begun.map_err(too_many_here)?;
    let entered = services.doors.enter(place).await;
    let _entered = entered.inspect_err(|_full| attempts.withdraw(place))?;
    let checked = services.tokens.session(cloud, &login.token).await;
    if !matches!(&checked, Err(error) if error.is(codes::NOT_SIGNED_IN)) {
        attempts.withdraw(place);
    }
    let (session, is_new) = checked?;
    if is_new && let Some(recorder) = parts.extensions.get::<Recorder>() {
        record_first_use(recorder.clone(), session).await;
    }
    Ok(())
}

/// Records the first use of a token, also if its client has left.
async fn record_first_use(recorder: Recorder, session: openstack::Session) {
    let Some(project) = session.project() else {
        return;
    };
    let tenant = Tenant {
        cloud: session.cloud().name.clone(),
        project_id: project.id.clone(),
    };
    let user = session.user().name.clone();
    let record = async move { recorder.record_first_use((user.as_str(), &tenant)).await };
    let _recorded = tokio::spawn(record.in_current_span()).await;
}

/// The OpenStack session of a login, if the cloud accepts its token.
pub async fn openstack_session(services: &Services, login: &Login) -> Result<openstack::Session> {
    let cloud = services.cloud(&login.cloud)?;
    let (session, _) = services.tokens.session(cloud, &login.token).await?;
    Ok(session)
}

impl FromRequestParts<Services> for Member {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, services: &Services) -> Result<Member> {
        let caller = Caller::from_request_parts(parts, services).await?;
        if caller.me.can_change {
            return Ok(Member(caller));
        }
        let roles = caller
            .me
            .roles
            .iter()
            .map(|role| format!("`{role}`"))
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::new(
            codes::READER_CANNOT_CHANGE,
            format!(
                "`{}` has the role {roles} in project `{}`, which is read-only here.",
                caller.me.user, caller.me.project
            ),
        )
        .hint("Ask the project's administrator for the role `member`."))
    }
}

/// Stores the caller in the session under a new id, against session fixation.
pub async fn sign_in(
    services: &Services,
    session: &Session,
    caller: &Caller,
    address: Option<IpAddr>,
) -> Result<()> {
    let failed = |error| session_failed("opening the session", &error);
    session.cycle_id().await.map_err(failed)?;
    session
        .insert(SESSION_KEY, Login::of_caller(caller))
        .await
        .map_err(failed)?;
    let expires =
        OffsetDateTime::from_unix_timestamp(caller.actor.session.expires_at().as_second())
            .map_err(|error| Error::internal("reading the token's end", error))?;
    session.set_expiry(Some(Expiry::AtDateTime(expires)));
    session.save().await.map_err(failed)?;
    if let Some(id) = session.id() {
        let owner = caller.owner();
        services.sessions.give(&id, &owner, address).await?;
    }
    Ok(())
}

/// True if the session has a login, or cannot be read now. The HTML shell of a page needs no more.
pub async fn is_signed_in(session: &Session) -> bool {
    !matches!(Login::of_session(session).await, Ok(None))
}

/// The record of a session. Has no `Debug`, so that it cannot be logged.
#[derive(Serialize, Deserialize)]
pub struct Login {
    cloud: String,
    token: String,
    vault_key: Option<String>,
}

impl Login {
    fn of_caller(caller: &Caller) -> Login {
        Login {
            cloud: caller.me.cloud.clone(),
            token: caller.actor.session.token().expose().to_owned(),
            vault_key: caller
                .actor
                .vault_key
                .as_ref()
                .map(|key| STANDARD.encode(key.to_bytes())),
        }
    }

    /// The login of a session. `None` if it has none, or one that nobody can read.
    ///
    /// # Errors
    /// If the database fails. That does not end a session.
    async fn of_session(session: &Session) -> Result<Option<Login>> {
        match session.get(SESSION_KEY).await {
            Ok(login) => Ok(login),
            Err(error @ session::Error::Store(session_store::Error::Backend(_))) => {
                Err(session_failed("reading the session", &error))
            }
            Err(error) => {
                tracing::warn!(
                    "a session could not be read, so its owner has to log in again: {error}"
                );
                Ok(None)
            }
        }
    }

    fn of_headers(headers: &HeaderMap) -> Result<Option<Login>> {
        let text = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let Some(token) = text(TOKEN_HEADER) else {
            return Ok(None);
        };
        let cloud = text(CLOUD_HEADER).ok_or_else(|| {
            Error::new(
                codes::NOT_SIGNED_IN,
                "`X-Auth-Token` came without `X-Stackloom-Cloud`.",
            )
            .hint("Name the cloud of the token. `/api/v1/clouds` lists all clouds.")
        })?;
        Ok(Some(Login {
            cloud,
            token,
            vault_key: None,
        }))
    }

    fn vault_key(&self) -> Option<VaultKey> {
        let bytes = STANDARD.decode(self.vault_key.as_ref()?).ok()?;
        Some(VaultKey::from_bytes(bytes.try_into().ok()?))
    }
}
