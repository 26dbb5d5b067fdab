//! Barbican v1: versions, and what secrets, containers and orders have in common.
//!
//! Barbican finds a thing whosever it is and then asks its policy, so a stranger who knows an id is told 403 and not 404.

pub(crate) mod acls;
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
use crate::services::key_manager::secret::Guard;
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
        .and(acls::routes())
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

/// The kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Change,
}

/// Whether a caller may; `what` is the attempt in Barbican's words.
fn may(guard: &Guard, member: &Member, way: Way, what: &str) -> Result<(), Refusal> {
    let (project, user, admin) = (&member.project_id, &member.user_id, member.admin);
    let lets = match way {
        Way::Read => guard.lets_read(project, user, admin),
        Way::Change => guard.lets_change(project, user, admin),
    };
    lets.then_some(()).ok_or_else(|| not_allowed(what))
}

fn not_allowed(what: &str) -> Refusal {
    Refusal::forbidden(format!(
        "{what} attempt not allowed - please review your user/project privileges"
    ))
}

/// The guard of something new.
fn guard(member: &Member) -> Guard {
    Guard {
        project_id: member.project_id.clone(),
        creator_id: member.user_id.clone(),
        acl: None,
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
