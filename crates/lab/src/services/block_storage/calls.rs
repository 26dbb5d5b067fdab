//! Cinder v3: volumes, snapshots, types, limits. With or without the project in the path: older clients put it there, newer ones
//! (since 3.67) do not, and the catalogue has it as installers write it.

use std::collections::BTreeMap;

use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::kit::answer::json_answer;
use crate::kit::ids::looks_like_id;
use crate::kit::microversion::VOLUME;
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::{
    attachments, backups, qos_specs, snapshots, type_admin, types, volume_actions, volumes,
};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/volume")
        .get("", versions)
        .get("/", versions)
        .get("/v3", version)
        .get("/v3/", version)
        .and(volumes::routes())
        .and(volume_actions::routes())
        .and(snapshots::routes())
        .and(types::routes())
        .and(type_admin::routes())
        .and(qos_specs::routes())
        .and(attachments::routes())
        .and(backups::routes())
}

/// Where the collections are: older clients put the project into the path.
pub const PREFIXES: &[&str] = &["/volume/v3", "/volume/v3/{tenant}"];

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

async fn versions(call: Call) -> Response {
    let all = json!({"versions": [version_document(&call.base)]});
    json_answer(300, all)
}

async fn version(call: Call) -> Response {
    let all = json!({"versions": [version_document(&call.base)]});
    json_answer(200, all)
}

/// The object of a body, as in `{"volume": {...}}`.
pub fn object<'a>(body: &'a Value, name: &str) -> Result<&'a Map<String, Value>, Refusal> {
    body.get(name).and_then(Value::as_object).ok_or_else(|| {
        Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {}. '{name}' is a required property",
            python::text(body.get(name).unwrap_or(body))
        ))
    })
}

/// A text of a body; null counts as not said.
pub fn text(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= 255 => Ok(Some(text.clone())),
        Some(other) => Err(wrong(name, other)),
    }
}

/// The key-value pairs of a body.
pub fn pairs(value: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
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
pub fn id(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match text(fields, name)? {
        Some(id) if !looks_like_id(&id) => Err(Refusal::bad_request(format!(
            "Invalid input for field/attribute {name}. Value: {id}. '{id}' is not valid under any of the given schemas"
        ))),
        other => Ok(other),
    }
}

pub fn wrong(name: &str, value: &Value) -> Refusal {
    Refusal::bad_request(format!(
        "Invalid input for field/attribute {name}. Value: {}. {} is not of the right type or too long",
        python::text(value),
        python::repr(value)
    ))
}
