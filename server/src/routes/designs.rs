//! Designs: templates with layout and versions.

use api::{
    Design, DesignRequest, DesignSummary, DesignVersion, DesignVersionLabel, DesignVersionSummary,
    DesignWatch, ViewerRequest,
};
use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    auth::{Caller, Member},
    extract::{DONE, Json, Paged},
    problem::{Error, Result},
    services::Services,
};

/// The project's designs, the last saved first.
///
/// At most `limit` (default 500, maximum 1,000). A full page has a header `Link` to the next one.
#[utoipa::path(get, path = "/api/v1/designs", tag = "designs", params(("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)), responses((status = 200, body = Vec<DesignSummary>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    paged: Paged,
) -> Result<Response> {
    let designs = services.designs.list(caller.tenant(), paged.page).await?;
    Ok(paged.answer(designs))
}

/// Creates a design. The template can be invalid or empty.
#[utoipa::path(post, path = "/api/v1/designs", tag = "designs", request_body = DesignRequest, responses((status = 201, body = Design)))]
pub async fn create(
    State(services): State<Services>,
    Member(caller): Member,
    Json(request): Json<DesignRequest>,
) -> Result<impl IntoResponse> {
    let design = services
        .designs
        .create(caller.tenant(), &caller.me.user, &request)
        .await?;
    let location = format!("/api/v1/designs/{}", design.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, location)],
        Json(design),
    ))
}

/// The newest version of a design.
#[utoipa::path(get, path = "/api/v1/designs/{id}", tag = "designs", params(("id" = String, Path)), responses((status = 200, body = Design)))]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Design>> {
    Ok(Json(services.designs.get(caller.tenant(), &id).await?))
}

/// Records that the caller has a design open, for the next 20 seconds or until the caller leaves it. Returns its newest version, and who else has it open.
#[utoipa::path(post, path = "/api/v1/designs/{id}/viewers", tag = "designs", params(("id" = String, Path)), request_body = ViewerRequest, responses((status = 200, body = DesignWatch)))]
pub async fn watch(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    Json(request): Json<ViewerRequest>,
) -> Result<Json<DesignWatch>> {
    Ok(Json(
        services.designs.watch(&caller.actor, &id, request).await?,
    ))
}

/// Saves a new version. If `base_version` is not the newest, nothing is saved: 409 `version-conflict`.
#[utoipa::path(put, path = "/api/v1/designs/{id}", tag = "designs", params(("id" = String, Path)), request_body = DesignRequest, responses((status = 200, body = Design)))]
pub async fn save(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<DesignRequest>,
) -> Result<Json<Design>> {
    Ok(Json(
        services
            .designs
            .save(caller.tenant(), &caller.me.user, &id, &request)
            .await?,
    ))
}

/// Deletes the design with its versions. Its deployments stay.
#[utoipa::path(delete, path = "/api/v1/designs/{id}", tag = "designs", params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    services.designs.delete(caller.tenant(), &id).await?;
    Ok(DONE)
}

/// The kept versions, newest first.
#[utoipa::path(get, path = "/api/v1/designs/{id}/versions", tag = "designs", params(("id" = String, Path)), responses((status = 200, body = Vec<DesignVersionSummary>)))]
pub async fn versions(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<DesignVersionSummary>>> {
    Ok(Json(services.designs.versions(caller.tenant(), &id).await?))
}

/// A kept version with its content.
#[utoipa::path(get, path = "/api/v1/designs/{id}/versions/{version}", tag = "designs", params(("id" = String, Path), ("version" = u32, Path)), responses((status = 200, body = DesignVersion)))]
pub async fn version(
    State(services): State<Services>,
    caller: Caller,
    Path((id, version)): Path<(String, String)>,
) -> Result<Json<DesignVersion>> {
    let version = number(&version)?;
    let found = services.designs.version(caller.tenant(), &id, version);
    Ok(Json(found.await?))
}

/// The number of a version, from a path.
fn number(version: &str) -> Result<u32> {
    let number = version.parse();
    number.map_err(|_| Error::not_found("version", version))
}

/// Labels a version. A version with a label is not removed for newer ones; at most 20 of a design have one.
#[utoipa::path(put, path = "/api/v1/designs/{id}/versions/{version}", tag = "designs", params(("id" = String, Path), ("version" = u32, Path)), request_body = DesignVersionLabel, responses((status = 204)))]
pub async fn label(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, version)): Path<(String, String)>,
    Json(request): Json<DesignVersionLabel>,
) -> Result<StatusCode> {
    let (designs, version) = (&services.designs, number(&version)?);
    designs
        .label(caller.tenant(), &id, version, &request.label)
        .await?;
    Ok(DONE)
}
