//! Lists that lag: the ids of new resources are recorded, and lists omit those that are younger than the lag.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header;
use axum::response::Response;
use serde_json::Value;

use crate::kit::faults::Faults;

/// Records the ids of the resources in the response of a creation.
pub(crate) async fn record_created(faults: &Faults, response: Response) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let location = response.headers().get(header::LOCATION);
    let place = location
        .and_then(|place| place.to_str().ok())
        .map(last_part);
    faults.record_created(place.map(str::to_owned));
    rewritten(response, |body| {
        // `{"port": {...}}`, `{"ports": [{...}]}`, or the resource itself, as in Glance's responses.
        let fields = body.as_object().into_iter().flat_map(|body| body.values());
        let listed = fields
            .clone()
            .flat_map(|field| field.as_array().into_iter().flatten());
        let ids = std::iter::once(&*body).chain(fields).chain(listed);
        faults.record_created(ids.filter_map(id_of).map(str::to_owned));
    })
    .await
}

/// Removes the resources that are younger than the lag from a list. Other responses are not changed.
pub(crate) async fn without_recent(faults: &Faults, lag: Duration, response: Response) -> Response {
    rewritten(response, |body| {
        let fields = body.as_object_mut().into_iter();
        for list in fields.flat_map(|fields| fields.values_mut().filter_map(Value::as_array_mut)) {
            list.retain(|document| id_of(document).is_none_or(|id| !faults.is_younger(id, lag)));
        }
    })
    .await
}

/// A resource's id. Barbican returns URLs instead.
fn id_of(document: &Value) -> Option<&str> {
    let id = document.get("id").and_then(Value::as_str);
    let mut references = ["secret_ref", "container_ref", "order_ref"].iter();
    id.or_else(|| references.find_map(|name| document.get(name)?.as_str().map(last_part)))
}

fn last_part(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

/// A response with a changed JSON body. Other bodies are not changed.
async fn rewritten(response: Response, change: impl FnOnce(&mut Value)) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return cut_connection();
    };
    let body = match serde_json::from_slice::<Value>(&bytes) {
        Err(_) => Body::from(bytes),
        Ok(mut json) => {
            change(&mut json);
            parts.headers.remove(header::CONTENT_LENGTH);
            Body::from(json.to_string())
        }
    };
    Response::from_parts(parts, body)
}

/// A response with a truncated body, which cuts the connection.
pub(crate) fn cut_connection() -> Response {
    let broken = futures::stream::iter([
        Ok::<_, std::io::Error>(Bytes::from_static(b"{")),
        Err(std::io::Error::new(
            std::io::ErrorKind::ConnectionReset,
            "cut on purpose",
        )),
    ]);
    Response::new(Body::from_stream(broken))
}
