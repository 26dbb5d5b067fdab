//! Barbican v1: containers.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, read_json};
use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::Member;
use crate::services::key_manager::collection::{self, Resource};
use crate::services::key_manager::secret::{Held, Owner, Secret, SecretContainer};
use crate::services::key_manager::{made, owner, schema};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    collection::routes::<SecretContainer>().and(
        Routes::below("/key-manager/v1")
            .post("/containers", create)
            .post("/containers/", create),
    )
}

impl Resource for SecretContainer {
    const COLLECTION: &'static str = "containers";
    const WORD: &'static str = "Container";
    const MISSING: &'static str = "Secrets container not found.";
    const FILTERS: &'static [&'static str] = &["name", "type"];

    fn table(model: &Model) -> &Table<Self> {
        &model.secret_containers
    }

    fn table_mut(model: &mut Model) -> &mut Table<Self> {
        &mut model.secret_containers
    }

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn document(&self, base: &str) -> Value {
        let held = self.secrets.iter().map(
            |held| json!({"name": held.name, "secret_ref": Secret::reference(&held.secret_id, base)}),
        );
        json!({
            "name": self.name,
            "type": self.kind,
            "status": "ACTIVE",
            "creator_id": self.owner.creator_id,
            "created": self.created.trim_end_matches('Z'),
            "updated": self.updated.trim_end_matches('Z'),
            "secret_refs": held.collect::<Value>(),
            "consumers": [],
            "container_ref": Self::reference(&self.id, base),
        })
    }
}

/// The required and the optional names in a type of container. `None` if any names are allowed.
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
        owner: owner(member),
        kind: kind.to_owned(),
        secrets: held,
        created: now(),
        updated: now(),
    })
}

/// The secrets of a container are the project's.
fn secret_is_there(model: &Model, member: &Member, held: &Held) -> Result<(), Refusal> {
    let there = model.secrets.get(&held.secret_id);
    let ours = there.is_some_and(|row| row.owner.project_id == member.project_id);
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
    let place = SecretContainer::reference(&row.id, base);
    call.app.change(|model| {
        for held in &row.secrets {
            secret_is_there(model, &member, held)?;
        }
        model.secret_containers.insert(row);
        Ok::<_, Refusal>(())
    })?;
    Ok(made("container_ref", place))
}
