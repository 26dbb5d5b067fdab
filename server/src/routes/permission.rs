//! The standing permission of a deployment.

use api::{Permission, PermissionRequest};
use axum::{
    extract::{Path, State},
    http::StatusCode,
};

use crate::{
    auth::Member,
    codes,
    extract::{DONE, Json},
    problem::{Error, Result, sentence},
    services::Services,
};

/// Permits the server to scale, check and repair the deployment while nobody is logged in.
///
/// The server creates an application credential of the caller, with the role of a member, for the requested time. It
/// replaces an earlier permission. A login by a restricted application credential cannot give one.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/permission", tag = "deployments", params(("id" = String, Path)), request_body = PermissionRequest, responses((status = 200, body = Permission)))]
pub async fn give(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<PermissionRequest>,
) -> Result<Json<Permission>> {
    if let Some(problem) = request.problem() {
        return Err(Error::new(codes::INVALID_REQUEST, sentence(problem)));
    }
    let engine = &services.engine;
    let given = engine.give_permission(&caller.actor, &id, request);
    Ok(Json(given.await?))
}

/// Ends the deployment's permission.
///
/// The server destroys its copy of the secret. The application credential is deleted now if it is the caller's, else at
/// its owner's next login.
#[utoipa::path(delete, path = "/api/v1/deployments/{id}/permission", tag = "deployments", params(("id" = String, Path)), responses((status = 204)))]
pub async fn revoke(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let engine = &services.engine;
    engine.revoke_permission(&caller.actor, &id).await?;
    Ok(DONE)
}
