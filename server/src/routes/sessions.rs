//! The user's own login sessions.

use api::LoginSession;
use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use tower_sessions::Session;

use crate::{
    auth::Caller,
    codes,
    extract::{DONE, Json},
    problem::{Error, Result},
    services::Services,
};

/// The user's open sessions in this cloud, the last used one first.
#[utoipa::path(get, path = "/api/v1/sessions", tag = "session", responses((status = 200, body = Vec<LoginSession>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    session: Session,
) -> Result<Json<Vec<LoginSession>>> {
    let sessions = services
        .sessions
        .list(&caller.owner(), session.id())
        .await?;
    Ok(Json(sessions))
}

/// Ends a session of the user. Runs continue.
#[utoipa::path(delete, path = "/api/v1/sessions/{id}", tag = "session", params(("id" = String, Path)), responses((status = 204)))]
pub async fn end(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    if services.sessions.end(&caller.owner(), &id).await? {
        return Ok(DONE);
    }
    Err(
        Error::new(codes::NOT_FOUND, "You have no open session with this id.")
            .hint("It may have ended meanwhile. Reload the list."),
    )
}
