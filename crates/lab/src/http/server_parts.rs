//! Nova v2.1: what people write on a server: metadata and tags.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::json;

use super::App;
use super::answer::{empty_answer, json_answer, read_json};
use super::compute::Answer;
use super::on_server::OnServer;
use super::server_body::{read_metadata, read_tags};
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    let all_metadata = get(metadata).post(add_metadata).put(set_metadata);
    let one_metadata = get(metadata_item)
        .put(set_metadata_item)
        .delete(delete_metadata_item);
    Router::new()
        .route("/compute/v2.1/servers/{id}/metadata", all_metadata)
        .route("/compute/v2.1/servers/{id}/metadata/{key}", one_metadata)
        .route(
            "/compute/v2.1/servers/{id}/tags",
            get(tags).put(set_tags).delete(clear_tags),
        )
        .route(
            "/compute/v2.1/servers/{id}/tags/{tag}",
            get(has_tag).put(add_tag).delete(remove_tag),
        )
}

type Pairs = BTreeMap<String, String>;

async fn metadata(State(app): State<App>, on: OnServer) -> Answer {
    let pairs = on.read(&app, |_, server| server.metadata.clone())?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

async fn add_metadata(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let pairs = pairs_of(&body)?;
    change_metadata(&app, &on, |metadata| metadata.extend(pairs))
}

async fn set_metadata(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let pairs = pairs_of(&body)?;
    change_metadata(&app, &on, |metadata| *metadata = pairs)
}

fn pairs_of(body: &Bytes) -> Result<Pairs, Refusal> {
    let body = read_json(body)?;
    let pairs = body.get("metadata");
    let pairs = pairs.ok_or_else(|| Refusal::bad_request("'metadata' is a required property"))?;
    read_metadata(Some(pairs))
}

fn change_metadata(app: &App, on: &OnServer, change: impl FnOnce(&mut Pairs)) -> Answer {
    let pairs = on.change(app, |server| {
        change(&mut server.metadata);
        server.metadata.clone()
    })?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

fn no_such_item() -> Refusal {
    Refusal::not_found("HTTPNotFound", "Metadata item was not found")
}

async fn metadata_item(State(app): State<App>, on: OnServer) -> Answer {
    let key = on.part("key");
    let value = on.read(&app, |_, server| server.metadata.get(key).cloned())?;
    let value = value.ok_or_else(no_such_item)?;
    Ok(json_answer(200, json!({"meta": {key: value}})))
}

async fn set_metadata_item(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let key = on.part("key");
    let meta = read_metadata(read_json(&body)?.get("meta"))?;
    let Some(value) = meta.get(key).cloned() else {
        return Err(Refusal::bad_request("Request body and URI mismatch").into());
    };
    on.change(&app, |server| {
        server.metadata.insert(key.into(), value.clone())
    })?;
    Ok(json_answer(200, json!({"meta": {key: value}})))
}

async fn delete_metadata_item(State(app): State<App>, on: OnServer) -> Answer {
    let gone = on.change(&app, |server| server.metadata.remove(on.part("key")))?;
    gone.ok_or_else(no_such_item)?;
    Ok(empty_answer(204))
}

async fn tags(State(app): State<App>, on: OnServer) -> Answer {
    let tags = on.read(&app, |_, server| server.tags.clone())?;
    Ok(json_answer(200, json!({ "tags": tags })))
}

async fn set_tags(State(app): State<App>, on: OnServer, body: Bytes) -> Answer {
    let tags = read_tags(read_json(&body)?.get("tags"))?;
    on.change(&app, |server| server.tags = tags.clone())?;
    Ok(json_answer(200, json!({ "tags": tags })))
}

async fn clear_tags(State(app): State<App>, on: OnServer) -> Answer {
    on.change(&app, |server| server.tags.clear())?;
    Ok(empty_answer(204))
}

fn no_such_tag(on: &OnServer) -> Refusal {
    Refusal::not_found(
        "InstanceTagNotFound",
        format!("Instance {} has no tag '{}'", on.id(), on.part("tag")),
    )
}

async fn has_tag(State(app): State<App>, on: OnServer) -> Answer {
    let tag = on.part("tag");
    match on.read(&app, |_, server| server.tags.iter().any(|one| one == tag))? {
        true => Ok(empty_answer(204)),
        false => Err(no_such_tag(&on).into()),
    }
}

/// 201 for a new one, with its place; 204 for one that was there.
async fn add_tag(State(app): State<App>, on: OnServer) -> Answer {
    let tag = on.part("tag").to_owned();
    let tags = read_tags(Some(&json!([tag])))?;
    let new = on.change(&app, |server| {
        let new = !server.tags.contains(&tag);
        if new {
            server.tags.extend(tags);
        }
        new
    })?;
    if !new {
        return Ok(empty_answer(204));
    }
    let place = format!("{}/compute/v2.1/servers/{}/tags/{tag}", on.base, on.id());
    Ok((axum::http::StatusCode::CREATED, [("location", place)]).into_response())
}

async fn remove_tag(State(app): State<App>, on: OnServer) -> Answer {
    let tag = on.part("tag");
    let gone = on.change(&app, |server| {
        let before = server.tags.len();
        server.tags.retain(|one| one != tag);
        server.tags.len() < before
    })?;
    match gone {
        true => Ok(empty_answer(204)),
        false => Err(no_such_tag(&on).into()),
    }
}
