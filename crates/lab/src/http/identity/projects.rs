//! Keystone v3: projects.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use serde_json::{Value, json};

use super::{
    Answer, admin, asked_rows, domain_of, duplicate, list, not_found, object, stays_in_domain,
};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::query;
use crate::http::token::Caller;
use crate::http::{App, base_url};
use crate::model::identity::Project;
use crate::model::ids::new_hex_id;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity/v3/auth/projects", get(my_projects))
        .route("/identity/v3/auth/domains", get(my_domains))
        .route("/identity/v3/users/{id}/projects", get(projects_of_user))
        .route("/identity/v3/projects", get(projects).post(create))
        .route(
            "/identity/v3/projects/{id}",
            get(project).patch(update).delete(delete),
        )
        .route("/identity/v3/projects/{id}/tags", get(tags_of))
}

fn document(project: &Project, base: &str) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "domain_id": project.domain_id,
        "description": project.description,
        "enabled": project.enabled,
        "parent_id": project.parent_id.as_ref().unwrap_or(&project.domain_id),
        "is_domain": false,
        "tags": project.tags,
        "options": {},
        "links": {"self": format!("{base}/identity/v3/projects/{}", project.id)},
    })
}

async fn my_projects(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Answer {
    let user = caller.token()?.user_id.clone();
    Ok(projects_with_roles(&app, &user, &headers, "/auth/projects"))
}

async fn projects_of_user(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    if caller.token()?.user_id != id {
        admin(&caller, "list_user_projects")?;
    }
    let path = format!("/users/{id}/projects");
    Ok(projects_with_roles(&app, &id, &headers, &path))
}

fn projects_with_roles(
    app: &App,
    user: &str,
    headers: &HeaderMap,
    path: &str,
) -> axum::response::Response {
    let base = base_url(headers);
    let rows = app.read(|model| {
        let all = model.identity.projects_of(user).into_iter();
        all.map(|project| document(project, &base)).collect()
    });
    list("projects", rows, &base, path)
}

async fn projects(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    admin(&caller, "list_projects")?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let all = &model.identity.projects;
        asked_rows(all, &asked, |project| document(project, &base))
    });
    Ok(list("projects", rows, &base, "/projects"))
}

async fn project(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let base = base_url(&headers);
    // To a member a project that is not there and one of others look the same.
    if caller.token()?.project_id.as_ref() != Some(&id) {
        admin(&caller, "get_project")?;
    }
    let shown = app.read(|model| {
        let found = model.identity.projects.get(&id);
        found.map(|project| document(project, &base))
    });
    let shown = shown.ok_or_else(|| not_found("project", &id))?;
    Ok(json_answer(200, json!({ "project": shown })))
}

async fn tags_of(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    if caller.token()?.project_id.as_ref() != Some(&id) {
        admin(&caller, "list_project_tags")?;
    }
    let tags = app.read(|model| {
        let found = model.identity.projects.get(&id);
        found.map(|project| project.tags.clone())
    });
    let tags = tags.ok_or_else(|| not_found("project", &id))?;
    let base = base_url(&headers);
    Ok(json_answer(
        200,
        json!({"tags": tags, "links": {"self": format!("{base}/identity/v3")}}),
    ))
}

async fn create(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Bytes) -> Answer {
    admin(&caller, "create_project")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "project")?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| Refusal::bad_request("'name' is a required property"))?;
    let mut project = Project {
        id: new_hex_id(),
        name: name.into(),
        description: text("description").unwrap_or_default().into(),
        enabled: wanted
            .get("enabled")
            .and_then(Value::as_bool)
            .unwrap_or(true),
        domain_id: String::new(),
        parent_id: text("parent_id").map(str::to_owned),
        tags: tags(wanted).unwrap_or_default(),
    };
    let shown = app.change(|model| {
        project.domain_id = domain_of(model, wanted)?;
        let parent = project.parent_id.take();
        project.parent_id = parent.filter(|parent| *parent != project.domain_id);
        let all = &mut model.identity.projects;
        if let Some(parent) = project.parent_id.as_ref()
            && all.get(parent).is_none()
        {
            return Err(not_found("project", parent));
        }
        let same = |row: &Project| row.name == name && row.domain_id == project.domain_id;
        if all.iter().any(same) {
            return Err(duplicate("project", name, Some(&project.domain_id)));
        }
        let shown = document(&project, &base_url(&headers));
        all.insert(project);
        Ok(shown)
    })?;
    Ok(json_answer(201, json!({ "project": shown })))
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    admin(&caller, "update_project")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "project")?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str).map(str::to_owned);
    let shown = app.change(|model| {
        let missing = || not_found("project", &id);
        let all = &mut model.identity.projects;
        let domain = all.get(&id).ok_or_else(missing)?.domain_id.clone();
        stays_in_domain(wanted, &domain)?;
        if let Some(name) = text("name")
            && all
                .iter()
                .any(|row| row.name == name && row.domain_id == domain && row.id != id)
        {
            return Err(duplicate("project", &name, Some(&domain)));
        }
        let row = all.get_mut(&id).ok_or_else(missing)?;
        row.tags = tags(wanted).unwrap_or_else(|| row.tags.clone());
        row.name = text("name").unwrap_or_else(|| row.name.clone());
        row.description = text("description").unwrap_or_else(|| row.description.clone());
        row.enabled = wanted
            .get("enabled")
            .and_then(Value::as_bool)
            .unwrap_or(row.enabled);
        Ok(document(row, &base_url(&headers)))
    })?;
    Ok(json_answer(200, json!({ "project": shown })))
}

/// The tags of a body.
fn tags(wanted: &serde_json::Map<String, Value>) -> Option<Vec<String>> {
    serde_json::from_value(wanted.get("tags")?.clone()).ok()
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    admin(&caller, "delete_project")?;
    app.change(|model| {
        let is_child = |row: &Project| row.parent_id.as_ref() == Some(&id);
        if model.identity.projects.iter().any(is_child) {
            return Err(Refusal::forbidden(format!(
                "Cannot delete the project {id} since it is not a leaf in the hierarchy. Use the cascade option if you want to \
                 delete a whole subtree."
            )));
        }
        match model.identity.remove_project(&id) {
            true => Ok(()),
            false => Err(not_found("project", &id)),
        }
    })?;
    Ok(empty_answer(204))
}

async fn my_domains(caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    Ok(list(
        "domains",
        Vec::new(),
        &base_url(&headers),
        "/auth/domains",
    ))
}
