//! The facts of the cloud, for forms and checks.

use api::CloudFacts;
use axum::extract::State;

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// Images, flavors, networks, key pairs and zones of the project.
///
/// At most 30 seconds old. A list that the cloud did not return is null.
#[utoipa::path(get, path = "/api/v1/cloud", tag = "cloud", responses((status = 200, body = Object)))]
pub async fn get(State(services): State<Services>, caller: Caller) -> Result<Json<CloudFacts>> {
    Ok(Json(CloudFacts::clone(
        &*services.facts.of(&caller.actor).await,
    )))
}
