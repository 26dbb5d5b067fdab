//! Keystone v3: application credentials, passwords that programs have for one project.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use serde_json::{Value, json};

use super::{Answer, admin, forbidden, list, needed, not_found, text};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::query;
use crate::http::token::Caller;
use crate::http::{App, base_url};
use crate::model::Model;
use crate::model::application_credential::{ApplicationCredential, CreateCredential};
use crate::model::ids::micros;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    let all = get(application_credentials).post(create_application_credential);
    let one = get(application_credential).delete(delete_application_credential);
    Router::new()
        .route("/identity/v3/users/{user}/application_credentials", all)
        .route("/identity/v3/users/{user}/access_rules", get(access_rules))
        .route(
            "/identity/v3/users/{user}/application_credentials/{id}",
            one,
        )
}

fn credential_document(model: &Model, row: &ApplicationCredential, base: &str) -> Value {
    let roles: Value = model
        .identity
        .roles
        .iter()
        .filter(|role| row.roles.contains(&role.name))
        .map(|role| json!({"id": role.id, "name": role.name, "domain_id": null, "description": null, "options": {}}))
        .collect();
    let path = format!("users/{}/application_credentials/{}", row.user_id, row.id);
    json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "roles": roles,
        // Keystone leaves the zone away here, and nowhere else.
        "expires_at": row.expires_at.map(|end| micros(end).trim_end_matches('Z').to_owned()),
        "unrestricted": row.unrestricted,
        "system": null,
        "links": {"self": format!("{base}/identity/v3/{path}")},
    })
}

async fn create_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let token = caller.token()?;
    own(&token.user_id, &user, "create_application_credential")?;
    // One that was made to be restricted makes no further ones.
    if token
        .methods
        .iter()
        .any(|method| method == "application_credential")
        && !token.unrestricted
    {
        return Err(forbidden("create_application_credential").into());
    }
    let body = read_json(&body)?;
    let wanted = needed(&body, "application_credential")?;
    let name = text(wanted, "name")
        .ok_or_else(|| Refusal::bad_request("'name' is a required property"))?;
    let owned = |name: &str| text(wanted, name).map(str::to_owned);
    let expires_at = match text(wanted, "expires_at") {
        None => None,
        Some(end) => Some(read_time(end)?),
    };
    let roles = wanted.get("roles").and_then(Value::as_array).map(|roles| {
        let named = |role: &Value| text(role, "id").or(text(role, "name")).map(str::to_owned);
        roles.iter().filter_map(named).collect()
    });
    let wanted = CreateCredential {
        name: name.into(),
        description: owned("description"),
        secret: owned("secret"),
        roles,
        unrestricted: wanted["unrestricted"] == true,
        expires_at,
    };
    let base = base_url(&headers);
    let shown = app.change(|model| {
        let identity = &mut model.identity;
        let (row, secret) =
            identity.add_application_credential(token, &member.project_id, wanted)?;
        let mut shown = credential_document(model, &row, &base);
        shown["secret"] = secret.into();
        Ok::<_, Refusal>(shown)
    })?;
    Ok(json_answer(201, json!({ "application_credential": shown })))
}

/// How Keystone ends such sentences.
const MALFORMED: &str = "The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed \
     to be in error.";

/// A time as clients write it: with a zone or, as Keystone itself does, without.
fn read_time(text: &str) -> Result<jiff::Timestamp, Refusal> {
    let zoned = text.parse().or_else(|_| format!("{text}Z").parse());
    let time: jiff::Timestamp = zoned.map_err(|_| {
        Refusal::bad_request(format!("Timestamp not in expected format. {MALFORMED}"))
    })?;
    match time > jiff::Timestamp::now() {
        true => Ok(time),
        false => Err(Refusal::bad_request(format!(
            "The 'expires_at' must not be before now. {MALFORMED}"
        ))),
    }
}

fn own(mine: &str, asked: &str, rule: &str) -> Result<(), Refusal> {
    match mine == asked {
        true => Ok(()),
        false => Err(forbidden(rule)),
    }
}

async fn application_credentials(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    if caller.token()?.user_id != user {
        admin(&caller, "list_application_credentials")?;
    }
    let base = base_url(&headers);
    let named = query::value(&asked, "name");
    let rows = app.read(|model| {
        let mine = model
            .identity
            .application_credentials
            .iter()
            .filter(|row| row.user_id == user && named.is_none_or(|name| row.name == name));
        mine.map(|row| credential_document(model, row, &base))
            .collect()
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
    headers: HeaderMap,
) -> Answer {
    if caller.token()?.user_id != user {
        admin(&caller, "get_application_credential")?;
    }
    let base = base_url(&headers);
    let shown = app.read(|model| {
        let row = model
            .identity
            .application_credentials
            .get(&id)
            .filter(|row| row.user_id == user);
        row.map(|row| credential_document(model, row, &base))
    });
    let shown = shown.ok_or_else(|| not_found("Application Credential", &id))?;
    Ok(json_answer(200, json!({ "application_credential": shown })))
}

async fn delete_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(
        &caller.token()?.user_id,
        &user,
        "delete_application_credential",
    )?;
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
        false => Err(not_found("Application Credential", &id).into()),
    }
}

/// There are none.
async fn access_rules(caller: Caller, Path(user): Path<String>, headers: HeaderMap) -> Answer {
    own(&caller.token()?.user_id, &user, "list_access_rules")?;
    let path = format!("/users/{user}/access_rules");
    Ok(list("access_rules", Vec::new(), &base_url(&headers), &path))
}
