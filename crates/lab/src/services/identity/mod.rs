//! Keystone v3: versions, and what its other parts have in common.

pub(crate) mod account;
pub(crate) mod application_credential;
pub(crate) mod application_credentials;
pub(crate) mod catalog;
pub(crate) mod credentials;
pub(crate) mod directory;
pub(crate) mod entry;
pub(crate) mod grants;
pub(crate) mod groups;
pub(crate) mod projects;
pub(crate) mod roles;
pub(crate) mod second_factor;
pub(crate) mod tokens;
pub(crate) mod users;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, json_answer};
use crate::kit::query::attribute_is;
use crate::kit::refusal::Refusal;
use crate::kit::table::{Keyed, Table};
use crate::kit::token::Token;
use crate::services::identity::account::{DOMAIN_ID, Project, User};
use crate::services::identity::application_credential::ApplicationCredential;
use crate::services::identity::entry::Directory;
use crate::services::identity::grants::{Assignment, Role};
use crate::services::identity::second_factor::{Credential, Receipt};
use crate::services::{Call, Model, Routes};

/// Everything that Keystone knows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Identity {
    /// Projects.
    pub projects: Table<Project>,
    /// Users.
    pub users: Table<User>,
    /// Roles.
    pub roles: Table<Role>,
    /// Who has which role where.
    pub assignments: Vec<Assignment>,
    /// Tokens that have not been revoked; ended ones go when the next is made.
    pub tokens: Table<Token>,
    /// Application credentials.
    pub application_credentials: Table<ApplicationCredential>,
    /// Credentials of other kinds.
    #[serde(default)]
    pub credentials: Table<Credential>,
    /// Logins that are half done.
    #[serde(default)]
    pub receipts: Table<Receipt>,
    /// Domains, groups, regions, services and endpoints.
    #[serde(default)]
    pub directory: Directory,
}

pub fn routes() -> Routes {
    Routes::below("/identity")
        .get("", versions)
        .get("/", versions)
        .and(v3())
}

fn v3() -> Routes {
    Routes::below("/identity/v3")
        .get("", version)
        .get("/", version)
        .and(tokens::routes())
        .and(application_credentials::routes())
        .and(credentials::routes())
        .and(projects::routes())
        .and(users::routes())
        .and(roles::routes())
        .and(catalog::routes())
        .and(directory::routes())
        .and(groups::routes())
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

async fn versions(call: Call) -> Response {
    json_answer(
        300,
        json!({"versions": {"values": [version_document(&call.base)]}}),
    )
}

async fn version(call: Call) -> Response {
    json_answer(200, json!({"version": version_document(&call.base)}))
}

/// A list in Keystone's envelope.
fn list(name: &str, rows: Vec<Value>, base: &str, path: &str) -> Response {
    json_answer(
        200,
        json!({name: rows, "links": {"next": null, "self": format!("{base}/identity/v3{path}"), "previous": null}}),
    )
}

/// The rows of a table that a list call asks for, by what lists are asked by here.
fn asked_rows<T: Keyed>(
    table: &Table<T>,
    asked: &[(String, String)],
    show: impl Fn(&T) -> Value,
) -> Vec<Value> {
    let filters = ["name", "enabled", "domain_id"];
    let wanted = |row: &Value| {
        let mut named = asked
            .iter()
            .filter(|(name, _)| filters.contains(&name.as_str()));
        named.all(|(name, value)| attribute_is(row, name, value))
    };
    table.iter().map(show).filter(wanted).collect()
}

/// What a deletion answers.
fn gone(was_there: bool, kind: &str, id: &str) -> Answer {
    match was_there {
        true => empty(204),
        false => Err(not_found(kind, id)),
    }
}

/// The 404.
fn not_found(kind: &str, id: &str) -> Refusal {
    Refusal::not_found("NotFound", format!("Could not find {kind}: {id}."))
}

/// What the policy engine says.
fn forbidden(rule: &str) -> Refusal {
    Refusal::forbidden(format!(
        "You are not authorized to perform the requested action: identity:{rule}."
    ))
}

/// An administrator, or 403.
fn admin(call: &Call, rule: &str) -> Result<(), Refusal> {
    match call.token()?.roles.iter().any(|role| role == "admin") {
        true => Ok(()),
        false => Err(forbidden(rule)),
    }
}

/// Something of a body that has to be there.
fn needed<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Refusal> {
    let found = value.get(name).filter(|found| !found.is_null());
    found.ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
}

/// A string of a body.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// An object of a body.
fn object<'a>(body: &'a Value, name: &str) -> Result<&'a Map<String, Value>, Refusal> {
    needed(body, name)?
        .as_object()
        .ok_or_else(|| Refusal::bad_request(format!("'{name}' is not of type 'object'")))
}

/// The 409 for a name that is taken, in a domain or, as with roles, in none.
fn duplicate(kind: &str, name: &str, domain: Option<&str>) -> Refusal {
    let place = domain.map_or_else(String::new, |id| format!(" at domain ID {id}"));
    Refusal::conflict(
        "Conflict",
        format!(
            "Conflict occurred attempting to store {kind} - Duplicate entry found with name {name}{place}."
        ),
    )
}

/// The domain that a body names; the caller's, which is the first, where it names none. One that is not there is a 404.
fn domain_of(model: &Model, wanted: &Map<String, Value>) -> Result<String, Refusal> {
    let named = wanted.get("domain_id").and_then(Value::as_str);
    let domain = named.unwrap_or(DOMAIN_ID);
    match model.identity.directory.domains.get(domain) {
        Some(_) => Ok(domain.to_owned()),
        None => Err(not_found("domain", domain)),
    }
}

/// What lives in a domain stays there.
fn stays_in_domain(wanted: &Map<String, Value>, domain: &str) -> Result<(), Refusal> {
    let named = wanted.get("domain_id").and_then(Value::as_str);
    match named.is_none_or(|named| named == domain) {
        true => Ok(()),
        false => Err(Refusal::bad_request("Cannot change Domain ID")),
    }
}

/// A domain, as other things mention it.
fn domain_reference(model: &Model, id: &str) -> Value {
    json!({"id": id, "name": model.identity.directory.domain_name(id)})
}
