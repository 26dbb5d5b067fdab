//! Cinder v3: actions on volumes.

use axum::body::Bytes;
use serde_json::json;

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::microversion::Microversion;
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::{pairs, wrong};
use crate::services::block_storage::resources::change;
use crate::services::block_storage::volume::{Volume, VolumeStatus};
use crate::services::block_storage::volumes::size_gib;
use crate::services::{Call, Routes};

/// First microversion with the return of a volume to its newest snapshot.
const REVERT: Microversion = Microversion(3, 40);

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES).post("/volumes/{id}/action", action)
}

async fn action(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let only = body.as_object().filter(|fields| fields.len() == 1);
    let (name, details) = only
        .and_then(|fields| fields.iter().next())
        .ok_or_else(|| {
            Refusal::bad_request("There is no such action: an action is an object with one key.")
        })?;
    let id = call.id();
    let status = match name.as_str() {
        "os-extend" => {
            let size = size_gib(&details["new_size"]);
            let size = size.ok_or_else(|| wrong("new_size", &details["new_size"]))?;
            call.app
                .change(|model| model.extend_volume(&member.project_id, id, size))?;
            call.app.spawn_volume_extend(id.to_owned());
            202
        }
        "revert" if call.version >= REVERT => {
            let snapshot = details["snapshot_id"].as_str();
            call.app
                .change(|model| model.revert_volume(&member.project_id, id, snapshot))?;
            call.app.spawn_volume_revert(id.to_owned());
            202
        }
        "os-set_bootable" => {
            let value = &details["bootable"];
            let bootable = python::boolean(value, &["y", "t", "n", "f"]).ok_or_else(|| {
                Refusal::bad_request(format!(
                    "Invalid input for field/attribute bootable. Value: {}. {}",
                    python::text(value),
                    python::not_boolean(value, true)
                ))
            })?;
            change(&call, |row: &mut Volume| row.bootable = bootable)?;
            200
        }
        "os-set_image_metadata" => {
            let metadata = pairs(details.get("metadata"))?;
            let all = change(&call, |row: &mut Volume| {
                row.image_metadata.extend(metadata);
                row.image_metadata.clone()
            })?;
            return reply(200, json!({ "metadata": all }));
        }
        "os-unset_image_metadata" => {
            let key = details["key"].as_str().unwrap_or_default().to_owned();
            change(&call, |row: &mut Volume| row.image_metadata.remove(&key))?;
            200
        }
        "os-show_image_metadata" => {
            let all = call.app.read(|model| {
                let row = model.volume_of(&member.project_id, id)?;
                Ok::<_, Refusal>(row.image_metadata.clone())
            })?;
            return reply(200, json!({ "metadata": all }));
        }
        "os-update_readonly_flag" => {
            let readonly = details["readonly"] == true || details["readonly"] == "True";
            change(&call, |row: &mut Volume| {
                let word = if readonly { "True" } else { "False" };
                row.metadata.insert("readonly".into(), word.into())
            })?;
            202
        }
        // Old versions of Nova reserve volumes with this action.
        "os-reserve" | "os-unreserve" => {
            let (from, to) = match name.as_str() {
                "os-reserve" => (VolumeStatus::Available, VolumeStatus::Reserved),
                _ => (VolumeStatus::Reserved, VolumeStatus::Available),
            };
            let fits = change(&call, |row: &mut Volume| {
                let fits = row.status == from;
                if fits {
                    row.status = to;
                }
                fits
            })?;
            if !fits {
                return Err(Refusal::bad_request(format!(
                    "Invalid volume: Volume status must be {} to reserve.",
                    from.as_str()
                )));
            }
            202
        }
        "os-reset_status" | "os-force_delete" | "os-migrate_volume" | "os-force_detach" => {
            call.app
                .read(|model| model.volume_of(&member.project_id, id).map(|_| ()))?;
            return Err(Refusal::forbidden(format!(
                "Policy doesn't allow volume_extension:volume_admin_actions:{} to be performed.",
                name.trim_start_matches("os-")
            )));
        }
        "os-retype" | "os-attach" | "os-detach" | "os-volume_upload_image" => {
            call.app
                .read(|model| model.volume_of(&member.project_id, id).map(|_| ()))?;
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!("The lab cloud cannot do {name} with volumes."),
            ));
        }
        other => {
            return Err(Refusal::bad_request(format!(
                "There is no such action: {other}"
            )));
        }
    };
    empty(status)
}
