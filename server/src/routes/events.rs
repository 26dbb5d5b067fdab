//! The events of a run, as a paged list: forward, backward, of one step, without log lines. And a search in its log.

use api::{Event, LogHits};
use axum::extract::{Path, State};
use engine::{EventFilter, LogSearch, Range};
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

/// Maximum length of a searched text, in bytes.
const TEXT_MAX: usize = 200;

/// `?text=TEXT&before=N&step=ID`
#[derive(Deserialize)]
pub struct SearchQuery {
    /// The text.
    text: String,
    /// Only lines with a lower number.
    before: Option<u64>,
    /// Only lines of this step.
    step: Option<String>,
}

/// Log lines that contain a text.
///
/// Goes backward from `before` (default: the end), and stops after 1,000 hits or 50,000 lines: `from` of the answer is the
/// `before` with which to continue, until it is 1. The case of ASCII letters and colours are ignored.
#[utoipa::path(get, path = "/api/v1/runs/{id}/search", tag = "runs", params(("id" = String, Path), ("text" = String, Query), ("before" = Option<u64>, Query), ("step" = Option<String>, Query)), responses((status = 200, body = LogHits)))]
pub async fn search(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<LogHits>> {
    if query.text.is_empty() || query.text.len() > TEXT_MAX {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            format!("`text` has {} bytes.", query.text.len()),
        )
        .hint(format!("Search for 1 to {TEXT_MAX} bytes.")));
    }
    let search = LogSearch {
        text: &query.text,
        step: query.step.as_deref(),
        before: query.before.unwrap_or(u64::MAX),
    };
    let hits = services.engine.search_log(caller.tenant(), &id, search);
    Ok(Json(hits.await?))
}
