//! The cloud's HTTP side: seven services behind one port, each below its own prefix.
//!
//! Every call passes [`watch`], which counts it, lets armed faults happen, and puts a request id on the answer.

mod aggregates;
pub mod answer;
mod block_storage;
mod compute;
mod compute_view;
mod control;
mod faulty;
mod flavors;
mod identity;
mod image;
mod key_manager;
mod limits;
mod load_balancer;
mod load_balancer_quotas;
pub(crate) mod metadata;
mod microversion;
mod network;
mod nothing;
mod on_server;
mod python;
mod query;
mod server_actions;
mod server_body;
mod server_console;
mod server_events;
mod server_groups;
mod server_network;
mod server_parts;
mod server_security;
mod server_snapshot;
mod server_switch;
mod server_volumes;
mod servers;
mod token;
mod usage;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use tokio::task::JoinHandle;

use crate::cloud::Cloud;
use crate::model::ids::new_id;
use crate::model::refusal::Refusal;

/// What handlers work with.
pub type App = Arc<Cloud>;

/// The services: name in the catalogue's words, prefix.
pub const SERVICES: &[(&str, &str)] = &[
    ("identity", "/identity"),
    ("compute", "/compute"),
    ("network", "/network"),
    ("image", "/image"),
    ("block-storage", "/volume"),
    ("key-manager", "/key-manager"),
    ("load-balancer", "/load-balancer"),
];

/// All of it.
pub fn app(cloud: App) -> Router {
    Router::new()
        .merge(identity::routes())
        .merge(compute::routes())
        .merge(flavors::routes())
        .merge(aggregates::routes())
        .merge(limits::routes())
        .merge(servers::routes())
        .merge(server_actions::routes())
        .merge(server_events::routes())
        .merge(server_groups::routes())
        .merge(server_network::routes())
        .merge(server_parts::routes())
        .merge(server_security::routes())
        .merge(server_console::routes())
        .merge(usage::routes())
        .merge(server_volumes::routes())
        .merge(block_storage::routes())
        .merge(network::routes())
        .merge(image::routes())
        .merge(key_manager::routes())
        .merge(load_balancer::routes())
        .merge(nothing::routes())
        .merge(control::routes())
        .fallback(nowhere)
        .layer(from_fn_with_state(Arc::clone(&cloud), watch))
        .with_state(cloud)
}

/// A path that no service has.
async fn nowhere(request: Request) -> Response {
    let sentence = "The resource could not be found.";
    match service_of(request.uri().path()) {
        Some(("identity", _)) => refused(
            "identity",
            Refusal::not_found("NotFound", format!("(http://lab/): {sentence}")),
        ),
        Some((service, _)) => refused(service, Refusal::not_found("HTTPNotFound", sentence)),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The service that a path belongs to, and what follows its prefix.
fn service_of(path: &str) -> Option<(&'static str, &str)> {
    SERVICES.iter().find_map(|(name, prefix)| {
        let rest = path.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((*name, rest))
    })
}

/// A refusal in a service's words.
fn refused(service: &str, refusal: Refusal) -> Response {
    match service {
        "identity" => answer::KeystoneError(refusal).into_response(),
        "compute" => answer::NovaError(refusal).into_response(),
        "network" => answer::NeutronError(refusal).into_response(),
        "image" => answer::GlanceError(refusal).into_response(),
        "block-storage" => answer::CinderError(refusal).into_response(),
        "load-balancer" => answer::OctaviaError(refusal).into_response(),
        _ => answer::BarbicanError(refusal).into_response(),
    }
}

/// What a token without the role `member` may not do: change anything, outside of Keystone.
fn only_a_look(cloud: &App, service: &str, rest: &str, request: &Request) -> Option<Refusal> {
    let method = request.method();
    if service == "identity" || method.is_safe() {
        return None;
    }
    let text = request.headers().get("x-auth-token")?.to_str().ok()?;
    let reader = cloud.read(|model| {
        let token = model.identity.token(text)?;
        let member = token.roles.iter().any(|role| role == "member");
        Some(token.project_id.is_some() && !member)
    })?;
    let collection = rest.split('/').nth(2).unwrap_or_default();
    // Key pairs are a person's own and no project's.
    if collection == "os-keypairs" {
        return None;
    }
    let verb = match method.as_str() {
        "POST" => "create",
        "DELETE" => "delete",
        _ => "update",
    };
    reader.then(|| {
        Refusal::forbidden(match service {
            "network" => {
                let kind = collection.trim_end_matches('s').replace('-', "_");
                format!("(rule:{verb}_{kind}) is disallowed by policy")
            }
            "load-balancer" => "Policy does not allow this request to be performed.".to_owned(),
            "image" => format!("You are not authorized to complete {verb}_image action."),
            "block-storage" => format!("Policy doesn't allow volume:{verb} to be performed."),
            "compute" => {
                format!("Policy doesn't allow os_compute_api:{collection}:{verb} to be performed.")
            }
            _ => "Secret creation attempt not allowed - please review your user/project privileges"
                .to_owned(),
        })
    })
}

/// Do a call in the behaviour that it asks for, and say so on the answer.
async fn negotiated(service: &str, rest: &str, mut request: Request, next: Next) -> Response {
    // Version documents are outside of it: they are where clients learn what to ask.
    let range = microversion::Range::of(service).filter(|_| rest.len() > 6);
    let Some(range) = range else {
        return next.run(request).await;
    };
    match range.asked(request.headers()) {
        Err(refusal) => refused(service, refusal),
        Ok(version) => {
            request.extensions_mut().insert(version);
            let mut response = next.run(request).await;
            range.stamp(version, response.headers_mut());
            response
        }
    }
}

/// The id of a call, which its answer bears and which some services remember.
#[derive(Debug, Clone)]
struct RequestId(String);

impl RequestId {
    /// As [`watch`] has given it.
    fn of(parts: &Parts) -> String {
        let found = parts.extensions.get::<Self>();
        found.map(|id| id.0.clone()).unwrap_or_default()
    }
}

impl FromRequestParts<App> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self(Self::of(parts)))
    }
}

/// A call that has come in.
struct Incoming {
    cloud: App,
    service: &'static str,
    /// The path behind the service's prefix.
    path: String,
    request: Request,
    next: Next,
}

impl Incoming {
    /// Carry the call out and wait for the answer.
    ///
    /// A task of its own does the work, so that a client that goes away interrupts nothing: a real service finishes a call that it
    /// has begun.
    async fn carry_out(self) -> Response {
        done(tokio::spawn(self.answer())).await
    }

    async fn answer(self) -> Response {
        let denied = only_a_look(&self.cloud, self.service, &self.path, &self.request);
        if let Some(refusal) = denied {
            return refused(self.service, refusal);
        }
        let makes = self.request.method() == Method::POST && self.cloud.faults.lists_lag();
        let response = negotiated(self.service, &self.path, self.request, self.next).await;
        match makes {
            true => faulty::note_births(&self.cloud.faults, response).await,
            false => response,
        }
    }
}

/// The answer of a call that a task carries out.
async fn done(call: JoinHandle<Response>) -> Response {
    match call.await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
    }
}

async fn watch(State(cloud): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let Some((service, rest)) = service_of(&path) else {
        return next.run(request).await;
    };
    let fault = cloud
        .faults
        .on_call(service, request.method().as_str(), rest);
    let request_id = format!("req-{}", new_id());
    request
        .extensions_mut()
        .insert(RequestId(request_id.clone()));
    let incoming = Incoming {
        cloud,
        service,
        path: rest.to_owned(),
        request,
        next,
    };
    let mut response = match fault {
        None => incoming.carry_out().await,
        Some(fault) => faulty::answer(incoming, fault).await,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = other_method(service, response);
    }
    if let Ok(value) = HeaderValue::try_from(&request_id) {
        let headers = response.headers_mut();
        if service == "compute" {
            headers.insert("x-compute-request-id", value.clone());
        }
        // A fault may have chosen another one.
        headers.entry("x-openstack-request-id").or_insert(value);
    }
    tracing::debug!(
        service,
        path = rest,
        status = response.status().as_u16(),
        request_id,
        "call"
    );
    response
}

/// A path that a service has, but not with this method.
fn other_method(service: &str, response: Response) -> Response {
    let sentence = "The server could not comply with the request since it is either malformed or otherwise incorrect.";
    match service {
        "network" => refused(service, Refusal::new(405, "HTTPMethodNotAllowed", sentence)),
        // Nova routes by method, too.
        "compute" => refused(
            service,
            Refusal::not_found("HTTPNotFound", "The resource could not be found."),
        ),
        _ => response,
    }
}

/// Where the client found us: links in answers lead to the same place.
fn base_url(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("127.0.0.1");
    format!("http://{host}")
}
