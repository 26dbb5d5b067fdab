//! Glance v2: its versions, and the schemas of images and of lists of them.

use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, json_answer, reply};
use crate::services::Call;

pub async fn versions(call: Call) -> Response {
    let link = json!([{"rel": "self", "href": format!("{}/image/v2/", call.base)}]);
    let version = |minor: u8, status: &str| json!({"id": format!("v2.{minor}"), "status": status, "links": link});
    let supported = (0..9)
        .rev()
        .filter(|minor| *minor != 8)
        .map(|minor| version(minor, "SUPPORTED"));
    let all: Vec<Value> = std::iter::once(version(9, "CURRENT"))
        .chain(supported)
        .collect();
    json_answer(300, json!({ "versions": all }))
}

pub async fn image(call: Call) -> Answer {
    call.token()?;
    let text = json!({"type": ["null", "string"]});
    let properties = json!({
        "id": {"type": "string", "readOnly": true},
        "name": text,
        "status": {"type": "string", "readOnly": true, "enum": ["queued", "saving", "active", "killed", "deleted", "deactivated"]},
        "visibility": {"type": "string", "enum": ["community", "public", "private", "shared"]},
        "os_admin_user": text,
        "os_distro": text,
        "os_version": text,
    });
    reply(
        200,
        json!({"name": "image", "properties": properties, "additionalProperties": {"type": "string"}}),
    )
}

pub async fn images(call: Call) -> Answer {
    call.token()?;
    reply(
        200,
        json!({"name": "images", "properties": {"images": {"type": "array"}}}),
    )
}
