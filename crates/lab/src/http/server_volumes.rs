//! Nova v2.1: volumes of a server.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::App;
use super::answer::{empty_answer, json_answer, read_json};
use super::compute::{Answer, invalid};
use super::microversion::Microversion;
use super::on_server::{OnServer, owned};
use super::token::Caller;
use crate::model::block_storage::attach::{Attachment, Plug};
use crate::model::ids::looks_like_id;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route(
            "/compute/v2.1/servers/{id}/os-volume_attachments",
            get(list).post(attach),
        )
        .route(
            "/compute/v2.1/servers/{id}/os-volume_attachments/{volume}",
            get(show).put(update).delete(detach),
        )
}

fn document(server_id: &str, volume_id: &str, one: &Attachment, version: Microversion) -> Value {
    let since = |minor: u16| version >= Microversion(2, minor);
    let mut document = json!({
        "serverId": server_id,
        "volumeId": volume_id,
        "device": one.device,
    });
    if since(70) {
        document["tag"] = json!(one.tag);
    }
    if since(79) {
        document["delete_on_termination"] = one.delete_on_termination.into();
    }
    // 2.89 gave the attachment ids of its own in place of the volume's.
    if since(89) {
        document["attachment_id"] = json!(one.id);
        document["bdm_uuid"] = json!(one.bdm_id);
    } else {
        document["id"] = volume_id.into();
    }
    document
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    let rows: Vec<Value> = app.read(|model| {
        owned(model, &member, &id)?;
        let all = model.volumes_of_server(&id).into_iter();
        Ok::<_, Refusal>(
            all.map(|(volume, one)| document(&id, &volume.id, one, version))
                .collect(),
        )
    })?;
    Ok(json_answer(200, json!({ "volumeAttachments": rows })))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path((id, volume)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let shown = app.read(|model| {
        owned(model, &member, &id)?;
        let one = model.attachment_of(&id, &volume).map_err(|_| {
            Refusal::not_found("NotFound", format!("volume_id not found: {volume}"))
        })?;
        Ok::<_, Refusal>(document(&id, &volume, one, version))
    })?;
    Ok(json_answer(200, json!({ "volumeAttachment": shown })))
}

async fn attach(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let (member, version, id) = (on.member()?, on.version, on.id().to_owned());
    on.unlocked(&app)?;
    let body = read_json(&body)?;
    let wanted = &body["volumeAttachment"];
    let text = |name: &str| wanted[name].as_str().map(str::to_owned);
    let volume = text("volumeId").ok_or_else(|| {
        invalid(
            "volumeAttachment",
            wanted,
            "'volumeId' is a required property",
        )
    })?;
    if !looks_like_id(&volume) {
        let reason = format!("'{volume}' is not a 'uuid'");
        return Err(invalid("volumeId", &wanted["volumeId"], &reason).into());
    }
    let too_early = [("tag", 49), ("delete_on_termination", 79)]
        .into_iter()
        .find(|(name, minor)| wanted.get(*name).is_some() && version < Microversion(2, *minor));
    if let Some((name, _)) = too_early {
        return Err(invalid(
            "volumeAttachment",
            wanted,
            &format!("Additional properties are not allowed ('{name}' was unexpected)"),
        )
        .into());
    }
    let plug = Plug {
        device: text("device"),
        tag: text("tag"),
        delete_on_termination: wanted["delete_on_termination"] == true,
    };
    let one = app.change(|model| {
        owned(model, &member, &id)?;
        model.plug_volume(&member.project_id, &id, &volume, plug)
    })?;
    let mut shown = document(&id, &volume, &one, version.min(Microversion(2, 88)));
    shown["id"] = volume.clone().into();
    on.note(&app, "attach_volume")?;
    app.spawn_volume_plug(id, volume);
    Ok(json_answer(200, json!({ "volumeAttachment": shown })))
}

/// Only `delete_on_termination` may change; another volume in the old one's place is an administrator's matter.
async fn update(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path((id, volume)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let wanted = &body["volumeAttachment"];
    if wanted["volumeId"].as_str() != Some(volume.as_str()) || version < Microversion(2, 85) {
        return Err(Refusal::forbidden(
            "Policy doesn't allow os_compute_api:os-volumes-attachments:swap to be performed.",
        )
        .into());
    }
    app.change(|model| {
        owned(model, &member, &id)?;
        model.attachment_of(&id, &volume)?;
        let row = model.block_storage.volumes.get_mut(&volume);
        for one in row.into_iter().flat_map(|row| &mut row.attachments) {
            if one.server_id == id {
                one.delete_on_termination = wanted["delete_on_termination"] == true;
            }
        }
        Ok::<_, Refusal>(())
    })?;
    Ok(empty_answer(202))
}

async fn detach(State(app): State<App>, on: OnServer) -> Answer {
    let (member, id) = (on.member()?, on.id().to_owned());
    let volume = on.part("volume").to_owned();
    on.unlocked(&app)?;
    app.change(|model| {
        owned(model, &member, &id)?;
        model.unplug_volume(&member.project_id, &id, &volume)
    })?;
    on.note(&app, "detach_volume")?;
    app.spawn_volume_unplug(id, volume);
    Ok(empty_answer(202))
}
