//! Keystone v3: who is in which group.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::{Answer, admin, list, not_found, users};
use crate::http::answer::empty_answer;
use crate::http::token::Caller;
use crate::http::{App, base_url};
use crate::model::Model;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity/v3/users/{id}/groups", get(groups_of_user))
        .route("/identity/v3/groups/{id}/users", get(users_of_group))
        .route(
            "/identity/v3/groups/{group}/users/{user}",
            put(add).get(is_in).head(is_in).delete(remove),
        )
}

async fn groups_of_user(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    if caller.token()?.user_id != id {
        admin(&caller, "list_groups_for_user")?;
    }
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let directory = &model.identity.directory;
        let mine = directory.groups.iter();
        mine.filter(|group| directory.is_member(&group.id, &id))
            .map(|group| {
                let mut document = Value::Object(group.fields.clone());
                document["id"] = json!(group.id);
                document
            })
            .collect()
    });
    Ok(list("groups", rows, &base, &format!("/users/{id}/groups")))
}

async fn users_of_group(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    admin(&caller, "list_users_in_group")?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let identity = &model.identity;
        let inside = identity.users.iter();
        inside
            .filter(|user| identity.directory.is_member(&id, &user.id))
            .map(|user| users::document(user, &base))
            .collect()
    });
    Ok(list("users", rows, &base, &format!("/groups/{id}/users")))
}

/// Both must be there.
fn check(model: &Model, group: &str, user: &str) -> Result<(), Refusal> {
    if model.identity.directory.groups.get(group).is_none() {
        return Err(not_found("group", group));
    }
    match model.identity.users.get(user) {
        Some(_) => Ok(()),
        None => Err(not_found("user", user)),
    }
}

fn not_in_it(group: &str, user: &str) -> Refusal {
    Refusal::not_found(
        "NotFound",
        format!("User {user} not found in group {group}."),
    )
}

async fn add(
    State(app): State<App>,
    caller: Caller,
    Path((group, user)): Path<(String, String)>,
) -> Answer {
    admin(&caller, "add_user_to_group")?;
    app.change(|model| {
        check(model, &group, &user)?;
        let directory = &mut model.identity.directory;
        if !directory.is_member(&group, &user) {
            directory.members.push((group, user));
        }
        Ok::<_, Refusal>(())
    })?;
    Ok(empty_answer(204))
}

async fn is_in(
    State(app): State<App>,
    caller: Caller,
    Path((group, user)): Path<(String, String)>,
) -> Answer {
    admin(&caller, "check_user_in_group")?;
    app.read(|model| {
        check(model, &group, &user)?;
        match model.identity.directory.is_member(&group, &user) {
            true => Ok(()),
            false => Err(not_in_it(&group, &user)),
        }
    })?;
    Ok(empty_answer(204))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path((group, user)): Path<(String, String)>,
) -> Answer {
    admin(&caller, "remove_user_from_group")?;
    app.change(|model| {
        check(model, &group, &user)?;
        let directory = &mut model.identity.directory;
        if !directory.is_member(&group, &user) {
            return Err(not_in_it(&group, &user));
        }
        let one = (group, user);
        directory.members.retain(|row| *row != one);
        Ok(())
    })?;
    Ok(empty_answer(204))
}
