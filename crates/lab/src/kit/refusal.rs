//! Refusals of requests, and their conversion into each service's error body.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status of the real service.
    pub status: u16,
    /// The exception's name. Neutron shows it as `type`; the others do not show it.
    pub kind: &'static str,
    /// The message, in the real service's wording.
    pub message: String,
}

impl Refusal {
    /// A refusal with all its parts.
    pub fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
        }
    }

    /// HTTP 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "HTTPBadRequest", message)
    }

    /// HTTP 400 for an attribute's value, in Neutron's wording.
    pub fn invalid_input(attribute: &str, reason: impl std::fmt::Display) -> Self {
        Self::bad_request(format!("Invalid input for {attribute}. Reason: {reason}."))
    }

    /// HTTP 400 for an unsupported operation, in Neutron's wording.
    pub fn invalid_operation(reason: impl std::fmt::Display) -> Self {
        Self::new(
            400,
            "InvalidInput",
            format!("Invalid input for operation: {reason}."),
        )
    }

    /// HTTP 401, in the wording of the token middleware.
    pub fn unauthorized() -> Self {
        Self::new(
            401,
            "Unauthorized",
            "The request you have made requires authentication.",
        )
    }

    /// HTTP 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "PolicyNotAuthorized", message)
    }

    /// HTTP 404.
    pub fn not_found(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(404, kind, message)
    }

    /// HTTP 409.
    pub fn conflict(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(409, kind, message)
    }
}

/// The response is a placeholder: the router replaces it by the service's error body.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = code(self.status).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl Refusal {
    /// The response of a service, by its name in the catalogue.
    pub fn answer(self, service: &str) -> Response {
        let mut response = match (self.status, service) {
            (401, _) => self.unauthenticated(),
            (_, "image") => self.page(),
            _ => (code(self.status), Json(self.body(service))).into_response(),
        };
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            let headers = response.headers_mut();
            let entry = headers.entry(header::RETRY_AFTER);
            entry.or_insert(HeaderValue::from_static("1"));
        }
        response
    }

    /// The error body of a service.
    fn body(&self, service: &str) -> Value {
        let (code, message) = (self.status, &self.message);
        match service {
            "identity" => {
                json!({"error": {"code": code, "message": message, "title": self.title()}})
            }
            "compute" => json!({self.fault(): {"code": code, "message": message}}),
            // As in Nova, with another field for 413.
            "block-storage" if code == 413 => {
                json!({self.fault(): {"code": code, "message": message, "retryAfter": "0"}})
            }
            "block-storage" => json!({self.fault(): {"code": code, "message": message}}),
            "network" => {
                json!({"NeutronError": {"type": self.kind, "message": message, "detail": ""}})
            }
            "load-balancer" => {
                let side = if code < 500 { "Client" } else { "Server" };
                json!({"faultcode": side, "faultstring": message, "debuginfo": null})
            }
            _ => json!({"code": code, "title": self.title(), "description": message}),
        }
    }

    /// The key of Nova's and Cinder's error bodies.
    fn fault(&self) -> &'static str {
        match self.status {
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
        }
    }

    /// Glance's error: an HTML page.
    fn page(&self) -> Response {
        let (status, title) = (self.status, self.title());
        let page = format!(
            "<html>\n <head>\n  <title>{status} {title}</title>\n </head>\n <body>\n  <h1>{status} {title}</h1>\n  {}<br /><br />\n\n\n\n \
             </body>\n</html>",
            self.message.replace('&', "&amp;").replace('<', "&lt;")
        );
        (code(status), Html(page)).into_response()
    }

    /// The response of the token middleware in front of every service.
    fn unauthenticated(&self) -> Response {
        let message = Self::unauthorized().message;
        let body = json!({"error": {"code": 401, "message": message, "title": "Unauthorized"}});
        let challenge = [(header::WWW_AUTHENTICATE, "Keystone uri=\"/identity\"")];
        (StatusCode::UNAUTHORIZED, challenge, Json(body)).into_response()
    }

    fn title(&self) -> &'static str {
        code(self.status).canonical_reason().unwrap_or("Error")
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST)
}
