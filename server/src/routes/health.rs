//! For those who run the server: is it alive, is it ready, what does it count.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};

use crate::{problem::Result, services::Services};

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200)))]
pub async fn alive() -> &'static str {
    "ok\n"
}

/// The database answers, and the server is not about to stop: send requests.
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

/// Numbers only, of all projects together: no names, no ids.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, content_type = "text/plain")))]
pub async fn metrics(State(services): State<Services>) -> Result<impl IntoResponse> {
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        services.metrics.render().await?,
    ))
}
