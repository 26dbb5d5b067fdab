//! Barbican v1: versions, and common parts of secrets, containers and orders.
//!
//! Barbican loads a resource of any project and then applies its policy. A member of another project who knows the id
//! therefore gets 403, not 404.

pub(crate) mod collection;
pub(crate) mod containers;
pub(crate) mod orders;
pub(crate) mod secret;
pub(crate) mod secrets;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, json_answer, reply};
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::key_manager::secret::Owner;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/key-manager")
        .get("", versions)
        .get("/", versions)
        .and(v1())
}

fn v1() -> Routes {
    Routes::below("/key-manager/v1")
        .get("", version)
        .get("/", version)
        .get("/quotas", limits)
        .and(secrets::routes())
        .and(containers::routes())
        .and(orders::routes())
}

fn version_document(base: &str) -> Value {
    json!({
        "id": "v1",
        "status": "stable",
        "updated": "2015-04-28T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{base}/key-manager/v1/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.key-manager-v1+json"}],
    })
}

async fn limits(call: Call) -> Answer {
    call.member()?;
    let limits = json!({"secrets": -1, "orders": -1, "containers": -1, "consumers": -1, "cas": -1});
    reply(200, json!({ "quotas": limits }))
}

async fn versions(call: Call) -> Response {
    json_answer(300, json!({"versions": [version_document(&call.base)]}))
}

async fn version(call: Call) -> Response {
    json_answer(200, json!({"version": version_document(&call.base)}))
}

/// Refuses members of other projects. `attempt` is the operation in Barbican's words.
fn check_access(owner: &Owner, member: &Member, attempt: &str) -> Result<(), Refusal> {
    let same_project = owner.project_id == member.project_id;
    same_project
        .then_some(())
        .ok_or_else(|| not_allowed(attempt))
}

fn not_allowed(attempt: &str) -> Refusal {
    Refusal::forbidden(format!(
        "{attempt} attempt not allowed - please review your user/project privileges"
    ))
}

/// The owner of a new resource.
fn owner(member: &Member) -> Owner {
    Owner {
        project_id: member.project_id.clone(),
        creator_id: member.user_id.clone(),
    }
}

/// A body that does not fit, by the name of Barbican's schema.
fn schema(name: &str, reason: &str) -> Refusal {
    Refusal::bad_request(format!(
        "Provided object does not match schema '{name}': {reason}."
    ))
}

/// 201, with the place of what was made.
fn made(name: &str, place: String) -> Response {
    let mut response = json_answer(201, json!({name: place}));
    if let Ok(location) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}
