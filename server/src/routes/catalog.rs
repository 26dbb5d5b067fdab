//! The service catalogue: the server's own items and the project's.

use std::time::Duration;

use api::{CatalogEntry, ItemComparison, ItemDraft, ItemUse, LintFinding, Repository};
use axum::{
    extract::{FromRequest, Path, Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::catalog::{Published, Stage};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use types::catalog::role::RoleDraft;

use crate::{
    auth::{Caller, Member},
    codes,
    extract::{DONE, Json, Query, media_type, read},
    problem::{Error, Result},
    services::Services,
};

/// Time after which a refused upload may be repeated.
const UPLOAD_PAUSE: Duration = Duration::from_secs(10);

/// All items by name, with the newest version of the project's own items.
#[utoipa::path(get, path = "/api/v1/catalog", tag = "catalogue", responses((status = 200, body = Vec<Object>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
) -> Result<Json<Vec<CatalogEntry>>> {
    let catalog = services.engine.catalog(caller.tenant()).await?;
    Ok(Json(catalog.items().map(|item| item.entry()).collect()))
}

/// `?version=...`
#[derive(Deserialize)]
pub struct VersionQuery {
    version: Option<String>,
}

/// One item, with its inputs, outputs and README: its newest version, or the named one, which can be a draft.
#[utoipa::path(
    get, path = "/api/v1/catalog/{item}", tag = "catalogue",
    params(("item" = String, Path), ("version" = Option<String>, Query)), responses((status = 200, body = Object))
)]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
    Query(VersionQuery { version }): Query<VersionQuery>,
) -> Result<Json<CatalogEntry>> {
    if let Some(version) = version {
        let item = services
            .engine
            .item_version(caller.tenant(), &name, &version);
        return Ok(Json(item.await?.entry()));
    }
    let catalog = services.engine.catalog(caller.tenant()).await?;
    let item = catalog.get(&name).map(|item| Json(item.entry()));
    item.ok_or_else(|| {
        Error::new(
            codes::NOT_FOUND,
            format!("The catalogue has no item `{name}`."),
        )
        .hint("`/api/v1/catalog` lists all items.")
    })
}

/// The drafts of the project, by name. They are in no catalogue.
#[utoipa::path(get, path = "/api/v1/drafts", tag = "catalogue", responses((status = 200, body = Vec<ItemDraft>)))]
pub async fn drafts(
    State(services): State<Services>,
    caller: Caller,
) -> Result<Json<Vec<ItemDraft>>> {
    Ok(Json(services.engine.drafts(caller.tenant()).await?))
}

/// `?version=...`
#[derive(Deserialize)]
pub struct DraftQuery {
    version: String,
}

/// Deletes a draft of an item, whoever stored it.
///
/// A draft is kept while a deployment uses it, or would return to it by a roll-back. Published versions are not deleted.
#[utoipa::path(
    delete, path = "/api/v1/catalog/{item}", tag = "catalogue",
    params(("item" = String, Path), ("version" = String, Query)), responses((status = 204))
)]
pub async fn delete_draft(
    State(services): State<Services>,
    Member(caller): Member,
    Path(name): Path<String>,
    Query(DraftQuery { version }): Query<DraftQuery>,
) -> Result<StatusCode> {
    let engine = &services.engine;
    engine.delete_draft(&caller.actor, &name, &version).await?;
    Ok(DONE)
}

/// Publishes a draft of an item, whoever stored it: the same files, under the version of their manifest.
///
/// The rules are those of an upload. The draft of the caller is deleted, as soon as no deployment uses it.
#[utoipa::path(
    post, path = "/api/v1/catalog/{item}/publish", tag = "catalogue",
    params(("item" = String, Path), ("version" = String, Query)),
    responses((status = 201, body = Object), (status = 200, description = "The project has it already", body = Object))
)]
pub async fn publish_draft(
    State(services): State<Services>,
    Member(caller): Member,
    Path(name): Path<String>,
    Query(DraftQuery { version }): Query<DraftQuery>,
) -> Result<Response> {
    let _slot = upload_slot(&services, &caller)?;
    let engine = &services.engine;
    let published = engine.publish_draft(&caller.actor, &name, &version);
    Ok(answer(published.await?))
}

/// `?from=...&to=...`
#[derive(Deserialize)]
pub struct CompareQuery {
    from: String,
    to: String,
}

/// The files that differ between two versions of an item.
#[utoipa::path(
    get, path = "/api/v1/catalog/{item}/compare", tag = "catalogue",
    params(("item" = String, Path), ("from" = String, Query), ("to" = String, Query)), responses((status = 200, body = ItemComparison))
)]
pub async fn compare(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
    Query(CompareQuery { from, to }): Query<CompareQuery>,
) -> Result<Json<ItemComparison>> {
    let compared = services
        .engine
        .compare_versions(caller.tenant(), &name, (&from, &to));
    Ok(Json(compared.await?))
}

/// The deployments of the project that have components of an item, with its version there.
#[utoipa::path(get, path = "/api/v1/catalog/{item}/deployments", tag = "catalogue", params(("item" = String, Path)), responses((status = 200, body = Vec<ItemUse>)))]
pub async fn uses(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Vec<ItemUse>>> {
    let uses = services.engine.item_uses(caller.tenant(), &name);
    Ok(Json(uses.await?))
}

/// `?manifest=...&draft=true`
#[derive(Deserialize)]
pub struct UploadQuery {
    manifest: Option<String>,
    #[serde(default)]
    draft: bool,
}

/// Publishes an item of the project from a tar.gz or zip, or from a git repository: an Ansible role with an `item.yml`.
///
/// The archive contains the item itself or one folder with it. A repository is named by a JSON body: `url`, and if need
/// be `reference` and `folder`. Its files are stored unchanged and run in the sandbox
/// only. A version never changes: the same files again change nothing (200), other files under the same version are
/// refused (409). Deployments keep the version of their creation. A role without an `item.yml` gets the text in `manifest`,
/// and options from its defaults if it describes none. With `draft`, the item is not published: its version ends with a
/// digest of its files, and only a deployment that names this version in `versions` uses it. The next draft replaces it.
#[utoipa::path(
    post, path = "/api/v1/catalog", tag = "catalogue",
    params(("manifest" = Option<String>, Query), ("draft" = Option<bool>, Query)),
    request_body(content((Vec<u8> = "application/gzip"), (Vec<u8> = "application/zip"), (Repository = "application/json"))),
    responses((status = 201, body = Object), (status = 200, description = "The project has it already", body = Object))
)]
pub async fn upload(
    State(services): State<Services>,
    Member(caller): Member,
    Query(UploadQuery { manifest, draft }): Query<UploadQuery>,
    request: Request,
) -> Result<Response> {
    let (archive, _slot) = archive(&services, &caller, request).await?;
    let published = services
        .engine
        .publish(&caller.actor, archive, manifest, stage(draft));
    Ok(answer(published.await?))
}

/// The draft of a manifest for a role without an `item.yml`, with which a form begins.
#[utoipa::path(
    post, path = "/api/v1/roles", tag = "catalogue",
    request_body(content((Vec<u8> = "application/gzip"), (Vec<u8> = "application/zip"), (Repository = "application/json"))),
    responses((status = 200, body = Object))
)]
pub async fn role(
    State(services): State<Services>,
    Member(caller): Member,
    request: Request,
) -> Result<Json<RoleDraft>> {
    let (archive, _slot) = archive(&services, &caller, request).await?;
    Ok(Json(services.engine.role_draft(archive).await?))
}

/// Findings of Ansible's linter on an item, from a sandbox: on its newest version, or the named one, which can be a draft.
#[utoipa::path(
    get, path = "/api/v1/catalog/{item}/lint", tag = "catalogue",
    params(("item" = String, Path), ("version" = Option<String>, Query)), responses((status = 200, body = Vec<LintFinding>))
)]
pub async fn lint(
    State(services): State<Services>,
    caller: Caller,
    Path(name): Path<String>,
    Query(VersionQuery { version }): Query<VersionQuery>,
) -> Result<Json<Vec<LintFinding>>> {
    let _slot = upload_slot(&services, &caller)?;
    let engine = &services.engine;
    let findings = engine.lint(caller.tenant(), &name, version.as_deref());
    Ok(Json(findings.await?))
}

/// Hosts of git repositories whose items can be published, as the server's operator lists them.
#[utoipa::path(get, path = "/api/v1/git-hosts", tag = "catalogue", responses((status = 200, body = Vec<String>)))]
pub async fn git_hosts(State(services): State<Services>, _: Caller) -> Json<Vec<String>> {
    Json(services.engine.git_hosts())
}

/// The archive in the body of a request, or of the repository that the body names. It is kept in memory until its item is
/// stored, so its slot is held as long.
async fn archive(
    services: &Services,
    caller: &Caller,
    request: Request,
) -> Result<(Vec<u8>, OwnedSemaphorePermit)> {
    let limit = services.config.upload_mib as usize * 1024 * 1024;
    match media_type(request.headers()).as_str() {
        "application/gzip" | "application/x-gzip" | "application/zip" => {
            let slot = upload_slot(services, caller)?;
            let hint = "Leave large files out of the role. It can download them when it runs.";
            Ok((read(request.into_body(), limit, hint).await?, slot))
        }
        "application/json" => {
            let Json(repository) = Json::<Repository>::from_request(request, services).await?;
            let slot = upload_slot(services, caller)?;
            let packed = services.engine.pack_repository(&repository, limit);
            Ok((packed.await?, slot))
        }
        _ => Err(Error::new(
            codes::UNSUPPORTED_MEDIA_TYPE,
            "The request's body is declared neither as a tar.gz or zip archive nor as JSON.",
        )
        .hint(
            "Pack the item's folder and send it with the header `Content-Type: application/gzip`.",
        )),
    }
}

/// A place among the uploads of the caller's project.
///
/// # Errors
/// If the project has as many uploads under way as it may have.
pub(super) fn upload_slot(services: &Services, caller: &Caller) -> Result<OwnedSemaphorePermit> {
    let slots = services.uploads.of(caller.tenant());
    slots.try_acquire_owned().map_err(|_| {
        Error::new(
            codes::TOO_MANY_UPLOADS,
            "This project uploads as many items as it may upload at once.",
        )
        .hint("Wait until the other upload has ended, then try again.")
        .retry_after(UPLOAD_PAUSE)
    })
}

/// The stage that a request asks for.
pub(super) fn stage(draft: bool) -> Stage {
    if draft {
        Stage::Draft
    } else {
        Stage::Published
    }
}

/// The stored item with its address: 201, or 200 if the project already had it.
pub(super) fn answer(published: Published) -> Response {
    let status = if published.was_there {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let item = published.item.entry();
    let mut place = format!("/api/v1/catalog/{}", item.item.name);
    if types::catalog::is_draft(&item.item.version) {
        // Of the characters of versions, only `+` has another meaning in a query.
        place += &format!("?version={}", item.item.version.replace('+', "%2B"));
    }
    (status, [(header::LOCATION, place)], Json(item)).into_response()
}
