//! The HTTP side of the cloud: seven services on one port, each below its own prefix.
//!
//! Every call passes [`process_call`], which counts it, applies armed faults, and adds a request id to the response.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::kit::call::RequestId;
use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::services::incoming::ReceivedCall;
use crate::services::{
    App, Routes, SERVICES, block_storage, compute, control, faulty, identity, image, key_manager,
    load_balancer, network,
};

/// The router of the whole cloud.
pub fn app(cloud: App) -> Router {
    routes()
        .router()
        .fallback(unknown_path)
        .layer(from_fn_with_state(Arc::clone(&cloud), process_call))
        .with_state(cloud)
}

/// The routes of all services.
fn routes() -> Routes {
    identity::routes()
        .and(compute::routes())
        .and(block_storage::routes())
        .and(network::routes())
        .and(image::routes())
        .and(key_manager::routes())
        .and(load_balancer::calls::routes())
        .and(control::routes())
}

/// The response for an unknown path.
async fn unknown_path(request: Request) -> Response {
    let sentence = "The resource could not be found.";
    match service_of(request.uri().path()) {
        Some(("identity", _)) => {
            Refusal::not_found("NotFound", format!("(http://lab/): {sentence}")).into_response()
        }
        Some(_) => Refusal::not_found("HTTPNotFound", sentence).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The service of a path, and the rest of the path after its prefix.
fn service_of(path: &str) -> Option<(&'static str, &str)> {
    SERVICES.iter().find_map(|(name, prefix)| {
        let rest = path.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((*name, rest))
    })
}

async fn process_call(State(cloud): State<App>, mut request: Request, next: Next) -> Response {
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
    let incoming = ReceivedCall {
        cloud,
        service,
        path: rest.to_owned(),
        request,
        next,
    };
    let mut response = match fault {
        None => incoming.execute().await,
        Some(fault) => faulty::respond_with_fault(incoming, fault).await,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = other_method(service, response);
    }
    if let Ok(value) = HeaderValue::try_from(&request_id) {
        let headers = response.headers_mut();
        if service == "compute" {
            headers.insert("x-compute-request-id", value.clone());
        }
        // A fault can have set another one.
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

/// The response for a known path with an unsupported method.
fn other_method(service: &str, response: Response) -> Response {
    let sentence = "The server could not comply with the request since it is either malformed or otherwise incorrect.";
    match service {
        "network" => Refusal::new(405, "HTTPMethodNotAllowed", sentence).answer(service),
        // In Nova, the method is part of the route.
        "compute" => {
            Refusal::not_found("HTTPNotFound", "The resource could not be found.").answer(service)
        }
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Whether the path is an alias of a route in `SCOPE.md`.
    fn is_alias(path: &str) -> bool {
        path.contains("{tenant}") || path.starts_with("/load-balancer/v2.0/") || path.ends_with('/')
    }

    #[test]
    fn scope_lists_the_routes_and_no_others() {
        let routes = super::routes();
        let served: BTreeSet<String> = routes
            .calls()
            .iter()
            .filter(|(_, path)| !is_alias(path))
            .map(|(method, path)| format!("{method} {path}"))
            .collect();
        // A line of a table: "| `GET` `POST` `/path` | reason |".
        let listed: BTreeSet<String> = include_str!("../../SCOPE.md")
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
            .flat_map(|words| {
                let words: Vec<&str> = words
                    .split(['`', ' '])
                    .filter(|word| !word.is_empty())
                    .collect();
                let (path, methods) = words.split_last().expect("a line names a path");
                methods
                    .iter()
                    .map(|method| format!("{method} {path}"))
                    .collect::<Vec<_>>()
            })
            .collect();
        let missing: Vec<_> = served.difference(&listed).collect();
        let stale: Vec<_> = listed.difference(&served).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "missing in SCOPE.md: {missing:#?}\nnot served: {stale:#?}"
        );
    }
}
