//! The lab's own API below `/lab`, for tests, without a token. The lab listens on loopback only.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::kit::answer::json_answer;
use crate::kit::faults::Fault;
use crate::kit::query;
use crate::services::leftovers::leftovers;
use crate::services::{App, Routes};

pub fn routes() -> Routes {
    Routes::below("/lab")
        .get("/faults", faults)
        .post("/faults", add_fault)
        .delete("/faults", clear_faults)
        .get("/calls", calls)
        .delete("/calls", clear_calls)
        .get("/leftovers", show_leftovers)
}

async fn faults(State(app): State<App>) -> Response {
    json_answer(200, json!({"faults": app.faults.list()}))
}

/// A [`Fault`], such as `{"call": {...}}` or `{"action": {...}}`, or a list of faults.
async fn add_fault(State(app): State<App>, Json(body): Json<serde_json::Value>) -> Response {
    let list = if body.is_array() { body } else { json!([body]) };
    match serde_json::from_value::<Vec<Fault>>(list) {
        Ok(list) => {
            for fault in list {
                app.faults.add(fault);
            }
            StatusCode::CREATED.into_response()
        }
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()).into_response(),
    }
}

async fn clear_faults(State(app): State<App>) -> Response {
    app.faults.clear();
    StatusCode::NO_CONTENT.into_response()
}

/// Counts by service and method. `?log=true` adds all calls in order.
async fn calls(State(app): State<App>, Query(asked): query::Query) -> Response {
    let counts = app.faults.counts();
    let total: u64 = counts.values().flat_map(|methods| methods.values()).sum();
    let mut body = json!({"total": total, "services": counts});
    if query::value(&asked, "log") == Some("true") {
        body["log"] = json!(app.faults.calls());
    }
    json_answer(200, body)
}

async fn clear_calls(State(app): State<App>) -> Response {
    app.faults.clear_calls();
    StatusCode::NO_CONTENT.into_response()
}

async fn show_leftovers(State(app): State<App>) -> Response {
    json_answer(200, json!(app.read(leftovers)))
}
