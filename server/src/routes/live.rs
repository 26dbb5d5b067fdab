//! Resources of a deployment, as the cloud has them now.

use api::LiveResources;
use axum::extract::{Path, State};

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// The resources of a deployment that have a status or an address in the cloud, with their present state.
///
/// Servers have their own list, `/api/v1/deployments/{id}/servers`. This one contains at most 1,000 resources of each
/// type of Neutron, the members of at most 10 pools and the rules of at most 10 L7 policies. A service that fails is
/// named, and its resources are left out.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/live", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = LiveResources)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<LiveResources>> {
    Ok(Json(
        services.engine.live_resources(&caller.actor, &id).await?,
    ))
}
