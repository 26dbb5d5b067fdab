//! Glance v2: reading only, for now.

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{GlanceError, json_answer};
use super::token::Caller;
use super::{App, base_url, query};
use crate::model::image::Image;
use crate::model::refusal::Refusal;

type Answer = Result<Response, GlanceError>;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/image", get(versions))
        .route("/image/", get(versions))
        .route("/image/versions", get(versions))
        .route("/image/v2", get(versions))
        .route("/image/v2/", get(versions))
        .route("/image/v2/schemas/image", get(image_schema))
        .route("/image/v2/schemas/images", get(images_schema))
        .route("/image/v2/images", get(list))
        .route("/image/v2/images/{id}", get(show))
}

async fn versions(headers: HeaderMap) -> Response {
    let link = json!([{"rel": "self", "href": format!("{}/image/v2/", base_url(&headers))}]);
    let version = |minor: u8, status: &str| json!({"id": format!("v2.{minor}"), "status": status, "links": link});
    let supported = (0..9)
        .rev()
        .filter(|minor| *minor != 8)
        .map(|minor| version(minor, "SUPPORTED"));
    let all: Vec<Value> = std::iter::once(version(9, "CURRENT"))
        .chain(supported)
        .collect();
    json_answer(300, json!({ "versions": all }))
}

fn document(row: &Image) -> Value {
    let mut document = json!(row.properties);
    let fields = json!({
        "id": row.id,
        "name": row.name,
        "status": row.status.as_str(),
        "visibility": row.visibility,
        "size": row.size,
        "virtual_size": null,
        "min_ram": row.min_ram,
        "min_disk": row.min_disk,
        "disk_format": row.disk_format,
        "container_format": row.container_format,
        "checksum": row.checksum,
        "os_hash_algo": row.os_hash_value.as_ref().map(|_| "sha512"),
        "os_hash_value": row.os_hash_value,
        "os_hidden": row.os_hidden,
        "protected": row.protected,
        "owner": row.owner,
        "tags": row.tags,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "self": format!("/v2/images/{}", row.id),
        "file": format!("/v2/images/{}/file", row.id),
        "schema": "/v2/schemas/image",
    });
    if let (Some(all), Value::Object(fields)) = (document.as_object_mut(), fields) {
        all.extend(fields);
    }
    document
}

async fn list(State(app): State<App>, caller: Caller, Query(asked): query::Query) -> Answer {
    caller.token()?;
    let mut rows: Vec<Value> = app.read(|model| model.images.iter().map(document).collect());
    let other = [
        "limit",
        "marker",
        "sort",
        "sort_key",
        "sort_dir",
        "member_status",
        "visibility",
    ];
    rows.retain(|row| {
        let mut filters = asked
            .iter()
            .filter(|(name, _)| !other.contains(&name.as_str()));
        filters.all(|(name, value)| {
            query::attribute_is(row, name, value.strip_prefix("in:").unwrap_or(value))
        })
    });
    query::sort(&mut rows, &asked);
    let page = query::page(rows, &asked, 1_000)
        .ok_or_else(|| Refusal::not_found("NotFound", "Invalid marker"))?;
    let mut body =
        json!({"images": page.items, "first": "/v2/images", "schema": "/v2/schemas/images"});
    if let Some(next) = page.next {
        body["next"] = format!("/v2/images?{}", query::with_marker(&asked, &next)).into();
    }
    Ok(json_answer(200, body))
}

async fn show(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    caller.token()?;
    let shown = app.read(|model| model.images.get(&id).map(document));
    let shown = shown
        .ok_or_else(|| Refusal::not_found("NotFound", format!("No image found with ID {id}")))?;
    Ok(json_answer(200, shown))
}

async fn image_schema(caller: Caller) -> Answer {
    caller.token()?;
    let text = json!({"type": ["null", "string"]});
    let properties = json!({
        "id": {"type": "string", "readOnly": true},
        "name": text,
        "status": {"type": "string", "readOnly": true, "enum": ["queued", "saving", "active", "killed", "deleted", "deactivated"]},
        "visibility": {"type": "string", "enum": ["community", "public", "private", "shared"]},
        "os_admin_user": text,
        "os_distro": text,
        "os_version": text,
    });
    Ok(json_answer(
        200,
        json!({"name": "image", "properties": properties, "additionalProperties": {"type": "string"}}),
    ))
}

async fn images_schema(caller: Caller) -> Answer {
    caller.token()?;
    Ok(json_answer(
        200,
        json!({"name": "images", "properties": {"images": {"type": "array"}}}),
    ))
}
