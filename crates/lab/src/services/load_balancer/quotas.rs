//! Octavia v2: quotas of projects. Octavia's deprecated names are accepted.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::load_balancer::PREFIXES;
use crate::services::quota::{LOAD_BALANCING, Quotas};
use crate::services::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .get("/quotas", all)
        .get("/quotas/{project}", show)
        .put("/quotas/{project}", update)
        .delete("/quotas/{project}", reset)
}

fn allowed(is_allowed: bool) -> Result<(), Refusal> {
    let names = "Policy does not allow this request to be performed.";
    if is_allowed {
        Ok(())
    } else {
        Err(Refusal::forbidden(names))
    }
}

fn admin(call: &Call) -> Result<Member, Refusal> {
    let member = call.member()?;
    allowed(member.admin)?;
    Ok(member)
}

/// The quotas of projects with their own limits. Only administrators see other projects.
async fn all(call: Call) -> Answer {
    let member = call.member()?;
    let mut bodies = call.app.read(|model| model.quotas.bodies(LOAD_BALANCING));
    bodies.retain(|body| {
        let project = body["project_id"].as_str();
        member.can_access(project.unwrap_or_default())
    });
    reply(200, json!({"quotas": bodies, "quotas_links": []}))
}

async fn show(call: Call) -> Answer {
    let project = call.part("project");
    allowed(call.member()?.can_access(project))?;
    let body = call
        .app
        .read(|model| model.quotas.body(LOAD_BALANCING, project));
    reply(200, json!({ "quota": body }))
}

/// The limits in a body, with deprecated names replaced.
fn body_fields(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let body = read_json(body)?;
    let body_fields = body.get("quota").and_then(Value::as_object);
    let body_fields = body_fields.ok_or_else(|| Refusal::new(500, "Server", "'quota'"))?;
    let newer = |name: &String| match name.as_str() {
        "loadbalancer" => "load_balancer".to_owned(),
        "healthmonitor" => "health_monitor".to_owned(),
        _ => name.clone(),
    };
    let body_fields = body_fields.iter();
    Ok(body_fields
        .map(|(name, value)| (newer(name), value.clone()))
        .collect())
}

async fn update(call: Call, body: Bytes) -> Answer {
    let project = call.part("project");
    admin(&call)?;
    let limits = Quotas::read(LOAD_BALANCING, &body_fields(&body)?).map_err(|name| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}: no limit of Octavia's"
        ))
    })?;
    let body = call.app.change(|model| {
        model.quotas.set_for(project, limits);
        model.quotas.body(LOAD_BALANCING, project)
    });
    reply(202, json!({ "quota": body }))
}

async fn reset(call: Call) -> Answer {
    let project = call.part("project");
    admin(&call)?;
    if !call
        .app
        .change(|model| model.quotas.reset_for(LOAD_BALANCING, project))
    {
        let message = format!("Quotas {project} not found.");
        return Err(Refusal::not_found("QuotaNotFound", message));
    }
    empty(202)
}
