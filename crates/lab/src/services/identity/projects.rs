//! Keystone v3: projects.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_hex_id;
use crate::kit::refusal::Refusal;
use crate::services::identity::account::Project;
use crate::services::identity::{
    admin, asked_rows, domain_of, duplicate, list, not_found, object, stays_in_domain,
};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/auth/projects", my_projects)
        .get("/auth/domains", my_domains)
        .get("/users/{id}/projects", projects_of_user)
        .get("/projects", projects)
        .post("/projects", create)
        .get("/projects/{id}", project)
        .patch("/projects/{id}", update)
        .delete("/projects/{id}", delete)
        .get("/projects/{id}/tags", tags_of)
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

async fn my_projects(call: Call) -> Answer {
    projects_with_roles(&call, &call.token()?.user_id, "/auth/projects")
}

async fn projects_of_user(call: Call) -> Answer {
    let id = call.id();
    if call.token()?.user_id != id {
        admin(&call, "list_user_projects")?;
    }
    projects_with_roles(&call, id, &format!("/users/{id}/projects"))
}

fn projects_with_roles(call: &Call, user: &str, path: &str) -> Answer {
    let rows = call.app.read(|model| {
        let all = model.identity.projects_of(user).into_iter();
        all.map(|project| document(project, &call.base)).collect()
    });
    Ok(list("projects", rows, &call.base, path))
}

async fn projects(call: Call) -> Answer {
    admin(&call, "list_projects")?;
    let base = &call.base;
    let rows = call.app.read(|model| {
        let all = &model.identity.projects;
        asked_rows(all, &call.query, |project| document(project, base))
    });
    Ok(list("projects", rows, base, "/projects"))
}

async fn project(call: Call) -> Answer {
    let id = call.part("id");
    let base = &call.base;
    // To a member a project that is not there and one of others look the same.
    if call.token()?.project_id.as_deref() != Some(id) {
        admin(&call, "get_project")?;
    }
    let shown = call.app.read(|model| {
        let found = model.identity.projects.get(id);
        found.map(|project| document(project, base))
    });
    let shown = shown.ok_or_else(|| not_found("project", id))?;
    reply(200, json!({ "project": shown }))
}

async fn tags_of(call: Call) -> Answer {
    let id = call.part("id");
    if call.token()?.project_id.as_deref() != Some(id) {
        admin(&call, "list_project_tags")?;
    }
    let tags = call.app.read(|model| {
        let found = model.identity.projects.get(id);
        found.map(|project| project.tags.clone())
    });
    let tags = tags.ok_or_else(|| not_found("project", id))?;
    let base = &call.base;
    reply(
        200,
        json!({"tags": tags, "links": {"self": format!("{base}/identity/v3")}}),
    )
}

async fn create(call: Call, body: Bytes) -> Answer {
    admin(&call, "create_project")?;
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
    let shown = call.app.change(|model| {
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
        let shown = document(&project, &call.base);
        all.insert(project);
        Ok(shown)
    })?;
    reply(201, json!({ "project": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    admin(&call, "update_project")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "project")?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str).map(str::to_owned);
    let shown = call.app.change(|model| {
        let missing = || not_found("project", id);
        let all = &mut model.identity.projects;
        let domain = all.get(id).ok_or_else(missing)?.domain_id.clone();
        stays_in_domain(wanted, &domain)?;
        if let Some(name) = text("name")
            && all
                .iter()
                .any(|row| row.name == name && row.domain_id == domain && row.id != id)
        {
            return Err(duplicate("project", &name, Some(&domain)));
        }
        let row = all.get_mut(id).ok_or_else(missing)?;
        row.tags = tags(wanted).unwrap_or_else(|| row.tags.clone());
        row.name = text("name").unwrap_or_else(|| row.name.clone());
        row.description = text("description").unwrap_or_else(|| row.description.clone());
        row.enabled = wanted
            .get("enabled")
            .and_then(Value::as_bool)
            .unwrap_or(row.enabled);
        Ok(document(row, &call.base))
    })?;
    reply(200, json!({ "project": shown }))
}

/// The tags of a body.
fn tags(wanted: &serde_json::Map<String, Value>) -> Option<Vec<String>> {
    serde_json::from_value(wanted.get("tags")?.clone()).ok()
}

async fn delete(call: Call) -> Answer {
    let id = call.part("id");
    admin(&call, "delete_project")?;
    call.app.change(|model| {
        let is_child = |row: &Project| row.parent_id.as_deref() == Some(id);
        if model.identity.projects.iter().any(is_child) {
            return Err(Refusal::forbidden(format!(
                "Cannot delete the project {id} since it is not a leaf in the hierarchy. Use the cascade option if you want to \
                 delete a whole subtree."
            )));
        }
        match model.identity.remove_project(id) {
            true => Ok(()),
            false => Err(not_found("project", id)),
        }
    })?;
    empty(204)
}

async fn my_domains(call: Call) -> Answer {
    call.token()?;
    Ok(list("domains", Vec::new(), &call.base, "/auth/domains"))
}
