//! Nova v2.1: `createImage` saves a server's disk as an image of Glance.
//!
//! With containers, the image contains the container's files. Servers that use it start with them. Its data cannot be
//! downloaded.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::Call;
use crate::services::compute::invalid;
use crate::services::compute::server::Status;
use crate::services::compute::server_body::read_metadata;
use crate::services::image::record::{Image, Origin};

/// Starts the snapshot.
pub fn create_image(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let name = required_name(details)?;
    let mut properties = metadata(details)?;
    properties.insert("image_type".into(), "snapshot".into());
    call.begin("createImage", FROM, Some("image_snapshot"))?;
    let id = take_image(call, name, properties)?;
    call.app.spawn_snapshot(call.id().to_owned(), id.clone());
    Ok(accepted(call, &id))
}

/// The states from which an image can be made.
const FROM: &[Status] = &[
    Status::Active,
    Status::Shutoff,
    Status::Paused,
    Status::Suspended,
];

fn required_name(details: &Value) -> Result<&str, Refusal> {
    let name = details["name"].as_str().filter(|text| !text.is_empty());
    name.ok_or_else(|| invalid("createImage", details, "'name' is a required property"))
}

fn metadata(details: &Value) -> Result<BTreeMap<String, String>, Refusal> {
    match details.get("metadata") {
        None => Ok(BTreeMap::new()),
        some => read_metadata(some),
    }
}

/// Adds the image, which has no data yet, to Glance. Returns its id.
fn take_image(
    call: &Call,
    name: &str,
    properties: BTreeMap<String, String>,
) -> Result<String, Refusal> {
    let member = call.member()?;
    call.app.change(|model| {
        let server = model.servers.get(call.id()).cloned();
        let server =
            server.ok_or_else(|| crate::services::compute::on_server::not_found(call.id()))?;
        let old = model.images.get(&server.image_id).cloned();
        let mut image = Image::new(&member.project_id);
        image.name = Some(name.into());
        image.visibility = "private".into();
        image.disk_format = Some("raw".into());
        image.container_format = Some("bare".into());
        image.origin = Origin::Snapshot;
        image.min_disk = model
            .flavors
            .get(&server.flavor_id)
            .map_or(0, |flavor| flavor.disk);
        // The new image keeps the old image's properties about its system.
        image.properties = old.map(|old| old.properties).unwrap_or_default();
        image.properties.extend(properties);
        for (name, value) in [
            ("instance_uuid", call.id()),
            ("base_image_ref", &server.image_id),
            ("user_id", &member.user_id),
        ] {
            image.properties.insert(name.into(), value.into());
        }
        let id = image.id.clone();
        model.images.insert(image);
        Ok::<_, Refusal>(id)
    })
}

/// The response. Since 2.45 the id is in its body, before that the image's address is a header.
fn accepted(call: &Call, id: &str) -> Response {
    if call.version >= Microversion(2, 45) {
        return json_answer(202, json!({ "image_id": id }));
    }
    let mut response = axum::http::StatusCode::ACCEPTED.into_response();
    if let Ok(address) = format!("{}/image/v2/images/{id}", call.base).try_into() {
        response.headers_mut().insert("location", address);
    }
    response
}
