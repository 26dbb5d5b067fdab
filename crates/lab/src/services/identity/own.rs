//! Keystone v3: lists of a user, and changes by users themselves.

use axum::body::Bytes;
use serde_json::json;

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::digest;
use crate::kit::refusal::Refusal;
use crate::services::identity::kinds::PROJECT;
use crate::services::identity::{admin, list, needed, not_found, own_or_admin, text};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/identity/v3")
        .get("/auth/projects", my_projects)
        .get("/users/{id}/projects", projects_of_user)
        .post("/users/{id}/password", set_password)
        .get("/projects/{id}/tags", project_tags)
}

async fn my_projects(call: Call) -> Answer {
    projects_with_roles(&call, &call.token()?.user_id, "/auth/projects")
}

async fn projects_of_user(call: Call) -> Answer {
    let id = call.id();
    own_or_admin(&call, id, "list_user_projects")?;
    projects_with_roles(&call, id, &format!("/users/{id}/projects"))
}

fn projects_with_roles(call: &Call, user: &str, path: &str) -> Answer {
    let rows = call.app.read(|model| {
        let all = model.identity.projects_of(user).into_iter();
        all.map(|row| PROJECT.document(row, &call.base)).collect()
    });
    Ok(list("projects", rows, &call.base, path))
}

async fn project_tags(call: Call) -> Answer {
    let id = call.id();
    if call.token()?.project_id.as_deref() != Some(id) {
        admin(&call, "list_project_tags")?;
    }
    let tags = call.app.read(|model| {
        let found = model.identity.projects.get(id);
        found.map(|project| project.fields["tags"].clone())
    });
    let tags = tags.ok_or_else(|| not_found("project", id))?;
    let link = format!("{}/identity/v3", call.base);
    reply(200, json!({"tags": tags, "links": {"self": link}}))
}

/// Sets a user's password, if the old one is correct, and revokes the user's tokens.
async fn set_password(call: Call, body: Bytes) -> Answer {
    let id = call.id();
    call.token()?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "user")?;
    let word = |name: &str| {
        text(wanted, name)
            .ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
    };
    let (old, new) = (word("original_password")?, word("password")?);
    call.app.change(|model| {
        let identity = &mut model.identity;
        identity.check_password(Some(id), None, old)?;
        if let Some(user) = identity.users.get_mut(id) {
            user.fields
                .insert("password_digest".into(), digest(new).into());
        }
        identity.remove_tokens(|token| token.user_id == id);
        Ok::<_, Refusal>(())
    })?;
    empty(204)
}
