//! Glance v2: an image's data: up, down, and the stages of an import.

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post, put};
use serde_json::json;
use sha2::{Digest as _, Sha512};

use super::{Answer, body_is, changed, owned, seen};
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::Caller;
use crate::model::ids::hex;
use crate::model::image::ImageStatus;
use crate::model::refusal::Refusal;

/// The lab keeps no larger images.
const DATA_BYTES_MAX: usize = 1 << 30;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/image/v2/images/{id}/file", get(download).put(upload))
        .route("/image/v2/images/{id}/stage", put(upload))
        .route("/image/v2/images/{id}/import", post(import))
        .route("/image/v2/info/import", get(import_methods))
        .route("/image/v2/info/stores", get(stores))
}

async fn upload(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Answer {
    let member = caller.member()?;
    body_is(request.headers(), &["application/octet-stream"])?;
    let staged = request.uri().path().ends_with("/stage");
    app.change(|model| {
        let row = owned(model, &member, &id, "upload_image")?;
        if row.status != ImageStatus::Queued {
            return Err(Refusal::conflict(
                "InvalidImageStatusTransition",
                "Image status transition from active to saving is not allowed",
            ));
        }
        if row.disk_format.is_none() || row.container_format.is_none() {
            return Err(Refusal::bad_request(
                "Properties disk_format, container_format must be set prior to saving data.",
            ));
        }
        if let Some(row) = model.images.get_mut(&id) {
            row.status = ImageStatus::Saving;
        }
        Ok(())
    })?;
    let data = to_bytes(request.into_body(), DATA_BYTES_MAX).await;
    let kept = data
        .map_err(std::io::Error::other)
        .and_then(|data| keep(&app, &id, data));
    match kept {
        Ok((size, sha512, md5)) => {
            changed(&app, &id, |row| {
                row.size = Some(size);
                row.os_hash_value = Some(sha512);
                row.checksum = Some(md5);
                // What is staged waits for its import.
                if !staged {
                    row.status = ImageStatus::Active;
                }
            });
            Ok(empty_answer(204))
        }
        Err(error) => {
            changed(&app, &id, |row| row.status = ImageStatus::Queued);
            Err(Refusal::bad_request(format!("The data did not arrive whole: {error}")).into())
        }
    }
}

/// Keep data; answers their size, SHA-512 and MD5.
fn keep(app: &App, id: &str, data: Bytes) -> std::io::Result<(u64, String, String)> {
    let size = data.len() as u64;
    let sha512 = hex(&Sha512::digest(&data));
    let md5 = hex(&<md5::Md5 as md5::Digest>::digest(&data));
    app.blobs.put(id, data)?;
    Ok((size, sha512, md5))
}

async fn download(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let row = app.read(|model| seen(model, &member, &id).cloned())?;
    if row.status == ImageStatus::Deactivated && !member.admin {
        return Err(Refusal::forbidden(
            "The requested image has been deactivated. Image data download is forbidden.",
        )
        .into());
    }
    let Some(data) = app.blobs.get(&id) else {
        // The lab's own image is a container image; Glance says nothing about data that are not there.
        return Ok(empty_answer(204));
    };
    let mut response: Response = (StatusCode::OK, data).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    if let Some(md5) = row.checksum.and_then(|md5| HeaderValue::try_from(md5).ok()) {
        headers.insert("content-md5", md5);
    }
    Ok(response)
}

/// `glance-direct` after staging; fetching from elsewhere is refused: the lab calls nobody.
async fn import(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let method = body["method"]["name"].as_str().unwrap_or_default();
    if method != "glance-direct" {
        return Err(Refusal::bad_request(format!("Unknown import method name '{method}'.")).into());
    }
    let ready = app.read(|model| {
        let row = owned(model, &member, &id, "modify_image")?;
        Ok::<_, Refusal>(row.status == ImageStatus::Saving && row.size.is_some())
    })?;
    if !ready {
        return Err(Refusal::conflict(
            "Conflict",
            "Only images with status 'uploading' can be imported",
        )
        .into());
    }
    changed(&app, &id, |row| row.status = ImageStatus::Active);
    Ok(empty_answer(202))
}

async fn import_methods(caller: Caller) -> Answer {
    caller.token()?;
    let methods = json!({"description": "Import methods available.", "type": "array", "value": ["glance-direct"]});
    Ok(json_answer(200, json!({ "import-methods": methods })))
}

async fn stores(caller: Caller) -> Answer {
    caller.token()?;
    let one = json!([{"id": "local", "default": "true"}]);
    Ok(json_answer(200, json!({ "stores": one })))
}
