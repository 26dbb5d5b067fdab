//! Glance v2: images and their properties. Their content is in [`data`].

pub(crate) mod data;
pub(crate) mod fields;
pub(crate) mod record;
pub(crate) mod versions;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, json_answer, read_json, reply};
use crate::kit::ids::now;
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::image::fields::set;
use crate::services::image::record::Image;
use crate::services::{App, Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/image")
        .get("", versions::versions)
        .get("/", versions::versions)
        .get("/versions", versions::versions)
        .and(v2())
}

fn v2() -> Routes {
    Routes::below("/image/v2")
        .get("", versions::versions)
        .get("/", versions::versions)
        .get("/images", list)
        .post("/images", create)
        .get("/images/{id}", show)
        .patch("/images/{id}", update)
        .delete("/images/{id}", delete)
        .put("/images/{id}/tags/{tag}", add_tag)
        .delete("/images/{id}/tags/{tag}", remove_tag)
        .and(data::routes())
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

fn not_found(id: &str) -> Refusal {
    Refusal::not_found("NotFound", format!("Failed to find image {id}"))
}

/// The image, if the caller may see it.
fn seen<'a>(model: &'a Model, member: &Member, id: &str) -> Result<&'a Image, Refusal> {
    model
        .images
        .get(id)
        .filter(|row| member.admin || row.visible_to(&member.project_id))
        .ok_or_else(|| Refusal::not_found("NotFound", format!("No image found with ID {id}")))
}

/// The image, if it is the caller's own. One that can only be seen is forbidden.
fn owned<'a>(
    model: &'a Model,
    member: &Member,
    id: &str,
    rule: &str,
) -> Result<&'a Image, Refusal> {
    let row = seen(model, member, id).map_err(|_| not_found(id))?;
    if member.can_access(&row.owner) {
        Ok(row)
    } else {
        Err(Refusal::forbidden(format!(
            "You are not authorized to complete {rule} action."
        )))
    }
}

/// Change an image that is known to be the caller's.
fn changed(app: &App, id: &str, change: impl FnOnce(&mut Image)) {
    app.change(|model| {
        if let Some(row) = model.images.get_mut(id) {
            change(&mut *row);
            row.updated_at = now();
        }
    });
}

/// Query words that are not attributes.
const NOT_FILTERS: &[&str] = &[
    "limit",
    "marker",
    "sort",
    "sort_key",
    "sort_dir",
    "member_status",
    "visibility",
    "tag",
    "size_min",
    "size_max",
    "os_hidden",
];

fn fits(row: &Image, shown: &Value, parameters: &[(String, String)]) -> bool {
    let hidden =
        query::value(parameters, "os_hidden").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    row.os_hidden == hidden
        && parameters.iter().all(|(name, value)| match name.as_str() {
            "tag" => row.tags.contains(value),
            "visibility" => value == "all" || row.visibility == *value,
            "size_min" => value
                .parse()
                .is_ok_and(|least: u64| row.size >= Some(least)),
            "size_max" => value.parse().is_ok_and(|most: u64| row.size <= Some(most)),
            name if NOT_FILTERS.contains(&name) => true,
            name => match value.strip_prefix("in:") {
                Some(list) => list
                    .split(',')
                    .any(|one| query::attribute_is(shown, name, one.trim_matches('"'))),
                None => query::attribute_is(shown, name, value),
            },
        })
}

/// The sort keys of lists of images.
const ORDERS: &[&str] = &[
    "name",
    "status",
    "container_format",
    "disk_format",
    "size",
    "id",
    "created_at",
    "updated_at",
];

/// Refuses invalid query parameters of a list.
fn check_parameters(parameters: &[(String, String)]) -> Result<(), Refusal> {
    for (name, value) in parameters {
        let wrong_order = |keys: &str| {
            let mut keys = keys
                .split(',')
                .map(|key| key.split(':').next().unwrap_or_default());
            keys.find(|key| !ORDERS.contains(key)).map(str::to_owned)
        };
        let sentence = match name.as_str() {
            "limit" => match value.parse::<i64>() {
                Ok(0..) => continue,
                Ok(_) => "limit param must be positive".to_owned(),
                Err(_) => "limit param must be an integer".to_owned(),
            },
            "sort" | "sort_key" => match wrong_order(value) {
                None => continue,
                Some(key) => format!(
                    "Invalid sort key: {key}. It must be one of the following: {}.",
                    ORDERS.join(", ")
                ),
            },
            "sort_dir" if !["asc", "desc"].contains(&value.as_str()) => {
                format!("Invalid sort direction: {value}")
            }
            "visibility"
                if !["public", "private", "shared", "community", "all"]
                    .contains(&value.as_str()) =>
            {
                format!("Invalid visibility value: {value}")
            }
            "size_min" | "size_max" if value.parse::<u64>().is_err() => {
                "Unable to filter on a range with a non-numeric value.".to_owned()
            }
            _ => continue,
        };
        return Err(Refusal::bad_request(sentence));
    }
    Ok(())
}

/// Refuses other content types. Glance checks the type before the body.
fn body_is(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type
        .and_then(|content_type| content_type.to_str().ok())
        .unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    if kinds.contains(&kind) {
        Ok(())
    } else {
        Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            format!("The request media type {kind} is not supported by this server."),
        ))
    }
}

async fn list(call: Call) -> Answer {
    let member = call.member()?;
    check_parameters(&call.query)?;
    let page = call.app.read(|model| {
        let visible = model
            .images
            .iter()
            .rev()
            .filter(|row| member.admin || row.visible_to(&member.project_id));
        let mut rows: Vec<&Image> = visible
            .filter(|row| fits(row, &document(row), &call.query))
            .collect();
        query::sort_rows(&mut rows, &call.query, |row, key| {
            let shown = &document(row)[key];
            match shown.as_u64() {
                Some(number) => format!("{number:020}"),
                None => shown.as_str().unwrap_or_default().to_owned(),
            }
        });
        query::page_rows(rows, &call.query, 1_000, |row| &row.id)
            .map(|(rows, next)| (rows.into_iter().map(document).collect::<Vec<Value>>(), next))
    });
    let marker = call.query_value("marker").unwrap_or_default();
    let (items, next) =
        page.ok_or_else(|| Refusal::bad_request(format!("No image found with ID {marker}")))?;
    let words: Vec<(String, String)> = call
        .query
        .iter()
        .filter(|(name, _)| name != "marker")
        .cloned()
        .collect();
    let first = if words.is_empty() {
        "/v2/images".to_owned()
    } else {
        format!("/v2/images?{}", query::encoded(&words))
    };
    let mut body = json!({"images": items, "first": first, "schema": "/v2/schemas/images"});
    if let Some(next) = next {
        body["next"] = format!("/v2/images?{}", query::with_marker(&call.query, &next)).into();
    }
    reply(200, body)
}

async fn show(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let shown = call
        .app
        .read(|model| seen(model, &member, id).map(document))?;
    reply(200, shown)
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let fields: &Map<String, Value> = body
        .as_object()
        .ok_or_else(|| Refusal::bad_request("Provided object does not match schema 'image'."))?;
    let mut row = Image::new(&member.project_id);
    for (name, value) in fields {
        match (name.as_str(), value.as_str()) {
            // A client may choose the id.
            ("id", Some(id)) if uuid::Uuid::parse_str(id).is_ok() => row.id = id.into(),
            _ => set(&mut row, &member, name, value)?,
        }
    }
    let shown = document(&row);
    let id = row.id.clone();
    call.app.change(|model| {
        if model.images.get(&row.id).is_some() {
            return Err(Refusal::conflict(
                "Conflict",
                format!("Image ID {} already exists!", row.id),
            ));
        }
        model.images.insert(row);
        Ok(())
    })?;
    let mut response = json_answer(201, shown);
    let place = format!("{}/image/v2/images/{id}", call.base);
    let headers = response.headers_mut();
    if let Ok(place) = HeaderValue::try_from(place) {
        headers.insert(header::LOCATION, place);
    }
    headers.insert(
        "openstack-image-import-methods",
        HeaderValue::from_static("glance-direct"),
    );
    Ok(response)
}

/// A JSON patch: `[{"op": "replace", "path": "/name", "value": "x"}]`, and nothing that points deeper.
async fn update(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    body_is(
        &call.headers,
        &[
            "application/openstack-images-v2.1-json-patch",
            "application/openstack-images-v2.0-json-patch",
        ],
    )?;
    let body = read_json(&body)?;
    let operations = body.as_array().ok_or_else(|| {
        Refusal::bad_request("Request body must be a JSON array of operation objects.")
    })?;
    let shown = call.app.change(|model| {
        let mut row = owned(model, &member, id, "modify_image")?.clone();
        for operation in operations {
            let path = operation["path"].as_str().unwrap_or_default();
            let name = path.strip_prefix('/').ok_or_else(|| {
                Refusal::bad_request(format!("Pointer `{path}` does not start with \"/\"."))
            })?;
            let name = name.replace("~1", "/").replace("~0", "~");
            let there = document(&row).get(&name).is_some();
            match operation["op"].as_str() {
                Some("add") => set(&mut row, &member, &name, &operation["value"])?,
                Some("replace" | "remove") if !there => {
                    return Err(Refusal::conflict(
                        "Conflict",
                        format!("Property {name} does not exist."),
                    ));
                }
                Some("replace") => set(&mut row, &member, &name, &operation["value"])?,
                Some("remove") if row.properties.contains_key(&name) => {
                    row.properties.remove(&name);
                }
                Some("remove") => {
                    return Err(Refusal::forbidden(format!(
                        "Property {name} may not be removed."
                    )));
                }
                _ => {
                    return Err(Refusal::bad_request(format!(
                        "Unable to find 'add', 'remove' or 'replace' in the operation {operation}."
                    )));
                }
            }
        }
        row.updated_at = now();
        let shown = document(&row);
        model.images.insert(row);
        Ok(shown)
    })?;
    reply(200, shown)
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    call.app.change(|model| {
        let row = owned(model, &member, id, "delete_image")?;
        if row.protected {
            return Err(Refusal::forbidden(format!(
                "Image {id} is protected and cannot be deleted."
            )));
        }
        model.images.remove(id);
        Ok(())
    })?;
    call.app.blobs.remove(id);
    call.app.spawn_image_remove(id.to_owned());
    empty(204)
}

async fn add_tag(call: Call) -> Answer {
    let (id, tag) = (call.part("id"), call.part("tag"));
    let member = call.member()?;
    call.app
        .read(|model| owned(model, &member, id, "modify_image").map(|_| ()))?;
    changed(&call.app, id, |row| {
        if !row.tags.iter().any(|one| one == tag) {
            row.tags.push(tag.to_owned());
        }
    });
    empty(204)
}

async fn remove_tag(call: Call) -> Answer {
    let (id, tag) = (call.part("id"), call.part("tag"));
    let member = call.member()?;
    let there = call.app.read(|model| {
        let row = owned(model, &member, id, "modify_image")?;
        Ok::<_, Refusal>(row.tags.iter().any(|one| one == tag))
    })?;
    if !there {
        return Err(not_found(tag));
    }
    changed(&call.app, id, |row| row.tags.retain(|one| *one != tag));
    empty(204)
}
