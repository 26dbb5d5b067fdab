//! Keystone v3: application credentials, secrets of programs for one project.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::micros;
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::kit::token::{AccessRule, Token};
use crate::services::identity::application_credential::{ApplicationCredential, CreateCredential};
use crate::services::identity::{forbidden, list, needed, not_found, own, own_or_admin, text};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get(
            "/users/{user}/application_credentials",
            application_credentials,
        )
        .post(
            "/users/{user}/application_credentials",
            create_application_credential,
        )
        .get("/users/{user}/access_rules", access_rules)
        .get(
            "/users/{user}/application_credentials/{id}",
            application_credential,
        )
        .delete(
            "/users/{user}/application_credentials/{id}",
            delete_application_credential,
        )
}

fn credential_document(model: &Model, row: &ApplicationCredential, base: &str) -> Value {
    let roles: Value = model
        .identity
        .roles
        .iter()
        .filter(|role| row.roles.iter().any(|name| name == role.text("name")))
        .map(|role| json!({"id": role.id, "name": role.text("name"), "domain_id": null, "description": null, "options": {}}))
        .collect();
    let path = format!("users/{}/application_credentials/{}", row.user_id, row.id);
    let mut document = json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "roles": roles,
        // Keystone omits the zone in this field only.
        "expires_at": row.expires_at.map(|end| micros(end).trim_end_matches('Z').to_owned()),
        "unrestricted": row.unrestricted,
        "system": null,
        "links": {"self": format!("{base}/identity/v3/{path}")},
    });
    if let Some(rules) = &row.access_rules {
        document["access_rules"] = json!(rules);
    }
    document
}

/// The refusal of a restricted application credential, which manages no application credentials.
fn unrestricted(token: &Token, rule: &str) -> Result<(), Refusal> {
    if token.credential.is_some() && !token.unrestricted {
        return Err(forbidden(rule));
    }
    Ok(())
}

async fn create_application_credential(call: Call, body: Bytes) -> Answer {
    let user = call.part("user");
    let member = call.member()?;
    let token = call.token()?;
    own(&call, user, "create_application_credential")?;
    unrestricted(token, "create_application_credential")?;
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
        access_rules: read_rules(wanted)?,
        expires_at,
    };
    let base = &call.base;
    let shown = call.app.change(|model| {
        let identity = &mut model.identity;
        let (row, secret) =
            identity.add_application_credential(token, &member.project_id, wanted)?;
        let mut shown = credential_document(model, &row, base);
        shown["secret"] = secret.into();
        Ok::<_, Refusal>(shown)
    })?;
    reply(201, json!({ "application_credential": shown }))
}

/// The last sentences of Keystone's errors 400.
const MALFORMED: &str = "The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed \
     to be in error.";

/// Parses a time with a zone or, as Keystone writes it, without.
fn read_time(text: &str) -> Result<jiff::Timestamp, Refusal> {
    let zoned = text.parse().or_else(|_| format!("{text}Z").parse());
    let time: jiff::Timestamp = zoned.map_err(|_| {
        Refusal::bad_request(format!("Timestamp not in expected format. {MALFORMED}"))
    })?;
    if time > jiff::Timestamp::now() {
        Ok(time)
    } else {
        Err(Refusal::bad_request(format!(
            "The 'expires_at' must not be before now. {MALFORMED}"
        )))
    }
}

fn read_rules(wanted: &Value) -> Result<Option<Vec<AccessRule>>, Refusal> {
    // As in Keystone, an empty list is none.
    let is_given = |rules: &&Value| !rules.is_null() && **rules != json!([]);
    let Some(rules) = wanted.get("access_rules").filter(is_given) else {
        return Ok(None);
    };
    let rules = serde_json::from_value(rules.clone());
    rules.map(Some).map_err(|_| {
        Refusal::bad_request(
            "Invalid input for field 'access_rules': each has 'service', 'method' and 'path'.",
        )
    })
}

async fn application_credentials(call: Call) -> Answer {
    let user = call.part("user");
    own_or_admin(&call, user, "list_application_credentials")?;
    let base = &call.base;
    let named = call.query_value("name");
    let rows = call.app.read(|model| {
        let mine = model
            .identity
            .application_credentials
            .iter()
            .filter(|row| row.user_id == user && named.is_none_or(|name| row.name == name));
        mine.map(|row| credential_document(model, row, base))
            .collect()
    });
    Ok(list(
        "application_credentials",
        rows,
        &call.base,
        &format!("/users/{user}/application_credentials"),
    ))
}

async fn application_credential(call: Call) -> Answer {
    let (user, id) = (call.part("user"), call.part("id"));
    own_or_admin(&call, user, "get_application_credential")?;
    let base = &call.base;
    let shown = call.app.read(|model| {
        let row = model
            .identity
            .application_credentials
            .get(id)
            .filter(|row| row.user_id == user);
        row.map(|row| credential_document(model, row, base))
    });
    let shown = shown.ok_or_else(|| not_found("Application Credential", id))?;
    reply(200, json!({ "application_credential": shown }))
}

async fn delete_application_credential(call: Call) -> Answer {
    let (user, id) = (call.part("user"), call.part("id"));
    own(&call, user, "delete_application_credential")?;
    unrestricted(call.token()?, "delete_application_credential")?;
    let gone = call.app.change(|model| {
        let mine = model
            .identity
            .application_credentials
            .get(id)
            .is_some_and(|row| row.user_id == user);
        // Its tokens end with it.
        let is_of = |token: &Token| mine && token.credential.as_deref() == Some(id);
        model.identity.remove_tokens(is_of);
        mine && model.identity.application_credentials.remove(id).is_some()
    });
    if gone {
        empty(204)
    } else {
        Err(not_found("Application Credential", id))
    }
}

/// Always empty.
async fn access_rules(call: Call) -> Answer {
    let user = call.part("user");
    own(&call, user, "list_access_rules")?;
    let path = format!("/users/{user}/access_rules");
    Ok(list("access_rules", Vec::new(), &call.base, &path))
}
