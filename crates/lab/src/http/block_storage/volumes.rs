//! Cinder v3: volumes, their metadata and actions.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::get;
use serde_json::{Map, Value, json};

use super::view::{volume_document, volume_summary};
use super::{Answer, Asked, object, pairs, text, wrong};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::microversion::Microversion;
use crate::http::{App, query};
use crate::model::Model;
use crate::model::block_storage::volume::{CreateVolume, Volume, volume_not_found};
use crate::model::ids::now;
use crate::model::refusal::Refusal;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    Router::new()
        .route(&at("/volumes"), get(list).post(create))
        .route(&at("/volumes/detail"), get(list_detail))
        .route(&at("/volumes/summary"), get(summary))
        .route(&at("/volumes/{id}"), get(show).put(update).delete(delete))
}

async fn list(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    Query(filters): query::Query,
) -> Answer {
    listed(&app, &asked, version, &filters, false)
}

async fn list_detail(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    Query(filters): query::Query,
) -> Answer {
    listed(&app, &asked, version, &filters, true)
}

fn listed(
    app: &App,
    asked: &Asked,
    version: Microversion,
    filters: &[(String, String)],
    detail: bool,
) -> Answer {
    let member = asked.member()?;
    let base = &asked.base;
    let (page, count) = app.read(|model| {
        // Newest first, as Cinder sorts when nobody says otherwise.
        let mine = model
            .block_storage
            .volumes
            .iter()
            .rev()
            .filter(|row| row.project_id == member.project_id && fits(row, filters));
        let mut rows: Vec<&Volume> = mine.collect();
        query::sort_rows(&mut rows, filters, |row, key| match key {
            "name" | "display_name" => row.name.clone().unwrap_or_default(),
            "status" => row.status.as_str().to_owned(),
            "size" => format!("{:010}", row.size),
            "created_at" => row.created_at.clone(),
            _ => row.id.clone(),
        });
        let count = rows.len();
        let page = query::page_rows(rows, filters, 1_000, |row| &row.id);
        let page = page.map(|(rows, next)| {
            let shown = rows.into_iter().map(|row| match detail {
                true => volume_document(model, row, version, base),
                false => volume_summary(row, base),
            });
            (shown.collect::<Vec<Value>>(), next)
        });
        (page, count)
    });
    let marker = query::value(filters, "marker").unwrap_or_default();
    let (items, next) = page.ok_or_else(|| volume_not_found(marker))?;
    let mut body = json!({ "volumes": items });
    if let Some(next) = next {
        let path = if detail { "volumes/detail" } else { "volumes" };
        let href = format!(
            "{base}/volume/v3/{}/{path}?{}",
            member.project_id,
            query::with_marker(filters, &next)
        );
        body["volumes_links"] = json!([{"rel": "next", "href": href}]);
    }
    if version >= Microversion(3, 45) && query::value(filters, "with_count") == Some("True") {
        body["count"] = count.into();
    }
    Ok(json_answer(200, body))
}

fn fits(row: &Volume, filters: &[(String, String)]) -> bool {
    filters.iter().all(|(name, wanted)| match name.as_str() {
        "name" | "display_name" => row.name.as_deref().unwrap_or_default() == wanted,
        "name~" => row.name.as_deref().unwrap_or_default().contains(wanted),
        "status" => row.status.as_str() == wanted,
        "id" => &row.id == wanted,
        "size" => row.size.to_string() == *wanted,
        "volume_type" => &row.volume_type == wanted,
        "availability_zone" => &row.availability_zone == wanted,
        "bootable" => row.bootable == wanted.eq_ignore_ascii_case("true"),
        "user_id" => &row.user_id == wanted,
        "metadata" => query::pairs_fit(&row.metadata, wanted),
        _ => true,
    })
}

async fn summary(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    let (count, size) = app.read(|model| {
        let mine = model
            .block_storage
            .volumes
            .iter()
            .filter(|row| row.project_id == member.project_id);
        mine.fold((0_u64, 0_u64), |(count, size), row| {
            (count + 1, size + u64::from(row.size))
        })
    });
    Ok(json_answer(
        200,
        json!({"volume-summary": {"total_count": count, "total_size": size, "metadata": {}}}),
    ))
}

async fn show(State(app): State<App>, asked: Asked, version: Microversion) -> Answer {
    let member = asked.member()?;
    let shown = app.read(|model| {
        let row = model.volume_of(&member.project_id, asked.id())?;
        Ok::<_, Refusal>(volume_document(model, row, version, &asked.base))
    })?;
    Ok(json_answer(200, json!({ "volume": shown })))
}

/// What a creation may say.
const CREATE_FIELDS: &[&str] = &[
    "name",
    "display_name",
    "description",
    "display_description",
    "size",
    "volume_type",
    "availability_zone",
    "snapshot_id",
    "source_volid",
    "imageRef",
    "image_id",
    "metadata",
    "multiattach",
    "consistencygroup_id",
    "group_id",
    "backup_id",
];

fn read_create(fields: &Map<String, Value>) -> Result<CreateVolume, Refusal> {
    if let Some(name) = fields
        .keys()
        .find(|name| !CREATE_FIELDS.contains(&name.as_str()))
    {
        return Err(Refusal::bad_request(format!(
            "Invalid input for field/attribute volume. Value: {}. Additional properties are not allowed ('{name}' was unexpected)",
            Value::Object(fields.clone())
        )));
    }
    if fields.get("multiattach").is_some_and(|value| value == true) {
        return Err(Refusal::bad_request(
            "Invalid input received: multiattach parameter has been removed. The default behavior is to use multiattach enabled \
             volume types.",
        ));
    }
    if let Some(backup) = text(fields, "backup_id")? {
        return Err(Refusal::not_found(
            "BackupNotFound",
            format!("Backup {backup} could not be found."),
        ));
    }
    let either = |new: &str, old: &str| Ok::<_, Refusal>(text(fields, new)?.or(text(fields, old)?));
    Ok(CreateVolume {
        size: match fields.get("size") {
            None | Some(Value::Null) => None,
            Some(size) => Some(whole(size).ok_or_else(|| wrong("size", size))?),
        },
        name: either("name", "display_name")?,
        description: either("description", "display_description")?,
        volume_type: text(fields, "volume_type")?,
        availability_zone: text(fields, "availability_zone")?,
        snapshot_id: text(fields, "snapshot_id")?,
        source_volid: text(fields, "source_volid")?,
        image_id: either("imageRef", "image_id")?.filter(|image| !image.is_empty()),
        metadata: pairs(fields.get("metadata"))?,
    })
}

/// A number of GiB, also as text.
pub fn whole(value: &Value) -> Option<u32> {
    let number = value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.and_then(|number| u32::try_from(number).ok())
}

async fn create(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let member = asked.member()?;
    let body = read_json(&body)?;
    let mut wanted = read_create(object(&body, "volume")?)?;
    wanted.image_id = match wanted.image_id {
        None => None,
        Some(image) => Some(app.read(|model| image_named(model, &member.project_id, &image))?),
    };
    let (id, shown) = app.change(|model| {
        let id = model.create_volume(&member.project_id, &member.user_id, wanted)?;
        let row = model.volume_of(&member.project_id, &id)?;
        let shown = volume_document(model, row, version, &asked.base);
        Ok::<_, Refusal>((id, shown))
    })?;
    app.spawn_volume_create(id);
    Ok(json_answer(202, json!({ "volume": shown })))
}

/// An image by its id, or by a name that only one has.
fn image_named(model: &Model, project_id: &str, image: &str) -> Result<String, Refusal> {
    let visible = || model.images.iter().filter(|row| row.visible_to(project_id));
    let by_id = visible().find(|row| row.id == image);
    let mut by_name = visible().filter(|row| row.name.as_deref() == Some(image));
    match (by_id.or_else(|| by_name.next()), by_name.next()) {
        (Some(row), None) => Ok(row.id.clone()),
        (Some(_), Some(_)) => Err(Refusal::conflict(
            "ImageNameConflict",
            "Multiple images found with the name, please use an image ID.",
        )),
        (None, _) => Err(Refusal::bad_request(
            "Invalid image identifier or unable to access requested image.",
        )),
    }
}

async fn update(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let member = asked.member()?;
    let body = read_json(&body)?;
    let fields = object(&body, "volume")?;
    let either = |new: &str, old: &str| Ok::<_, Refusal>(text(fields, new)?.or(text(fields, old)?));
    let (name, description) = (
        either("name", "display_name")?,
        either("description", "display_description")?,
    );
    let metadata = match fields.get("metadata") {
        None => None,
        some => Some(pairs(some)?),
    };
    if name.is_none() && description.is_none() && metadata.is_none() {
        return Err(Refusal::bad_request(
            "Invalid input received: At least one of name, description or metadata has to be given.",
        )
        .into());
    }
    let shown = change(&app, &asked, |row| {
        row.name = name.or_else(|| row.name.take());
        row.description = description.or_else(|| row.description.take());
        if let Some(metadata) = metadata {
            row.metadata = metadata;
        }
    });
    shown?;
    let shown = app.read(|model| {
        let row = model.volume_of(&member.project_id, asked.id())?;
        Ok::<_, Refusal>(volume_document(model, row, version, &asked.base))
    })?;
    Ok(json_answer(200, json!({ "volume": shown })))
}

/// Change the volume of the path, if it is the caller's.
pub fn change<R>(
    app: &App,
    asked: &Asked,
    change: impl FnOnce(&mut Volume) -> R,
) -> Result<R, Refusal> {
    let member = asked.member()?;
    app.change(|model| {
        model.volume_of(&member.project_id, asked.id())?;
        let row = model.block_storage.volumes.get_mut(asked.id());
        let row = row.ok_or_else(|| volume_not_found(asked.id()))?;
        row.updated_at = Some(now());
        Ok(change(row))
    })
}

async fn delete(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    let member = asked.member()?;
    let cascade = query::value(&words, "cascade")
        .is_some_and(|word| word.eq_ignore_ascii_case("true") || word == "1");
    let snapshots =
        app.change(|model| model.delete_volume(&member.project_id, asked.id(), cascade))?;
    app.spawn_volume_delete(asked.id().to_owned(), snapshots);
    Ok(empty_answer(202))
}
