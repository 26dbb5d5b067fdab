//! Cinder v3: snapshots.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::pieces::{self, Common, Detail, ListCall, Piece, change};
use super::view::snapshot_document;
use super::{Answer, Asked, id, object, pairs, text};
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::microversion::Microversion;
use crate::model::Model;
use crate::model::block_storage::snapshot::{CreateSnapshot, Snapshot, snapshot_not_found};
use crate::model::ids::now;
use crate::model::refusal::Refusal;
use crate::model::table::Table;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    pieces::routes::<Snapshot>(prefix)
        .route(&at("/snapshots"), post(create))
        .route(&at("/snapshots/{id}"), get(show).put(update).delete(delete))
}

impl Piece for Snapshot {
    const COLLECTION: &'static str = "snapshots";
    const WORD: &'static str = "Snapshot";
    const FILTERS: &'static [&'static str] = &[
        "name",
        "display_name",
        "status",
        "volume_id",
        "id",
        "user_id",
        "metadata",
        "availability_zone",
        "created_at",
        "updated_at",
    ];

    fn table(model: &Model) -> &Table<Self> {
        &model.block_storage.snapshots
    }

    fn table_mut(model: &mut Model) -> &mut Table<Self> {
        &mut model.block_storage.snapshots
    }

    fn common(&self) -> Common<'_> {
        Common {
            id: &self.id,
            project_id: &self.project_id,
            name: self.name.as_deref().unwrap_or_default(),
            status: self.status.as_str(),
            created_at: &self.created_at,
        }
    }

    fn fits(&self, filter: &str, wanted: &str) -> bool {
        filter != "volume_id" || self.volume_id == wanted
    }

    fn not_found(id: &str) -> Refusal {
        snapshot_not_found(id)
    }

    fn row(&self, _: &Model, call: &ListCall, detail: Detail) -> Value {
        snapshot_document(self, call.version, detail == Detail::Full)
    }

    fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.metadata
    }

    fn touched(&mut self) {
        self.updated_at = Some(now());
    }
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
    let volume_id = id(fields, "volume_id")?.ok_or_else(|| {
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
    let shown = change(&app, &asked, |row: &mut Snapshot| {
        row.name = name.or_else(|| row.name.take());
        row.description = description.or_else(|| row.description.take());
        snapshot_document(row, version, false)
    })?;
    Ok(json_answer(200, json!({ "snapshot": shown })))
}

async fn delete(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    app.change(|model| model.delete_snapshot(&member.project_id, asked.id()))?;
    app.spawn_snapshot_delete(asked.id().to_owned());
    Ok(empty_answer(202))
}
