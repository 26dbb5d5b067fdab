//! Nova v2.1: `os-instance-actions`, the history of a server.

use serde_json::{Value, json};

use crate::kit::answer::{Answer, reply};
use crate::kit::microversion::Microversion;
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::compute::on_server::not_found;
use crate::services::compute::server::Server;
use crate::services::compute::server_action::ServerAction;
use crate::services::compute::servers::read_time;
use crate::services::compute::view::{HOST, HOST_ID};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/servers/{id}/os-instance-actions", list)
        .get("/servers/{id}/os-instance-actions/{request}", show)
}

/// Look at a server or, since 2.21, at a deleted one.
fn read<R>(call: &Call, look: impl FnOnce(&Server) -> R) -> Result<R, Refusal> {
    let member = call.member()?;
    let find = |model: &Model| -> Result<R, Refusal> {
        let deleted = model.deleted_servers.get(call.id());
        let deleted = deleted.filter(|_| call.version >= Microversion(2, 21));
        let server = model.servers.get(call.id()).or(deleted);
        let server = server.filter(|server| member.can_access(&server.project_id));
        Ok(look(server.ok_or_else(|| not_found(call.id()))?))
    };
    call.app.read(find)
}

/// Nova writes these times without a zone.
fn time(text: &str) -> String {
    format!("{}.000000", text.trim_end_matches('Z'))
}

fn document(server: &Server, action: &ServerAction, version: Microversion) -> Value {
    let mut document = json!({
        "action": action.action,
        "instance_uuid": server.id,
        "request_id": action.request_id,
        "user_id": action.user_id,
        "project_id": server.project_id,
        "start_time": time(&action.started),
        "message": action.message.as_ref().map(|_| "Error"),
    });
    if version >= Microversion(2, 58) {
        document["updated_at"] = time(updated(action)).into();
    }
    document
}

/// Time of the last change of an action.
fn updated(action: &ServerAction) -> &str {
    action.ended.as_ref().unwrap_or(&action.started)
}

/// The actions, newest first. Pages and filters came with 2.58.
async fn list(call: Call) -> Answer {
    let parameters = call.query_since(Microversion(2, 58));
    let since = query::value(parameters, "changes-since")
        .map(read_time)
        .transpose()?;
    let page = read(&call, |server| {
        let changed = |action: &&ServerAction| {
            let time = updated(action).parse::<jiff::Timestamp>();
            since.is_none_or(|since| time.is_ok_and(|time| time >= since))
        };
        let newest = server.actions.iter().rev().filter(changed).collect();
        let page = query::page_rows(newest, parameters, 1_000, |action| &action.request_id)?;
        let shown = page.0.into_iter();
        let shown: Vec<Value> = shown
            .map(|action| document(server, action, call.version))
            .collect();
        Some((shown, page.1))
    })?;
    let marker = query::value(parameters, "marker").unwrap_or_default();
    let (rows, next) =
        page.ok_or_else(|| Refusal::bad_request(format!("Marker {marker} could not be found.")))?;
    let mut body = json!({ "instanceActions": rows });
    if let Some(next) = next {
        let href = format!(
            "{}/compute/v2.1/servers/{}/os-instance-actions?{}",
            call.base,
            call.id(),
            query::with_marker(parameters, &next)
        );
        body["links"] = json!([{"rel": "next", "href": href}]);
    }
    reply(200, body)
}

async fn show(call: Call) -> Answer {
    let (request, admin) = (call.part("request"), call.member()?.admin);
    let shown = read(&call, |server| {
        let mut all = server.actions.iter();
        let action = all.find(|action| action.request_id == request)?;
        let mut shown = document(server, action, call.version);
        if admin || call.version >= Microversion(2, 51) {
            shown["events"] = events(action, call.version, admin.then_some(HOST));
        }
        Some(shown)
    })?;
    let shown = shown
        .ok_or_else(|| Refusal::not_found("HTTPNotFound", format!("Action {request} not found")))?;
    reply(200, json!({ "instanceAction": shown }))
}

/// The events of an action, newest first. Host, traceback and details are for administrators, who get the host here.
fn events(action: &ServerAction, version: Microversion, host: Option<&str>) -> Value {
    let result = match (&action.ended, &action.message) {
        (None, _) => None,
        (Some(_), None) => Some("Success"),
        (Some(_), Some(_)) => Some("Error"),
    };
    let event = |name: String| {
        let mut event = json!({
            "event": name,
            "start_time": time(&action.started),
            "finish_time": action.ended.as_deref().map(time),
            "result": result,
        });
        if version >= Microversion(2, 62) {
            event["hostId"] = HOST_ID.into();
        }
        if let Some(host) = host {
            let traceback = action.message.as_ref();
            event["traceback"] = json!(traceback.map(|message| format!("  {message}\n")));
            if version >= Microversion(2, 62) {
                event["host"] = host.into();
            }
            if version >= Microversion(2, 84) {
                event["details"] = json!(action.message);
            }
        }
        event
    };
    action.events().into_iter().map(event).collect()
}
