//! Keystone v3: role assignments.

use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty};
use crate::kit::record::Attributes;
use crate::kit::refusal::Refusal;
use crate::services::identity::grants::Assignment;
use crate::services::identity::kinds::ROLE;
use crate::services::identity::{admin, domain_reference, list, not_found};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    let mut router = Routes::below("/identity/v3").get("/role_assignments", assignments);
    for (places, in_project) in [("projects", true), ("domains", false)] {
        for (actors, to_user) in [("users", true), ("groups", false)] {
            let grant_path = GrantPath {
                in_project,
                to_user,
            };
            let path = format!("/{places}/{{place}}/{actors}/{{actor}}/roles");
            let role = format!("{path}/{{role}}");
            router = router
                .get(&path, move |call| list_grants(grant_path, call))
                .put(&role, move |call| assign(grant_path, call))
                .get(&role, move |call| is_assigned(grant_path, call))
                .delete(&role, move |call| unassign(grant_path, call));
        }
    }
    router
}

/// The types of the ids in a path.
#[derive(Clone, Copy)]
struct GrantPath {
    in_project: bool,
    to_user: bool,
}

/// `?user.id=`, `?group.id=`, `?role.id=`, `?scope.project.id=`, `?scope.domain.id=`, `?include_names`.
async fn assignments(call: Call) -> Answer {
    let token = call.token()?;
    // Users can list their own assignments; other lists require an administrator.
    if call.query_value("user.id") != Some(token.user_id.as_str()) {
        admin(&call, "list_role_assignments")?;
    }
    let base = &call.base;
    let fits = |name: &str, is: &str| call.query_value(name).is_none_or(|wanted| wanted == is);
    let names = call.query_value("include_names").is_some();
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
    // A reference with an optional name and domain.
    let named = |id: &str, name: Option<(&str, Option<&str>)>| match (names, name) {
        (true, Some((name, Some(domain)))) => {
            json!({"id": id, "name": name, "domain": domain_reference(model, domain)})
        }
        (true, Some((name, None))) => json!({"id": id, "name": name}),
        _ => json!({ "id": id }),
    };
    let (actors, actor, who) = if row.user_id.is_empty() {
        let group = identity.groups.get(&row.group_id);
        let group = group.map(|group| (group.text("name"), Some(group.text("domain_id"))));
        (
            "groups",
            &row.group_id,
            json!({"group": named(&row.group_id, group)}),
        )
    } else {
        let user = identity.users.get(&row.user_id);
        let user = user.map(|user| (user.text("name"), Some(user.text("domain_id"))));
        (
            "users",
            &row.user_id,
            json!({"user": named(&row.user_id, user)}),
        )
    };
    let (places, place, scope) = if row.project_id.is_empty() {
        let domain = identity.domain_name(&row.domain_id);
        let scope = json!({"domain": named(&row.domain_id, Some((domain, None)))});
        ("domains", &row.domain_id, scope)
    } else {
        let project = identity.projects.get(&row.project_id);
        let project = project.map(|one| (one.text("name"), Some(one.text("domain_id"))));
        let scope = json!({"project": named(&row.project_id, project)});
        ("projects", &row.project_id, scope)
    };
    let role = identity.roles.get(&row.role_id);
    let link = format!(
        "{base}/identity/v3/{places}/{place}/{actors}/{actor}/roles/{}",
        row.role_id
    );
    let mut document = json!({
        "role": named(&row.role_id, role.map(|role| (role.text("name"), None))),
        "scope": scope,
        "links": {"assignment": link},
    });
    if let (Some(document), Value::Object(who)) = (document.as_object_mut(), who) {
        document.extend(who);
    }
    document
}

async fn list_grants(grant_path: GrantPath, call: Call) -> Answer {
    let (place, actor) = (call.part("place"), call.part("actor"));
    admin(&call, "list_grants")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let all = model.identity.assignments.iter();
        all.filter(|row| **row == grant_path.assignment(place, actor, &row.role_id))
            .filter_map(|row| model.identity.roles.get(&row.role_id))
            .map(|role| ROLE.document(role, base))
            .collect()
    });
    Ok(list("roles", rows, base, "/roles"))
}

impl GrantPath {
    fn assignment(self, place: &str, actor: &str, role: &str) -> Assignment {
        let only = |is_it: bool, id: &str| if is_it { id.to_owned() } else { String::new() };
        Assignment {
            user_id: only(self.to_user, actor),
            group_id: only(!self.to_user, actor),
            project_id: only(self.in_project, place),
            domain_id: only(!self.in_project, place),
            role_id: role.to_owned(),
        }
    }

    /// The assignment in the path, if all its parts exist.
    fn checked(self, model: &Model, call: &Call) -> Result<Assignment, Refusal> {
        let (place, actor) = (call.part("place"), call.part("actor"));
        let role = call.part("role");
        let identity = &model.identity;
        let place_is_there = if self.in_project {
            identity.projects.get(place).is_some()
        } else {
            identity.domains.get(place).is_some()
        };
        let actor_is_there = if self.to_user {
            identity.users.get(actor).is_some()
        } else {
            identity.groups.get(actor).is_some()
        };
        if !place_is_there {
            let kind = if self.in_project { "project" } else { "domain" };
            return Err(not_found(kind, place));
        }
        if !actor_is_there {
            let kind = if self.to_user { "user" } else { "group" };
            return Err(not_found(kind, actor));
        }
        match identity.roles.get(role) {
            Some(_) => Ok(self.assignment(place, actor, role)),
            None => Err(not_found("role", role)),
        }
    }
}

async fn assign(grant_path: GrantPath, call: Call) -> Answer {
    admin(&call, "create_grant")?;
    call.app.change(|model| {
        let wanted = grant_path.checked(model, &call)?;
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

async fn is_assigned(grant_path: GrantPath, call: Call) -> Answer {
    admin(&call, "check_grant")?;
    let there = call.app.read(|model| {
        let assignment = grant_path.checked(model, &call)?;
        Ok::<_, Refusal>(model.identity.assignments.contains(&assignment))
    })?;
    if there {
        empty(204)
    } else {
        Err(no_such_assignment())
    }
}

async fn unassign(grant_path: GrantPath, call: Call) -> Answer {
    admin(&call, "revoke_grant")?;
    let gone = call.app.change(|model| {
        let assignment = grant_path.checked(model, &call)?;
        let before = model.identity.assignments.len();
        model.identity.assignments.retain(|row| *row != assignment);
        Ok::<_, Refusal>(model.identity.assignments.len() < before)
    })?;
    if gone {
        empty(204)
    } else {
        Err(no_such_assignment())
    }
}
