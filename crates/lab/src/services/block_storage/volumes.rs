//! Cinder v3: volumes.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::now;
use crate::kit::query::{self, Detail};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::services::block_storage::body::{id, object, pairs, text, wrong};
use crate::services::block_storage::resources;
use crate::services::block_storage::resources::{Common, Resource, change};
use crate::services::block_storage::view::{volume_document, volume_summary};
use crate::services::block_storage::volume::{CreateVolume, Volume, volume_not_found};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    resources::routes::<Volume>()
        .post("/volumes", create)
        .get("/volumes/{id}", show)
        .put("/volumes/{id}", update)
        .delete("/volumes/{id}", delete)
}

impl Resource for Volume {
    const COLLECTION: &'static str = "volumes";
    const WORD: &'static str = "Volume";
    const FILTERS: &'static [&'static str] = &[
        "name",
        "display_name",
        "name~",
        "status",
        "id",
        "size",
        "volume_type",
        "availability_zone",
        "bootable",
        "user_id",
        "metadata",
        "glance_metadata",
        "image_metadata",
        "created_at",
        "updated_at",
        "host",
        "group_id",
    ];

    fn table(model: &Model) -> &Table<Self> {
        &model.block_storage.volumes
    }

    fn table_mut(model: &mut Model) -> &mut Table<Self> {
        &mut model.block_storage.volumes
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
        match filter {
            "name~" => self.common().name.contains(wanted),
            "size" => self.size.to_string() == wanted,
            "volume_type" => self.volume_type == wanted,
            "availability_zone" => self.availability_zone == wanted,
            "bootable" => self.bootable == wanted.eq_ignore_ascii_case("true"),
            "user_id" => self.user_id == wanted,
            "metadata" => query::pairs_fit(&self.metadata, wanted),
            _ => true,
        }
    }

    fn order(&self, key: &str) -> Option<String> {
        (key == "size").then(|| format!("{:010}", self.size))
    }

    fn not_found(id: &str) -> Refusal {
        volume_not_found(id)
    }

    fn row(&self, model: &Model, call: &Call, detail: Detail) -> Value {
        match detail {
            Detail::Full => volume_document(model, self, call.version, &call.base),
            Detail::Bare => volume_summary(self, &call.base),
        }
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
        let row = model.volume_of(&member.project_id, call.id())?;
        Ok::<_, Refusal>(volume_document(model, row, call.version, &call.base))
    })?;
    reply(200, json!({ "volume": shown }))
}

/// The fields that a creation accepts.
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
            Some(size) => Some(size_gib(size).ok_or_else(|| wrong("size", size))?),
        },
        name: either("name", "display_name")?,
        description: either("description", "display_description")?,
        volume_type: text(fields, "volume_type")?,
        availability_zone: text(fields, "availability_zone")?,
        snapshot_id: id(fields, "snapshot_id")?,
        source_volid: id(fields, "source_volid")?,
        image_id: either("imageRef", "image_id")?.filter(|image| !image.is_empty()),
        metadata: pairs(fields.get("metadata"))?,
    })
}

/// A size in GiB, as number or text.
pub fn size_gib(value: &Value) -> Option<u32> {
    let number = value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.and_then(|number| u32::try_from(number).ok())
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let mut wanted = read_create(object(&body, "volume")?)?;
    wanted.image_id = match wanted.image_id {
        None => None,
        Some(image) => Some(
            call.app
                .read(|model| image_named(model, &member.project_id, &image))?,
        ),
    };
    let (id, shown) = call.app.change(|model| {
        let id = model.create_volume(&member, wanted)?;
        let row = model.volume_of(&member.project_id, &id)?;
        let shown = volume_document(model, row, call.version, &call.base);
        Ok::<_, Refusal>((id, shown))
    })?;
    call.app.spawn_volume_create(id);
    reply(202, json!({ "volume": shown }))
}

/// The image with this id or with this unique name.
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

async fn update(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
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
        ));
    }
    change(&call, |row: &mut Volume| {
        row.name = name.or_else(|| row.name.take());
        row.description = description.or_else(|| row.description.take());
        if let Some(metadata) = metadata {
            row.metadata = metadata;
        }
    })?;
    let shown = call.app.read(|model| {
        let row = model.volume_of(&member.project_id, call.id())?;
        Ok::<_, Refusal>(volume_document(model, row, call.version, &call.base))
    })?;
    reply(200, json!({ "volume": shown }))
}

async fn delete(call: Call) -> Answer {
    let member = call.member()?;
    let cascade = call
        .query_value("cascade")
        .is_some_and(|word| word.eq_ignore_ascii_case("true") || word == "1");
    let snapshots = call
        .app
        .change(|model| model.delete_volume(&member.project_id, call.id(), cascade))?;
    call.app
        .spawn_volume_delete(call.id().to_owned(), snapshots);
    empty(202)
}
