//! Neutron v2.0: the rules of QoS policies. Policies themselves are a kind like others.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Map, Value, json};

use super::{Answer, kind_of, owned, seen};
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::Caller;
use crate::model::network::qos_policy::{RULE_KINDS, RuleKind, rule_not_found};
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/network/v2.0/qos/rule-types", get(rule_types))
        .route(
            "/network/v2.0/qos/policies/{id}/{rules}",
            get(list).post(create),
        )
        .route(
            "/network/v2.0/qos/policies/{id}/{rules}/{rule}",
            get(show).put(update).delete(delete),
        )
}

async fn rule_types(caller: Caller) -> Answer {
    caller.member()?;
    let all = RULE_KINDS.iter().map(|kind| json!({"type": kind.kind}));
    Ok(json_answer(
        200,
        json!({"rule_types": all.collect::<Value>()}),
    ))
}

fn rule_kind(collection: &str) -> Result<&'static RuleKind, Refusal> {
    let mut all = RULE_KINDS.iter();
    all.find(|kind| kind.collection == collection)
        .ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))
}

/// A rule in a body: what is in the policy, without what the path says.
fn bare(rule: &Value) -> Value {
    let mut shown = rule.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("type");
        fields.remove("qos_policy_id");
    }
    shown
}

fn said(kind: &RuleKind, body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let name = format!("{}_rule", kind.kind);
    match read_json(body)?.get(&name) {
        Some(Value::Object(said)) => Ok(said.clone()),
        _ => Err(Refusal::bad_request(format!(
            "Unable to find '{name}' in request body"
        ))),
    }
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path((id, rules)): Path<(String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, rule_kind(&rules)?);
    let policy = app.read(|model| seen(model, kind_of("policies")?, &member, &id))?;
    let all = policy["rules"].as_array().into_iter().flatten();
    let fitting = all.filter(|rule| rule["type"] == kind.kind).map(bare);
    Ok(json_answer(200, json!({rules: fitting.collect::<Value>()})))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((id, rules, rule)): Path<(String, String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, rule_kind(&rules)?);
    let policy = app.read(|model| seen(model, kind_of("policies")?, &member, &id))?;
    let mut all = policy["rules"].as_array().into_iter().flatten();
    let found = all.find(|one| one["id"] == rule.as_str() && one["type"] == kind.kind);
    let found = found.ok_or_else(|| rule_not_found(&id, &rule))?;
    let name = format!("{}_rule", kind.kind);
    Ok(json_answer(200, json!({name: bare(found)})))
}

/// Put a rule in, or in the place of another.
fn set(
    app: &App,
    caller: &Caller,
    (id, rules, old): (&str, &str, Option<&str>),
    body: &Bytes,
) -> Result<Value, Refusal> {
    let (member, kind) = (caller.member()?, rule_kind(rules)?);
    let said = said(kind, body)?;
    let rule = app.change(|model| {
        owned(model, kind_of("policies")?, &member, id, "update")?;
        model.set_qos_rule(id, kind, &said, old)
    })?;
    let name = format!("{}_rule", kind.kind);
    Ok(json!({name: bare(&rule)}))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    Path((id, rules)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let made = set(&app, &caller, (&id, &rules, None), &body)?;
    Ok(json_answer(201, made))
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path((id, rules, rule)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer {
    let made = set(&app, &caller, (&id, &rules, Some(&rule)), &body)?;
    Ok(json_answer(200, made))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path((id, rules, rule)): Path<(String, String, String)>,
) -> Answer {
    let member = caller.member()?;
    rule_kind(&rules)?;
    app.change(|model| {
        owned(model, kind_of("policies")?, &member, &id, "update")?;
        model.remove_qos_rule(&id, &rule)
    })?;
    Ok(empty_answer(204))
}
