//! Servers of a deployment: their present state in the cloud, and their power.

use api::{LiveServer, PowerRequest};
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

/// The servers of a deployment with their present state in the cloud.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/servers", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Vec<LiveServer>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<LiveServer>>> {
    Ok(Json(
        services.engine.live_servers(&caller.actor, &id).await?,
    ))
}

/// Starts, stops or reboots a server. The cloud has accepted it then; the list of servers tells when it is done.
///
/// Refused while a run is active. A template has no word for this state: a check finds a stopped server as changed in
/// the cloud, and a repair starts it.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/servers/{name}/power", tag = "deployments", params(("id" = String, Path), ("name" = String, Path, description = "Name of the server's resource.")), request_body = PowerRequest, responses((status = 202)))]
pub async fn power(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, name)): Path<(String, String)>,
    Json(PowerRequest { power }): Json<PowerRequest>,
) -> Result<StatusCode> {
    let engine = &services.engine;
    engine
        .server_power(&caller.actor, &id, &name, power)
        .await?;
    Ok(StatusCode::ACCEPTED)
}
