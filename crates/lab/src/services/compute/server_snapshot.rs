//! Nova v2.1: `createImage` and `createBackup`: a server's disk of this moment as an image of Glance. With containers, it is the
//! container's files, and servers with that image begin with them; its data cannot be downloaded.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::kit::answer::json_answer;
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::services::Call;
use crate::services::compute::invalid;
use crate::services::compute::progress::Rotation;
use crate::services::compute::server::Status;
use crate::services::compute::server_body::read_metadata;
use crate::services::image::record::{Image, Origin};

/// Begin to make an image.
pub fn create_image(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let name = text("createImage", details, "name")?;
    let mut properties = metadata(details)?;
    properties.insert("image_type".into(), "snapshot".into());
    call.begin("createImage", FROM, Some("image_snapshot"))?;
    let id = take_image(call, name, properties)?;
    call.app
        .spawn_snapshot(call.id().to_owned(), id.clone(), None);
    Ok(made(call, &id, Location::Told))
}

/// Begin to make a backup. When it is there, the oldest backups of its type beyond `rotation` go.
pub fn create_backup(call: &Call, details: &Value) -> Result<Response, Refusal> {
    let name = text("createBackup", details, "name")?;
    let backup_type = text("createBackup", details, "backup_type")?;
    let keep = rotation(details)?;
    let mut properties = metadata(details)?;
    properties.insert("image_type".into(), "backup".into());
    properties.insert("backup_type".into(), backup_type.into());
    let volume_backed = call.read_server(|_, server| server.image_id.is_empty())?;
    if volume_backed {
        return Err(Refusal::bad_request(
            "Backup is not supported for volume-backed instances.",
        ));
    }
    call.begin("createBackup", FROM, Some("image_backup"))?;
    let id = take_image(call, name, properties)?;
    let rotation = Rotation {
        backup_type: backup_type.into(),
        keep,
    };
    call.app
        .spawn_snapshot(call.id().to_owned(), id.clone(), Some(rotation));
    let location = match keep {
        0 => Location::Untold,
        _ => Location::Told,
    };
    Ok(made(call, &id, location))
}

/// The states from which an image can be made.
const FROM: &[Status] = &[
    Status::Active,
    Status::Shutoff,
    Status::Paused,
    Status::Suspended,
];

fn text<'a>(action: &str, details: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    let text = details[name].as_str().filter(|text| !text.is_empty());
    let reason = format!("'{name}' is a required property");
    text.ok_or_else(|| invalid(action, details, &reason))
}

/// How many backups are kept: a number, or digits.
fn rotation(details: &Value) -> Result<usize, Refusal> {
    let said = &details["rotation"];
    let reason = match said {
        Value::Null => {
            return Err(invalid(
                "createBackup",
                details,
                "'rotation' is a required property",
            ));
        }
        Value::Number(number) => match number.as_u64().and_then(|n| usize::try_from(n).ok()) {
            Some(number) => return Ok(number),
            None => format!("{number} is less than the minimum of 0"),
        },
        Value::String(text) => match text.parse() {
            Ok(number) => return Ok(number),
            Err(_) => format!("'{text}' does not match '^[0-9]*$'"),
        },
        other => format!("{other} is not of type 'integer', 'string'"),
    };
    Err(invalid("rotation", said, &reason))
}

fn metadata(details: &Value) -> Result<BTreeMap<String, String>, Refusal> {
    match details.get("metadata") {
        None => Ok(BTreeMap::new()),
        some => read_metadata(some),
    }
}

/// Put the image's row, which has no data yet, into Glance. Answers its id.
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
        // A server made from a backup is no backup.
        image.properties.remove("backup_type");
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

/// Whether old clients are told where the image is.
enum Location {
    Told,
    Untold,
}

/// The answer, in a body since 2.45.
fn made(call: &Call, id: &str, location: Location) -> Response {
    if call.version >= Microversion(2, 45) {
        return json_answer(202, json!({ "image_id": id }));
    }
    let mut response = axum::http::StatusCode::ACCEPTED.into_response();
    if let (Location::Told, Ok(place)) = (
        location,
        format!("{}/image/v2/images/{id}", call.base).try_into(),
    ) {
        response.headers_mut().insert("location", place);
    }
    response
}
