//! Keystone v3: versions, and functions for all of its parts.

pub(crate) mod account;
pub(crate) mod application_credential;
pub(crate) mod application_credentials;
pub(crate) mod catalog;
pub(crate) mod collections;
pub(crate) mod grants;
pub(crate) mod groups;
pub(crate) mod kinds;
pub(crate) mod own;
pub(crate) mod roles;
pub(crate) mod second_factor;
pub(crate) mod tokens;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::Token;
use crate::services::identity::application_credential::ApplicationCredential;
use crate::services::identity::grants::Assignment;
use crate::services::identity::second_factor::Receipt;
use crate::services::{Call, Model, Routes};

/// The id of the default domain.
pub const DOMAIN_ID: &str = "default";
/// The name of the default domain.
pub const DOMAIN_NAME: &str = "Default";

/// The state of Keystone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Identity {
    pub domains: Table<Record>,
    pub projects: Table<Record>,
    /// Users. The field `password_digest` is omitted from documents.
    pub users: Table<Record>,
    pub groups: Table<Record>,
    /// Members of groups: group id and user id.
    pub members: Vec<(String, String)>,
    pub roles: Table<Record>,
    pub assignments: Vec<Assignment>,
    /// Tokens that have not been revoked. Expired ones are removed when the next one is issued.
    pub tokens: Table<Token>,
    pub application_credentials: Table<ApplicationCredential>,
    pub credentials: Table<Record>,
    /// Logins that wait for a second factor.
    pub receipts: Table<Receipt>,
    pub regions: Table<Record>,
    /// Services that administrators added. The lab's own ones are computed from the URL of the request.
    pub services: Table<Record>,
    /// Endpoints that administrators added.
    pub endpoints: Table<Record>,
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
        .and(roles::routes())
        .and(catalog::routes())
        .and(collections::routes())
        .and(groups::routes())
        .and(own::routes())
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

fn not_found(kind: &str, id: &str) -> Refusal {
    Refusal::not_found("NotFound", format!("Could not find {kind}: {id}."))
}

/// The refusal of the policy engine.
fn forbidden(rule: &str) -> Refusal {
    Refusal::forbidden(format!(
        "You are not authorized to perform the requested action: identity:{rule}."
    ))
}

/// Requires an administrator, else 403.
fn admin(call: &Call, rule: &str) -> Result<(), Refusal> {
    if call.token()?.roles.iter().any(|role| role == "admin") {
        Ok(())
    } else {
        Err(forbidden(rule))
    }
}

/// Requires this user as caller, else 403.
fn own(call: &Call, user: &str, rule: &str) -> Result<(), Refusal> {
    if call.token()?.user_id == user {
        Ok(())
    } else {
        Err(forbidden(rule))
    }
}

/// Requires this user or an administrator as caller, else 403.
fn own_or_admin(call: &Call, user: &str, rule: &str) -> Result<(), Refusal> {
    own(call, user, rule).or_else(|_| admin(call, rule))
}

/// A required value of a body.
fn needed<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Refusal> {
    let found = value.get(name).filter(|found| !found.is_null());
    found.ok_or_else(|| Refusal::bad_request(format!("'{name}' is a required property")))
}

/// A text of a body.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// A required object of a body.
fn object<'a>(body: &'a Value, name: &str) -> Result<&'a Fields, Refusal> {
    needed(body, name)?
        .as_object()
        .ok_or_else(|| Refusal::bad_request(format!("'{name}' is not of type 'object'")))
}

/// A reference to a domain in another document.
fn domain_reference(model: &Model, id: &str) -> Value {
    json!({"id": id, "name": model.identity.domain_name(id)})
}

impl Identity {
    /// The name of a domain.
    pub fn domain_name(&self, id: &str) -> &str {
        self.domains.get(id).map_or("", |row| row.text("name"))
    }
}
