//! For those who run the server: is it alive, is it ready, what does it count.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use time::OffsetDateTime;

use crate::{metrics::Gauge, problem::Result, services::Services};

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
    match sqlx::query("SELECT 1").execute(&services.pool).await {
        Ok(_) => (StatusCode::OK, "ready\n"),
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
    let sessions = services.sessions.count(OffsetDateTime::now_utc()).await?;
    // The engine's table, read only: a count needs no call of its own in the engine's facade.
    let runs: Vec<(String, i64)> =
        sqlx::query_as("SELECT state, count(*) FROM runs GROUP BY state ORDER BY state")
            .fetch_all(&services.pool)
            .await?;
    let gauges = [
        Gauge {
            name: "stackloom_sessions",
            help: "People who are logged in.",
            values: vec![(None, sessions)],
        },
        Gauge {
            name: "stackloom_runs",
            help: "Runs by state, since the database was made.",
            values: runs
                .into_iter()
                .map(|(state, count)| (Some(("state", state)), count))
                .collect(),
        },
    ];
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        services.metrics.render(&gauges),
    ))
}
