//! Responses of handlers.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::kit::refusal::Refusal;

/// The result of a handler. The router converts a refusal into the service's error body.
pub type Answer = Result<Response, Refusal>;

/// A JSON response with a status.
pub fn reply(status: u16, body: Value) -> Answer {
    Ok(json_answer(status, body))
}

/// A response with a status and no body.
pub fn empty(status: u16) -> Answer {
    Ok(code(status).into_response())
}

/// A JSON response with a status.
pub fn json_answer(status: u16, body: Value) -> Response {
    (code(status), Json(body)).into_response()
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::OK)
}

/// Parses a request body as JSON.
pub fn read_json(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| {
        Refusal::bad_request(
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        )
    })
}
