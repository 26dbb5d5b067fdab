//! The resource types for templates.

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use types::ResourceType;

use crate::{
    auth::Caller,
    catalog, codes,
    extract::Json,
    problem::{Error, Result},
    services::Services,
};

/// All resource types by name: properties, attributes, appearance. Has an `ETag` for `If-None-Match`.
#[utoipa::path(
    get, path = "/api/v1/resource-types", tag = "templates",
    responses((status = 200, body = Vec<Object>), (status = 304, description = "As in the answer with that `ETag`"))
)]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response> {
    let catalog = services.engine.catalog(caller.tenant()).await?;
    Ok(catalog::answer(catalog.described(), &headers))
}

/// One resource type.
#[utoipa::path(get, path = "/api/v1/resource-types/{type}", tag = "templates", params(("type" = String, Path)), responses((status = 200, body = Object)))]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ResourceType>> {
    let catalog = services.engine.catalog(caller.tenant()).await?;
    catalog
        .registry()
        .get(&name)
        .cloned()
        .map(Json)
        .ok_or_else(|| {
            Error::new(
                codes::NOT_FOUND,
                format!("The resource type `{name}` does not exist."),
            )
            .hint("`/api/v1/resource-types` lists all.")
        })
}
