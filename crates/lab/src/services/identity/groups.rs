//! Keystone v3: who is in which group.

use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty};
use crate::kit::refusal::Refusal;
use crate::services::identity::{admin, list, not_found, users};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/users/{id}/groups", groups_of_user)
        .get("/groups/{id}/users", users_of_group)
        .put("/groups/{group}/users/{user}", add)
        .get("/groups/{group}/users/{user}", is_in)
        .delete("/groups/{group}/users/{user}", remove)
}

async fn groups_of_user(call: Call) -> Answer {
    let id = call.part("id");
    if call.token()?.user_id != id {
        admin(&call, "list_groups_for_user")?;
    }
    let base = &call.base;
    let rows = call.app.read(|model| {
        let directory = &model.identity.directory;
        let mine = directory.groups.iter();
        mine.filter(|group| directory.is_member(&group.id, id))
            .map(|group| {
                let mut document = Value::Object(group.fields.clone());
                document["id"] = json!(group.id);
                document
            })
            .collect()
    });
    Ok(list("groups", rows, base, &format!("/users/{id}/groups")))
}

async fn users_of_group(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "list_users_in_group")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let identity = &model.identity;
        let inside = identity.users.iter();
        inside
            .filter(|user| identity.directory.is_member(id, &user.id))
            .map(|user| users::document(user, base))
            .collect()
    });
    Ok(list("users", rows, base, &format!("/groups/{id}/users")))
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

async fn add(call: Call) -> Answer {
    let (group, user) = (call.part("group"), call.part("user"));
    admin(&call, "add_user_to_group")?;
    call.app.change(|model| {
        check(model, group, user)?;
        let directory = &mut model.identity.directory;
        if !directory.is_member(group, user) {
            directory.members.push((group.into(), user.into()));
        }
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}

async fn is_in(call: Call) -> Answer {
    let (group, user) = (call.part("group"), call.part("user"));
    admin(&call, "check_user_in_group")?;
    call.app.read(|model| {
        check(model, group, user)?;
        match model.identity.directory.is_member(group, user) {
            true => Ok(()),
            false => Err(not_in_it(group, user)),
        }
    })?;
    empty(204)
}

async fn remove(call: Call) -> Answer {
    let (group, user) = (call.part("group"), call.part("user"));
    admin(&call, "remove_user_from_group")?;
    call.app.change(|model| {
        check(model, group, user)?;
        let directory = &mut model.identity.directory;
        if !directory.is_member(group, user) {
            return Err(not_in_it(group, user));
        }
        let one = (group.to_owned(), user.to_owned());
        directory.members.retain(|row| *row != one);
        Ok(())
    })?;
    empty(204)
}
