//! Resources of a deployment, as the cloud has them now.

use api::LiveResource;
use axum::extract::{Path, State};

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// The floating IPs, load balancers and volumes of a deployment with their present state in the cloud.
///
/// Servers have their own list, `/api/v1/deployments/{id}/servers`.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/live", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Vec<LiveResource>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<LiveResource>>> {
    Ok(Json(
        services.engine.live_resources(&caller.actor, &id).await?,
    ))
}
