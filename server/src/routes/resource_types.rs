//! The resource types that a template may use.

use axum::extract::{Path, State};
use topology::types::ResourceType;

use crate::{
    auth::Caller,
    codes,
    extract::Json,
    problem::{Error, Result},
    services::Services,
};

/// All, by name: properties, attributes, how they are drawn.
#[utoipa::path(get, path = "/api/v1/resource-types", tag = "templates", responses((status = 200, body = Vec<Object>)))]
pub async fn list(State(services): State<Services>, _: Caller) -> Json<Vec<ResourceType>> {
    Json(services.catalog.types().iter().cloned().collect())
}

/// One.
#[utoipa::path(get, path = "/api/v1/resource-types/{type}", tag = "templates", params(("type" = String, Path)), responses((status = 200, body = Object)))]
pub async fn get(
    State(services): State<Services>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<Json<ResourceType>> {
    services
        .catalog
        .types()
        .get(&name)
        .cloned()
        .map(Json)
        .ok_or_else(|| {
            Error::new(
                codes::NOT_FOUND,
                format!("There is no resource type `{name}`."),
            )
            .hint("`/api/v1/resource-types` lists all.")
        })
}
