//! Barbican v1: who may read a secret or a container.
//!
//! There is one operation, `read`. `PUT` says all anew, `PATCH` what it names; without a list the whole project may.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::now;
use crate::kit::refusal::Refusal;
use crate::services::key_manager::secret::{Acl, Guard};
use crate::services::key_manager::{Way, containers, may, schema, secrets};
use crate::services::{Call, Model, Routes};

/// A collection whose resources have ACLs.
struct Holder {
    collection: &'static str,
    /// Its name in refusals.
    word: &'static str,
    guard: for<'a> fn(&'a mut Model, &str) -> Result<&'a mut Guard, Refusal>,
    reference: fn(&str, &str) -> String,
}

static HOLDERS: [Holder; 2] = [
    Holder {
        collection: "secrets",
        word: "SecretACL(s)",
        guard: |model, id| {
            let row = model.secrets.get_mut(id);
            row.map(|row| &mut row.guard).ok_or_else(secrets::not_found)
        },
        reference: secrets::reference,
    },
    Holder {
        collection: "containers",
        word: "ContainerACL(s)",
        guard: |model, id| {
            let row = model.secret_containers.get_mut(id);
            row.map(|row| &mut row.guard)
                .ok_or_else(containers::not_found)
        },
        reference: containers::reference,
    },
];

pub fn routes() -> Routes {
    HOLDERS
        .iter()
        .fold(Routes::below("/key-manager/v1"), |routes, holder| {
            let path = format!("/{}/{{id}}/acl", holder.collection);
            routes
                .get(&path, move |call| show(holder, call))
                .put(&path, move |call, body| set(holder, Said::Anew, call, body))
                .patch(&path, move |call, body| {
                    set(holder, Said::InPart, call, body)
                })
                .delete(&path, move |call| clear(holder, call))
        })
}

/// How much a body says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Anew,
    InPart,
}

async fn show(holder: &Holder, call: Call) -> Answer {
    let id = call.id();
    let member = call.member()?;
    let what = format!("{} retrieval", holder.word);
    let acl = call.app.change(|model| {
        let guard = (holder.guard)(model, id)?;
        may(guard, &member, Way::Change, &what)?;
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

async fn set(holder: &Holder, said: Said, call: Call, body: Bytes) -> Answer {
    let id = call.id();
    let member = call.member()?;
    let body = read_json(&body)?;
    let read = operation(&body)?;
    let access = read.get("project-access").and_then(Value::as_bool);
    let users = read.get("users").and_then(Value::as_array);
    let users = users.map(|users| {
        let texts = users.iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>()
    });
    let what = format!("{} Update", holder.word);
    call.app.change(|model| {
        let guard = (holder.guard)(model, id)?;
        may(guard, &member, Way::Change, &what)?;
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
    let place = format!("{}/acl", (holder.reference)(id, &call.base));
    reply(200, json!({ "acl_ref": place }))
}

async fn clear(holder: &Holder, call: Call) -> Answer {
    let id = call.id();
    let member = call.member()?;
    let what = format!("{} deletion", holder.word);
    call.app.change(|model| {
        let guard = (holder.guard)(model, id)?;
        may(guard, &member, Way::Change, &what)?;
        guard.acl = None;
        Ok::<_, Refusal>(())
    })?;
    empty(200)
}
