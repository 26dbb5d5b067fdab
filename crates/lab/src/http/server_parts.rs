//! Nova v2.1: what belongs to a server: addresses, metadata, tags, interfaces, security groups, volumes.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::App;
use super::answer::{empty_answer, json_answer, read_json};
use super::compute::Answer;
use super::compute_view::addresses;
use super::server_body::{read_metadata, read_tags};
use super::servers::{not_found, owned};
use super::token::Caller;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    let all_metadata = get(metadata).post(add_metadata).put(set_metadata);
    let one_metadata = get(metadata_item).delete(delete_metadata_item);
    Router::new()
        .route("/compute/v2.1/servers/{id}/ips", get(ips))
        .route("/compute/v2.1/servers/{id}/metadata", all_metadata)
        .route("/compute/v2.1/servers/{id}/metadata/{key}", one_metadata)
        .route("/compute/v2.1/servers/{id}/tags", get(tags).put(set_tags))
        .route("/compute/v2.1/servers/{id}/os-interface", get(interfaces))
        .route(
            "/compute/v2.1/servers/{id}/os-security-groups",
            get(security_groups),
        )
}

async fn ips(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let shown = app.read(|model| owned(model, &member, &id).map(|row| addresses(model, row)))?;
    Ok(json_answer(200, json!({ "addresses": shown })))
}

async fn metadata(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let pairs = app.read(|model| owned(model, &member, &id).map(|row| row.metadata.clone()))?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

async fn add_metadata(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let pairs = read_metadata(read_json(&body)?.get("metadata"))?;
    change_metadata(&app, &caller, &id, |metadata| metadata.extend(pairs))
}

async fn set_metadata(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let pairs = read_metadata(read_json(&body)?.get("metadata"))?;
    change_metadata(&app, &caller, &id, |metadata| *metadata = pairs)
}

fn change_metadata(
    app: &App,
    caller: &Caller,
    id: &str,
    change: impl FnOnce(&mut BTreeMap<String, String>),
) -> Answer {
    let member = caller.member()?;
    let pairs = app.change(|model| {
        owned(model, &member, id)?;
        let server = model.servers.get_mut(id).ok_or_else(|| not_found(id))?;
        change(&mut server.metadata);
        Ok::<_, Refusal>(server.metadata.clone())
    })?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

async fn metadata_item(
    State(app): State<App>,
    caller: Caller,
    Path((id, key)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let value =
        app.read(|model| owned(model, &member, &id).map(|row| row.metadata.get(&key).cloned()))?;
    let value =
        value.ok_or_else(|| Refusal::not_found("HTTPNotFound", "Metadata item was not found"))?;
    Ok(json_answer(200, json!({"meta": {key: value}})))
}

async fn delete_metadata_item(
    State(app): State<App>,
    caller: Caller,
    Path((id, key)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let gone = app.change(|model| {
        owned(model, &member, &id)?;
        Ok::<_, Refusal>(
            model
                .servers
                .get_mut(&id)
                .and_then(|server| server.metadata.remove(&key)),
        )
    })?;
    gone.ok_or_else(|| Refusal::not_found("HTTPNotFound", "Metadata item was not found"))?;
    Ok(empty_answer(204))
}

async fn tags(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let tags = app.read(|model| owned(model, &member, &id).map(|row| row.tags.clone()))?;
    Ok(json_answer(200, json!({ "tags": tags })))
}

async fn set_tags(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let tags = read_tags(read_json(&body)?.get("tags"))?;
    app.change(|model| {
        owned(model, &member, &id)?;
        if let Some(server) = model.servers.get_mut(&id) {
            server.tags = tags.clone();
        }
        Ok::<_, Refusal>(())
    })?;
    Ok(json_answer(200, json!({ "tags": tags })))
}

async fn interfaces(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let rows: Vec<Value> = app.read(|model| {
        let server = owned(model, &member, &id)?;
        let ports = server.ports.iter().filter_map(|id| model.ports.get(id));
        Ok::<_, Refusal>(
            ports
                .map(|port| {
                    json!({
                        "port_id": port.id,
                        "net_id": port.network_id,
                        "mac_addr": port.mac_address,
                        "port_state": port.status,
                        "fixed_ips": port.fixed_ips,
                    })
                })
                .collect(),
        )
    })?;
    Ok(json_answer(200, json!({ "interfaceAttachments": rows })))
}

async fn security_groups(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let rows: Vec<Value> = app.read(|model| {
        let server = owned(model, &member, &id)?;
        let ports = server.ports.iter().filter_map(|id| model.ports.get(id));
        let groups = ports
            .flat_map(|port| &port.security_groups)
            .filter_map(|id| model.security_groups.get(id));
        let shown = groups.map(|group| {
            json!({
                "id": group.id,
                "name": group.name,
                "description": group.common.description,
                "tenant_id": group.common.project_id,
                "rules": [],
            })
        });
        Ok::<_, Refusal>(shown.collect())
    })?;
    Ok(json_answer(200, json!({ "security_groups": rows })))
}
