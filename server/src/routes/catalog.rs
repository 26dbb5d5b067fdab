//! The service catalogue.

use axum::extract::{Path, State};
use topology::catalog::CatalogItem;

use crate::{
    auth::{Caller, Member},
    codes,
    extract::Json,
    problem::{Error, Result},
    services::Services,
};

/// All items, by name.
#[utoipa::path(get, path = "/api/v1/catalog", tag = "catalogue", responses((status = 200, body = Vec<Object>)))]
pub async fn list(State(services): State<Services>, _: Caller) -> Json<Vec<CatalogItem>> {
    Json(services.catalog.items().to_vec())
}

/// One, with its inputs, outputs and text.
#[utoipa::path(get, path = "/api/v1/catalog/{item}", tag = "catalogue", params(("item" = String, Path)), responses((status = 200, body = Object)))]
pub async fn get(
    State(services): State<Services>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<Json<CatalogItem>> {
    services
        .catalog
        .item(&name)
        .cloned()
        .map(Json)
        .ok_or_else(|| {
            Error::new(
                codes::NOT_FOUND,
                format!("There is no `{name}` in the catalogue."),
            )
            .hint("`/api/v1/catalog` lists all items.")
        })
}

/// An item of one's own, as tar.gz; not yet.
#[utoipa::path(post, path = "/api/v1/catalog", tag = "catalogue", responses((status = 501)))]
pub async fn upload(_: Member) -> Error {
    Error::new(codes::NOT_AVAILABLE_YET, "Items cannot be uploaded yet.").hint(
        "Put the item's folder below the server's catalogue folder and start the server again.",
    )
}
