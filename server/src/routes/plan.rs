//! Plans of templates.

use api::{Plan, PlanRequest};
use axum::extract::State;
use hot::bundle::Bundle;

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// Plans a deployment: the changes and the workflow that makes them.
///
/// The changes lead from the deployment (from nothing, without `deployment`) to the template. Problems are in
/// `diagnostics`. If there is an error among them, there is no workflow.
#[utoipa::path(post, path = "/api/v1/plan", tag = "templates", request_body = PlanRequest, responses((status = 200, body = Object)))]
pub async fn plan(
    State(services): State<Services>,
    caller: Caller,
    Json(request): Json<PlanRequest>,
) -> Result<Json<Plan>> {
    let PlanRequest {
        template,
        beside,
        parameters,
        deployment,
    } = request;
    let bundle = beside.files.is_some().then(|| beside.bundle());
    let facts = services
        .facts
        .for_template(
            &services.engine,
            &caller.actor,
            &template,
            bundle.as_ref().unwrap_or(&Bundle::default()),
        )
        .await?;
    let plan = services
        .engine
        .plan(
            &caller.actor,
            &template,
            bundle.as_ref(),
            &parameters,
            deployment.as_deref(),
            &facts,
        )
        .await?;
    Ok(Json(plan))
}
