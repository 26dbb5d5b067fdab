//! Keystone v3: roles, and who has them where.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::{Answer, admin, asked_rows, domain_reference, duplicate, list, needed, not_found};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::query;
use crate::http::token::Caller;
use crate::http::{App, base_url};
use crate::model::Model;
use crate::model::identity::{Assignment, Role};
use crate::model::ids::new_hex_id;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity/v3/roles", get(roles).post(create))
        .route("/identity/v3/roles/{id}", get(role).delete(delete))
        .route("/identity/v3/role_assignments", get(assignments))
        .route(
            "/identity/v3/projects/{project}/users/{user}/roles",
            get(roles_of_user),
        )
        .route(
            "/identity/v3/projects/{project}/users/{user}/roles/{role}",
            put(assign)
                .get(is_assigned)
                .head(is_assigned)
                .delete(unassign),
        )
}

fn document(role: &Role, base: &str) -> Value {
    json!({
        "id": role.id,
        "name": role.name,
        "domain_id": null,
        "description": null,
        "options": {},
        "links": {"self": format!("{base}/identity/v3/roles/{}", role.id)},
    })
}

async fn roles(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    admin(&caller, "list_roles")?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let all = &model.identity.roles;
        asked_rows(all, &asked, |role| document(role, &base))
    });
    Ok(list("roles", rows, &base, "/roles"))
}

async fn role(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    admin(&caller, "get_role")?;
    let base = base_url(&headers);
    let shown = app.read(|model| {
        model
            .identity
            .roles
            .get(&id)
            .map(|role| document(role, &base))
    });
    let shown = shown.ok_or_else(|| not_found("role", &id))?;
    Ok(json_answer(200, json!({ "role": shown })))
}

async fn create(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Bytes) -> Answer {
    admin(&caller, "create_role")?;
    let body = read_json(&body)?;
    let name = needed(needed(&body, "role")?, "name")?;
    let role = Role {
        id: new_hex_id(),
        name: name.as_str().unwrap_or_default().into(),
    };
    let shown = document(&role, &base_url(&headers));
    app.change(|model| {
        if model.identity.roles.iter().any(|row| row.name == role.name) {
            return Err(duplicate("role", &role.name));
        }
        model.identity.roles.insert(role);
        Ok(())
    })?;
    Ok(json_answer(201, json!({ "role": shown })))
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    admin(&caller, "delete_role")?;
    let gone = app.change(|model| {
        model.identity.assignments.retain(|row| row.role_id != id);
        model.identity.roles.remove(&id)
    });
    gone.ok_or_else(|| not_found("role", &id))?;
    Ok(empty_answer(204))
}

/// `?user.id=`, `?role.id=`, `?scope.project.id=`, `?include_names`.
async fn assignments(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let token = caller.token()?;
    let own = query::value(&asked, "scope.project.id").map(str::to_owned);
    // Members may look at their own, and nothing else.
    if query::value(&asked, "user.id") != Some(token.user_id.as_str()) {
        admin(&caller, "list_role_assignments")?;
    }
    let base = base_url(&headers);
    let fits = |name: &str, is: &str| query::value(&asked, name).is_none_or(|wanted| wanted == is);
    let names = query::value(&asked, "include_names").is_some();
    let rows = app.read(|model| {
        model
            .identity
            .assignments
            .iter()
            .filter(|row| {
                fits("user.id", &row.user_id)
                    && fits("role.id", &row.role_id)
                    && own
                        .as_ref()
                        .is_none_or(|project| *project == row.project_id)
            })
            .map(|row| assignment_document(model, row, names, &base))
            .collect()
    });
    Ok(list("role_assignments", rows, &base, "/role_assignments"))
}

fn assignment_document(model: &Model, row: &Assignment, names: bool, base: &str) -> Value {
    let named = |id: &str, name: Option<&String>| match names {
        true => json!({"id": id, "name": name, "domain": domain_reference()}),
        false => json!({ "id": id }),
    };
    let identity = &model.identity;
    let mut role = named(
        &row.role_id,
        identity.roles.get(&row.role_id).map(|role| &role.name),
    );
    if let Some(role) = role.as_object_mut() {
        role.remove("domain");
    }
    let link = format!(
        "{base}/identity/v3/projects/{}/users/{}/roles/{}",
        row.project_id, row.user_id, row.role_id
    );
    json!({
        "role": role,
        "user": named(&row.user_id, identity.users.get(&row.user_id).map(|user| &user.name)),
        "scope": {"project": named(&row.project_id, identity.projects.get(&row.project_id).map(|project| &project.name))},
        "links": {"assignment": link},
    })
}

async fn roles_of_user(
    State(app): State<App>,
    caller: Caller,
    Path((project, user)): Path<(String, String)>,
    headers: HeaderMap,
) -> Answer {
    admin(&caller, "list_grants")?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let all = model.identity.assignments.iter();
        all.filter(|row| row.project_id == project && row.user_id == user)
            .filter_map(|row| model.identity.roles.get(&row.role_id))
            .map(|role| document(role, &base))
            .collect()
    });
    let path = format!("/projects/{project}/users/{user}/roles");
    Ok(list("roles", rows, &base, &path))
}

/// An assignment of things that are all there.
fn assignment(
    model: &Model,
    (project_id, user_id, role_id): (String, String, String),
) -> Result<Assignment, Refusal> {
    let identity = &model.identity;
    if identity.projects.get(&project_id).is_none() {
        return Err(not_found("project", &project_id));
    }
    if identity.users.get(&user_id).is_none() {
        return Err(not_found("user", &user_id));
    }
    if identity.roles.get(&role_id).is_none() {
        return Err(not_found("role", &role_id));
    }
    Ok(Assignment {
        user_id,
        project_id,
        role_id,
    })
}

async fn assign(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(String, String, String)>,
) -> Answer {
    admin(&caller, "create_grant")?;
    app.change(|model| {
        let wanted = assignment(model, ids)?;
        model.identity.assign(wanted);
        Ok::<_, Refusal>(())
    })?;
    Ok(empty_answer(204))
}

fn no_such_assignment() -> Refusal {
    Refusal::not_found(
        "NotFound",
        "Could not find role assignment with role, user or group, project, domain, or system.",
    )
}

async fn is_assigned(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(String, String, String)>,
) -> Answer {
    admin(&caller, "check_grant")?;
    let there = app.read(|model| {
        let asked = assignment(model, ids)?;
        Ok::<_, Refusal>(model.identity.assignments.contains(&asked))
    })?;
    match there {
        true => Ok(empty_answer(204)),
        false => Err(no_such_assignment().into()),
    }
}

async fn unassign(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(String, String, String)>,
) -> Answer {
    admin(&caller, "revoke_grant")?;
    let gone = app.change(|model| {
        let asked = assignment(model, ids)?;
        let before = model.identity.assignments.len();
        model.identity.assignments.retain(|row| *row != asked);
        Ok::<_, Refusal>(model.identity.assignments.len() < before)
    })?;
    match gone {
        true => Ok(empty_answer(204)),
        false => Err(no_such_assignment().into()),
    }
}
