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
        .post("/servers/{id}/metadata", add_metadata)
        .put("/servers/{id}/metadata", set_metadata)
        .delete("/servers/{id}/metadata/{key}", delete_metadata_item)
        .put("/servers/{id}/tags", set_tags)
        .put("/servers/{id}/tags/{tag}", add_tag)
        .delete("/servers/{id}/tags/{tag}", remove_tag)
}

type Pairs = BTreeMap<String, String>;

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

async fn delete_metadata_item(call: Call) -> Answer {
    let gone = call.change_server(|server| server.metadata.remove(call.part("key")))?;
    gone.ok_or_else(no_such_item)?;
    empty(204)
}

async fn set_tags(call: Call, body: Bytes) -> Answer {
    let tags = read_tags(read_json(&body)?.get("tags"))?;
    call.change_server(|server| server.tags = tags.clone())?;
    reply(200, json!({ "tags": tags }))
}

fn no_such_tag(call: &Call) -> Refusal {
    Refusal::not_found(
        "InstanceTagNotFound",
        format!("Instance {} has no tag '{}'", call.id(), call.part("tag")),
    )
}

/// Answers 201 with the address of a new tag, and 204 for an existing one.
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
