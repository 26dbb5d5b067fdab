//! Runs: read, cancel, resume, release at a hook.

use api::{HookRelease, Plan, Run, RunContent};
use axum::{
    extract::{Path, State},
    http::StatusCode,
};

use crate::{
    auth::{Caller, Member},
    extract::Json,
    problem::Result,
    services::Services,
};

/// One run, with its steps.
#[utoipa::path(get, path = "/api/v1/runs/{id}", tag = "runs", params(("id" = String, Path)), responses((status = 200, body = Run)))]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Run>> {
    Ok(Json(services.engine.run(caller.tenant(), &id).await?))
}

/// The template, files and drawing that a run was started with. Later updates of the deployment do not change them.
#[utoipa::path(get, path = "/api/v1/runs/{id}/content", tag = "runs", params(("id" = String, Path)), responses((status = 200, body = RunContent)))]
pub async fn content(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<RunContent>> {
    Ok(Json(
        services.engine.run_content(caller.tenant(), &id).await?,
    ))
}

/// The plan that a run carries out: its changes with their reasons, without unchanged resources, and its workflow.
///
/// It is the plan as it was accepted at the start of the run. Commands, suspensions and resumptions have none.
#[utoipa::path(get, path = "/api/v1/runs/{id}/plan", tag = "runs", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub async fn plan(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Plan>> {
    Ok(Json(services.engine.run_plan(caller.tenant(), &id).await?))
}

/// Cancels a run. Always-run steps still run. A second cancel aborts steps that do not stop.
#[utoipa::path(post, path = "/api/v1/runs/{id}/cancel", tag = "runs", params(("id" = String, Path)), responses((status = 202)))]
pub async fn cancel(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    services.engine.cancel(caller.tenant(), &id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Resumes a failed, cancelled or paused run. Completed steps are not repeated.
#[utoipa::path(post, path = "/api/v1/runs/{id}/resume", tag = "runs", params(("id" = String, Path)), responses((status = 202)))]
pub async fn resume(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    services.engine.resume(&caller.actor, &id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Releases a run that waits at a hook of an environment.
#[utoipa::path(post, path = "/api/v1/runs/{id}/release", tag = "runs", params(("id" = String, Path)), request_body = HookRelease, responses((status = 202)))]
pub async fn release(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(hook): Json<HookRelease>,
) -> Result<StatusCode> {
    let tenant = caller.tenant();
    services
        .engine
        .release_hook(tenant, &id, &hook.step)
        .await?;
    Ok(StatusCode::ACCEPTED)
}
