//! Keystone v3: members of groups.

use crate::kit::answer::{Answer, empty};
use crate::kit::refusal::Refusal;
use crate::services::identity::kinds::{GROUP, USER};
use crate::services::identity::{admin, list, not_found, own_or_admin};
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
    own_or_admin(&call, id, "list_groups_for_user")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let identity = &model.identity;
        let mine = identity.groups.iter();
        mine.filter(|group| identity.is_member(&group.id, id))
            .map(|group| GROUP.document(group, base))
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
            .filter(|user| identity.is_member(id, &user.id))
            .map(|user| USER.document(user, base))
            .collect()
    });
    Ok(list("users", rows, base, &format!("/groups/{id}/users")))
}

/// Checks that the group and the user exist.
fn check(model: &Model, group: &str, user: &str) -> Result<(), Refusal> {
    if model.identity.groups.get(group).is_none() {
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
        let identity = &mut model.identity;
        if !identity.is_member(group, user) {
            identity.members.push((group.into(), user.into()));
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
        if model.identity.is_member(group, user) {
            Ok(())
        } else {
            Err(not_in_it(group, user))
        }
    })?;
    empty(204)
}

async fn remove(call: Call) -> Answer {
    let (group, user) = (call.part("group"), call.part("user"));
    admin(&call, "remove_user_from_group")?;
    call.app.change(|model| {
        check(model, group, user)?;
        let identity = &mut model.identity;
        if !identity.is_member(group, user) {
            return Err(not_in_it(group, user));
        }
        let one = (group.to_owned(), user.to_owned());
        identity.members.retain(|row| *row != one);
        Ok(())
    })?;
    empty(204)
}
