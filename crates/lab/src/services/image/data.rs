//! Glance v2: the upload and the download of an image's data.

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha512};

use crate::kit::answer::{Answer, empty};
use crate::kit::ids::hex;
use crate::kit::refusal::Refusal;
use crate::services::image::record::ImageStatus;
use crate::services::image::{body_is, changed, owned, seen};
use crate::services::{App, Call, Routes};

/// The lab keeps no larger images.
const DATA_BYTES_MAX: usize = 1 << 30;

pub fn routes() -> Routes {
    Routes::below("/image/v2")
        .get("/images/{id}/file", download)
        .put("/images/{id}/file", upload)
}

async fn upload(call: Call, request: Request) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    body_is(request.headers(), &["application/octet-stream"])?;
    call.app.change(|model| {
        let row = owned(model, &member, id, "upload_image")?;
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
        if let Some(row) = model.images.get_mut(id) {
            row.status = ImageStatus::Saving;
        }
        Ok(())
    })?;
    let data = to_bytes(request.into_body(), DATA_BYTES_MAX).await;
    let stored = data
        .map_err(std::io::Error::other)
        .and_then(|data| keep(&call.app, id, data));
    match stored {
        Ok((size, sha512, md5)) => {
            changed(&call.app, id, |row| {
                row.size = Some(size);
                row.os_hash_value = Some(sha512);
                row.checksum = Some(md5);
                row.status = ImageStatus::Active;
            });
            empty(204)
        }
        Err(error) => {
            changed(&call.app, id, |row| row.status = ImageStatus::Queued);
            Err(Refusal::bad_request(format!(
                "The data did not arrive whole: {error}"
            )))
        }
    }
}

/// Stores data. Returns their size, SHA-512 and MD5.
fn keep(app: &App, id: &str, data: Bytes) -> std::io::Result<(u64, String, String)> {
    let size = data.len() as u64;
    let sha512 = hex(&Sha512::digest(&data));
    let md5 = hex(&<md5::Md5 as md5::Digest>::digest(&data));
    app.blobs.put(id, data)?;
    Ok((size, sha512, md5))
}

async fn download(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let row = call.app.read(|model| seen(model, &member, id).cloned())?;
    let Some(data) = call.app.blobs.get(id) else {
        // The lab's own image is a container image; Glance says nothing about data that are not there.
        return empty(204);
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
