//! The events of a run, as a paged list.

use api::Event;
use axum::extract::{Path, State};
use serde::Deserialize;

use crate::{
    auth::Caller,
    extract::{Json, Query},
    problem::Result,
    services::Services,
};

const LIMIT_DEFAULT: u32 = 1000;
const LIMIT_MAX: u32 = 10_000;

/// `?after=N&limit=M`
#[derive(Deserialize)]
pub struct EventsQuery {
    /// The number of the client's last event.
    #[serde(default)]
    pub after: u64,
    limit: Option<u32>,
}

/// Events with `seq > after`, in order and without a gap.
///
/// At most `limit` events (default 1,000, maximum 10,000). An empty list means that there is nothing new.
#[utoipa::path(get, path = "/api/v1/runs/{id}/events", tag = "runs", params(("id" = String, Path), ("after" = Option<u64>, Query), ("limit" = Option<u32>, Query)), responses((status = 200, body = Vec<Event>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Vec<Event>>> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    Ok(Json(
        services
            .engine
            .events(caller.tenant(), &id, query.after, limit)
            .await?,
    ))
}
