//! The events of a run, as a paged list: forward, backward, of one step, without log lines.

use api::Event;
use axum::extract::{Path, State};
use engine::{EventFilter, Range};
use serde::Deserialize;

use crate::{
    auth::Caller,
    codes,
    extract::{Json, Query},
    problem::{Error, Result},
    services::Services,
};

const LIMIT_DEFAULT: u32 = 1000;
const LIMIT_MAX: u32 = 10_000;

/// `?after=N&before=N&limit=N&step=ID&moves=true`
#[derive(Deserialize)]
pub struct EventsQuery {
    /// The number of the client's last event.
    #[serde(default)]
    pub after: u64,
    /// The first number that the client has.
    before: Option<u64>,
    limit: Option<u32>,
    /// Only log lines of this step.
    step: Option<String>,
    /// No log lines.
    #[serde(default)]
    moves: bool,
}

/// Events of a run, in order.
///
/// The first `limit` events with `seq > after` (default 0), without a gap. With `before`, the last `limit` events with
/// `seq < before`; a number beyond the end reads from the end. `limit` is 1,000 unless given, at most 10,000.
///
/// `step` gives log lines of that step only, `moves=true` everything but log lines. An empty list means that there is
/// nothing more. Fewer events than `limit` mean so too, unless the run's log lines were deleted (`log_deleted` of the run).
#[utoipa::path(get, path = "/api/v1/runs/{id}/events", tag = "runs", params(("id" = String, Path), ("after" = Option<u64>, Query), ("before" = Option<u64>, Query), ("limit" = Option<u32>, Query), ("step" = Option<String>, Query), ("moves" = Option<bool>, Query)), responses((status = 200, body = Vec<Event>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Vec<Event>>> {
    let range = Range {
        after: query.after,
        before: query.before,
        limit: query.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX),
    };
    let filter = match (&query.step, query.moves) {
        (Some(step), false) => EventFilter::LogOf(step),
        (None, true) => EventFilter::Moves,
        (None, false) => EventFilter::All,
        (Some(_), true) => {
            return Err(Error::new(
                codes::INVALID_REQUEST,
                "`step` asks for log lines only, and `moves` for everything else.",
            )
            .hint("Send one of them."));
        }
    };
    let engine = &services.engine;
    let events = engine.events_in(caller.tenant(), &id, range, filter);
    Ok(Json(events.await?))
}
