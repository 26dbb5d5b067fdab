//! Request processing before the handlers: permissions of readers, microversions, and the task that executes the call.

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::task::JoinHandle;

use crate::kit::microversion::Range;
use crate::kit::refusal::Refusal;
use crate::services::{App, lagging};

/// Executes a call, and converts a refusal into the service's error body.
async fn handled(service: &str, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Refusal>() {
        Some(refusal) => refusal.answer(service),
        None => response,
    }
}

/// The refusal of a change outside of Keystone with a token that lacks the role `member`.
fn reader_refusal(cloud: &App, service: &str, rest: &str, request: &Request) -> Option<Refusal> {
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
    // Key pairs belong to users, not to projects.
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

/// The refusal of a call that the application credential of the token does not permit.
fn access_refusal(cloud: &App, service: &str, rest: &str, request: &Request) -> Option<Refusal> {
    let text = request.headers().get("x-auth-token")?.to_str().ok()?;
    let method = request.method().as_str();
    // A token can always be validated.
    if (service, method, rest) == ("identity", "GET", "/v3/auth/tokens") {
        return None;
    }
    let token = cloud.read(|model| model.identity.token(text))?;
    let mut rules = token.access_rules?.into_iter();
    let permitted = rules.any(|rule| rule.permits(service, method, rest));
    (!permitted).then(Refusal::unauthorized)
}

/// Executes a call with its microversion, and adds the version to the response.
async fn negotiated(service: &str, rest: &str, mut request: Request, next: Next) -> Response {
    // Version documents have no microversion: clients read the range there.
    let range = Range::of(service).filter(|_| rest.len() > 6);
    let Some(range) = range else {
        return handled(service, request, next).await;
    };
    match range.requested(request.headers()) {
        Err(refusal) => refusal.answer(service),
        Ok(version) => {
            request.extensions_mut().insert(version);
            let mut response = handled(service, request, next).await;
            range.add_headers(version, response.headers_mut());
            response
        }
    }
}

/// A received call.
pub(crate) struct ReceivedCall {
    pub(crate) cloud: App,
    pub(crate) service: &'static str,
    /// The path behind the service's prefix.
    pub(crate) path: String,
    pub(crate) request: Request,
    pub(crate) next: Next,
}

impl ReceivedCall {
    /// Executes the call and waits for the response.
    ///
    /// A separate task executes the call, so that a disconnecting client does not interrupt it: a real service
    /// completes a started call.
    pub(crate) async fn execute(self) -> Response {
        done(tokio::spawn(self.answer())).await
    }

    pub(crate) async fn answer(self) -> Response {
        let (cloud, path, request) = (&self.cloud, &self.path, &self.request);
        let denied = access_refusal(cloud, self.service, path, request)
            .or_else(|| reader_refusal(cloud, self.service, path, request));
        if let Some(refusal) = denied {
            return refusal.answer(self.service);
        }
        let makes = self.request.method() == Method::POST && self.cloud.faults.lists_lag();
        let response = negotiated(self.service, &self.path, self.request, self.next).await;
        if makes {
            lagging::record_created(&self.cloud.faults, response).await
        } else {
            response
        }
    }
}

/// The response of a call that a task executes.
pub(crate) async fn done(call: JoinHandle<Response>) -> Response {
    match call.await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
    }
}
