//! Nova v2.1: volumes of a server.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::looks_like_id;
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::volume::Attachment;
use crate::services::compute::invalid;
use crate::services::compute::on_server::owned;
use crate::services::compute::volume_plug::Plug;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers/{id}/os-volume_attachments", list)
        .post("/servers/{id}/os-volume_attachments", attach)
        .delete("/servers/{id}/os-volume_attachments/{volume}", detach)
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

async fn list(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let rows: Vec<Value> = call.app.read(|model| {
        owned(model, &member, id)?;
        let all = model.volumes_of_server(id).into_iter();
        Ok::<_, Refusal>(
            all.map(|(volume, one)| document(id, &volume.id, one, call.version))
                .collect(),
        )
    })?;
    reply(200, json!({ "volumeAttachments": rows }))
}

async fn attach(call: Call, body: Bytes) -> Answer {
    let (member, version, id) = (call.member()?, call.version, call.id().to_owned());
    call.server_unlocked()?;
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
        return Err(invalid("volumeId", &wanted["volumeId"], &reason));
    }
    let too_early = [("tag", 49), ("delete_on_termination", 79)]
        .into_iter()
        .find(|(name, minor)| wanted.get(*name).is_some() && version < Microversion(2, *minor));
    if let Some((name, _)) = too_early {
        return Err(invalid(
            "volumeAttachment",
            wanted,
            &format!("Additional properties are not allowed ('{name}' was unexpected)"),
        ));
    }
    let plug = Plug {
        device: text("device"),
        tag: text("tag"),
        delete_on_termination: wanted["delete_on_termination"] == true,
    };
    let one = call.app.change(|model| {
        owned(model, &member, &id)?;
        model.plug_volume(&member.project_id, &id, &volume, plug)
    })?;
    let mut shown = document(&id, &volume, &one, version.min(Microversion(2, 88)));
    shown["id"] = volume.clone().into();
    call.note_action("attach_volume")?;
    call.app.spawn_volume_plug(id, volume);
    reply(200, json!({ "volumeAttachment": shown }))
}

async fn detach(call: Call) -> Answer {
    let (member, id) = (call.member()?, call.id().to_owned());
    let volume = call.part("volume").to_owned();
    call.server_unlocked()?;
    call.app.change(|model| {
        owned(model, &member, &id)?;
        model.unplug_volume(&member.project_id, &id, &volume)
    })?;
    call.note_action("detach_volume")?;
    call.app.spawn_volume_unplug(id, volume);
    empty(202)
}
