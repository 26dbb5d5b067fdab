//! Bodies in each service's words: answers, and above all refusals.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use crate::model::refusal::Refusal;

/// JSON with a status.
pub fn json_answer(status: u16, body: Value) -> Response {
    (
        StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
        Json(body),
    )
        .into_response()
}

/// A status alone.
pub fn empty_answer(status: u16) -> Response {
    StatusCode::from_u16(status)
        .unwrap_or(StatusCode::NO_CONTENT)
        .into_response()
}

/// Read a JSON body.
pub fn read_json(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes).map_err(|_| {
        Refusal::bad_request(
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        )
    })
}

macro_rules! service_errors {
    ($($(#[$doc:meta])* $name:ident => $render:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub Refusal);

        impl From<Refusal> for $name {
            fn from(refusal: Refusal) -> Self {
                Self(refusal)
            }
        }

        impl IntoResponse for $name {
            fn into_response(self) -> Response {
                let mut response = if self.0.status == 401 { unauthorized() } else { $render(self.0) };
                if response.status() == StatusCode::TOO_MANY_REQUESTS {
                    response.headers_mut().entry("retry-after").or_insert(HeaderValue::from_static("1"));
                }
                response
            }
        }
    )*};
}

service_errors! {
    /// Keystone: `{"error": {code, message, title}}`.
    KeystoneError => |refusal: Refusal| {
        json_answer(refusal.status, json!({"error": {"code": refusal.status, "message": refusal.message, "title": title(refusal.status)}}))
    };
    /// Nova: `{"itemNotFound": {code, message}}`.
    NovaError => |refusal: Refusal| {
        let fault = match refusal.status {
            400 => "badRequest",
            403 => "forbidden",
            404 => "itemNotFound",
            405 => "badMethod",
            409 => "conflictingRequest",
            413 | 429 => "overLimit",
            415 => "badMediaType",
            501 => "notImplemented",
            503 => "serviceUnavailable",
            _ => "computeFault",
        };
        json_answer(refusal.status, json!({fault: {"code": refusal.status, "message": refusal.message}}))
    };
    /// Cinder: like Nova, with a word of its own for too much.
    CinderError => |refusal: Refusal| {
        let fault = match refusal.status {
            400 => "badRequest",
            403 => "forbidden",
            404 => "itemNotFound",
            405 => "badMethod",
            409 => "conflictingRequest",
            413 => "overLimit",
            415 => "badMediaType",
            429 => "overLimit",
            501 => "notImplemented",
            503 => "serviceUnavailable",
            _ => "computeFault",
        };
        let mut body = json!({"code": refusal.status, "message": refusal.message});
        if refusal.status == 413 {
            body["retryAfter"] = "0".into();
        }
        json_answer(refusal.status, json!({fault: body}))
    };
    /// Neutron: `{"NeutronError": {type, message, detail}}`.
    NeutronError => |refusal: Refusal| {
        json_answer(refusal.status, json!({"NeutronError": {"type": refusal.kind, "message": refusal.message, "detail": ""}}))
    };
    /// Glance: a page of HTML.
    GlanceError => |refusal: Refusal| {
        let (status, title) = (refusal.status, title(refusal.status));
        let page = format!(
            "<html>\n <head>\n  <title>{status} {title}</title>\n </head>\n <body>\n  <h1>{status} {title}</h1>\n  {}<br /><br />\n\n\n\n \
             </body>\n</html>",
            refusal.message.replace('&', "&amp;").replace('<', "&lt;")
        );
        (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), Html(page)).into_response()
    };
    /// Octavia: as its web framework words it.
    OctaviaError => |refusal: Refusal| {
        let code = if refusal.status < 500 { "Client" } else { "Server" };
        json_answer(refusal.status, json!({"faultcode": code, "faultstring": refusal.message, "debuginfo": null}))
    };
    /// Barbican: `{code, title, description}`.
    BarbicanError => |refusal: Refusal| {
        json_answer(refusal.status, json!({"code": refusal.status, "title": title(refusal.status), "description": refusal.message}))
    };
}

/// What the token check in front of every service says.
fn unauthorized() -> Response {
    let refusal = Refusal::unauthorized();
    let body = json!({"error": {"code": 401, "message": refusal.message, "title": "Unauthorized"}});
    let mut response = json_answer(401, body);
    let challenge = HeaderValue::from_static("Keystone uri=\"/identity\"");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn title(status: u16) -> &'static str {
    StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Error")
}
