//! Snapshots of deployments.

use api::{Snapshot, SnapshotRequest, SnapshotScope, Started};
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
};

use super::deployments::accepted;
use crate::{
    auth::{Caller, Member},
    codes,
    extract::{DONE, Json},
    problem::{Error, Result, sentence},
    services::Services,
};

/// The deployment's snapshots, newest first, with what a restoration would restore now and what it would leave alone.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/snapshots", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Vec<Snapshot>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<Snapshot>>> {
    let snapshots = services.engine.snapshots(caller.tenant(), &id);
    Ok(Json(snapshots.await?))
}

/// The servers and volumes that a new snapshot would contain, and those that it would leave alone.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/snapshots/scope", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = SnapshotScope)))]
pub async fn scope(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<SnapshotScope>> {
    let scope = services.engine.snapshot_scope(caller.tenant(), &id);
    Ok(Json(scope.await?))
}

/// Starts a run that takes a snapshot: an image of the root disk of each server that the template names, and a snapshot of
/// each volume.
///
/// Servers that boot from a volume are not part of it, nor is that volume. A part is deleted with its resource.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/snapshots", tag = "deployments", params(("id" = String, Path)), request_body = SnapshotRequest, responses((status = 202, body = Started)))]
pub async fn take(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<SnapshotRequest>,
) -> Result<impl IntoResponse> {
    if let Some(problem) = request.problem() {
        return Err(Error::new(codes::INVALID_REQUEST, sentence(problem)).path("name"));
    }
    let engine = &services.engine;
    let taken = engine.take_snapshot(&caller.actor, &id, &request.name);
    Ok(accepted(taken.await?))
}

/// Starts a run that rebuilds the servers that are still the same from the snapshot, and returns the volumes that are still
/// the same to it. What was written on them since is lost.
///
/// Volumes leave their servers for it. The template, the resources and their ids stay.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/snapshots/{snapshot}/restore", tag = "deployments", params(("id" = String, Path), ("snapshot" = String, Path)), responses((status = 202, body = Started)))]
pub async fn restore(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, snapshot)): Path<(String, String)>,
) -> Result<impl IntoResponse> {
    let engine = &services.engine;
    let restored = engine.restore_snapshot(&caller.actor, &id, &snapshot);
    Ok(accepted(restored.await?))
}

/// Deletes a snapshot with its images and the snapshots of its volumes.
#[utoipa::path(delete, path = "/api/v1/deployments/{id}/snapshots/{snapshot}", tag = "deployments", params(("id" = String, Path), ("snapshot" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, snapshot)): Path<(String, String)>,
) -> Result<StatusCode> {
    let engine = &services.engine;
    engine
        .delete_snapshot(&caller.actor, &id, &snapshot)
        .await?;
    Ok(DONE)
}
