//! Neutron v2.0: the rules of QoS policies. The policies themselves are an ordinary resource type.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::network::collections::{kind_of, owned, visible_resource};
use crate::services::network::qos_policy::{RULE_KINDS, RuleKind, rule_not_found};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .get("/qos/rule-types", rule_types)
        .get("/qos/policies/{id}/{rules}", list)
        .post("/qos/policies/{id}/{rules}", create)
        .get("/qos/policies/{id}/{rules}/{rule}", show)
        .put("/qos/policies/{id}/{rules}/{rule}", update)
        .delete("/qos/policies/{id}/{rules}/{rule}", delete)
}

async fn rule_types(call: Call) -> Answer {
    call.member()?;
    let all = RULE_KINDS.iter().map(|kind| json!({"type": kind.kind}));
    reply(200, json!({"rule_types": all.collect::<Value>()}))
}

fn rule_kind(collection: &str) -> Result<&'static RuleKind, Refusal> {
    let mut all = RULE_KINDS.iter();
    all.find(|kind| kind.collection == collection)
        .ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))
}

/// A rule without its type and policy, which are in the path.
fn bare(rule: &Value) -> Value {
    let mut shown = rule.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("type");
        fields.remove("qos_policy_id");
    }
    shown
}

fn fields(kind: &RuleKind, body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let name = format!("{}_rule", kind.kind);
    match read_json(body)?.get(&name) {
        Some(Value::Object(fields)) => Ok(fields.clone()),
        _ => Err(Refusal::bad_request(format!(
            "Unable to find '{name}' in request body"
        ))),
    }
}

async fn list(call: Call) -> Answer {
    let (id, rules) = (call.part("id"), call.part("rules"));
    let (member, kind) = (call.member()?, rule_kind(rules)?);
    let policy = call
        .app
        .read(|model| visible_resource(model, kind_of("policies")?, &member, id))?;
    let all = policy["rules"].as_array().into_iter().flatten();
    let fitting = all.filter(|rule| rule["type"] == kind.kind).map(bare);
    reply(200, json!({rules: fitting.collect::<Value>()}))
}

async fn show(call: Call) -> Answer {
    let (id, rules, rule) = (call.part("id"), call.part("rules"), call.part("rule"));
    let (member, kind) = (call.member()?, rule_kind(rules)?);
    let policy = call
        .app
        .read(|model| visible_resource(model, kind_of("policies")?, &member, id))?;
    let mut all = policy["rules"].as_array().into_iter().flatten();
    let found = all.find(|one| one["id"] == rule && one["type"] == kind.kind);
    let found = found.ok_or_else(|| rule_not_found(id, rule))?;
    let name = format!("{}_rule", kind.kind);
    reply(200, json!({name: bare(found)}))
}

/// Adds or replaces a rule.
fn set(
    call: &Call,
    (id, rules, old): (&str, &str, Option<&str>),
    body: &Bytes,
) -> Result<Value, Refusal> {
    let (member, kind) = (call.member()?, rule_kind(rules)?);
    let fields = fields(kind, body)?;
    let rule = call.app.change(|model| {
        owned(model, kind_of("policies")?, &member, id, "update")?;
        model.set_qos_rule(id, kind, &fields, old)
    })?;
    let name = format!("{}_rule", kind.kind);
    Ok(json!({name: bare(&rule)}))
}

async fn create(call: Call, body: Bytes) -> Answer {
    let (id, rules) = (call.part("id"), call.part("rules"));
    let made = set(&call, (id, rules, None), &body)?;
    reply(201, made)
}

async fn update(call: Call, body: Bytes) -> Answer {
    let (id, rules, rule) = (call.part("id"), call.part("rules"), call.part("rule"));
    let made = set(&call, (id, rules, Some(rule)), &body)?;
    reply(200, made)
}

async fn delete(call: Call) -> Answer {
    let (id, rules, rule) = (call.part("id"), call.part("rules"), call.part("rule"));
    let member = call.member()?;
    rule_kind(rules)?;
    call.app.change(|model| {
        owned(model, kind_of("policies")?, &member, id, "update")?;
        model.remove_qos_rule(id, rule)
    })?;
    empty(204)
}
