//! Keystone v3: roles, and who has them where.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_hex_id;
use crate::kit::refusal::Refusal;
use crate::services::identity::grants::{Assignment, Role};
use crate::services::identity::{
    admin, asked_rows, domain_reference, duplicate, gone, list, needed, not_found, text,
};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    let mut router = Routes::below("/identity/v3")
        .get("/roles", roles)
        .post("/roles", create)
        .get("/roles/{id}", role)
        .patch("/roles/{id}", update)
        .delete("/roles/{id}", delete)
        .get("/role_assignments", assignments);
    for (places, in_project) in [("projects", true), ("domains", false)] {
        for (actors, to_user) in [("users", true), ("groups", false)] {
            let of = Of {
                in_project,
                to_user,
            };
            let path = format!("/{places}/{{place}}/{actors}/{{actor}}/roles");
            let role = format!("{path}/{{role}}");
            router = router
                .get(&path, move |call| given(of, call))
                .put(&role, move |call| assign(of, call))
                .get(&role, move |call| is_assigned(of, call))
                .delete(&role, move |call| unassign(of, call));
        }
    }
    router
}

/// What the ids in a path are of.
#[derive(Clone, Copy)]
struct Of {
    in_project: bool,
    to_user: bool,
}

fn document(role: &Role, base: &str) -> Value {
    json!({
        "id": role.id,
        "name": role.name,
        "domain_id": role.domain_id,
        "description": role.description,
        "options": {},
        "links": {"self": format!("{base}/identity/v3/roles/{}", role.id)},
    })
}

async fn roles(call: Call) -> Answer {
    admin(&call, "list_roles")?;
    let base = &call.base;
    // Without a domain those are meant that count everywhere.
    let everywhere = call.asked("domain_id").is_none();
    let rows = call.app.read(|model| {
        let all = &model.identity.roles;
        let mut rows = asked_rows(all, &call.query, |role| document(role, base));
        rows.retain(|row| !everywhere || row["domain_id"].is_null());
        rows
    });
    Ok(list("roles", rows, base, "/roles"))
}

async fn role(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "get_role")?;
    let base = &call.base;
    let shown = call.app.read(|model| {
        model
            .identity
            .roles
            .get(id)
            .map(|role| document(role, base))
    });
    let shown = shown.ok_or_else(|| not_found("role", id))?;
    reply(200, json!({ "role": shown }))
}

/// A role of the same name in the same place.
fn check(model: &Model, wanted: &Role) -> Result<(), Refusal> {
    let same = |row: &Role| {
        row.id != wanted.id && row.name == wanted.name && row.domain_id == wanted.domain_id
    };
    match model.identity.roles.iter().any(same) {
        false => Ok(()),
        true => Err(duplicate("role", &wanted.name, wanted.domain_id.as_deref())),
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    admin(&call, "create_role")?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "role")?;
    let role = Role {
        id: new_hex_id(),
        name: needed(wanted, "name")?.as_str().unwrap_or_default().into(),
        domain_id: text(wanted, "domain_id").map(str::to_owned),
        description: text(wanted, "description").map(str::to_owned),
    };
    let shown = document(&role, &call.base);
    call.app.change(|model| {
        if let Some(domain) = &role.domain_id
            && model.identity.directory.domains.get(domain).is_none()
        {
            return Err(not_found("domain", domain));
        }
        check(model, &role)?;
        model.identity.roles.insert(role);
        Ok(())
    })?;
    reply(201, json!({ "role": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, "update_role")?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "role")?;
    let shown = call.app.change(|model| {
        let row = model.identity.roles.get(id);
        let mut row = row.cloned().ok_or_else(|| not_found("role", id))?;
        if let Some(name) = text(wanted, "name") {
            row.name = name.to_owned();
        }
        if let Some(description) = text(wanted, "description") {
            row.description = Some(description.to_owned());
        }
        check(model, &row)?;
        let shown = document(&row, &call.base);
        model.identity.roles.insert(row);
        Ok::<_, Refusal>(shown)
    })?;
    reply(200, json!({ "role": shown }))
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "delete_role")?;
    gone(
        call.app.change(|model| model.identity.remove_role(id)),
        "role",
        id,
    )
}

/// `?user.id=`, `?group.id=`, `?role.id=`, `?scope.project.id=`, `?scope.domain.id=`, `?include_names`.
async fn assignments(call: Call) -> Answer {
    let token = call.token()?;
    // Members may look at their own, and nothing else.
    if call.asked("user.id") != Some(token.user_id.as_str()) {
        admin(&call, "list_role_assignments")?;
    }
    let base = &call.base;
    let fits = |name: &str, is: &str| call.asked(name).is_none_or(|wanted| wanted == is);
    let names = call.asked("include_names").is_some();
    let rows = call.app.read(|model| {
        let all = model.identity.assignments.iter();
        all.filter(|row| {
            fits("user.id", &row.user_id)
                && fits("group.id", &row.group_id)
                && fits("role.id", &row.role_id)
                && fits("scope.project.id", &row.project_id)
                && fits("scope.domain.id", &row.domain_id)
        })
        .map(|row| assignment_document(model, row, names, base))
        .collect()
    });
    Ok(list("role_assignments", rows, base, "/role_assignments"))
}

fn assignment_document(model: &Model, row: &Assignment, names: bool, base: &str) -> Value {
    let identity = &model.identity;
    // A name and the domain where it is one.
    let named = |id: &str, name: Option<(&str, Option<&str>)>| match (names, name) {
        (true, Some((name, Some(domain)))) => {
            json!({"id": id, "name": name, "domain": domain_reference(model, domain)})
        }
        (true, Some((name, None))) => json!({"id": id, "name": name}),
        _ => json!({ "id": id }),
    };
    let (actors, actor, who) = match row.user_id.is_empty() {
        false => {
            let user = identity.users.get(&row.user_id);
            let user = user.map(|user| (user.name.as_str(), Some(user.domain_id.as_str())));
            (
                "users",
                &row.user_id,
                json!({"user": named(&row.user_id, user)}),
            )
        }
        true => {
            let group = identity.directory.groups.get(&row.group_id);
            let group = group.map(|group| (group.text("name"), Some(group.text("domain_id"))));
            (
                "groups",
                &row.group_id,
                json!({"group": named(&row.group_id, group)}),
            )
        }
    };
    let (places, place, scope) = match row.project_id.is_empty() {
        false => {
            let project = identity.projects.get(&row.project_id);
            let project = project.map(|one| (one.name.as_str(), Some(one.domain_id.as_str())));
            let scope = json!({"project": named(&row.project_id, project)});
            ("projects", &row.project_id, scope)
        }
        true => {
            let domain = identity.directory.domain_name(&row.domain_id);
            let scope = json!({"domain": named(&row.domain_id, Some((domain, None)))});
            ("domains", &row.domain_id, scope)
        }
    };
    let role = identity.roles.get(&row.role_id);
    let link = format!(
        "{base}/identity/v3/{places}/{place}/{actors}/{actor}/roles/{}",
        row.role_id
    );
    let mut document = json!({
        "role": named(&row.role_id, role.map(|role| (role.name.as_str(), None))),
        "scope": scope,
        "links": {"assignment": link},
    });
    if let (Some(document), Value::Object(who)) = (document.as_object_mut(), who) {
        document.extend(who);
    }
    document
}

async fn given(of: Of, call: Call) -> Answer {
    let (place, actor) = (call.part("place"), call.part("actor"));
    admin(&call, "list_grants")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let all = model.identity.assignments.iter();
        all.filter(|row| **row == of.assignment(place, actor, &row.role_id))
            .filter_map(|row| model.identity.roles.get(&row.role_id))
            .map(|role| document(role, base))
            .collect()
    });
    Ok(list("roles", rows, base, "/roles"))
}

impl Of {
    fn assignment(self, place: &str, actor: &str, role: &str) -> Assignment {
        let only = |is_it: bool, id: &str| match is_it {
            true => id.to_owned(),
            false => String::new(),
        };
        Assignment {
            user_id: only(self.to_user, actor),
            group_id: only(!self.to_user, actor),
            project_id: only(self.in_project, place),
            domain_id: only(!self.in_project, place),
            role_id: role.to_owned(),
        }
    }

    /// An assignment of things that are all there.
    fn checked(self, model: &Model, call: &Call) -> Result<Assignment, Refusal> {
        let (place, actor) = (call.part("place"), call.part("actor"));
        let role = call.part("role");
        let identity = &model.identity;
        let (directory, roles) = (&identity.directory, &identity.roles);
        let place_is_there = match self.in_project {
            true => identity.projects.get(place).is_some(),
            false => directory.domains.get(place).is_some(),
        };
        let actor_is_there = match self.to_user {
            true => identity.users.get(actor).is_some(),
            false => directory.groups.get(actor).is_some(),
        };
        if !place_is_there {
            let kind = if self.in_project { "project" } else { "domain" };
            return Err(not_found(kind, place));
        }
        if !actor_is_there {
            let kind = if self.to_user { "user" } else { "group" };
            return Err(not_found(kind, actor));
        }
        match roles.get(role) {
            Some(_) => Ok(self.assignment(place, actor, role)),
            None => Err(not_found("role", role)),
        }
    }
}

async fn assign(of: Of, call: Call) -> Answer {
    admin(&call, "create_grant")?;
    call.app.change(|model| {
        let wanted = of.checked(model, &call)?;
        model.identity.assign(wanted);
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}

fn no_such_assignment() -> Refusal {
    Refusal::not_found(
        "NotFound",
        "Could not find role assignment with role, user or group, project, domain, or system.",
    )
}

async fn is_assigned(of: Of, call: Call) -> Answer {
    admin(&call, "check_grant")?;
    let there = call.app.read(|model| {
        let asked = of.checked(model, &call)?;
        Ok::<_, Refusal>(model.identity.assignments.contains(&asked))
    })?;
    match there {
        true => empty(204),
        false => Err(no_such_assignment()),
    }
}

async fn unassign(of: Of, call: Call) -> Answer {
    admin(&call, "revoke_grant")?;
    let gone = call.app.change(|model| {
        let asked = of.checked(model, &call)?;
        let before = model.identity.assignments.len();
        model.identity.assignments.retain(|row| *row != asked);
        Ok::<_, Refusal>(model.identity.assignments.len() < before)
    })?;
    match gone {
        true => empty(204),
        false => Err(no_such_assignment()),
    }
}
