//! Nova v2.1: servers and their actions.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::answer::{empty_answer, json_answer, read_json};
use super::compute::{Answer, invalid};
use super::compute_view::{server_document, server_summary};
use super::microversion::Microversion;
use super::server_body::{SERVER_NAME_CHARS_MAX, read_create};
use super::token::{Caller, Member};
use super::{App, base_url, query};
use crate::model::Model;
use crate::model::ids::{new_hex_id, now};
use crate::model::refusal::Refusal;
use crate::model::server::{Server, Status};
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
}

/// The 404.
pub fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "InstanceNotFound",
        format!("Instance {id} could not be found."),
    )
}

/// The server, if it is the caller's project's.
pub fn owned<'a>(model: &'a Model, member: &Member, id: &str) -> Result<&'a Server, Refusal> {
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
    Ok(json_answer(200, body))
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
    Ok(json_answer(200, json!({ "server": shown })))
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
    Ok(response)
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
    Ok(json_answer(200, json!({ "server": shown })))
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
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
    Ok(empty_answer(204))
}

async fn action(
    State(app): State<App>,
    caller: Caller,
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
    Ok(answer)
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
