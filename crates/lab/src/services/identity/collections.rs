//! Keystone v3: the handlers of all collections.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::{digest, new_hex_id};
use crate::kit::query::attribute_is;
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::services::identity::kinds::{COLLECTIONS, Collection, Verb};
use crate::services::identity::{Identity, admin, list, not_found, object};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    COLLECTIONS
        .iter()
        .fold(Routes::below("/identity/v3"), |routes, kind| {
            let many = format!("/{}", kind.many);
            let one = format!("{many}/{{id}}");
            let routes = routes
                .get(&many, move |call| all(kind, call))
                .post(&many, move |call, body| create(kind, call, body))
                .get(&one, move |call| show(kind, call))
                .delete(&one, move |call| delete(kind, call));
            match kind.one {
                "credential" => routes,
                _ => routes.patch(&one, move |call, body| update(kind, call, body)),
            }
        })
}

/// Requires an administrator, or a record that is open to the caller.
fn may(kind: &Collection, call: &Call, verb: Verb, record: &Value) -> Result<(), Refusal> {
    if (kind.is_allowed_for_user)(call.token()?, verb, record) {
        return Ok(());
    }
    match verb {
        Verb::List => admin(call, &format!("list_{}", kind.many)),
        verb => admin(
            call,
            &format!("{}_{}", format!("{verb:?}").to_lowercase(), kind.one),
        ),
    }
}

/// All records. The lab's built-in ones come first.
fn rows(kind: &Collection, call: &Call) -> Vec<Value> {
    let mut rows = (kind.built_in)(&call.base);
    call.app.read(|model| {
        let stored = (kind.table)(&model.identity).iter();
        rows.extend(stored.map(|row| kind.document(row, &call.base)));
    });
    rows
}

async fn all(kind: &Collection, call: Call) -> Answer {
    may(kind, &call, Verb::List, &Value::Null)?;
    let token = call.token()?;
    let mut rows = rows(kind, &call);
    rows.retain(|row| {
        let is_visible = token.is_admin() || (kind.is_allowed_for_user)(token, Verb::Get, row);
        // Without a `domain_id` filter, only global roles are listed.
        let is_role_elsewhere = kind.one == "role" && !row["domain_id"].is_null();
        let mut filters = call.query.iter();
        let mut filters = filters
            .by_ref()
            .filter(|(name, _)| kind.filters.contains(&name.as_str()));
        is_visible
            && (call.query_value("domain_id").is_some() || !is_role_elsewhere)
            && filters.all(|(name, wanted)| attribute_is(row, name, wanted))
    });
    Ok(list(
        kind.many,
        rows,
        &call.base,
        &format!("/{}", kind.many),
    ))
}

fn find(kind: &Collection, call: &Call) -> Value {
    let mut rows = rows(kind, call).into_iter();
    let found = rows.find(|row| row["id"] == call.id());
    found.unwrap_or_default()
}

async fn show(kind: &Collection, call: Call) -> Answer {
    let found = find(kind, &call);
    may(kind, &call, Verb::Get, &found)?;
    if found.is_null() {
        return Err(not_found(kind.one, call.id()));
    }
    reply(200, json!({ kind.one: found }))
}

/// Checks a new or changed record.
fn check(kind: &Collection, identity: &Identity, row: &mut Record) -> Result<(), Refusal> {
    (kind.check)(identity, &mut row.fields)?;
    let (name, domain) = (row.text("name"), row.text("domain_id"));
    let same = |other: &Record| {
        other.id != row.id && other.text("name") == name && other.text("domain_id") == domain
    };
    if !kind.unique_names || !(kind.table)(identity).iter().any(same) {
        return Ok(());
    }
    let place = if kind.one == "role" && domain.is_empty() {
        String::new()
    } else {
        format!(" at domain ID {domain}")
    };
    Err(Refusal::conflict(
        "Conflict",
        format!(
            "Conflict occurred attempting to store {} - Duplicate entry found with name {name}{place}.",
            kind.one
        ),
    ))
}

async fn create(kind: &Collection, call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    may(kind, &call, Verb::Create, &body[kind.one])?;
    let mut wanted = object(&body, kind.one)?.clone();
    for name in kind.required {
        if wanted.get(*name).is_none_or(Value::is_null) {
            return Err(Refusal::bad_request(format!(
                "'{name}' is a required property"
            )));
        }
    }
    let id = wanted.remove("id");
    let id = id.filter(|_| kind.one == "region");
    let id = id.as_ref().and_then(Value::as_str);
    let mut row = Record::new(id.unwrap_or(&new_hex_id()), (kind.defaults)());
    row.fields.extend(wanted);
    if kind.one == "user" {
        // A random password disables password login.
        let password = digest(&new_hex_id());
        row.fields.insert("password_digest".into(), password.into());
    }
    let shown = call.app.change(|model| {
        let identity = &mut model.identity;
        if kind.in_domain {
            let domain = kind.domain_of(identity, &row.fields)?;
            row.fields.insert("domain_id".into(), domain.into());
        }
        if (kind.table)(identity).get(&row.id).is_some() {
            return Err(Refusal::conflict(
                "Conflict",
                format!(
                    "Conflict occurred attempting to store {} - Duplicate ID, {}..",
                    kind.one, row.id
                ),
            ));
        }
        check(kind, identity, &mut row)?;
        let shown = kind.document(&row, &call.base);
        (kind.table_mut)(identity).insert(row);
        Ok(shown)
    })?;
    reply(201, json!({ kind.one: shown }))
}

/// Changes fields. Objects are merged, and null removes a key.
fn merge(fields: &mut Fields, wanted: &Fields) {
    for (name, value) in wanted.iter().filter(|(name, _)| *name != "id") {
        match (fields.get_mut(name).and_then(Value::as_object_mut), value) {
            (Some(old), Value::Object(new)) => {
                old.extend(new.clone());
                old.retain(|_, value| !value.is_null());
            }
            _ => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

async fn update(kind: &Collection, call: Call, body: Bytes) -> Answer {
    may(kind, &call, Verb::Update, &Value::Null)?;
    let body = read_json(&body)?;
    let wanted = object(&body, kind.one)?;
    let shown = call.app.change(|model| {
        let identity = &mut model.identity;
        let row = (kind.table)(identity).get(call.id());
        let mut row = row.cloned().ok_or_else(|| not_found(kind.one, call.id()))?;
        let domain = wanted.get("domain_id").and_then(Value::as_str);
        if kind.in_domain && domain.is_some_and(|domain| domain != row.text("domain_id")) {
            return Err(Refusal::bad_request("Cannot change Domain ID"));
        }
        merge(&mut row.fields, wanted);
        check(kind, identity, &mut row)?;
        let shown = kind.document(&row, &call.base);
        if kind.one == "user" && (wanted.contains_key("password") || !row.is_on("enabled")) {
            identity.remove_tokens(|token| token.user_id == row.id);
        }
        (kind.table_mut)(identity).insert(row);
        Ok(shown)
    })?;
    reply(200, json!({ kind.one: shown }))
}

async fn delete(kind: &Collection, call: Call) -> Answer {
    may(kind, &call, Verb::Delete, &find(kind, &call))?;
    call.app.change(|model| {
        let found = (kind.table)(&model.identity).get(call.id());
        found.ok_or_else(|| not_found(kind.one, call.id()))?;
        (kind.remove)(&mut model.identity, call.id())
    })?;
    empty(204)
}
