//! Calls that a fault strikes: carried out late, answered late, refused, cut off, garbled, or answered with a list that lags.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::time::sleep;

use crate::kit::faults::{CallFault, Damage, Faults};
use crate::kit::refusal::Refusal;
use crate::services::App;
use crate::services::router::{Incoming, done};

/// Carry a call out, and answer it, as the fault says.
pub(crate) async fn answer(incoming: Incoming, fault: CallFault) -> Response {
    let (cloud, service) = (App::clone(&incoming.cloud), incoming.service);
    let instead = match (fault.damage, fault.status) {
        (Some(Damage::CutBefore), _) => Some(cut()),
        (None, Some(status)) => Some(failed(service, status, fault.body.clone())),
        _ => None,
    };
    let mut response = match (instead, fault.commits_after_ms) {
        (Some(response), None) => response,
        (None, None) => incoming.carry_out().await,
        (instead, Some(after)) => match received(incoming).await {
            Err(incomplete) => incomplete,
            Ok(incoming) => {
                let late = tokio::spawn(async move {
                    sleep(Duration::from_millis(after)).await;
                    incoming.answer().await
                });
                match instead {
                    Some(response) => response,
                    None => done(late).await,
                }
            }
        },
    };
    if fault.lags_ms > 0 {
        let lag = Duration::from_millis(fault.lags_ms);
        response = without_young(&cloud.faults, lag, response).await;
    }
    if fault.delay_ms > 0 {
        sleep(Duration::from_millis(fault.delay_ms)).await;
    }
    response = match fault.damage {
        Some(Damage::CutAfter) => cut(),
        Some(Damage::WrongJson) => as_json(response.status(), "{\"this is\": not JSON".into()),
        Some(Damage::CutBefore) | None => response,
    };
    for (name, value) in &fault.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The call with its whole body, which does not need the connection any more. The answer if the connection ended before.
async fn received(mut incoming: Incoming) -> Result<Incoming, Response> {
    let (parts, body) = incoming.request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await;
    let bytes = bytes.map_err(|_| StatusCode::BAD_REQUEST.into_response())?;
    incoming.request = Request::from_parts(parts, Body::from(bytes));
    Ok(incoming)
}

/// An answer whose body ends too early, so that the connection is cut.
fn cut() -> Response {
    let broken = futures::stream::iter([
        Ok::<_, std::io::Error>(Bytes::from_static(b"{")),
        Err(std::io::Error::new(
            std::io::ErrorKind::ConnectionReset,
            "cut on purpose",
        )),
    ]);
    Response::new(Body::from_stream(broken))
}

fn failed(service: &str, status: u16, body: Option<String>) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match body {
        Some(body) => as_json(code, body),
        None => {
            let sentence = "The lab was told to fail here.";
            Refusal::new(status, "FaultOnPurpose", sentence).answer(service)
        }
    }
}

fn as_json(status: StatusCode, body: String) -> Response {
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], body).into_response()
}

/// Note the things that a call has made, by the ids in its answer.
pub(crate) async fn note_births(faults: &Faults, response: Response) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let location = response.headers().get(header::LOCATION);
    let place = location
        .and_then(|place| place.to_str().ok())
        .map(last_part);
    faults.note_births(place.map(str::to_owned));
    rewritten(response, |body| {
        // `{"port": {...}}`, `{"ports": [{...}]}`, or the thing itself, as Glance answers.
        let fields = body.as_object().into_iter().flat_map(|body| body.values());
        let listed = fields
            .clone()
            .flat_map(|field| field.as_array().into_iter().flatten());
        let ids = std::iter::once(&*body).chain(fields).chain(listed);
        faults.note_births(ids.filter_map(id_of).map(str::to_owned));
    })
    .await
}

/// A list without the things that are younger than its lag. Any other answer stays as it is.
async fn without_young(faults: &Faults, lag: Duration, response: Response) -> Response {
    rewritten(response, |body| {
        let fields = body.as_object_mut().into_iter();
        for list in fields.flat_map(|fields| fields.values_mut().filter_map(Value::as_array_mut)) {
            list.retain(|thing| id_of(thing).is_none_or(|id| !faults.is_younger(id, lag)));
        }
    })
    .await
}

/// A thing's id. Barbican gives addresses instead.
fn id_of(thing: &Value) -> Option<&str> {
    let id = thing.get("id").and_then(Value::as_str);
    let mut references = ["secret_ref", "container_ref", "order_ref"].iter();
    id.or_else(|| references.find_map(|name| thing.get(name)?.as_str().map(last_part)))
}

fn last_part(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

/// An answer with its JSON body read and changed. A body that is not JSON stays.
async fn rewritten(response: Response, change: impl FnOnce(&mut Value)) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return cut();
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
