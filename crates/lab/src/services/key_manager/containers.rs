//! Barbican v1: containers.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::key_manager::secret::{Held, SecretContainer};
use crate::services::key_manager::{Page, Way, guard, made, may, schema, secrets};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/key-manager/v1")
        .get("/containers", list)
        .post("/containers", create)
        .get("/containers/", list)
        .post("/containers/", create)
        .get("/containers/{id}", show)
        .delete("/containers/{id}", delete)
        .post("/containers/{id}/secrets", add)
        .delete("/containers/{id}/secrets", remove)
}

pub fn not_found() -> Refusal {
    Refusal::not_found("NotFound", "Secrets container not found.")
}

/// The URL of a container.
pub fn reference(id: &str, base: &str) -> String {
    format!("{base}/key-manager/v1/containers/{id}")
}

fn document(row: &SecretContainer, base: &str) -> Value {
    let held = row.secrets.iter().map(
        |held| json!({"name": held.name, "secret_ref": secrets::reference(&held.secret_id, base)}),
    );
    json!({
        "name": row.name,
        "type": row.kind,
        "status": "ACTIVE",
        "creator_id": row.guard.creator_id,
        "created": row.created.trim_end_matches('Z'),
        "updated": row.updated.trim_end_matches('Z'),
        "secret_refs": held.collect::<Value>(),
        "consumers": [],
        "container_ref": reference(&row.id, base),
    })
}

async fn list(call: Call) -> Answer {
    let member = call.member()?;
    let base = &call.base;
    let fits = |name: &str, is: &str| call.asked(name).is_none_or(|wanted| wanted == is);
    let rows = call.app.read(|model| {
        let mine = model.secret_containers.iter().filter(|row| {
            row.guard.project_id == member.project_id
                && fits("name", row.name.as_deref().unwrap_or_default())
                && fits("type", &row.kind)
        });
        mine.map(|row| document(row, base)).collect()
    });
    Ok(Page::of("containers", &call.query).answer(rows, base))
}

/// The names that a kind of container must have, and those that it may have beside.
fn names_of(kind: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    match kind {
        "rsa" => Some((&["public_key", "private_key"], &["private_key_passphrase"])),
        "certificate" => Some((
            &["certificate"],
            &["private_key", "private_key_passphrase", "intermediates"],
        )),
        _ => None,
    }
}

/// A secret as a body names it.
fn held(value: &Value, base: &str, name: &str) -> Result<Held, Refusal> {
    let place = value.get("secret_ref").and_then(Value::as_str);
    let place = place.ok_or_else(|| schema(name, "'secret_ref' is a required property"))?;
    if !place.starts_with(base) {
        return Err(Refusal::bad_request(
            "Secret_ref does not match the configured hostname, please try again",
        ));
    }
    let id = place.trim_end_matches('/').rsplit('/').next();
    Ok(Held {
        name: value.get("name").and_then(Value::as_str).map(str::to_owned),
        secret_id: id.unwrap_or_default().to_owned(),
    })
}

fn read_create(member: &Member, body: &Value, base: &str) -> Result<SecretContainer, Refusal> {
    let wrong = |reason: &str| schema("Container", reason);
    let kind = body
        .get("type")
        .ok_or_else(|| wrong("'type' is a required property"))?;
    let kinds = ["generic", "rsa", "certificate"];
    let kind = kind.as_str().filter(|kind| kinds.contains(kind));
    let kind = kind.ok_or_else(|| {
        wrong(&format!(
            "'{}' is not one of ['generic', 'rsa', 'certificate']. Invalid property: 'type'",
            body["type"].as_str().unwrap_or_default()
        ))
    })?;
    let listed = body.get("secret_refs").and_then(Value::as_array);
    let held: Vec<Held> = listed
        .into_iter()
        .flatten()
        .map(|one| held(one, base, "Container"))
        .collect::<Result<_, _>>()?;
    for (nth, one) in held.iter().enumerate() {
        if held[..nth].iter().any(|other| other.name == one.name) {
            return Err(wrong(
                "Duplicate reference names are not allowed. Invalid property: 'secret_refs'",
            ));
        }
        if held[..nth]
            .iter()
            .any(|other| other.secret_id == one.secret_id)
        {
            return Err(wrong(
                "Duplicate secret ids are not allowed. Invalid property: 'secret_refs'",
            ));
        }
    }
    if let Some((needed, optional)) = names_of(kind).filter(|_| !held.is_empty()) {
        let is = |name: &str| held.iter().any(|one| one.name.as_deref() == Some(name));
        let known = |one: &Held| {
            let name = one.name.as_deref().unwrap_or_default();
            needed.contains(&name) || optional.contains(&name)
        };
        if !held.iter().all(known) || !needed.iter().all(|name| is(name)) {
            return Err(wrong(&format!(
                "a container of type {kind} holds {} and may hold {}. Invalid property: 'secret_refs'",
                needed.join(", "),
                optional.join(", ")
            )));
        }
    }
    Ok(SecretContainer {
        id: new_id(),
        name: body.get("name").and_then(Value::as_str).map(str::to_owned),
        guard: guard(member),
        kind: kind.to_owned(),
        secrets: held,
        created: now(),
        updated: now(),
    })
}

/// The secrets of a container are the project's.
fn secret_is_there(model: &Model, member: &Member, held: &Held) -> Result<(), Refusal> {
    let there = model.secrets.get(&held.secret_id);
    let ours = there.is_some_and(|row| row.guard.project_id == member.project_id);
    ours.then_some(()).ok_or_else(|| {
        let name = held.name.as_deref().unwrap_or("None");
        Refusal::not_found(
            "NotFound",
            format!("Secret provided for '{name}' doesn't exist."),
        )
    })
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let base = &call.base;
    let row = read_create(&member, &read_json(&body)?, base)?;
    let place = reference(&row.id, base);
    call.app.change(|model| {
        for held in &row.secrets {
            secret_is_there(model, &member, held)?;
        }
        model.secret_containers.insert(row);
        Ok::<_, Refusal>(())
    })?;
    Ok(made("container_ref", place))
}

/// The container, to change it.
fn owned<'a>(
    model: &'a mut Model,
    member: &Member,
    id: &str,
    what: &str,
) -> Result<&'a mut SecretContainer, Refusal> {
    let row = model.secret_containers.get_mut(id).ok_or_else(not_found)?;
    may(&row.guard, member, Way::Change, what).map(|()| row)
}

async fn show(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let shown = call.app.read(|model| {
        let row = model.secret_containers.get(id).ok_or_else(not_found)?;
        may(&row.guard, &member, Way::Read, "Container retrieval")?;
        Ok::<_, Refusal>(document(row, &call.base))
    })?;
    reply(200, shown)
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    call.app.change(|model| {
        owned(model, &member, id, "Container deletion")?;
        model.secret_containers.remove(id);
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}

async fn add(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let base = &call.base;
    let held = held(&read_json(&body)?, base, "ContainerSecret")?;
    call.app.change(|model| {
        let row = owned(model, &member, id, "Container Secret creation")?;
        if row.kind != "generic" {
            return Err(Refusal::bad_request(
                "Only 'generic' containers can be modified.",
            ));
        }
        if row.secrets.contains(&held) {
            return Err(Refusal::conflict(
                "Conflict",
                "Conflict. A secret with that name and ID is already stored in this container. The same secret can exist in a \
                 container as long as the name is unique.",
            ));
        }
        secret_is_there(model, &member, &held)?;
        let row = owned(model, &member, id, "Container Secret creation")?;
        row.secrets.push(held);
        row.updated = now();
        Ok(())
    })?;
    Ok(made("container_ref", reference(id, base)))
}

async fn remove(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let held = held(&read_json(&body)?, &call.base, "ContainerSecret")?;
    call.app.change(|model| {
        let row = owned(model, &member, id, "Container Secret deletion")?;
        let before = row.secrets.len();
        row.secrets.retain(|one| *one != held);
        row.updated = now();
        match row.secrets.len() < before {
            true => Ok(()),
            false => Err(Refusal::not_found(
                "NotFound",
                "Secret provided is not in the container",
            )),
        }
    })?;
    empty(204)
}
