//! Cinder v3: attachments, read only. Nova makes and ends them; a person asks Nova.

use serde_json::{Value, json};

use crate::kit::answer::{Answer, reply};
use crate::kit::microversion::Microversion;
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::pieces::Detail;
use crate::services::block_storage::view::time;
use crate::services::block_storage::volume::{Attachment, Volume, VolumeStatus};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .get("/attachments", |call| list(call, Detail::Bare))
        .get("/attachments/detail", |call| list(call, Detail::Full))
        .get("/attachments/{id}", show)
}

/// Attachments are there since 3.27.
fn there(version: Microversion) -> Result<(), Refusal> {
    match version >= Microversion(3, 27) {
        true => Ok(()),
        false => Err(Refusal::not_found(
            "HTTPNotFound",
            "The resource could not be found.",
        )),
    }
}

async fn list(call: Call, detail: Detail) -> Answer {
    there(call.version)?;
    let member = call.member()?;
    let filters = &call.query;
    let wanted = |name: &str, is: &str| query::value(filters, name).is_none_or(|value| value == is);
    let rows: Vec<Value> = call.app.read(|model| {
        attached(model, &member.project_id)
            .filter(|(volume, one)| {
                wanted("volume_id", &volume.id) && wanted("instance_id", &one.server_id)
            })
            .map(|(volume, one)| document(volume, one, detail))
            .collect()
    });
    reply(200, json!({ "attachments": rows }))
}

/// A project's attachments, each with its volume.
fn attached<'a>(
    model: &'a Model,
    project_id: &'a str,
) -> impl Iterator<Item = (&'a Volume, &'a Attachment)> {
    let volumes = model.block_storage.volumes.iter();
    let mine = volumes.filter(move |row| row.project_id == project_id);
    mine.flat_map(|volume| volume.attachments.iter().map(move |one| (volume, one)))
}

async fn show(call: Call) -> Answer {
    there(call.version)?;
    let member = call.member()?;
    let shown = call.app.read(|model| {
        attached(model, &member.project_id)
            .find(|(_, one)| one.id == call.id())
            .map(|(volume, one)| document(volume, one, Detail::Full))
    });
    let shown = shown.ok_or_else(|| {
        Refusal::not_found(
            "VolumeAttachmentNotFound",
            format!(
                "Volume attachment could not be found with filter: attachment_id = {}.",
                call.id()
            ),
        )
    })?;
    reply(200, json!({ "attachment": shown }))
}

fn document(volume: &Volume, one: &Attachment, detail: Detail) -> Value {
    let status = match volume.status {
        VolumeStatus::InUse => "attached",
        VolumeStatus::Detaching => "detaching",
        _ => "attaching",
    };
    let mut document = json!({
        "id": one.id,
        "volume_id": volume.id,
        "instance": one.server_id,
        "status": status,
    });
    if detail == Detail::Full {
        document["attached_at"] = time(&one.attached_at).into();
        document["detached_at"] = Value::Null;
        document["attach_mode"] = "rw".into();
        document["connection_info"] = json!({});
    }
    document
}
