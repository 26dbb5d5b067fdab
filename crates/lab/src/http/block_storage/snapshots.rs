//! Cinder v3: snapshots.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::view::snapshot_document;
use super::{Answer, Asked, object, pairs, text};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::microversion::Microversion;
use crate::http::{App, query};
use crate::model::block_storage::snapshot::{CreateSnapshot, Snapshot, snapshot_not_found};
use crate::model::ids::now;
use crate::model::refusal::Refusal;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    Router::new()
        .route(&at("/snapshots"), get(list).post(create))
        .route(&at("/snapshots/detail"), get(list_detail))
        .route(&at("/snapshots/{id}"), get(show).put(update).delete(delete))
        .route(
            &at("/snapshots/{id}/metadata"),
            get(metadata).post(add_metadata).put(set_metadata),
        )
        .route(
            &at("/snapshots/{id}/metadata/{key}"),
            get(metadata_item).delete(delete_metadata_item),
        )
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
    let page = app.read(|model| {
        let mine = model
            .block_storage
            .snapshots
            .iter()
            .rev()
            .filter(|row| row.project_id == member.project_id && fits(row, filters));
        let mut rows: Vec<&Snapshot> = mine.collect();
        query::sort_rows(&mut rows, filters, |row, key| match key {
            "name" | "display_name" => row.name.clone().unwrap_or_default(),
            "status" => row.status.as_str().to_owned(),
            "created_at" => row.created_at.clone(),
            _ => row.id.clone(),
        });
        query::page_rows(rows, filters, 1_000, |row| &row.id).map(|(rows, next)| {
            let shown = rows
                .into_iter()
                .map(|row| snapshot_document(row, version, detail));
            (shown.collect::<Vec<Value>>(), next)
        })
    });
    let marker = query::value(filters, "marker").unwrap_or_default();
    let (items, next) = page.ok_or_else(|| snapshot_not_found(marker))?;
    let mut body = json!({ "snapshots": items });
    if let Some(next) = next {
        let path = if detail {
            "snapshots/detail"
        } else {
            "snapshots"
        };
        let href = format!(
            "{}/volume/v3/{}/{path}?{}",
            asked.base,
            member.project_id,
            query::with_marker(filters, &next)
        );
        body["snapshots_links"] = json!([{"rel": "next", "href": href}]);
    }
    Ok(json_answer(200, body))
}

fn fits(row: &Snapshot, filters: &[(String, String)]) -> bool {
    filters.iter().all(|(name, wanted)| match name.as_str() {
        "name" | "display_name" => row.name.as_deref().unwrap_or_default() == wanted,
        "status" => row.status.as_str() == wanted,
        "volume_id" => &row.volume_id == wanted,
        "id" => &row.id == wanted,
        _ => true,
    })
}

async fn show(State(app): State<App>, asked: Asked, version: Microversion) -> Answer {
    let member = asked.member()?;
    let shown = app.read(|model| {
        let row = model.snapshot_of(&member.project_id, asked.id())?;
        Ok::<_, Refusal>(snapshot_document(row, version, true))
    })?;
    Ok(json_answer(200, json!({ "snapshot": shown })))
}

async fn create(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let member = asked.member()?;
    let body = read_json(&body)?;
    let fields = object(&body, "snapshot")?;
    let volume_id = text(fields, "volume_id")?.ok_or_else(|| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute snapshot. Value: {}. 'volume_id' is a required property",
            body["snapshot"]
        ))
    })?;
    let forced = fields
        .get("force")
        .is_some_and(|force| force == true || force == "True" || force == "true");
    let wanted = CreateSnapshot {
        volume_id,
        name: text(fields, "name")?.or(text(fields, "display_name")?),
        description: text(fields, "description")?.or(text(fields, "display_description")?),
        metadata: pairs(fields.get("metadata"))?,
        // Since 3.66 a snapshot of a volume in use needs no force.
        while_in_use: forced || version >= Microversion(3, 66),
    };
    let (id, shown) = app.change(|model| {
        let id = model.create_snapshot(&member.project_id, &member.user_id, wanted)?;
        let row = model.snapshot_of(&member.project_id, &id)?;
        Ok::<_, Refusal>((id.clone(), snapshot_document(row, version, false)))
    })?;
    app.spawn_snapshot_create(id);
    Ok(json_answer(202, json!({ "snapshot": shown })))
}

async fn update(
    State(app): State<App>,
    asked: Asked,
    version: Microversion,
    body: Bytes,
) -> Answer {
    let body = read_json(&body)?;
    let fields = object(&body, "snapshot")?;
    let name = text(fields, "name")?.or(text(fields, "display_name")?);
    let description = text(fields, "description")?.or(text(fields, "display_description")?);
    let shown = change(&app, &asked, |row| {
        row.name = name.or_else(|| row.name.take());
        row.description = description.or_else(|| row.description.take());
        snapshot_document(row, version, false)
    })?;
    Ok(json_answer(200, json!({ "snapshot": shown })))
}

fn change<R>(
    app: &App,
    asked: &Asked,
    change: impl FnOnce(&mut Snapshot) -> R,
) -> Result<R, Refusal> {
    let member = asked.member()?;
    app.change(|model| {
        model.snapshot_of(&member.project_id, asked.id())?;
        let row = model.block_storage.snapshots.get_mut(asked.id());
        let row = row.ok_or_else(|| snapshot_not_found(asked.id()))?;
        row.updated_at = Some(now());
        Ok(change(row))
    })
}

async fn delete(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    app.change(|model| model.delete_snapshot(&member.project_id, asked.id()))?;
    app.spawn_snapshot_delete(asked.id().to_owned());
    Ok(empty_answer(202))
}

async fn metadata(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    let pairs = app.read(|model| {
        let row = model.snapshot_of(&member.project_id, asked.id())?;
        Ok::<_, Refusal>(row.metadata.clone())
    })?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

async fn add_metadata(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    let new = pairs(read_json(&body)?.get("metadata"))?;
    let all = change(&app, &asked, |row| {
        row.metadata.extend(new);
        row.metadata.clone()
    })?;
    Ok(json_answer(200, json!({ "metadata": all })))
}

async fn set_metadata(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    let new = pairs(read_json(&body)?.get("metadata"))?;
    change(&app, &asked, |row| row.metadata = new.clone())?;
    Ok(json_answer(200, json!({ "metadata": new })))
}

fn no_such_key(key: &str) -> Refusal {
    Refusal::not_found(
        "SnapshotMetadataNotFound",
        format!("Snapshot has no metadata with key {key}."),
    )
}

async fn metadata_item(State(app): State<App>, asked: Asked) -> Answer {
    let (member, key) = (asked.member()?, asked.part("key"));
    let value = app.read(|model| {
        let row = model.snapshot_of(&member.project_id, asked.id())?;
        row.metadata
            .get(key)
            .cloned()
            .ok_or_else(|| no_such_key(key))
    })?;
    Ok(json_answer(200, json!({"meta": {key: value}})))
}

async fn delete_metadata_item(State(app): State<App>, asked: Asked) -> Answer {
    let key = asked.part("key");
    let gone = change(&app, &asked, |row| row.metadata.remove(key))?;
    gone.ok_or_else(|| no_such_key(key))?;
    Ok(empty_answer(200))
}
