//! Refusals of services.
//!
//! Each service has its own JSON (or HTML) format for refusals. [`ApiError`] contains the message, so other modules do
//! not depend on the format.

use std::time::Duration;

use serde_json::Value;

use crate::Service;

/// A refusal with the message of the service.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{service} service: {method} {path} was answered with {status}: {message}{}",
    with_request_id(request_id)
)]
pub struct ApiError {
    /// Service of the call.
    pub service: Service,
    /// HTTP method.
    pub method: String,
    /// Path, without query.
    pub path: String,
    /// HTTP status.
    pub status: u16,
    /// Message of the service, or the meaning of the status without one.
    pub message: String,
    /// Error type of the service: `SecurityGroupInUse`, `itemNotFound`.
    pub kind: Option<String>,
    /// Request id, for the cloud's logs.
    pub request_id: Option<String>,
    /// Pause requested by the service.
    pub retry_after: Option<Duration>,
}

fn with_request_id(id: &Option<String>) -> String {
    id.as_ref()
        .map(|id| format!(" (request {id})"))
        .unwrap_or_default()
}

/// Extracts the message and the error type from the body of a refusal.
///
/// Keystone `{"error": {"message"}}`, Nova and Cinder `{"itemNotFound": {"message"}}`, Neutron
/// `{"NeutronError": {"type", "message"}}`, Barbican `{"title", "description"}`, Placement
/// `{"errors": [{"detail"}]}`, Octavia `{"faultstring"}`, Glance and load balancers HTML.
pub(crate) fn parse_message(body: &[u8], status: u16) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(body);
    let found = match serde_json::from_slice::<Value>(body) {
        Ok(json) => message_of_json(&json),
        Err(_) => Some((message_of_html(&text), None)),
    };
    let (message, kind) = found.unwrap_or_default();
    let message = message.trim().trim_end_matches('.').to_string();
    if message.is_empty() {
        (meaning(status).to_string(), kind)
    } else {
        (shorten(&message), kind)
    }
}

fn message_of_json(json: &Value) -> Option<(String, Option<String>)> {
    let object = json.as_object()?;
    const FLAT: [&str; 6] = [
        "message",
        "description",
        "detail",
        "faultstring",
        "error_msg",
        "error_message",
    ];
    let say = |map: &serde_json::Map<String, Value>| {
        FLAT.iter()
            .find_map(|key| {
                map.get(*key)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
            })
            .map(str::to_string)
    };
    if let Some(message) = say(object) {
        let kind = ["title", "faultcode", "error_code", "code"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str())
            .map(str::to_string);
        return Some((message, kind));
    }
    if let Some(first) = object
        .get("errors")
        .and_then(Value::as_array)
        .and_then(|all| all.first())
    {
        let first = first.as_object()?;
        let kind = first
            .get("title")
            .and_then(Value::as_str)
            .map(str::to_string);
        return Some((say(first)?, kind));
    }
    let (key, inner) = object.iter().next()?;
    match inner {
        Value::String(text) => Some((text.clone(), Some(key.clone()))),
        Value::Object(inner) => {
            let kind = ["type", "title"]
                .iter()
                .find_map(|key| inner.get(*key)?.as_str())
                .map_or_else(|| key.clone(), str::to_string);
            Some((say(inner).unwrap_or_default(), Some(kind)))
        }
        _ => None,
    }
}

/// The text of an HTML page without markup, title and repeated heading.
fn message_of_html(text: &str) -> String {
    let body = match (text.find("<body"), text.find("</head>")) {
        (Some(start), _) => text[start..].split_once('>').map_or("", |(_, rest)| rest),
        (None, Some(end)) => &text[end..],
        (None, None) => text,
    };
    match (body.find("<h1>"), body.find("</h1>")) {
        (Some(start), Some(end)) if start < end => {
            let after = plain(&body[end..]);
            if after.is_empty() {
                plain(&body[start..end])
            } else {
                after
            }
        }
        _ => plain(body),
    }
}

fn plain(markup: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in markup.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Limits a message to a readable length, in case it is an HTML page.
fn shorten(message: &str) -> String {
    const CHARACTERS: usize = 500;
    match message.char_indices().nth(CHARACTERS) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_string(),
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        300..=399 => "it wants to send us elsewhere, which we refuse",
        400 => "the request is not valid",
        401 => "the token is not valid any more",
        403 => "your roles do not allow it",
        404 => "it does not exist",
        405 => "this cannot be done here",
        409 => "it is in conflict with something that exists",
        413 => "a quota or size limit is exceeded",
        429 => "too many calls",
        500 => "internal error of the service",
        502..=504 => "the service is not available",
        _ => "no reason given",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, message: &str, kind: Option<&str>) {
        let (found, found_kind) = parse_message(body.as_bytes(), 404);
        assert_eq!(found, message, "{body}");
        assert_eq!(found_kind.as_deref(), kind, "{body}");
    }

    #[test]
    fn error_bodies_of_every_service_are_read() {
        check(
            r#"{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}"#,
            "The request you have made requires authentication",
            Some("Unauthorized"),
        );
        check(
            r#"{"itemNotFound": {"code": 404, "message": "Instance abc could not be found."}}"#,
            "Instance abc could not be found",
            Some("itemNotFound"),
        );
        check(
            r#"{"NeutronError": {"type": "SecurityGroupInUse", "message": "Security Group abc in use.", "detail": ""}}"#,
            "Security Group abc in use",
            Some("SecurityGroupInUse"),
        );
        check(
            r#"{"code": 404, "title": "Not Found", "description": "Secret not found."}"#,
            "Secret not found",
            Some("Not Found"),
        );
        check(
            r#"{"errors": [{"status": 404, "title": "Not Found", "detail": "No resource provider"}]}"#,
            "No resource provider",
            Some("Not Found"),
        );
        check(
            "<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1>No image found with ID x<br /><br /></body></html>",
            "No image found with ID x",
            None,
        );
        check(
            r#"{"error_code": "APIGW.0301", "error_msg": "Incorrect IAM authentication information"}"#,
            "Incorrect IAM authentication information",
            Some("APIGW.0301"),
        );
        check("", "it does not exist", None);
        check("{}", "it does not exist", None);
        check("[1, 2]", "it does not exist", None);
    }

    #[test]
    fn an_html_error_page_is_shortened_to_its_text() {
        let (message, _) = parse_message(
            b"<html><body><h1>503 Service Unavailable</h1>\n</body></html>",
            503,
        );
        assert_eq!(message, "503 Service Unavailable");
        let (long, _) = parse_message("x".repeat(10_000).as_bytes(), 500);
        assert!(long.chars().count() <= 501);
    }
}
