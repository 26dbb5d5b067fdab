//! Keystone v3: what users keep, above all the seeds of one-time codes.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_hex_id;
use crate::kit::query::attribute_is;
use crate::kit::refusal::Refusal;
use crate::services::identity::second_factor::Credential;
use crate::services::identity::{admin, list, needed, not_found, text};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/credentials", all)
        .post("/credentials", create)
        .get("/credentials/{id}", one)
        .delete("/credentials/{id}", delete)
}

fn document(credential: &Credential, base: &str) -> Value {
    json!({
        "id": credential.id,
        "user_id": credential.user_id,
        "type": credential.kind,
        "blob": credential.blob,
        "project_id": credential.project_id,
        "links": {"self": format!("{base}/identity/v3/credentials/{}", credential.id)},
    })
}

/// One's own, or an administrator's business.
fn may(call: &Call, user: &str, rule: &str) -> Result<(), Refusal> {
    match call.token()?.user_id == user {
        true => Ok(()),
        false => admin(call, rule),
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let wanted = needed(&body, "credential")?;
    let word = |name: &str| {
        let given = text(wanted, name).map(str::to_owned);
        given.ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
    };
    let credential = Credential {
        id: new_hex_id(),
        user_id: word("user_id")?,
        kind: word("type")?,
        blob: word("blob")?,
        project_id: text(wanted, "project_id").map(str::to_owned),
    };
    may(&call, &credential.user_id, "create_credential")?;
    let shown = document(&credential, &call.base);
    call.app
        .change(|model| model.identity.credentials.insert(credential));
    reply(201, json!({ "credential": shown }))
}

async fn all(call: Call) -> Answer {
    let token = call.token()?;
    let everybodys = admin(&call, "list_credentials").is_ok();
    let base = &call.base;
    let rows = call.app.read(|model| {
        let all = model.identity.credentials.iter();
        all.filter(|row| everybodys || row.user_id == token.user_id)
            .map(|row| document(row, base))
            .filter(|row| {
                call.query
                    .iter()
                    .filter(|(name, _)| ["user_id", "type"].contains(&name.as_str()))
                    .all(|(name, value)| attribute_is(row, name, value))
            })
            .collect()
    });
    Ok(list("credentials", rows, base, "/credentials"))
}

/// Another's looks like none: Keystone asks its policy first, and who is no administrator is forbidden both.
fn found(call: &Call, id: &str, rule: &str) -> Result<Credential, Refusal> {
    match call
        .app
        .read(|model| model.identity.credentials.get(id).cloned())
    {
        Some(found) => may(call, &found.user_id, rule).map(|()| found),
        None => Err(admin(call, rule)
            .err()
            .unwrap_or_else(|| not_found("credential", id))),
    }
}

async fn one(call: Call) -> Answer {
    let id = call.part("id");
    let shown = document(&found(&call, id, "get_credential")?, &call.base);
    reply(200, json!({ "credential": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    found(&call, id, "delete_credential")?;
    call.app
        .change(|model| model.identity.credentials.remove(id));
    empty(204)
}
