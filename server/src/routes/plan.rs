//! Plans of templates.

use api::{Plan, PlanRequest};
use axum::extract::State;
use engine::{Hidden, Preview};
use hot::bundle::Bundle;
use planner::deployed::GroupRequest;

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// Plans a deployment: the changes and the workflow that makes them.
///
/// The changes lead from the deployment (from nothing, without `deployment`) to the template. Problems are in
/// `diagnostics`. If there is an error among them, there is no workflow. For a reader, each given value of a hidden
/// parameter counts as changed.
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
        groups,
        repair,
        versions,
    } = request;
    let bundle = beside.files.is_some().then(|| beside.bundle());
    let facts = services
        .facts
        .for_template(
            &caller.actor,
            &template,
            bundle.as_ref().unwrap_or(&Bundle::default()),
        )
        .await?;
    let hidden = if caller.me.can_change {
        Hidden::Compared
    } else {
        Hidden::Unknown
    };
    let groups = groups.into_iter();
    let groups = groups.map(|(name, size)| (name, GroupRequest::Size(size)));
    let preview = Preview {
        template,
        bundle,
        parameters,
        cloud: facts,
        hidden,
        groups: groups.collect(),
        repairs: repair,
        versions,
        rolls_back: None,
    };
    let plan = services
        .engine
        .plan(&caller.actor, preview, deployment.as_deref());
    Ok(Json(plan.await?))
}
