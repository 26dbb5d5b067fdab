//! Validation of templates.

use api::{ValidateRequest, ValidateResponse};
use axum::extract::State;
use hot::document::Document;
use planner::{
    compose,
    plan::{PlanInput, QUOTA_EXCEEDED, plan},
};

use crate::{auth::Caller, extract::Json, problem::Result, services::Services};

/// All problems with path and line, checked against the cloud. Quotas are checked for a new deployment.
///
/// An invalid template is no request error: the response contains its problems.
#[utoipa::path(post, path = "/api/v1/validate", tag = "templates", request_body = ValidateRequest, responses((status = 200, body = ValidateResponse)))]
pub async fn validate(
    State(services): State<Services>,
    caller: Caller,
    Json(request): Json<ValidateRequest>,
) -> Result<Json<ValidateResponse>> {
    let bundle = request.beside.bundle();
    let facts = services
        .facts
        .for_template(&caller.actor, &request.template, &bundle)
        .await?;
    let catalog = services.engine.catalog(caller.tenant()).await?;
    let work = move || {
        let document = Document::parse(request.template);
        let types = catalog.registry();
        let parameters = &request.parameters;
        let mut found = compose::validate(&document, &bundle, types, &facts, parameters);
        let planned = plan(&PlanInput {
            document: &document,
            bundle: &bundle,
            parameters,
            deployed: &Default::default(),
            types,
            cloud: &facts,
        });
        let quotas = planned.diagnostics.into_iter();
        found.extend(quotas.filter(|one| one.code == QUOTA_EXCEEDED));
        found
    };
    let diagnostics = services.engine.compute(caller.tenant(), work).await?;
    Ok(Json(ValidateResponse { diagnostics }))
}
