//! The logged-in user.

use api::CurrentUser;
use axum::extract::State;

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// User, project, roles and quotas.
#[utoipa::path(get, path = "/api/v1/me", tag = "session", responses((status = 200, body = CurrentUser)))]
pub async fn get(State(services): State<Services>, caller: Caller) -> Result<Json<CurrentUser>> {
    let quotas = services.facts.quotas(&caller.actor).await;
    Ok(Json(CurrentUser {
        quotas,
        ..caller.me
    }))
}
