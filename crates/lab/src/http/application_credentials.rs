//! Keystone v3: application credentials, passwords that programs have for one project.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{empty_answer, json_answer, read_json};
use super::identity::{Answer, list, not_found};
use super::token::Caller;
use super::tokens::{needed, text};
use super::{App, base_url};
use crate::model::identity::ApplicationCredential;
use crate::model::ids::stable_hex_id;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    let all = get(application_credentials).post(create_application_credential);
    let one = get(application_credential).delete(delete_application_credential);
    Router::new()
        .route("/identity/v3/users/{user}/application_credentials", all)
        .route(
            "/identity/v3/users/{user}/application_credentials/{id}",
            one,
        )
}

fn credential_document(row: &ApplicationCredential) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "roles": [{"id": stable_hex_id("role/member"), "name": "member", "domain_id": null}],
        "expires_at": null,
        "unrestricted": false,
        "system": null,
    })
}

async fn create_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    own(&member.user_id, &user)?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "application_credential")?;
    let name = text(wanted, "name")
        .ok_or_else(|| Refusal::bad_request("'name' is a required property"))?;
    let owned = |name: &str| text(wanted, name).map(str::to_owned);
    let (row, secret) = app.change(|model| {
        let (description, secret) = (owned("description"), owned("secret"));
        model.identity.add_application_credential(
            &user,
            &member.project_id,
            name,
            description,
            secret,
        )
    })?;
    let mut shown = credential_document(&row);
    shown["secret"] = secret.into();
    Ok(json_answer(201, json!({ "application_credential": shown })))
}

fn own(mine: &str, asked: &str) -> Result<(), Refusal> {
    match mine == asked {
        true => Ok(()),
        false => Err(Refusal::forbidden(
            "You are not authorized to perform the requested action.",
        )),
    }
}

async fn application_credentials(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    headers: HeaderMap,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let rows = app.read(|model| {
        let mine = model
            .identity
            .application_credentials
            .iter()
            .filter(|row| row.user_id == user);
        mine.map(credential_document).collect()
    });
    Ok(list(
        "application_credentials",
        rows,
        &base_url(&headers),
        &format!("/users/{user}/application_credentials"),
    ))
}

async fn application_credential(
    State(app): State<App>,
    caller: Caller,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let shown = app.read(|model| {
        let row = model
            .identity
            .application_credentials
            .get(&id)
            .filter(|row| row.user_id == user);
        row.map(credential_document)
    });
    let shown = shown.ok_or_else(|| not_found("application_credential", &id))?;
    Ok(json_answer(200, json!({ "application_credential": shown })))
}

async fn delete_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let gone = app.change(|model| {
        let mine = model
            .identity
            .application_credentials
            .get(&id)
            .is_some_and(|row| row.user_id == user);
        mine && model.identity.application_credentials.remove(&id).is_some()
    });
    match gone {
        true => Ok(empty_answer(204)),
        false => Err(not_found("application_credential", &id).into()),
    }
}
