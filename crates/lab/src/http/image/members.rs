//! Glance v2: sharing images with other projects. The lab has none to share with but `other`; lists are there for clients that look.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::json;

use super::{Answer, seen};
use crate::http::App;
use crate::http::answer::json_answer;
use crate::http::token::Caller;

pub fn routes() -> Router<App> {
    Router::new().route("/image/v2/images/{id}/members", get(members))
}

async fn members(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    app.read(|model| seen(model, &member, &id).map(|_| ()))?;
    Ok(json_answer(
        200,
        json!({"members": [], "schema": "/v2/schemas/members"}),
    ))
}
