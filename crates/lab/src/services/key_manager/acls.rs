//! Barbican v1: who may read a secret or a container.
//!
//! There is one operation, `read`. `PUT` says all anew, `PATCH` what it names; without a list the whole project may.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::key_manager::collection::Resource;
use crate::services::key_manager::secret::{Acl, Guard, Secret, SecretContainer};
use crate::services::key_manager::{Way, may, schema};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    of::<Secret>().and(of::<SecretContainer>())
}

fn of<R: Resource>() -> Routes {
    let path = format!("/{}/{{id}}/acl", R::COLLECTION);
    Routes::below("/key-manager/v1")
        .get(&path, show::<R>)
        .put(&path, |call, body| set::<R>(Said::Anew, call, body))
        .patch(&path, |call, body| set::<R>(Said::InPart, call, body))
        .delete(&path, clear::<R>)
}

/// The guard of a resource that the caller may change.
fn guard<'a, R: Resource>(
    model: &'a mut Model,
    call: &Call,
    member: &Member,
    what: &str,
) -> Result<&'a mut Guard, Refusal> {
    let row = R::table_mut(model).get_mut(call.id());
    let guard = row.ok_or_else(R::not_found)?.guard_mut();
    let what = format!("{}ACL(s) {what}", R::WORD);
    may(guard, member, Way::Change, &what).map(|()| guard)
}

/// How much a body says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Anew,
    InPart,
}

async fn show<R: Resource>(call: Call) -> Answer {
    let member = call.member()?;
    let acl = call.app.change(|model| {
        let guard = guard::<R>(model, &call, &member, "retrieval")?;
        Ok::<_, Refusal>(guard.acl.clone())
    })?;
    let read = match acl {
        None => json!({"project-access": true}),
        Some(acl) => json!({
            "project-access": acl.project_access,
            "users": acl.users,
            "created": acl.created.trim_end_matches('Z'),
            "updated": acl.updated.trim_end_matches('Z'),
        }),
    };
    reply(200, json!({ "read": read }))
}

/// The body's one operation.
fn operation(body: &Value) -> Result<&Map<String, Value>, Refusal> {
    let fields = body
        .as_object()
        .ok_or_else(|| schema("ACL", "the body is not of type 'object'"))?;
    let unexpected = |name: &str| {
        schema(
            "ACL",
            &format!("Additional properties are not allowed ('{name}' was unexpected)"),
        )
    };
    if let Some(name) = fields.keys().find(|name| *name != "read") {
        return Err(unexpected(name));
    }
    let read = fields.get("read").and_then(Value::as_object);
    let read = read.ok_or_else(|| schema("ACL", "'read' is not of type 'object'"))?;
    let known = ["users", "project-access"];
    match read.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(unexpected(name)),
        None => Ok(read),
    }
}

async fn set<R: Resource>(said: Said, call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let read = operation(&body)?;
    let access = read.get("project-access").and_then(Value::as_bool);
    let users = read.get("users").and_then(Value::as_array);
    let users = users.map(|users| {
        let texts = users.iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>()
    });
    call.app.change(|model| {
        let guard = guard::<R>(model, &call, &member, "Update")?;
        let old = guard.acl.take();
        let created = old.as_ref().map(|acl| acl.created.clone());
        let kept = old.filter(|_| said == Said::InPart);
        let (old_users, old_access) = match kept {
            Some(acl) => (acl.users, acl.project_access),
            None => (Vec::new(), true),
        };
        guard.acl = Some(Acl {
            users: users.unwrap_or(old_users),
            project_access: access.unwrap_or(old_access),
            created: created.unwrap_or_else(now),
            updated: now(),
        });
        Ok::<_, Refusal>(())
    })?;
    let place = format!("{}/acl", R::reference(call.id(), &call.base));
    reply(200, json!({ "acl_ref": place }))
}

async fn clear<R: Resource>(call: Call) -> Answer {
    let member = call.member()?;
    call.app.change(|model| {
        let guard = guard::<R>(model, &call, &member, "deletion")?;
        guard.acl = None;
        Ok::<_, Refusal>(())
    })?;
    empty(200)
}
