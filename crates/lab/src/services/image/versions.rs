//! Versions of Glance.

use axum::response::Response;
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
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
