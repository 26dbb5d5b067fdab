//! Catalogue items that are made from a form.

use api::LintFinding;
use axum::{
    extract::{Path, State},
    response::Response,
};
use serde::Deserialize;
use types::catalog::recipe::Recipe;

use super::catalog::{answer, stage, upload_slot};
use crate::{
    auth::{Caller, Member},
    codes,
    extract::{Json, Query},
    problem::{Error, Result},
    services::Services,
};

/// `?draft=true`
#[derive(Deserialize)]
pub struct PublishQuery {
    #[serde(default)]
    draft: bool,
}

/// Publishes the item of a form as an item of the project, or stores it as a draft.
///
/// The recipe becomes an Ansible role with an `item.yml`, under the rules of an upload. The path of a problem is that of
/// its value, such as `files.0.path`.
#[utoipa::path(
    post, path = "/api/v1/recipes", tag = "catalogue", params(("draft" = Option<bool>, Query)), request_body = Object,
    responses((status = 201, body = Object), (status = 200, description = "The project has it already", body = Object))
)]
pub async fn publish(
    State(services): State<Services>,
    Member(caller): Member,
    Query(PublishQuery { draft }): Query<PublishQuery>,
    Json(recipe): Json<Recipe>,
) -> Result<Response> {
    let _slot = upload_slot(&services, &caller)?;
    let published = services
        .engine
        .publish_recipe(&caller.actor, &recipe, stage(draft));
    Ok(answer(published.await?))
}

/// Findings of Ansible's linter on the role of a recipe, which is not published.
#[utoipa::path(
    post, path = "/api/v1/recipes/lint", tag = "catalogue", request_body = Object, responses((status = 200, body = Vec<LintFinding>))
)]
pub async fn lint(
    State(services): State<Services>,
    Member(caller): Member,
    Json(recipe): Json<Recipe>,
) -> Result<Json<Vec<LintFinding>>> {
    let _slot = upload_slot(&services, &caller)?;
    let findings = services.engine.lint_recipe(caller.tenant(), &recipe);
    Ok(Json(findings.await?))
}

/// The recipe of an item that was made from a form.
#[utoipa::path(get, path = "/api/v1/catalog/{item}/recipe", tag = "catalogue", params(("item" = String, Path)), responses((status = 200, body = Object)))]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Recipe>> {
    let recipe = services.engine.recipe(caller.tenant(), &name).await?;
    recipe.map(Json).ok_or_else(|| {
        Error::new(
            codes::NOT_FOUND,
            format!("`{name}` was not made from a form."),
        )
        .hint("Change its files, and upload them under another version.")
    })
}
