//! Cinder v3: volumes, snapshots, types, limits. With or without the project in the path: older clients put it there, newer ones
//! (since 3.67) do not, and the catalogue has it as installers write it.

mod attachments;
mod backups;
mod pieces;
mod qos_specs;
mod snapshots;
mod type_admin;
mod types;
mod view;
mod volume_actions;
mod volumes;

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use axum::Router;
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Map, Value, json};

use super::answer::{CinderError, json_answer};
use super::microversion::VOLUME;
use super::token::{Caller, Member};
use super::{App, base_url, python};
use crate::model::ids::looks_like_id;
use crate::model::refusal::Refusal;

/// What handlers give.
type Answer = Result<Response, CinderError>;

pub fn routes() -> Router<App> {
    let mut router = Router::new()
        .route("/volume", get(versions))
        .route("/volume/", get(versions))
        .route("/volume/v3", get(version))
        .route("/volume/v3/", get(version));
    for prefix in ["/volume/v3", "/volume/v3/{project}"] {
        router = router
            .merge(volumes::routes(prefix))
            .merge(volume_actions::routes(prefix))
            .merge(snapshots::routes(prefix))
            .merge(types::routes(prefix))
            .merge(type_admin::routes(prefix))
            .merge(qos_specs::routes(prefix))
            .merge(attachments::routes(prefix))
            .merge(backups::routes(prefix));
    }
    router
}

fn version_document(base: &str) -> Value {
    json!({
        "id": "v3.0",
        "status": "CURRENT",
        "version": VOLUME.newest.to_string(),
        "min_version": VOLUME.oldest.to_string(),
        "updated": "2022-03-30T00:00:00Z",
        "links": [
            {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
            {"rel": "self", "href": format!("{base}/volume/v3/")},
        ],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}],
    })
}

async fn versions(headers: HeaderMap) -> Response {
    let all = json!({"versions": [version_document(&base_url(&headers))]});
    json_answer(300, all)
}

async fn version(headers: HeaderMap) -> Response {
    let all = json!({"versions": [version_document(&base_url(&headers))]});
    json_answer(200, all)
}

/// The caller, and the parts of the path.
struct Asked {
    member: Result<Member, Refusal>,
    project: Option<String>,
    parts: HashMap<String, String>,
    /// Where the client found us.
    base: String,
}

impl Asked {
    /// The caller, in the project of the path if it names one.
    fn member(&self) -> Result<Member, Refusal> {
        let member = self.member.clone()?;
        match &self.project {
            Some(project) if *project != member.project_id => {
                Err(Refusal::bad_request("Malformed request url"))
            }
            _ => Ok(member),
        }
    }

    /// A part of the path.
    fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    fn id(&self) -> &str {
        self.part("id")
    }
}

impl FromRequestParts<App> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Ok(caller) = Caller::from_request_parts(parts, app).await;
        let found = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        let mut found = found.map(|Path(found)| found).unwrap_or_default();
        Ok(Self {
            member: caller.member(),
            project: found.remove("project"),
            parts: found,
            base: base_url(&parts.headers),
        })
    }
}

/// The object of a body, as in `{"volume": {...}}`.
fn object<'a>(body: &'a Value, name: &str) -> Result<&'a Map<String, Value>, Refusal> {
    body.get(name).and_then(Value::as_object).ok_or_else(|| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {}. '{name}' is a required property",
            python::text(body.get(name).unwrap_or(body))
        ))
    })
}

/// A text of a body; null counts as not said.
fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= 255 => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, other)),
    }
}

/// The key-value pairs of a body.
fn pairs(value: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let pairs: BTreeMap<String, String> =
        serde_json::from_value(value.clone()).map_err(|_| wrong("metadata", value))?;
    let is_long = |text: &String| text.chars().count() > 255;
    match pairs
        .iter()
        .any(|(key, value)| is_long(key) || is_long(value))
    {
        true => Err(wrong("metadata", value)),
        false => Ok(pairs),
    }
}

/// The id of another thing: what has not the form of one is refused before anybody looks for it.
fn id(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match text(fields, name)? {
        Some(id) if !looks_like_id(&id) => Err(Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {id}. '{id}' is not valid under any of the given schemas"
        ))),
        other => Ok(other),
    }
}

fn wrong(name: &str, value: &Value) -> Refusal {
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {name}. Value: {}. {} is not of the right type or too long",
        python::text(value),
        python::repr(value)
    ))
}
