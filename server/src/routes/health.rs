//! Endpoints for operators: liveness, readiness and metrics.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};

use crate::{problem::Result, services::Services};

/// Answers while the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200)))]
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Ready for requests: the database answers, and the server is not shutting down.
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
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, content_type = "text/plain")))]
pub async fn metrics(State(services): State<Services>) -> Result<impl IntoResponse> {
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        services.metrics.render().await?,
    ))
}
