//! The audit trail: logins, refusals and every change.
//!
//! A middleware around the API records requests by their method, so that a route that is added later is recorded, too.
//! The caller is known once the route has checked the login: [`Who`] carries it from there to the middleware. It records
//! logins, and all requests of known callers that may change something. Other requests of strangers are in the log only:
//! anybody can send any number of them.
//!
//! The first use of an `X-Auth-Token` is a login, too ([`Recorder::record_first_use`]). Each server records it once, as
//! long as it remembers the token.
//!
//! A failed login has no project: the cloud does not tell whether the named one exists. It is stored with the name as it
//! was given, and the members of the project with this name read it. Neither the answer to the login nor its time
//! depends on whether there is such a project. Failed logins count apart from the events of projects, so that a flood of
//! them pushes out no event of a project. The cloud and the limits on failures slow such a flood down. Logins that a
//! limit refused cost an attacker nothing, so a limited number of them is stored ([`REFUSED_BURST`]).
//!
//! A signal with a valid signature is recorded if it has an effect or the engine refuses it. Its sender is a machine that
//! may repeat it at any rate, so signals above the rate limits of their route are not recorded, and a limited number of
//! signals to one resource is stored ([`SIGNAL_BURST`]). Those that scale a group are always stored: a run follows each.
//! A signal with a wrong signature is a stranger's request.
//!
//! A connection that lasts, such as a terminal, has events of its own: its route records them with a [`Recorder`].
//!
//! An event is stored before the answer is sent. If that fails, the answer is sent all the same, and the log has both. A
//! change is carried out and recorded even if its client leaves before the answer. A handler that panics is an internal
//! error here.
//!
//! Texts that a client chooses are cut, and a project keeps its newest events only ([`EVENTS_MAX`]), so that nobody fills
//! the disk. The server's log (target `audit`) has every event, also those that a flood pushed out or a limit left out.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use api::AuditEvent;
use axum::{
    extract::{FromRequestParts, MatchedPath, OriginalUri, Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use engine::Tenant;
use openstack::{Domain, Identifier, Project, Scope};
use serde_json::json;
use store::{NewAuditEvent, now_text};
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::{
    attempts::AddressKey,
    client::ClientAddress,
    problem::{Error, ProblemCode},
    serve::Counted,
    services::Services,
};

/// Paths below `/api/v1` that only look, whatever their method is.
const ONLY_LOOK: [&str; 5] = [
    "/validate",
    "/plan",
    "/export",
    "/import",
    "/designs/{id}/viewers",
];

/// Paths below `/api/v1` that use a sandbox or a repository and store nothing. Their work ends when the client leaves.
const STORE_NOTHING: [&str; 2] = ["/recipes/lint", "/roles"];

/// Maximum number of events that are kept of one project.
pub const EVENTS_MAX: u32 = 100_000;
/// Maximum number of logins from one address, refused by a limit, that are stored at once.
pub const REFUSED_BURST: u32 = 10;
/// Interval of the logins that are stored after these.
pub const REFUSED_EVERY: Duration = Duration::from_secs(60);
/// Maximum number of signals to one resource that are stored at once: a group of servers that boot together has one handle.
pub const SIGNAL_BURST: u32 = 100;
/// Interval of the signals that are stored after these.
pub const SIGNAL_EVERY: Duration = Duration::from_secs(600);
/// Maximum length of a stored text, in characters.
const TEXT_CHARS_MAX: usize = 250;
/// Path of logins, also of those without a request of their own.
const LOGIN_PATH: &str = "/api/v1/login";
/// Action of the first use of a token.
const FIRST_USE: &str = "login by X-Auth-Token";

/// The user of a request, as far as it is known.
#[derive(Clone, Default)]
pub struct Who(Arc<Mutex<Option<Known>>>);

#[derive(Clone)]
struct Known {
    user: String,
    cloud: String,
    project_id: Option<String>,
    /// The project of a login that is not decided, as [`named_project`] writes it.
    named_project: Option<String>,
}

impl Known {
    fn of(user: &str, tenant: &Tenant) -> Known {
        let Tenant { cloud, project_id } = tenant.clone();
        Known {
            user: user.to_owned(),
            cloud,
            project_id: Some(project_id),
            named_project: None,
        }
    }
}

impl Who {
    /// Notes an authenticated user.
    pub fn is(&self, user: &str, tenant: &Tenant) {
        self.note(Known::of(user, tenant));
    }

    /// Notes the user that a login names, and its project.
    pub fn claims_to_be(&self, cloud: &str, user: &str, scope: Option<&Scope>) {
        self.note(Known {
            user: user.to_owned(),
            cloud: cloud.to_owned(),
            project_id: None,
            named_project: scope.and_then(named_project),
        });
    }

    fn note(&self, known: Known) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }

    fn known(&self) -> Option<Known> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

/// The middleware, for the API.
pub async fn record(State(services): State<Services>, request: Request, next: Next) -> Response {
    let who = Who::default();
    let (mut parts, body) = request.into_parts();
    let whole = parts.extensions.get::<OriginalUri>();
    let path = whole.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    let path = path.to_owned();
    let pattern = parts.extensions.get::<MatchedPath>();
    let pattern = pattern.map_or(path.clone(), |path| path.as_str().to_owned());
    let request_id = parts.extensions.get::<RequestId>();
    let request_id = request_id.and_then(|id| id.header_value().to_str().ok());
    let request_id = request_id.unwrap_or_default().to_owned();
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(&mut parts, &services).await;
    let method = parts.method.clone();
    parts.extensions.insert(who.clone());
    let recorder = Recorder {
        services: services.clone(),
        address,
        path: path.clone(),
        request_id,
    };
    parts.extensions.insert(recorder.clone());
    let is_one_of = |paths: &[&str]| {
        let mut paths = paths.iter();
        paths.any(|path| pattern.ends_with(&format!("/v1{path}")))
    };
    let looks = method.is_safe() || is_one_of(&ONLY_LOOK);
    let ends_with_client = looks || is_one_of(&STORE_NOTHING);
    let place = parts.extensions.get::<Counted>().cloned();
    let work = async move {
        let response = next.run(Request::from_parts(parts, body)).await;
        let status = response.status();
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let Some(known) = who.known().filter(|_| !looks || is_refused) else {
            return response;
        };
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        let code = response.extensions().get::<ProblemCode>();
        let event = Recorded {
            action: format!("{method} {pattern}"),
            target: location.unwrap_or(&path),
            status,
            code: code.map(|code| code.0.clone()),
        };
        let is_refused_login =
            known.project_id.is_none() && status == StatusCode::TOO_MANY_REQUESTS;
        let event = recorder.log(known, event);
        if !is_refused_login || recorder.has_room_for_refused_login() {
            recorder.store(&event).await;
        }
        drop(place);
        response
    };
    if ends_with_client {
        return work.await;
    }
    // A connection that closes drops this task, and with it the work and its record.
    let done = tokio::spawn(work.in_current_span()).await;
    done.unwrap_or_else(|failed| match failed.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(stopped) => Error::internal("the request was carried out", stopped).into_response(),
    })
}

/// Records events of a connection after its request, such as its end. An extension of each request of the API.
#[derive(Clone)]
pub struct Recorder {
    services: Services,
    address: Option<IpAddr>,
    path: String,
    request_id: String,
}

/// The varying parts of an event.
struct Recorded<'a> {
    action: String,
    target: &'a str,
    status: StatusCode,
    code: Option<String>,
}

impl Recorder {
    /// A recorder for actions on a deployment that no user's request started.
    pub fn unattended(services: &Services, deployment: &str) -> Recorder {
        Recorder {
            services: services.clone(),
            address: None,
            path: format!("/api/v1/deployments/{deployment}"),
            request_id: String::new(),
        }
    }

    /// A recorder for a signal to a resource of a deployment.
    pub fn of_signal(
        services: &Services,
        deployment: &str,
        address: Option<IpAddr>,
        request_id: &RequestId,
    ) -> Recorder {
        let request_id = request_id.header_value().to_str();
        Recorder {
            address,
            request_id: request_id.unwrap_or_default().to_owned(),
            ..Recorder::unattended(services, deployment)
        }
    }

    /// Records an action of a user on the object of the request.
    pub async fn record(
        &self,
        (user, tenant): (&str, &Tenant),
        action: &str,
        status: StatusCode,
        code: Option<String>,
    ) {
        let event = Recorded {
            action: action.to_owned(),
            target: &self.path,
            status,
            code,
        };
        let event = self.log(Known::of(user, tenant), event);
        self.store(&event).await;
    }

    /// Records the first use of a token, which is a login without a request of its own.
    pub async fn record_first_use(&self, who: (&str, &Tenant)) {
        let login = Recorder {
            path: LOGIN_PATH.to_owned(),
            ..self.clone()
        };
        login.record(who, FIRST_USE, StatusCode::OK, None).await;
    }

    /// Records a signal to a resource, with its status and code from [`outcome`].
    pub async fn record_signal(
        &self,
        (user, tenant): (&str, &Tenant),
        resource: &str,
        action: &str,
        (status, code): (StatusCode, Option<String>),
    ) {
        let event = Recorded {
            action: action.to_owned(),
            target: &self.path,
            status,
            code,
        };
        let event = self.log(Known::of(user, tenant), event);
        let rates = &self.services.stored_signals;
        let has_room = || {
            let resource = format!("{} {resource}", self.path);
            rates.take(resource, Instant::now()).is_ok()
        };
        if status == StatusCode::ACCEPTED || has_room() {
            self.store(&event).await;
        }
    }

    fn has_room_for_refused_login(&self) -> bool {
        let rates = &self.services.stored_refusals;
        let address = AddressKey::of(self.address);
        rates.take(address, Instant::now()).is_ok()
    }

    /// Writes an event to the server's log.
    fn log(&self, known: Known, recorded: Recorded<'_>) -> NewAuditEvent {
        let event = AuditEvent {
            id: uuid::Uuid::now_v7().to_string(),
            time: now_text(),
            user: cut(&known.user),
            address: self.address.map(|address| address.to_string()),
            action: cut(&recorded.action),
            target: cut(recorded.target),
            deployment: id_in(&self.path, "deployments"),
            status: u32::from(recorded.status.as_u16()),
            code: recorded.code,
            request_id: cut(&self.request_id),
        };
        tracing::info!(
            target: "audit",
            user = event.user,
            cloud = known.cloud,
            project_id = known.project_id,
            address = event.address,
            action = event.action,
            on = event.target,
            status = event.status,
            code = event.code,
            request_id = event.request_id,
        );
        NewAuditEvent {
            cloud: known.cloud,
            project_id: known.project_id,
            named_project: known.named_project,
            run: id_in(recorded.target, "runs").or_else(|| id_in(&self.path, "runs")),
            event,
        }
    }

    async fn store(&self, event: &NewAuditEvent) {
        if let Err(error) = self.services.store.audit_insert(event).await {
            tracing::error!("an audit event could not be stored: {error}");
        }
    }
}

/// Status and code of an event from the engine's answer. `done` is the status of a success.
pub fn outcome<T>(answer: &engine::Result<T>, done: StatusCode) -> (StatusCode, Option<String>) {
    match answer {
        Ok(_) => (done, None),
        Err(error) => {
            let status = StatusCode::from_u16(error.status());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Some(error.code().to_owned()))
        }
    }
}

/// The project that a login names, in one text. Lists, because names may contain any character.
fn named_project(scope: &Scope) -> Option<String> {
    let Scope::Project(project) = scope else {
        return None;
    };
    let parts = match project {
        Identifier::Id(id) => json!(["id", cut(id)]),
        Identifier::Name { name, domain } => match domain {
            Domain::Id(domain) => json!(["domain id", cut(domain), cut(name)]),
            Domain::Name(domain) => json!(["domain", cut(domain), cut(name)]),
        },
    };
    Some(parts.to_string())
}

/// All texts of [`named_project`] for a project.
pub fn names_of(project: &Project) -> [String; 3] {
    let Project { id, name, domain } = project;
    [
        json!(["id", cut(id)]),
        json!(["domain id", cut(&domain.id), cut(name)]),
        json!(["domain", cut(&domain.name), cut(name)]),
    ]
    .map(|parts| parts.to_string())
}

/// The id in the path of an object of this kind, or of something below it.
fn id_in(path: &str, kind: &str) -> Option<String> {
    let (first, rest) = path.strip_prefix("/api/v1/")?.split_once('/')?;
    let id = rest.split('/').next().filter(|id| !id.is_empty());
    id.filter(|_| first == kind).map(cut)
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}
