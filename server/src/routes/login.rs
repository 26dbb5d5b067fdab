//! Login to a cloud, and logout.

use std::time::{Duration, Instant};

use api::{CurrentUser, LoginRequest};
use axum::{Extension, extract::State, http::StatusCode};
use engine::VaultKey;
use openstack::{CloudConfig, Credentials, Domain, Identifier, LoginMethod, Scope};
use serde_json::Value;
use tower_sessions::Session;

use crate::{
    attempts::{Account, AddressKey},
    audit::Who,
    auth::{self, Caller},
    client::ClientAddress,
    codes,
    doors::too_many_here,
    extract::{DONE, Json, SmallJson},
    problem::{Error, Result},
    services::Services,
    session_store::session_failed,
};

/// Opens a session for a user of a cloud.
///
/// The credentials are a password, an application credential or a token, and must be for a project. Runs of the project
/// that paused because a token had expired continue.
#[utoipa::path(post, path = "/api/v1/login", tag = "session", request_body = LoginRequest, responses((status = 200, body = CurrentUser)))]
pub async fn login(
    State(services): State<Services>,
    session: Session,
    ClientAddress(address): ClientAddress,
    Extension(who): Extension<Who>,
    SmallJson(request): SmallJson<Value>,
) -> Result<Json<CurrentUser>> {
    let request = read(request)?;
    let cloud = services.cloud(request.cloud())?;
    let (credentials, scope) = credentials(&request, cloud);
    who.claims_to_be(&cloud.name, user_name(&request), scope.as_ref());
    let attempt = account(&request, cloud).map(|account| account.from(address));
    let place = AddressKey::of(address);
    let begun = services.attempts.begin_at(place, attempt, Instant::now());
    begun.map_err(too_many_here)?;
    if let Some(attempt) = attempt {
        let begun = services.attempts.begin(attempt, Instant::now());
        begun.map_err(|wait| {
            services.attempts.withdraw(place);
            too_early(wait)
        })?;
    }
    let door = services.doors.enter(place).await.inspect_err(|_full| {
        services.attempts.withdraw(place);
        attempt.inspect(|attempt| services.attempts.undecided(*attempt));
    })?;
    let opened = openstack::Session::login(cloud, &credentials, scope.as_ref()).await;
    if !matches!(opened, Err(openstack::Error::WrongCredentials { .. })) {
        services.attempts.withdraw(place);
    }
    match (attempt, &opened) {
        // These errors come after a correct password: a project without access, or an unknown region.
        (
            Some(attempt),
            Ok(_)
            | Err(openstack::Error::UnknownProject { .. } | openstack::Error::UnknownRegion { .. }),
        ) => {
            services.attempts.succeeded(attempt, Instant::now());
        }
        (Some(_), Err(openstack::Error::WrongCredentials { .. })) | (None, _) => {}
        (Some(attempt), Err(_)) => services.attempts.undecided(attempt),
    }
    let opened = opened.map_err(|error| Error::from_login(&error).path(field_at_fault(&error)))?;
    let user_id = opened.user().id.clone();
    let vault_key = tokio::task::spawn_blocking(move || VaultKey::derive(&credentials, &user_id))
        .await
        .map_err(|error| Error::internal("deriving a key", error))?;
    drop(door);
    let caller = Caller::new(&services.config, cloud, opened, vault_key)?;
    who.is(&caller.me.user, caller.tenant());
    services.tokens.remember(&caller.actor.session);
    auth::sign_in(&services, &session, &caller, address).await?;
    tracing::info!(
        cloud = caller.me.cloud,
        project_id = caller.me.project_id,
        "logged in"
    );
    let me = caller.me.clone();
    tokio::spawn(resume_paused(services, caller));
    Ok(Json(me))
}

/// Ends the session. Runs continue with the token that they began with.
///
/// The cloud's token is revoked, unless a run of the project may still work with it, or it was the user's own.
#[utoipa::path(post, path = "/api/v1/logout", tag = "session", responses((status = 204)))]
pub async fn logout(
    State(services): State<Services>,
    session: Session,
    caller: Result<Caller>,
) -> Result<StatusCode> {
    session
        .flush()
        .await
        .map_err(|error| session_failed("ending the session", &error))?;
    if let Ok(caller) = caller {
        // Their token closes the bastions, so it ends after them.
        services.engine.close_terminals(&caller.actor).await;
        // A token that the user brought is not ours to end. It gave no key.
        if caller.actor.vault_key.is_some() {
            end_token(&services, &caller).await;
        }
    }
    Ok(DONE)
}

/// Revokes a session's token, if no active run of the project uses it. A token that stays ends by itself.
async fn end_token(services: &Services, caller: &Caller) {
    let openstack = &caller.actor.session;
    match services.engine.needs_token(&caller.actor).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => return tracing::warn!("a token stays valid: {error}"),
    }
    services
        .tokens
        .forget(&caller.me.cloud, openstack.token().expose());
    if let Err(error) = openstack.revoke().await {
        tracing::warn!("a token stays valid after a logout: {error}");
    }
}

async fn resume_paused(services: Services, caller: Caller) {
    if !caller.me.can_change {
        return;
    }
    if let Err(error) = services.engine.close_bastions(&caller.actor).await {
        tracing::warn!("bastions that were left open cannot be closed: {error}");
    }
    if let Err(error) = services
        .engine
        .delete_unused_credentials(&caller.actor)
        .await
    {
        tracing::warn!("unused application credentials cannot be deleted: {error}");
    }
    match services.engine.resume_paused(&caller.actor).await {
        Ok(runs) if runs.is_empty() => {}
        Ok(runs) => tracing::info!(runs = runs.len(), "paused runs continue"),
        Err(error) => tracing::warn!("paused runs could not be continued: {error}"),
    }
}

/// Parses one of the three kinds of credentials. Errors contain the missing field, but never values, because those are
/// secrets.
fn read(request: Value) -> Result<LoginRequest> {
    let has = |field: &str| request.get(field).is_some();
    let fields: &[&str] = if has("token") {
        &["cloud", "token"]
    } else if has("application_credential_id") || has("application_credential_secret") {
        &[
            "cloud",
            "application_credential_id",
            "application_credential_secret",
        ]
    } else {
        &["cloud", "user", "password", "project"]
    };
    for field in fields {
        if request
            .get(*field)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            return Err(
                Error::new(codes::INVALID_REQUEST, format!("`{field}` is missing.")).path(*field),
            );
        }
    }
    serde_json::from_value(request).map_err(|_| {
        Error::new(codes::INVALID_REQUEST, "The login has none of the three kinds of credentials.")
            .hint("Send cloud, user, password, domain and project, or an application credential's id and secret, or a token.")
    })
}

fn credentials(request: &LoginRequest, cloud: &CloudConfig) -> (Credentials, Option<Scope>) {
    match request {
        LoginRequest::Password {
            user,
            password,
            domain,
            project,
            passcode,
            ..
        } => {
            let named = (!domain.is_empty()).then(|| Domain::Name(domain.clone()));
            let identifier = |name: &str, default: &Domain| Identifier::Name {
                name: name.to_owned(),
                domain: named.clone().unwrap_or_else(|| default.clone()),
            };
            let project = if is_id(project) {
                Identifier::Id(project.clone())
            } else {
                identifier(project, &cloud.project_domain)
            };
            let credentials = Credentials::Password {
                user: identifier(user, &cloud.user_domain),
                password: password.as_str().into(),
                passcode: passcode
                    .as_deref()
                    .map(str::trim)
                    .filter(|code| !code.is_empty())
                    .map(Into::into),
            };
            (credentials, Some(Scope::Project(project)))
        }
        LoginRequest::ApplicationCredential {
            application_credential_id,
            application_credential_secret,
            ..
        } => {
            let secret = application_credential_secret.as_str();
            (
                Credentials::application_credential(application_credential_id, secret),
                None,
            )
        }
        LoginRequest::Token { token, .. } => (Credentials::token(token.as_str()), None),
    }
}

/// The name in a login, for the audit trail. Never a secret.
fn user_name(request: &LoginRequest) -> &str {
    match request {
        LoginRequest::Password { user, .. } => user,
        LoginRequest::ApplicationCredential {
            application_credential_id: id,
            ..
        } => id,
        LoginRequest::Token { .. } => "(token)",
    }
}

/// The account for the rate limit. `None` for a token, which cannot be guessed.
fn account(request: &LoginRequest, cloud: &CloudConfig) -> Option<Account> {
    match request {
        LoginRequest::Password { user, domain, .. } => {
            let own = match &cloud.user_domain {
                Domain::Name(name) | Domain::Id(name) => name.as_str(),
            };
            let domain = if domain.is_empty() { own } else { domain };
            Some(Account::new(&[&cloud.name, domain, user]))
        }
        LoginRequest::ApplicationCredential {
            application_credential_id: id,
            ..
        } => Some(Account::new(&[&cloud.name, id])),
        LoginRequest::Token { .. } => None,
    }
}

fn too_early(wait: Duration) -> Error {
    let seconds = wait.as_secs_f64().ceil();
    Error::new(
        codes::TOO_MANY_ATTEMPTS,
        format!("The last logins to this account failed. The next one from this address is possible in {seconds} s."),
    )
    .hint("Wait, then try again. The account is not locked.")
    .retry_after(wait)
}

/// Keystone's ids are 32 hexadecimal digits. Project names do not have this form.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The field of the login form that caused the error.
fn field_at_fault(error: &openstack::Error) -> &'static str {
    match error {
        openstack::Error::WrongCredentials { method, .. } => match method {
            LoginMethod::Password => "password",
            LoginMethod::ApplicationCredential => "application_credential_secret",
            LoginMethod::Token => "token",
        },
        openstack::Error::SecondFactor { .. } => "passcode",
        openstack::Error::UnknownProject { .. } => "project",
        _ => "cloud",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing(request: Value) -> Option<String> {
        read(request)
            .err()
            .and_then(|error| error.into_problem().path)
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            missing(json!({"cloud": "lab", "user": "demo", "password": "demo"})).as_deref(),
            Some("project")
        );
        assert_eq!(
            missing(json!({"cloud": "lab", "token": ""})).as_deref(),
            Some("token")
        );
        assert_eq!(
            missing(json!({"cloud": "lab", "application_credential_id": "x"})).as_deref(),
            Some("application_credential_secret")
        );
        assert_eq!(
            missing(json!({"cloud": "lab", "user": "demo", "password": 5, "project": "demo"}))
                .as_deref(),
            Some("password")
        );
        assert_eq!(missing(json!([])).as_deref(), Some("cloud"));
        assert_eq!(missing(json!({"cloud": "lab", "token": "abc"})), None);
    }

    #[test]
    fn a_project_is_named_or_given_by_id() {
        let cloud = CloudConfig::new("lab", "http://127.0.0.1:9/v3");
        let login = |project: &str| LoginRequest::Password {
            cloud: "lab".into(),
            user: "demo".into(),
            password: "demo".into(),
            domain: String::new(),
            project: project.into(),
            passcode: None,
        };
        assert_eq!(
            credentials(&login("demo"), &cloud).1,
            Some(Scope::project("demo", "Default"))
        );
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(
            credentials(&login(id), &cloud).1,
            Some(Scope::project_id(id))
        );
    }
}
