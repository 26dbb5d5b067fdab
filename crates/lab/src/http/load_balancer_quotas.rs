//! Octavia v2: how much a project may have. Some words are older ones that Octavia still takes.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Map, Value, json};

use super::App;
use super::answer::{OctaviaError, empty_answer, json_answer, read_json};
use super::token::{Caller, Member};
use crate::model::network::quota::{LOAD_BALANCING, Quotas};
use crate::model::refusal::Refusal;

type Answer = Result<Response, OctaviaError>;

pub(super) fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}/quotas{path}");
    Router::new()
        .route(&at(""), get(all))
        .route(&at("/defaults"), get(usual))
        .route(&at("/{project}"), get(show).put(update).delete(reset))
}

fn allowed(is_allowed: bool) -> Result<(), Refusal> {
    let words = "Policy does not allow this request to be performed.";
    match is_allowed {
        true => Ok(()),
        false => Err(Refusal::forbidden(words)),
    }
}

fn admin(caller: &Caller) -> Result<Member, Refusal> {
    let member = caller.member()?;
    allowed(member.admin)?;
    Ok(member)
}

/// Of the projects that have limits of their own: all of them for administrators.
async fn all(State(app): State<App>, caller: Caller) -> Answer {
    let member = caller.member()?;
    let mut bodies = app.read(|model| model.quotas.bodies(LOAD_BALANCING));
    bodies.retain(|body| {
        let project = body["project_id"].as_str();
        member.may_touch(project.unwrap_or_default())
    });
    Ok(json_answer(
        200,
        json!({"quotas": bodies, "quotas_links": []}),
    ))
}

async fn show(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    allowed(caller.member()?.may_touch(&project))?;
    let body = app.read(|model| model.quotas.body(LOAD_BALANCING, &project));
    Ok(json_answer(200, json!({ "quota": body })))
}

async fn usual(State(app): State<App>, caller: Caller) -> Answer {
    admin(&caller)?;
    let body = app.read(|model| model.quotas.body(LOAD_BALANCING, ""));
    Ok(json_answer(200, json!({ "quota": body })))
}

/// By their newer names.
fn said(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let body = read_json(body)?;
    let said = body.get("quota").and_then(Value::as_object);
    let said = said.ok_or_else(|| Refusal::new(500, "Server", "'quota'"))?;
    let newer = |name: &String| match name.as_str() {
        "loadbalancer" => "load_balancer".to_owned(),
        "healthmonitor" => "health_monitor".to_owned(),
        _ => name.clone(),
    };
    let said = said.iter();
    Ok(said
        .map(|(name, value)| (newer(name), value.clone()))
        .collect())
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
    body: Bytes,
) -> Answer {
    admin(&caller)?;
    let limits = Quotas::read(LOAD_BALANCING, &said(&body)?).map_err(|name| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}: no limit of Octavia's"
        ))
    })?;
    let body = app.change(|model| {
        model.quotas.set_for(&project, limits);
        model.quotas.body(LOAD_BALANCING, &project)
    });
    Ok(json_answer(202, json!({ "quota": body })))
}

async fn reset(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    admin(&caller)?;
    if !app.change(|model| model.quotas.reset_for(LOAD_BALANCING, &project)) {
        let message = format!("Quotas {project} not found.");
        return Err(Refusal::not_found("QuotaNotFound", message).into());
    }
    Ok(empty_answer(202))
}
