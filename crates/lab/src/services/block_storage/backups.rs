//! Cinder v3: backups. As in a cloud without the backup service, the list is empty and creation fails.

use axum::body::Bytes;
use serde_json::json;

use crate::kit::answer::{Answer, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::{object, text};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .get("/backups", none)
        .post("/backups", create)
        .get("/backups/detail", none)
        .get("/backups/{id}", not_there)
        .delete("/backups/{id}", not_there)
}

async fn none(call: Call) -> Answer {
    call.member()?;
    reply(200, json!({"backups": []}))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let volume = text(object(&body, "backup")?, "volume_id")?.unwrap_or_default();
    call.app
        .read(|model| model.volume_of(&member.project_id, &volume).map(|_| ()))?;
    Err(Refusal::not_found(
        "ServiceNotFound",
        "Service cinder-backup could not be found.",
    ))
}

async fn not_there(call: Call) -> Answer {
    call.member()?;
    Err(Refusal::not_found(
        "BackupNotFound",
        format!("Backup {} could not be found.", call.id()),
    ))
}
