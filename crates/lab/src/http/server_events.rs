//! Nova v2.1: `os-instance-actions`: what was done to a server.

use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::json_answer;
use super::compute::Answer;
use super::microversion::Microversion;
use super::on_server::OnServer;
use super::{App, query};
use crate::model::refusal::Refusal;
use crate::model::server::Server;
use crate::model::server_action::ServerAction;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute/v2.1/servers/{id}/os-instance-actions", get(list))
        .route(
            "/compute/v2.1/servers/{id}/os-instance-actions/{request}",
            get(show),
        )
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
        document["updated_at"] = time(action.ended.as_ref().unwrap_or(&action.started)).into();
    }
    document
}

/// Newest first.
async fn list(State(app): State<App>, on: OnServer, Query(asked): query::Query) -> Answer {
    let limit = query::value(&asked, "limit").and_then(|limit| limit.parse().ok());
    let limit = limit.filter(|_| on.version >= Microversion(2, 58));
    let rows: Vec<Value> = on.read(&app, |_, server| {
        let newest = server.actions.iter().rev();
        newest
            .take(limit.unwrap_or(usize::MAX))
            .map(|action| document(server, action, on.version))
            .collect()
    })?;
    Ok(json_answer(200, json!({ "instanceActions": rows })))
}

async fn show(State(app): State<App>, on: OnServer) -> Answer {
    let request = on.part("request");
    let shown = on.read(&app, |_, server| {
        let mut all = server.actions.iter();
        let action = all.find(|action| action.request_id == request)?;
        let mut shown = document(server, action, on.version);
        let result = match (&action.ended, &action.message) {
            (None, _) => None,
            (Some(_), None) => Some("Success"),
            (Some(_), Some(_)) => Some("Error"),
        };
        let mut event = json!({
            "event": action.event(),
            "start_time": time(&action.started),
            "finish_time": action.ended.as_deref().map(time),
            "result": result,
        });
        if on.version >= Microversion(2, 84) {
            event["details"] = json!(action.message);
        }
        shown["events"] = json!([event]);
        Some(shown)
    })?;
    let shown = shown.ok_or_else(|| {
        Refusal::not_found(
            "HTTPNotFound",
            format!(
                "Action for request_id {request} on instance {} not found",
                on.id()
            ),
        )
    })?;
    Ok(json_answer(200, json!({ "instanceAction": shown })))
}
