//! Keystone v3: what users keep, above all the seeds of one-time codes.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use serde_json::{Value, json};

use super::{Answer, admin, list, needed, not_found, text};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::query::{self, attribute_is};
use crate::http::token::Caller;
use crate::http::{App, base_url};
use crate::model::ids::new_hex_id;
use crate::model::refusal::Refusal;
use crate::model::second_factor::Credential;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity/v3/credentials", get(all).post(create))
        .route("/identity/v3/credentials/{id}", get(one).delete(delete))
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
fn may(caller: &Caller, user: &str, rule: &str) -> Result<(), Refusal> {
    match caller.token()?.user_id == user {
        true => Ok(()),
        false => admin(caller, rule),
    }
}

async fn create(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Bytes) -> Answer {
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
    may(&caller, &credential.user_id, "create_credential")?;
    let shown = document(&credential, &base_url(&headers));
    app.change(|model| model.identity.credentials.insert(credential));
    Ok(json_answer(201, json!({ "credential": shown })))
}

async fn all(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let token = caller.token()?;
    let everybodys = admin(&caller, "list_credentials").is_ok();
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let all = model.identity.credentials.iter();
        all.filter(|row| everybodys || row.user_id == token.user_id)
            .map(|row| document(row, &base))
            .filter(|row| {
                asked
                    .iter()
                    .filter(|(name, _)| ["user_id", "type"].contains(&name.as_str()))
                    .all(|(name, value)| attribute_is(row, name, value))
            })
            .collect()
    });
    Ok(list("credentials", rows, &base, "/credentials"))
}

/// Another's looks like none: Keystone asks its policy first, and who is no administrator is forbidden both.
fn found(app: &App, caller: &Caller, id: &str, rule: &str) -> Result<Credential, Refusal> {
    match app.read(|model| model.identity.credentials.get(id).cloned()) {
        Some(found) => may(caller, &found.user_id, rule).map(|()| found),
        None => Err(admin(caller, rule)
            .err()
            .unwrap_or_else(|| not_found("credential", id))),
    }
}

async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let shown = document(
        &found(&app, &caller, &id, "get_credential")?,
        &base_url(&headers),
    );
    Ok(json_answer(200, json!({ "credential": shown })))
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    found(&app, &caller, &id, "delete_credential")?;
    app.change(|model| model.identity.credentials.remove(&id));
    Ok(empty_answer(204))
}
