//! Checks of deployments, and repairs.

use api::{Check, RepairRequest, Started};
use axum::{
    extract::{Path, State},
    response::IntoResponse,
};

use super::deployments::accepted;
use crate::{auth::Member, extract::Json, problem::Result, services::Services};

/// Compares each resource of the deployment with the cloud: gone, broken, or with properties that a user changed.
///
/// No resource is changed. Software that uses a server that is gone is configured without it, by a command. The result is kept with the
/// deployment until the next check. What a run works on is left out.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/check", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Check)))]
pub async fn check(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<Json<Check>> {
    Ok(Json(services.engine.check(&caller.actor, &id).await?))
}

/// Starts a run that repairs what the last check has found: an update without a change of the template.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/repair", tag = "deployments", params(("id" = String, Path)), request_body = RepairRequest, responses((status = 202, body = Started)))]
pub async fn repair(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<RepairRequest>,
) -> Result<impl IntoResponse> {
    let engine = &services.engine;
    let deployment = engine.deployment(caller.tenant(), &id).await?;
    let cloud = services.facts.for_deployment(&caller.actor, &deployment);
    let cloud = cloud.await?;
    let started = engine.repair(&caller.actor, &id, request, cloud);
    Ok(accepted(started.await?))
}
