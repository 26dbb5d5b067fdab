//! Cinder v3: snapshots.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::now;
use crate::kit::microversion::Microversion;
use crate::kit::query::Detail;
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::services::block_storage::body::{id, object, pairs, text};
use crate::services::block_storage::resources;
use crate::services::block_storage::resources::{Common, Resource, change};
use crate::services::block_storage::snapshot::{CreateSnapshot, Snapshot, snapshot_not_found};
use crate::services::block_storage::view::snapshot_document;
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    resources::routes::<Snapshot>()
        .post("/snapshots", create)
        .get("/snapshots/{id}", show)
        .put("/snapshots/{id}", update)
        .delete("/snapshots/{id}", delete)
}

impl Resource for Snapshot {
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

    fn row(&self, _: &Model, call: &Call, detail: Detail) -> Value {
        snapshot_document(self, call.version, detail)
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

async fn show(call: Call) -> Answer {
    let member = call.member()?;
    let shown = call.app.read(|model| {
        let row = model.snapshot_of(&member.project_id, call.id())?;
        Ok::<_, Refusal>(snapshot_document(row, call.version, Detail::Full))
    })?;
    reply(200, json!({ "snapshot": shown }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
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
        // Since 3.66, a snapshot of a volume in use needs no `force`.
        while_in_use: forced || call.version >= Microversion(3, 66),
    };
    let (id, shown) = call.app.change(|model| {
        let id = model.create_snapshot(&member.project_id, &member.user_id, wanted)?;
        let row = model.snapshot_of(&member.project_id, &id)?;
        Ok::<_, Refusal>((
            id.clone(),
            snapshot_document(row, call.version, Detail::Bare),
        ))
    })?;
    call.app.spawn_snapshot_create(id);
    reply(202, json!({ "snapshot": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let fields = object(&body, "snapshot")?;
    let name = text(fields, "name")?.or(text(fields, "display_name")?);
    let description = text(fields, "description")?.or(text(fields, "display_description")?);
    let shown = change(&call, |row: &mut Snapshot| {
        row.name = name.or_else(|| row.name.take());
        row.description = description.or_else(|| row.description.take());
        snapshot_document(row, call.version, Detail::Bare)
    })?;
    reply(200, json!({ "snapshot": shown }))
}

async fn delete(call: Call) -> Answer {
    let member = call.member()?;
    call.app
        .change(|model| model.delete_snapshot(&member.project_id, call.id()))?;
    call.app.spawn_snapshot_delete(call.id().to_owned());
    empty(202)
}
