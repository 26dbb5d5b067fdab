//! Calls with a fault: late execution, late response, refusal, cut connection, damaged body, or a list that lags.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::sleep;

use crate::kit::faults::{CallFault, Damage};
use crate::kit::refusal::Refusal;
use crate::services::App;
use crate::services::incoming::{ReceivedCall, done};
use crate::services::lagging::{cut_connection, without_recent};

/// Executes a call and responds to it according to the fault.
pub(crate) async fn respond_with_fault(incoming: ReceivedCall, fault: CallFault) -> Response {
    let (cloud, service) = (App::clone(&incoming.cloud), incoming.service);
    if fault.releases_held {
        cloud.faults.release().await;
    }
    let instead = match (fault.damage, fault.status) {
        (Some(Damage::CutBefore), _) => Some(cut_connection()),
        (None, Some(status)) => Some(failed(service, status, fault.body.clone())),
        _ => None,
    };
    let mut response = match (instead, fault.commits_after_ms) {
        (instead, _) if fault.is_held => match received(incoming).await {
            Err(incomplete) => incomplete,
            Ok(incoming) => {
                cloud.faults.hold(async move {
                    incoming.answer().await;
                });
                instead.unwrap_or_else(cut_connection)
            }
        },
        (Some(response), None) => response,
        (None, None) => incoming.execute().await,
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
        response = without_recent(&cloud.faults, lag, response).await;
    }
    if fault.delay_ms > 0 {
        sleep(Duration::from_millis(fault.delay_ms)).await;
    }
    response = match fault.damage {
        Some(Damage::CutAfter) => cut_connection(),
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

/// Reads the whole body, so that the call no longer needs the connection. Returns an error response if the body is
/// incomplete.
async fn received(mut incoming: ReceivedCall) -> Result<ReceivedCall, Response> {
    let (parts, body) = incoming.request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await;
    let bytes = bytes.map_err(|_| StatusCode::BAD_REQUEST.into_response())?;
    incoming.request = Request::from_parts(parts, Body::from(bytes));
    Ok(incoming)
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
