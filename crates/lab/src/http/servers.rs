//! Nova v2.1: servers, their actions, metadata, tags and interfaces.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Map, Value, json};

use super::answer::{empty_answer, json_answer, read_json};
use super::compute::{Answer, Microversion, invalid};
use super::compute_view::{addresses, server_document, server_summary};
use super::token::{Caller, Member};
use super::{App, base_url, query};
use crate::model::Model;
use crate::model::ids::{new_hex_id, now};
use crate::model::refusal::Refusal;
use crate::model::server::{Server, Status};
use crate::model::server_create::{CreateServer, Interface, Networks};
use crate::substrate::Power;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute/v2.1/servers", get(list).post(create))
        .route("/compute/v2.1/servers/detail", get(list_detail))
        .route(
            "/compute/v2.1/servers/{id}",
            get(show).put(update).delete(delete),
        )
        .route("/compute/v2.1/servers/{id}/action", post(action))
        .route("/compute/v2.1/servers/{id}/ips", get(ips))
        .route(
            "/compute/v2.1/servers/{id}/metadata",
            get(metadata).post(add_metadata).put(set_metadata),
        )
        .route(
            "/compute/v2.1/servers/{id}/metadata/{key}",
            get(metadata_item).delete(delete_metadata_item),
        )
        .route("/compute/v2.1/servers/{id}/tags", get(tags).put(set_tags))
        .route("/compute/v2.1/servers/{id}/os-interface", get(interfaces))
        .route(
            "/compute/v2.1/servers/{id}/os-security-groups",
            get(security_groups),
        )
        .route(
            "/compute/v2.1/servers/{id}/os-volume_attachments",
            get(volume_attachments),
        )
}

const SERVER_NAME_CHARS_MAX: usize = 255;

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "InstanceNotFound",
        format!("Instance {id} could not be found."),
    )
}

fn owned<'a>(model: &'a Model, member: &Member, id: &str) -> Result<&'a Server, Refusal> {
    model
        .servers
        .get(id)
        .filter(|row| row.project_id == member.project_id)
        .ok_or_else(|| not_found(id))
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    asked: query::Query,
    headers: HeaderMap,
) -> Answer {
    listed(&app, &caller, version, asked, &headers, false)
}

async fn list_detail(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    asked: query::Query,
    headers: HeaderMap,
) -> Answer {
    listed(&app, &caller, version, asked, &headers, true)
}

fn listed(
    app: &App,
    caller: &Caller,
    version: Microversion,
    Query(asked): query::Query,
    headers: &HeaderMap,
    detail: bool,
) -> Answer {
    let member = caller.member()?;
    let base = base_url(headers);
    let rows: Vec<Value> = app.read(|model| {
        let fitting = model
            .servers
            .iter()
            .rev()
            .filter(|row| row.project_id == member.project_id && fits(row, &asked, version));
        fitting
            .map(|row| {
                if detail {
                    server_document(model, row, version, &base)
                } else {
                    server_summary(row, &base)
                }
            })
            .collect()
    });
    let rows = match version >= Microversion(2, 26)
        && asked.iter().any(|(name, _)| name.contains("tags"))
    {
        false => rows,
        true => {
            let tagged = |row: &Value| {
                let id = row["id"].as_str().unwrap_or_default();
                let tags = app.read(|model| {
                    model
                        .servers
                        .get(id)
                        .map(|server| json!({"tags": server.tags}))
                });
                tags.is_some_and(|tags| query::tags_fit(&tags, &asked))
            };
            rows.into_iter().filter(tagged).collect()
        }
    };
    let marker = query::value(&asked, "marker")
        .unwrap_or_default()
        .to_owned();
    let page = query::page(rows, &asked, 1_000)
        .ok_or_else(|| Refusal::bad_request(format!("marker [{marker}] not found")))?;
    let mut body = json!({"servers": page.items});
    if let Some(next) = page.next {
        let path = if detail { "servers/detail" } else { "servers" };
        let href = format!(
            "{base}/compute/v2.1/{path}?{}",
            query::with_marker(&asked, &next)
        );
        body["servers_links"] = json!([{"rel": "next", "href": href}]);
    }
    Ok(version.stamp(json_answer(200, body)))
}

/// Whether a server fits a list's filters. `name` is part of the name (a regular expression in Nova; here anchors count).
fn fits(row: &Server, asked: &[(String, String)], _: Microversion) -> bool {
    asked.iter().all(|(name, wanted)| match name.as_str() {
        "name" => {
            let bare = wanted
                .trim_start_matches('^')
                .trim_end_matches('$')
                .replace('\\', "");
            match (wanted.starts_with('^'), wanted.ends_with('$')) {
                (true, true) => row.name == bare,
                (true, false) => row.name.starts_with(&bare),
                (false, true) => row.name.ends_with(&bare),
                (false, false) => row.name.contains(&bare),
            }
        }
        "status" => row.status.as_str().eq_ignore_ascii_case(wanted),
        "image" => &row.image_id == wanted,
        "flavor" => &row.flavor_id == wanted,
        "uuid" => &row.id == wanted,
        "key_name" => row.key_name.as_ref() == Some(wanted),
        "user_id" => &row.user_id == wanted,
        _ => true,
    })
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let shown = app.read(|model| {
        owned(model, &member, &id).map(|row| server_document(model, row, version, &base))
    })?;
    Ok(version.stamp(json_answer(200, json!({ "server": shown }))))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let fields = body.get("server").and_then(Value::as_object);
    let fields = fields.ok_or_else(|| {
        Refusal::bad_request(
            "Invalid input for field/attribute body. 'server' is a required property",
        )
    })?;
    let count = match fields.get("min_count").or_else(|| fields.get("max_count")) {
        None => 1,
        Some(count) => count
            .as_u64()
            .filter(|count| (1..=100).contains(count))
            .ok_or_else(|| invalid("min_count", count, "it is not a number from 1 to 100"))?,
    };
    let wanted = read_create(fields, version)?;
    let mut ids = Vec::new();
    for nth in 1..=count {
        let mut one = wanted.clone();
        if count > 1 {
            one.name = format!("{}-{nth}", wanted.name);
        }
        let made = app
            .rewire(|model| model.create_server(&member.project_id, &member.user_id, one))
            .await;
        match made {
            Ok(id) => ids.push(id),
            Err(refusal) => {
                for id in ids {
                    app.spawn_delete(id);
                }
                return Err(refusal.into());
            }
        }
    }
    for id in &ids {
        app.spawn_build(id.clone());
    }
    let id = ids.swap_remove(0);
    let groups = match wanted.security_groups.is_empty() {
        true => json!([{"name": "default"}]),
        false => wanted
            .security_groups
            .iter()
            .map(|name| json!({ "name": name }))
            .collect(),
    };
    let base = base_url(&headers);
    let href = format!("{base}/compute/v2.1/servers/{id}");
    let shown = json!({
        "id": id,
        "links": [{"rel": "self", "href": href}, {"rel": "bookmark", "href": format!("{base}/compute/servers/{id}")}],
        "OS-DCF:diskConfig": "MANUAL",
        "security_groups": groups,
        "adminPass": &new_hex_id()[..12],
    });
    let mut response = json_answer(202, json!({ "server": shown }));
    if let Ok(location) = HeaderValue::try_from(href) {
        response.headers_mut().insert("location", location);
    }
    Ok(version.stamp(response))
}

/// What a creation may say.
const CREATE_FIELDS: &[&str] = &[
    "name",
    "imageRef",
    "flavorRef",
    "networks",
    "key_name",
    "security_groups",
    "user_data",
    "metadata",
    "tags",
    "description",
    "availability_zone",
    "min_count",
    "max_count",
    "config_drive",
    "OS-DCF:diskConfig",
    "adminPass",
    "accessIPv4",
    "accessIPv6",
    "personality",
    "return_reservation_id",
    "hostname",
    "trusted_image_certificates",
];

fn read_create(
    fields: &Map<String, Value>,
    version: Microversion,
) -> Result<CreateServer, Refusal> {
    let whole = Value::Object(fields.clone());
    let refuse = |reason: String| invalid("server", &whole, &reason);
    if fields.contains_key("block_device_mapping_v2") || fields.contains_key("block_device_mapping")
    {
        return Err(Refusal::bad_request(
            "Block Device Mapping is Invalid: the lab cloud boots from images only.",
        ));
    }
    let since = |minor: u16| version >= Microversion(2, minor);
    let unexpected = fields.keys().find(|name| {
        let too_early = (*name == "tags" && !since(52)) || (*name == "description" && !since(19));
        too_early || !CREATE_FIELDS.contains(&name.as_str())
    });
    if let Some(name) = unexpected {
        return Err(refuse(format!(
            "Additional properties are not allowed ('{name}' was unexpected)"
        )));
    }
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(invalid(
            name,
            other,
            &format!("{other} is not of type 'string'"),
        )),
    };
    let required =
        |name: &str| text(name)?.ok_or_else(|| refuse(format!("'{name}' is a required property")));
    let name = required("name")?;
    if name.trim().is_empty() || name.chars().count() > SERVER_NAME_CHARS_MAX {
        return Err(invalid(
            "name",
            &json!(name),
            &format!("'{name}' is too short or too long"),
        ));
    }
    let flavor = required("flavorRef")?;
    let image = text("imageRef")?.filter(|image| !image.is_empty());
    let image = image.ok_or_else(|| {
        Refusal::bad_request(
            "Block Device Mapping is Invalid: You must specify an image or a boot volume.",
        )
    })?;
    if since(37) && !fields.contains_key("networks") {
        return Err(refuse("'networks' is a required property".into()));
    }
    Ok(CreateServer {
        name,
        // Old clients send links to images and flavors.
        image: last_part(&image),
        flavor: last_part(&flavor),
        networks: read_networks(fields.get("networks"))?,
        security_groups: read_groups(fields.get("security_groups"))?,
        key_name: text("key_name")?,
        user_data: text("user_data")?,
        metadata: read_metadata(fields.get("metadata"))?,
        tags: read_tags(fields.get("tags"))?,
        description: text("description")?,
        availability_zone: text("availability_zone")?,
    })
}

fn last_part(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or(reference).to_owned()
}

fn read_networks(value: Option<&Value>) -> Result<Networks, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(Networks::Auto),
        Some(Value::String(word)) if word == "auto" => Ok(Networks::Auto),
        Some(Value::String(word)) if word == "none" => Ok(Networks::Nothing),
        Some(Value::Array(items)) => {
            let read = |item: &Value| {
                let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
                match (text("port"), text("uuid")) {
                    (Some(port), _) => Ok(Interface::Port(port)),
                    (None, Some(network)) => Ok(Interface::Network(network, text("fixed_ip"))),
                    (None, None) => Err(invalid(
                        "networks",
                        item,
                        "neither 'uuid' nor 'port' is there",
                    )),
                }
            };
            Ok(Networks::Listed(
                items.iter().map(read).collect::<Result<_, _>>()?,
            ))
        }
        Some(other) => Err(invalid(
            "networks",
            other,
            "it is neither a list nor 'auto' nor 'none'",
        )),
    }
}

fn read_groups(value: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let names = value.as_array().and_then(|items| {
        items
            .iter()
            .map(|item| item.get("name").and_then(Value::as_str).map(str::to_owned))
            .collect()
    });
    names.ok_or_else(|| invalid("security_groups", value, "it is not a list of {name}"))
}

fn read_metadata(value: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let pairs: Option<BTreeMap<String, String>> = serde_json::from_value(value.clone()).ok();
    let pairs = pairs.ok_or_else(|| invalid("metadata", value, "values have to be strings"))?;
    let too_long = pairs
        .iter()
        .find(|(key, value)| key.is_empty() || key.len() > 255 || value.len() > 255);
    match too_long {
        None => Ok(pairs),
        Some((key, text)) => Err(invalid(
            &format!("metadata/{key}"),
            &json!(text),
            &format!("'{text}' is too long"),
        )),
    }
}

fn read_tags(value: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let tags: Option<Vec<String>> = serde_json::from_value(value.clone()).ok();
    let tags = tags.ok_or_else(|| invalid("tags", value, "it is not a list of strings"))?;
    if tags.len() > 50 {
        return Err(invalid("tags", value, "it has more than 50 items"));
    }
    match tags
        .iter()
        .find(|tag| tag.is_empty() || tag.len() > 60 || tag.contains([',', '/']))
    {
        None => Ok(tags),
        Some(tag) => Err(invalid(
            "tags",
            value,
            &format!("'{tag}' does not match '^[^,/]*$' or is longer than 60"),
        )),
    }
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let name = body["server"]["name"].as_str().map(str::to_owned);
    let description = body["server"]["description"].as_str().map(str::to_owned);
    if name
        .as_ref()
        .is_some_and(|name| name.trim().is_empty() || name.chars().count() > SERVER_NAME_CHARS_MAX)
    {
        return Err(invalid(
            "name",
            &body["server"]["name"],
            "it is too short or too long",
        )
        .into());
    }
    let base = base_url(&headers);
    let shown = app.change(|model| {
        owned(model, &member, &id)?;
        if let Some(server) = model.servers.get_mut(&id) {
            server.name = name.unwrap_or_else(|| server.name.clone());
            server.description = description.or_else(|| server.description.clone());
            server.updated = now();
        }
        owned(model, &member, &id).map(|row| server_document(model, row, version, &base))
    })?;
    Ok(version.stamp(json_answer(200, json!({ "server": shown }))))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    let first = app.change(|model| {
        owned(model, &member, &id)?;
        let Some(server) = model.servers.get_mut(&id) else {
            return Err(not_found(&id));
        };
        let first = server.task_state.as_deref() != Some("deleting");
        server.task_state = Some("deleting".into());
        Ok(first)
    })?;
    if first {
        app.spawn_delete(id);
    }
    Ok(version.stamp(empty_answer(204)))
}

async fn action(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let fields = body.as_object().filter(|fields| fields.len() == 1);
    let (name, details) = fields
        .and_then(|fields| fields.iter().next())
        .ok_or_else(|| {
            Refusal::bad_request("There is no such action: an action is an object with one key.")
        })?;
    let answer = match name.as_str() {
        "os-getConsoleOutput" => {
            app.read(|model| owned(model, &member, &id).map(|_| ()))?;
            let text = app.console(&id).await;
            json_answer(
                200,
                json!({"output": tail(&text, details["length"].as_i64())}),
            )
        }
        "os-start" => switch(
            &app,
            &member,
            &id,
            "start",
            &[Status::Shutoff],
            "powering-on",
            Power::Start,
        )?,
        "os-stop" => switch(
            &app,
            &member,
            &id,
            "stop",
            &[Status::Active, Status::Error],
            "powering-off",
            Power::Stop,
        )?,
        "reboot" => switch(
            &app,
            &member,
            &id,
            "reboot",
            &[Status::Active, Status::Shutoff],
            "rebooting",
            Power::Reboot,
        )?,
        "resize" | "rebuild" | "createImage" | "migrate" | "os-migrateLive" | "shelve"
        | "rescue" | "suspend" | "pause" => {
            app.read(|model| owned(model, &member, &id).map(|_| ()))?;
            return Err(Refusal::new(
                501,
                "NotImplemented",
                format!("The lab cloud cannot {name} servers."),
            )
            .into());
        }
        other => {
            return Err(Refusal::bad_request(format!("There is no such action: {other}")).into());
        }
    };
    Ok(version.stamp(answer))
}

/// The last lines of a text; all when no number or a negative one is asked for.
fn tail(text: &str, lines: Option<i64>) -> String {
    let Some(lines) = lines.and_then(|lines| usize::try_from(lines).ok()) else {
        return text.to_owned();
    };
    let all: Vec<&str> = text.lines().collect();
    let mut tail = all[all.len().saturating_sub(lines)..].join("\n");
    tail.push('\n');
    tail
}

fn switch(
    app: &App,
    member: &Member,
    id: &str,
    verb: &str,
    from: &[Status],
    task: &str,
    power: Power,
) -> Result<Response, Refusal> {
    app.change(|model| {
        let status = {
            let server = owned(model, member, id)?;
            if let Some(task) = &server.task_state {
                return Err(Refusal::conflict(
                    "InstanceInvalidState",
                    format!("Cannot '{verb}' instance {id} while it is in task_state {task}"),
                ));
            }
            server.status
        };
        if !from.contains(&status) {
            return Err(Refusal::conflict(
                "InstanceInvalidState",
                format!(
                    "Cannot '{verb}' instance {id} while it is in vm_state {}",
                    status.vm_state()
                ),
            ));
        }
        if let Some(server) = model.servers.get_mut(id) {
            server.task_state = Some(task.into());
        }
        Ok(())
    })?;
    app.spawn_power(id.to_owned(), power);
    Ok(empty_answer(202))
}

async fn ips(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    let shown = app.read(|model| owned(model, &member, &id).map(|row| addresses(model, row)))?;
    Ok(version.stamp(json_answer(200, json!({ "addresses": shown }))))
}

async fn metadata(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    let pairs = app.read(|model| owned(model, &member, &id).map(|row| row.metadata.clone()))?;
    Ok(version.stamp(json_answer(200, json!({ "metadata": pairs }))))
}

async fn add_metadata(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let pairs = read_metadata(read_json(&body)?.get("metadata"))?;
    change_metadata(&app, &caller, version, &id, |metadata| {
        metadata.extend(pairs)
    })
}

async fn set_metadata(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let pairs = read_metadata(read_json(&body)?.get("metadata"))?;
    change_metadata(&app, &caller, version, &id, |metadata| *metadata = pairs)
}

fn change_metadata(
    app: &App,
    caller: &Caller,
    version: Microversion,
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
    Ok(version.stamp(json_answer(200, json!({ "metadata": pairs }))))
}

async fn metadata_item(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path((id, key)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let value =
        app.read(|model| owned(model, &member, &id).map(|row| row.metadata.get(&key).cloned()))?;
    let value =
        value.ok_or_else(|| Refusal::not_found("HTTPNotFound", "Metadata item was not found"))?;
    Ok(version.stamp(json_answer(200, json!({"meta": {key: value}}))))
}

async fn delete_metadata_item(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
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
    Ok(version.stamp(empty_answer(204)))
}

async fn tags(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    let tags = app.read(|model| owned(model, &member, &id).map(|row| row.tags.clone()))?;
    Ok(version.stamp(json_answer(200, json!({ "tags": tags }))))
}

async fn set_tags(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
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
    Ok(version.stamp(json_answer(200, json!({ "tags": tags }))))
}

async fn interfaces(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
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
    Ok(version.stamp(json_answer(200, json!({ "interfaceAttachments": rows }))))
}

async fn security_groups(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
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
    Ok(version.stamp(json_answer(200, json!({ "security_groups": rows }))))
}

async fn volume_attachments(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(id): Path<String>,
) -> Answer {
    let member = caller.member()?;
    app.read(|model| owned(model, &member, &id).map(|_| ()))?;
    Ok(version.stamp(json_answer(200, json!({"volumeAttachments": []}))))
}
