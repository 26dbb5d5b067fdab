//! Nova v2.1: metadata and tags of servers.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::response::IntoResponse as _;
use serde_json::json;

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::compute::server_body::{read_metadata, read_tags};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers/{id}/metadata", metadata)
        .post("/servers/{id}/metadata", add_metadata)
        .put("/servers/{id}/metadata", set_metadata)
        .get("/servers/{id}/metadata/{key}", metadata_item)
        .put("/servers/{id}/metadata/{key}", set_metadata_item)
        .delete("/servers/{id}/metadata/{key}", delete_metadata_item)
        .get("/servers/{id}/tags", tags)
        .put("/servers/{id}/tags", set_tags)
        .delete("/servers/{id}/tags", clear_tags)
        .get("/servers/{id}/tags/{tag}", has_tag)
        .put("/servers/{id}/tags/{tag}", add_tag)
        .delete("/servers/{id}/tags/{tag}", remove_tag)
}

type Pairs = BTreeMap<String, String>;

async fn metadata(call: Call) -> Answer {
    let pairs = call.read_server(|_, server| server.metadata.clone())?;
    reply(200, json!({ "metadata": pairs }))
}

async fn add_metadata(call: Call, body: Bytes) -> Answer {
    let pairs = pairs_of(&body)?;
    change_metadata(&call, |metadata| metadata.extend(pairs))
}

async fn set_metadata(call: Call, body: Bytes) -> Answer {
    let pairs = pairs_of(&body)?;
    change_metadata(&call, |metadata| *metadata = pairs)
}

fn pairs_of(body: &Bytes) -> Result<Pairs, Refusal> {
    let body = read_json(body)?;
    let pairs = body.get("metadata");
    let pairs = pairs.ok_or_else(|| Refusal::bad_request("'metadata' is a required property"))?;
    read_metadata(Some(pairs))
}

fn change_metadata(call: &Call, change: impl FnOnce(&mut Pairs)) -> Answer {
    let pairs = call.change_server(|server| {
        change(&mut server.metadata);
        server.metadata.clone()
    })?;
    reply(200, json!({ "metadata": pairs }))
}

fn no_such_item() -> Refusal {
    Refusal::not_found("HTTPNotFound", "Metadata item was not found")
}

async fn metadata_item(call: Call) -> Answer {
    let key = call.part("key");
    let value = call.read_server(|_, server| server.metadata.get(key).cloned())?;
    let value = value.ok_or_else(no_such_item)?;
    reply(200, json!({"meta": {key: value}}))
}

async fn set_metadata_item(call: Call, body: Bytes) -> Answer {
    let key = call.part("key");
    let meta = read_metadata(read_json(&body)?.get("meta"))?;
    let Some(value) = meta.get(key).cloned() else {
        return Err(Refusal::bad_request("Request body and URI mismatch"));
    };
    call.change_server(|server| server.metadata.insert(key.into(), value.clone()))?;
    reply(200, json!({"meta": {key: value}}))
}

async fn delete_metadata_item(call: Call) -> Answer {
    let gone = call.change_server(|server| server.metadata.remove(call.part("key")))?;
    gone.ok_or_else(no_such_item)?;
    empty(204)
}

async fn tags(call: Call) -> Answer {
    let tags = call.read_server(|_, server| server.tags.clone())?;
    reply(200, json!({ "tags": tags }))
}

async fn set_tags(call: Call, body: Bytes) -> Answer {
    let tags = read_tags(read_json(&body)?.get("tags"))?;
    call.change_server(|server| server.tags = tags.clone())?;
    reply(200, json!({ "tags": tags }))
}

async fn clear_tags(call: Call) -> Answer {
    call.change_server(|server| server.tags.clear())?;
    empty(204)
}

fn no_such_tag(call: &Call) -> Refusal {
    Refusal::not_found(
        "InstanceTagNotFound",
        format!("Instance {} has no tag '{}'", call.id(), call.part("tag")),
    )
}

async fn has_tag(call: Call) -> Answer {
    let tag = call.part("tag");
    if call.read_server(|_, server| server.tags.iter().any(|one| one == tag))? {
        empty(204)
    } else {
        Err(no_such_tag(&call))
    }
}

/// 201 for a new one, with its place; 204 for one that was there.
async fn add_tag(call: Call) -> Answer {
    let tag = call.part("tag").to_owned();
    let tags = read_tags(Some(&json!([tag])))?;
    let new = call.change_server(|server| {
        let new = !server.tags.contains(&tag);
        if new {
            server.tags.extend(tags);
        }
        new
    })?;
    if !new {
        return empty(204);
    }
    let place = format!(
        "{}/compute/v2.1/servers/{}/tags/{tag}",
        call.base,
        call.id()
    );
    Ok((axum::http::StatusCode::CREATED, [("location", place)]).into_response())
}

async fn remove_tag(call: Call) -> Answer {
    let tag = call.part("tag");
    let gone = call.change_server(|server| {
        let before = server.tags.len();
        server.tags.retain(|one| one != tag);
        server.tags.len() < before
    })?;
    if gone {
        empty(204)
    } else {
        Err(no_such_tag(&call))
    }
}
