//! Keystone v3: users.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::{digest, new_hex_id};
use crate::kit::refusal::Refusal;
use crate::services::identity::account::User;
use crate::services::identity::{
    admin, asked_rows, domain_of, duplicate, gone, list, needed, not_found, object,
    stays_in_domain, text,
};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/users", users)
        .post("/users", create)
        .get("/users/{id}", user)
        .patch("/users/{id}", update)
        .delete("/users/{id}", delete)
        .post("/users/{id}/password", set_password)
}

pub(crate) fn document(user: &User, base: &str) -> Value {
    let mut document = json!({
        "id": user.id,
        "name": user.name,
        "domain_id": user.domain_id,
        "enabled": user.enabled,
        "default_project_id": user.default_project_id,
        "password_expires_at": null,
        "options": options(user),
        "links": {"self": format!("{base}/identity/v3/users/{}", user.id)},
    });
    for (name, value) in [("description", &user.description), ("email", &user.email)] {
        if let Some(value) = value {
            document[name] = json!(value);
        }
    }
    document
}

fn options(user: &User) -> Value {
    let mut options = json!({});
    if !user.rules.is_empty() {
        options["multi_factor_auth_rules"] = json!(user.rules);
    }
    if !user.rules_count || !user.rules.is_empty() {
        options["multi_factor_auth_enabled"] = json!(user.rules_count);
    }
    options
}

async fn users(call: Call) -> Answer {
    admin(&call, "list_users")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let all = &model.identity.users;
        asked_rows(all, &call.query, |user| document(user, base))
    });
    Ok(list("users", rows, base, "/users"))
}

async fn user(call: Call) -> Answer {
    let id = call.part("id");
    if call.token()?.user_id != id {
        admin(&call, "get_user")?;
    }
    let base = &call.base;
    let shown = call.app.read(|model| {
        model
            .identity
            .users
            .get(id)
            .map(|user| document(user, base))
    });
    let shown = shown.ok_or_else(|| not_found("user", id))?;
    reply(200, json!({ "user": shown }))
}

/// Set what a body says about a user.
fn set(user: &mut User, wanted: &Map<String, Value>) {
    let text = |name: &str| wanted.get(name).and_then(Value::as_str).map(str::to_owned);
    user.name = text("name").unwrap_or_else(|| user.name.clone());
    user.description = text("description").or_else(|| user.description.take());
    user.email = text("email").or_else(|| user.email.take());
    user.default_project_id = text("default_project_id").or_else(|| user.default_project_id.take());
    if let Some(password) = text("password") {
        user.password = digest(&password);
    }
    if let Some(enabled) = wanted.get("enabled").and_then(Value::as_bool) {
        user.enabled = enabled;
    }
    let option = |name: &str| wanted.get("options")?.get(name);
    if let Some(count) = option("multi_factor_auth_enabled").and_then(Value::as_bool) {
        user.rules_count = count;
    }
    if let Some(rules) = option("multi_factor_auth_rules") {
        // Null takes them away, and so does what is no list of lists.
        user.rules = serde_json::from_value(rules.clone()).unwrap_or_default();
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    admin(&call, "create_user")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "user")?;
    let name = needed(&body["user"], "name")?.as_str().unwrap_or_default();
    let mut user = User {
        id: new_hex_id(),
        name: name.into(),
        // Nobody knows it until one is set.
        password: digest(&new_hex_id()),
        description: None,
        email: None,
        enabled: true,
        default_project_id: None,
        rules: Vec::new(),
        rules_count: true,
        domain_id: String::new(),
    };
    set(&mut user, wanted);
    let shown = call.app.change(|model| {
        user.domain_id = domain_of(model, wanted)?;
        let same = |row: &User| row.name == name && row.domain_id == user.domain_id;
        if model.identity.users.iter().any(same) {
            return Err(duplicate("user", name, Some(&user.domain_id)));
        }
        let shown = document(&user, &call.base);
        model.identity.users.insert(user);
        Ok(shown)
    })?;
    reply(201, json!({ "user": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, "update_user")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "user")?;
    let shown = call.app.change(|model| {
        let missing = || not_found("user", id);
        let all = &mut model.identity.users;
        let domain = all.get(id).ok_or_else(missing)?.domain_id.clone();
        stays_in_domain(wanted, &domain)?;
        if let Some(name) = wanted.get("name").and_then(Value::as_str)
            && all
                .iter()
                .any(|row| row.name == name && row.domain_id == domain && row.id != id)
        {
            return Err(duplicate("user", name, Some(&domain)));
        }
        let user = all.get_mut(id).ok_or_else(missing)?;
        set(user, wanted);
        let shown = document(user, &call.base);
        if wanted.contains_key("password") || !user.enabled {
            model.identity.remove_tokens(|token| token.user_id == id);
        }
        Ok::<_, Refusal>(shown)
    })?;
    reply(200, json!({ "user": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "delete_user")?;
    gone(
        call.app.change(|model| model.identity.remove_user(id)),
        "user",
        id,
    )
}

/// A person's own, with the old one. Tokens that the old one gave end.
async fn set_password(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    call.token()?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "user")?;
    let word = |name: &str| {
        text(wanted, name)
            .ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
    };
    let (old, new) = (word("original_password")?, word("password")?);
    call.app.change(|model| {
        model.identity.check_password(Some(id), None, old)?;
        if let Some(user) = model.identity.users.get_mut(id) {
            user.password = digest(new);
        }
        model.identity.remove_tokens(|token| token.user_id == id);
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}
