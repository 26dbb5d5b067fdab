//! Keystone v3 but for tokens and application credentials: versions, projects, domains, users.

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{KeystoneError, json_answer};
use super::query::attribute_is;
use super::token::Caller;
use super::tokens::catalog;
use super::{App, base_url};
use crate::model::identity::{DOMAIN_ID, DOMAIN_NAME, Project, User};
use crate::model::refusal::Refusal;

/// What handlers give.
pub type Answer = Result<Response, KeystoneError>;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/identity", get(versions))
        .route("/identity/", get(versions))
        .route("/identity/v3", get(version))
        .route("/identity/v3/", get(version))
        .route("/identity/v3/auth/projects", get(my_projects))
        .route("/identity/v3/auth/catalog", get(my_catalog))
        .route("/identity/v3/auth/domains", get(my_domains))
        .route("/identity/v3/projects", get(projects))
        .route("/identity/v3/projects/{id}", get(project))
        .route("/identity/v3/domains", get(domains))
        .route("/identity/v3/domains/{id}", get(domain))
        .route("/identity/v3/users/{id}", get(user))
        .route("/identity/v3/users/{id}/projects", get(my_projects))
}

fn version_document(base: &str) -> Value {
    json!({
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{base}/identity/v3/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}

async fn versions(headers: HeaderMap) -> Response {
    json_answer(
        300,
        json!({"versions": {"values": [version_document(&base_url(&headers))]}}),
    )
}

async fn version(headers: HeaderMap) -> Response {
    json_answer(
        200,
        json!({"version": version_document(&base_url(&headers))}),
    )
}

fn project_document(project: &Project, base: &str) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "domain_id": DOMAIN_ID,
        "description": "",
        "enabled": true,
        "parent_id": DOMAIN_ID,
        "is_domain": false,
        "tags": [],
        "options": {},
        "links": {"self": format!("{base}/identity/v3/projects/{}", project.id)},
    })
}

/// A list in Keystone's envelope.
pub fn list(name: &str, rows: Vec<Value>, base: &str, path: &str) -> Response {
    json_answer(
        200,
        json!({name: rows, "links": {"next": null, "self": format!("{base}/identity/v3{path}"), "previous": null}}),
    )
}

async fn my_projects(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Answer {
    let token = caller.token()?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let grants = model
            .identity
            .users
            .get(&token.user_id)
            .map(|user| user.grants.clone())
            .unwrap_or_default();
        let projects = grants
            .iter()
            .filter_map(|id| model.identity.projects.get(id));
        projects
            .map(|project| project_document(project, &base))
            .collect()
    });
    Ok(list("projects", rows, &base, "/auth/projects"))
}

/// Members may not list all projects in Keystone; the lab shows them their own, since tools ask by name.
async fn projects(
    State(app): State<App>,
    caller: Caller,
    Query(query): super::query::Query,
    headers: HeaderMap,
) -> Answer {
    let token = caller.token()?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let grants = model
            .identity
            .users
            .get(&token.user_id)
            .map(|user| user.grants.clone())
            .unwrap_or_default();
        let projects = grants
            .iter()
            .filter_map(|id| model.identity.projects.get(id));
        let shown = projects.map(|project| project_document(project, &base));
        shown
            .filter(|row| {
                query
                    .iter()
                    .filter(|(name, _)| name == "name")
                    .all(|(name, value)| attribute_is(row, name, value))
            })
            .collect()
    });
    Ok(list("projects", rows, &base, "/projects"))
}

async fn project(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let token = caller.token()?;
    let base = base_url(&headers);
    let shown = app.read(|model| {
        let mine = model
            .identity
            .users
            .get(&token.user_id)
            .is_some_and(|user| user.grants.contains(&id));
        model
            .identity
            .projects
            .get(&id)
            .filter(|_| mine)
            .map(|project| project_document(project, &base))
    });
    let shown = shown.ok_or_else(|| not_found("project", &id))?;
    Ok(json_answer(200, json!({ "project": shown })))
}

/// The 404.
pub fn not_found(kind: &str, id: &str) -> Refusal {
    Refusal::not_found("NotFound", format!("Could not find {kind}: {id}."))
}

async fn my_catalog(caller: Caller, headers: HeaderMap) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    Ok(json_answer(
        200,
        json!({"catalog": catalog(&base, &member.project_id), "links": {"self": format!("{base}/identity/v3/auth/catalog")}}),
    ))
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

fn domain_document(base: &str) -> Value {
    json!({
        "id": DOMAIN_ID,
        "name": DOMAIN_NAME,
        "description": "The default domain",
        "enabled": true,
        "tags": [],
        "options": {},
        "links": {"self": format!("{base}/identity/v3/domains/{DOMAIN_ID}")},
    })
}

async fn domains(caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    let base = base_url(&headers);
    Ok(list(
        "domains",
        vec![domain_document(&base)],
        &base,
        "/domains",
    ))
}

async fn domain(caller: Caller, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    caller.token()?;
    match id == DOMAIN_ID {
        true => Ok(json_answer(
            200,
            json!({"domain": domain_document(&base_url(&headers))}),
        )),
        false => Err(not_found("domain", &id).into()),
    }
}

fn user_document(user: &User, base: &str) -> Value {
    json!({
        "id": user.id,
        "name": user.name,
        "domain_id": DOMAIN_ID,
        "enabled": true,
        "default_project_id": user.default_project_id,
        "password_expires_at": null,
        "options": {},
        "links": {"self": format!("{base}/identity/v3/users/{}", user.id)},
    })
}

async fn user(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let token = caller.token()?;
    if token.user_id != id {
        return Err(Refusal::forbidden(
            "You are not authorized to perform the requested action: identity:get_user.",
        )
        .into());
    }
    let shown = app.read(|model| {
        model
            .identity
            .users
            .get(&id)
            .map(|user| user_document(user, &base_url(&headers)))
    });
    Ok(json_answer(
        200,
        json!({"user": shown.ok_or_else(|| not_found("user", &id))?}),
    ))
}
