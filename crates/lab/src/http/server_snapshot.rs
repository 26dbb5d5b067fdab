//! Nova v2.1: `createImage`: a server's disk of this moment as an image of Glance. With containers, it is the container's files, and
//! servers with that image begin with them; its data cannot be downloaded.

use axum::response::Response;
use serde_json::{Value, json};

use super::App;
use super::answer::{empty_answer, json_answer};
use super::compute::invalid;
use super::microversion::Microversion;
use super::on_server::OnServer;
use super::server_body::read_metadata;
use crate::model::image::{Image, Origin};
use crate::model::refusal::Refusal;
use crate::model::server::Status;

/// Begin to make it.
pub fn create_image(app: &App, on: &OnServer, details: &Value) -> Result<Response, Refusal> {
    let name = details["name"].as_str().filter(|name| !name.is_empty());
    let name =
        name.ok_or_else(|| invalid("createImage", details, "'name' is a required property"))?;
    let metadata = match details.get("metadata") {
        None => Default::default(),
        some => read_metadata(some)?,
    };
    let from = [
        Status::Active,
        Status::Shutoff,
        Status::Paused,
        Status::Suspended,
    ];
    on.begin(app, "createImage", &from, Some("image_snapshot"))?;
    let member = on.member()?;
    let id = app.change(|model| {
        let server = model.servers.get(on.id()).cloned();
        let server = server.ok_or_else(|| super::on_server::not_found(on.id()))?;
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
        // What the old image said about its system holds for the new one.
        image.properties = old.map(|old| old.properties).unwrap_or_default();
        image.properties.extend(metadata);
        for (name, value) in [
            ("image_type", "snapshot"),
            ("instance_uuid", on.id()),
            ("base_image_ref", &server.image_id),
            ("user_id", &member.user_id),
        ] {
            image.properties.insert(name.into(), value.into());
        }
        let id = image.id.clone();
        model.images.insert(image);
        Ok::<_, Refusal>(id)
    })?;
    app.spawn_snapshot(on.id().to_owned(), id.clone());
    let mut response = match on.version >= Microversion(2, 45) {
        true => json_answer(202, json!({ "image_id": id })),
        false => empty_answer(202),
    };
    if on.version < Microversion(2, 45)
        && let Ok(place) = format!("{}/image/v2/images/{id}", on.base).try_into()
    {
        response.headers_mut().insert("location", place);
    }
    Ok(response)
}
