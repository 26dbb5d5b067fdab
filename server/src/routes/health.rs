//! Endpoints for operators: liveness, readiness and metrics.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
};
use sha2::{Digest, Sha256};

use crate::{
    client::ClientAddress,
    codes,
    problem::{Error, Result},
    services::Services,
};

/// Responds while the process is running.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200)))]
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Ready for requests: the database responds, and the server is not shutting down.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses((status = 200), (status = 503)))]
pub async fn ready(State(services): State<Services>) -> (StatusCode, &'static str) {
    if services.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    match services.store.ping().await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::error!("not ready: the database does not answer: {error}");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the database does not answer\n",
            )
        }
    }
}

/// Metrics over all projects, without names and ids.
// For clients with the token in the settings, or without one for programs on the server's own machine.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, content_type = "text/plain")))]
pub async fn metrics(
    State(services): State<Services>,
    ClientAddress(address): ClientAddress,
    headers: HeaderMap,
) -> Result<impl IntoResponse> {
    let given = headers.get(header::AUTHORIZATION);
    let given = given.and_then(|given| given.to_str().ok()?.strip_prefix("Bearer "));
    let may_read = match &services.config.metrics_token {
        // Digests, so that the comparison time reveals nothing about the token.
        Some(token) => given.is_some_and(|given| Sha256::digest(given) == Sha256::digest(token)),
        // Requests through a proxy do not come from this machine.
        None => {
            let is_here = address.is_none_or(|address| address.is_loopback());
            is_here && !headers.contains_key("x-forwarded-for")
        }
    };
    if !may_read {
        return Err(Error::new(
            codes::NOT_SIGNED_IN,
            "Metrics are for the server's operator.",
        )
        .hint("Send `Authorization: Bearer` with the token of `STACKLOOM_METRICS_TOKEN`."));
    }
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        services.metrics.render(services.engine.workload()).await?,
    ))
}
