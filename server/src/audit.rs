//! The audit trail: logins, refusals and every change.
//!
//! A middleware around the API records requests by their method, so that a route that is added later is recorded, too.
//! The caller is known once the route has checked the login: [`Who`] carries it from there to the middleware. Recorded
//! are all requests of known callers that may change something, and the logins that the cloud decided about. Requests
//! of strangers are in the log only: anybody can send any number of them.
//!
//! A failed login has no project: the cloud does not tell whether the named one exists. It is stored with the name as it
//! was given, and the members of the project with this name read it. Neither the answer to the login nor its time
//! depends on whether there is such a project. Failed logins count apart from the events of projects, so that a flood of
//! them pushes out no event of a project.
//!
//! A connection that lasts, such as a terminal, has events of its own: its route records them with a [`Recorder`].
//!
//! An event is stored before the answer is sent. If that fails, the answer is sent all the same, and the log has both. A
//! change is carried out and recorded even if its client leaves before the answer. A handler that panics is an internal
//! error here.
//!
//! Texts that a client chooses are cut, and a project keeps its newest events only ([`EVENTS_MAX`]), so that nobody fills
//! the disk. The server's log (target `audit`) has every event, also those that a flood pushed out.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
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
/// Maximum length of a stored text, in characters.
const TEXT_CHARS_MAX: usize = 250;

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

impl Who {
    /// Notes an authenticated user.
    pub fn is(&self, user: &str, tenant: &Tenant) {
        let Tenant { cloud, project_id } = tenant.clone();
        self.note(Known {
            user: user.to_owned(),
            cloud,
            project_id: Some(project_id),
            named_project: None,
        });
    }

    /// Notes the user of a login that is about to be decided, and the project that it names.
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
        recorder.store(known, event).await;
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

    /// Records an action of a user on the object of the request.
    pub async fn record(
        &self,
        (user, tenant): (&str, &Tenant),
        action: &str,
        status: StatusCode,
        code: Option<String>,
    ) {
        let Tenant { cloud, project_id } = tenant.clone();
        let known = Known {
            user: user.to_owned(),
            cloud,
            project_id: Some(project_id),
            named_project: None,
        };
        let event = Recorded {
            action: action.to_owned(),
            target: &self.path,
            status,
            code,
        };
        self.store(known, event).await;
    }

    async fn store(&self, known: Known, recorded: Recorded<'_>) {
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
            request_id: self.request_id.clone(),
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
        let new = NewAuditEvent {
            cloud: known.cloud,
            project_id: known.project_id,
            named_project: known.named_project,
            run: id_in(recorded.target, "runs").or_else(|| id_in(&self.path, "runs")),
            event,
        };
        if let Err(error) = self.services.store.audit_insert(&new).await {
            tracing::error!("an audit event could not be stored: {error}");
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
