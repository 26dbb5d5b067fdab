//! Keystone v3.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::answer::{KeystoneError, empty_answer, json_answer, read_json};
use super::query::attribute_is;
use super::token::Caller;
use super::{App, SERVICES, base_url};
use crate::model::Model;
use crate::model::identity::{
    ApplicationCredential, DOMAIN_ID, DOMAIN_NAME, Project, ScopeRequest, Token, User,
    is_the_domain,
};
use crate::model::ids::stable_hex_id;
use crate::model::refusal::Refusal;

type Answer = Result<Response, KeystoneError>;

pub fn routes() -> Router<App> {
    let credentials = get(application_credentials).post(create_application_credential);
    let credential = get(application_credential).delete(delete_application_credential);
    Router::new()
        .route("/identity", get(versions))
        .route("/identity/", get(versions))
        .route("/identity/v3", get(version))
        .route("/identity/v3/", get(version))
        .route(
            "/identity/v3/auth/tokens",
            get(show_token)
                .post(create_token)
                .delete(delete_token)
                .head(show_token),
        )
        .route("/identity/v3/auth/projects", get(my_projects))
        .route("/identity/v3/auth/catalog", get(my_catalog))
        .route("/identity/v3/auth/domains", get(my_domains))
        .route("/identity/v3/projects", get(projects))
        .route("/identity/v3/projects/{id}", get(project))
        .route("/identity/v3/domains", get(domains))
        .route("/identity/v3/domains/{id}", get(domain))
        .route("/identity/v3/users/{id}", get(user))
        .route("/identity/v3/users/{id}/projects", get(my_projects))
        .route(
            "/identity/v3/users/{user}/application_credentials",
            credentials,
        )
        .route(
            "/identity/v3/users/{user}/application_credentials/{id}",
            credential,
        )
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

/// Something of the body that has to be there.
fn needed<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Refusal> {
    let found = value.get(name).filter(|found| !found.is_null());
    found.ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// A domain's id or name.
fn domain_of(value: &Value) -> Option<&str> {
    let domain = value.get("domain")?;
    text(domain, "id").or_else(|| text(domain, "name"))
}

async fn create_token(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let auth = needed(&body, "auth")?;
    let identity = needed(auth, "identity")?;
    let methods: Vec<String> = needed(identity, "methods")?
        .as_array()
        .and_then(|methods| {
            methods
                .iter()
                .map(|method| method.as_str().map(str::to_owned))
                .collect()
        })
        .ok_or_else(|| Refusal::bad_request("'methods' is not a list of strings"))?;
    let scope = read_scope(auth)?;
    let (text, shown) = app.change(|model| -> Result<_, Refusal> {
        let login = log_in(model, identity, &methods)?;
        let user = model
            .identity
            .users
            .get(&login.user_id)
            .ok_or_else(Refusal::unauthorized)?;
        let project_id = match (login.bound_to, &scope) {
            (Some(project), ScopeRequest::Default) => Some(project),
            (Some(_), _) => {
                return Err(Refusal::bad_request(
                    "Application credentials cannot request a scope.",
                ));
            }
            (None, scope) => model.identity.resolve_scope(user, scope)?,
        };
        let (text, token) =
            model
                .identity
                .issue(&login.user_id, project_id, login.methods, login.expires);
        let shown = token_document(model, &token, &base_url(&headers));
        Ok((text, shown))
    })?;
    let mut response = json_answer(201, shown);
    let subject = HeaderValue::try_from(text).map_err(|_| Refusal::unauthorized())?;
    response.headers_mut().insert("x-subject-token", subject);
    response
        .headers_mut()
        .insert("vary", HeaderValue::from_static("X-Auth-Token"));
    Ok(response)
}

/// Who logged in, and how.
struct Login {
    user_id: String,
    methods: Vec<String>,
    expires: Option<jiff::Timestamp>,
    bound_to: Option<String>,
}

fn log_in(model: &Model, identity: &Value, methods: &[String]) -> Result<Login, Refusal> {
    let mut login: Option<Login> = None;
    for method in methods {
        let given = needed(identity, method)?;
        let found = match method.as_str() {
            "password" => {
                let user = needed(given, "user")?;
                let password = text(user, "password")
                    .ok_or_else(|| Refusal::bad_request("'password' is a required property"))?;
                let name = match text(user, "name") {
                    None => None,
                    Some(name) => {
                        let domain = domain_of(user).ok_or_else(|| {
                            Refusal::bad_request(
                                "Expecting to find domain in user. The server could not comply with the request since it is either \
                                 malformed or otherwise incorrect. The client is assumed to be in error.",
                            )
                        })?;
                        Some((name, domain))
                    }
                };
                let user = model
                    .identity
                    .check_password(text(user, "id"), name, password)?;
                Login {
                    user_id: user.id.clone(),
                    methods: vec![method.clone()],
                    expires: None,
                    bound_to: None,
                }
            }
            "token" => {
                let id = text(given, "id")
                    .ok_or_else(|| Refusal::bad_request("'id' is a required property"))?;
                let old = model.identity.token(id).ok_or_else(Refusal::unauthorized)?;
                let mut methods = old.methods.clone();
                if !methods.contains(method) {
                    methods.push(method.clone());
                }
                // Like Keystone: a token from a token ends when the first one does.
                Login {
                    user_id: old.user_id.clone(),
                    methods,
                    expires: Some(old.expires_at),
                    bound_to: None,
                }
            }
            "application_credential" => {
                let secret = text(given, "secret")
                    .ok_or_else(|| Refusal::bad_request("'secret' is a required property"))?;
                let user = given
                    .get("user")
                    .and_then(|user| text(user, "id").or_else(|| text(user, "name")));
                let name = user.zip(text(given, "name"));
                let row =
                    model
                        .identity
                        .check_application_credential(text(given, "id"), name, secret)?;
                Login {
                    user_id: row.user_id.clone(),
                    methods: vec![method.clone()],
                    expires: None,
                    bound_to: Some(row.project_id.clone()),
                }
            }
            _ => return Err(Refusal::unauthorized()),
        };
        if login
            .as_ref()
            .is_some_and(|login| login.user_id != found.user_id)
        {
            return Err(Refusal::unauthorized());
        }
        login = Some(found);
    }
    login.ok_or_else(|| Refusal::bad_request("'methods' is empty"))
}

fn read_scope(auth: &Value) -> Result<ScopeRequest, Refusal> {
    let Some(scope) = auth.get("scope") else {
        return Ok(ScopeRequest::Default);
    };
    if scope == "unscoped" {
        return Ok(ScopeRequest::Unscoped);
    }
    let Some(project) = scope.get("project") else {
        // A domain or the system: nobody in the lab has a role there.
        return Err(Refusal::unauthorized());
    };
    match (
        text(project, "id"),
        text(project, "name"),
        domain_of(project),
    ) {
        (Some(id), _, _) => Ok(ScopeRequest::ProjectId(id.into())),
        (None, Some(name), Some(domain)) if is_the_domain(domain) => {
            Ok(ScopeRequest::ProjectName(name.into()))
        }
        (None, Some(_), Some(_)) => Err(Refusal::unauthorized()),
        _ => Err(Refusal::bad_request("Expecting to find domain in project.")),
    }
}

fn domain_reference() -> Value {
    json!({"id": DOMAIN_ID, "name": DOMAIN_NAME})
}

fn token_document(model: &Model, token: &Token, base: &str) -> Value {
    let user = model.identity.users.get(&token.user_id);
    let mut document = json!({
        "methods": token.methods,
        "user": {
            "domain": domain_reference(),
            "id": token.user_id,
            "name": user.map(|user| user.name.as_str()),
            "password_expires_at": null,
        },
        "audit_ids": [token.audit_id],
        "expires_at": token.expires_text(),
        "issued_at": token.issued_text(),
    });
    if let Some(project) = token
        .project_id
        .as_ref()
        .and_then(|id| model.identity.projects.get(id))
    {
        document["project"] =
            json!({"domain": domain_reference(), "id": project.id, "name": project.name});
        document["is_domain"] = false.into();
        let role = |name: &str| json!({"id": stable_hex_id(&format!("role/{name}")), "name": name});
        document["roles"] = json!([role("member"), role("reader")]);
        document["catalog"] = catalog(base);
    }
    json!({ "token": document })
}

/// The service catalogue. Versions are in the URL where a real cloud's installer puts them: identity and compute.
fn catalog(base: &str) -> Value {
    SERVICES
        .iter()
        .map(|(service, prefix)| {
            let (name, path) = match *service {
                "identity" => ("keystone", "/v3"),
                "compute" => ("nova", "/v2.1"),
                "network" => ("neutron", ""),
                "image" => ("glance", ""),
                _ => ("barbican", ""),
            };
            let endpoint = |interface: &str| {
                json!({
                    "id": stable_hex_id(&format!("endpoint/{service}/{interface}")),
                    "interface": interface,
                    "region": "lab",
                    "region_id": "lab",
                    "url": format!("{base}{prefix}{path}"),
                })
            };
            json!({
                "id": stable_hex_id(&format!("service/{service}")),
                "name": name,
                "type": service,
                "endpoints": [endpoint("public"), endpoint("internal"), endpoint("admin")],
            })
        })
        .collect()
}

async fn show_token(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    let subject = headers
        .get("x-subject-token")
        .and_then(|value| value.to_str().ok())
        .unwrap_or(caller.text());
    let shown = app.read(|model| {
        let token = model.identity.token(subject)?;
        Some(token_document(model, token, &base_url(&headers)))
    });
    let shown =
        shown.ok_or_else(|| Refusal::not_found("TokenNotFound", "Failed to validate token"))?;
    let mut response = json_answer(200, shown);
    if let Ok(value) = HeaderValue::try_from(subject) {
        response.headers_mut().insert("x-subject-token", value);
    }
    Ok(response)
}

async fn delete_token(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    let subject = headers
        .get("x-subject-token")
        .and_then(|value| value.to_str().ok())
        .unwrap_or(caller.text());
    match app.change(|model| model.identity.revoke(subject)) {
        true => Ok(empty_answer(204)),
        false => Err(Refusal::not_found("TokenNotFound", "Failed to validate token").into()),
    }
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

fn list(name: &str, rows: Vec<Value>, base: &str, path: &str) -> Response {
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

fn not_found(kind: &str, id: &str) -> Refusal {
    Refusal::not_found("NotFound", format!("Could not find {kind}: {id}."))
}

async fn my_catalog(caller: Caller, headers: HeaderMap) -> Answer {
    caller.member()?;
    let base = base_url(&headers);
    Ok(json_answer(
        200,
        json!({"catalog": catalog(&base), "links": {"self": format!("{base}/identity/v3/auth/catalog")}}),
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

fn credential_document(row: &ApplicationCredential) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "roles": [{"id": stable_hex_id("role/member"), "name": "member", "domain_id": null}],
        "expires_at": null,
        "unrestricted": false,
        "system": null,
    })
}

async fn create_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    own(&member.user_id, &user)?;
    let body = read_json(&body)?;
    let wanted = needed(&body, "application_credential")?;
    let name = text(wanted, "name")
        .ok_or_else(|| Refusal::bad_request("'name' is a required property"))?;
    let owned = |name: &str| text(wanted, name).map(str::to_owned);
    let (row, secret) = app.change(|model| {
        let (description, secret) = (owned("description"), owned("secret"));
        model.identity.add_application_credential(
            &user,
            &member.project_id,
            name,
            description,
            secret,
        )
    })?;
    let mut shown = credential_document(&row);
    shown["secret"] = secret.into();
    Ok(json_answer(201, json!({ "application_credential": shown })))
}

fn own(mine: &str, asked: &str) -> Result<(), Refusal> {
    match mine == asked {
        true => Ok(()),
        false => Err(Refusal::forbidden(
            "You are not authorized to perform the requested action.",
        )),
    }
}

async fn application_credentials(
    State(app): State<App>,
    caller: Caller,
    Path(user): Path<String>,
    headers: HeaderMap,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let rows = app.read(|model| {
        let mine = model
            .identity
            .application_credentials
            .iter()
            .filter(|row| row.user_id == user);
        mine.map(credential_document).collect()
    });
    Ok(list(
        "application_credentials",
        rows,
        &base_url(&headers),
        &format!("/users/{user}/application_credentials"),
    ))
}

async fn application_credential(
    State(app): State<App>,
    caller: Caller,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let shown = app.read(|model| {
        let row = model
            .identity
            .application_credentials
            .get(&id)
            .filter(|row| row.user_id == user);
        row.map(credential_document)
    });
    let shown = shown.ok_or_else(|| not_found("application_credential", &id))?;
    Ok(json_answer(200, json!({ "application_credential": shown })))
}

async fn delete_application_credential(
    State(app): State<App>,
    caller: Caller,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(&caller.token()?.user_id, &user)?;
    let gone = app.change(|model| {
        let mine = model
            .identity
            .application_credentials
            .get(&id)
            .is_some_and(|row| row.user_id == user);
        mine && model.identity.application_credentials.remove(&id).is_some()
    });
    match gone {
        true => Ok(empty_answer(204)),
        false => Err(not_found("application_credential", &id).into()),
    }
}
