//! The response of a service.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::parse_message;
use crate::{ApiError, Error, Service};

/// A response with any status.
#[derive(Debug)]
pub struct Answer {
    /// Service of the response.
    pub service: Service,
    pub(super) method: Method,
    pub(super) path: String,
    /// HTTP status.
    pub status: u16,
    /// Header fields.
    pub headers: HeaderMap,
    /// Raw body.
    pub body: Vec<u8>,
    /// The request id that Stackloom sent.
    pub(super) sent_id: String,
}

impl Answer {
    /// The response itself, or an error if the status is not 2xx. A redirect is an error too.
    pub fn check(self) -> Result<Answer, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        Err(self.refusal())
    }

    /// The response as an error, with any status.
    pub fn refusal(&self) -> Error {
        let (message, kind) = parse_message(&self.body, self.status);
        Error::Api(Box::new(ApiError {
            service: self.service,
            method: self.method.to_string(),
            path: self.path.clone(),
            status: self.status,
            message,
            kind,
            request_id: Some(self.request_id()),
            retry_after: self.retry_after(),
        }))
    }

    /// Parses the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| self.malformed(error.to_string()))
    }

    /// Parses the value of a key of the body.
    pub fn json_at<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        let mut body: Value = self.json()?;
        let inner = body
            .get_mut(key)
            .map(Value::take)
            .ok_or_else(|| self.malformed(format!("`{key}` is missing")))?;
        serde_json::from_value(inner).map_err(|error| self.malformed(format!("`{key}`: {error}")))
    }

    pub(crate) fn malformed(&self, why: String) -> Error {
        Error::Malformed {
            service: self.service,
            method: self.method.to_string(),
            path: self.path.clone(),
            why,
            request_id: self.request_id(),
        }
    }

    /// A header field. `None` if it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Id of the call in the cloud's logs: that of the service, else the one that Stackloom sent.
    pub fn request_id(&self) -> String {
        [
            "x-openstack-request-id",
            "x-compute-request-id",
            "openstack-request-id",
        ]
        .iter()
        .find_map(|name| self.header(name))
        .unwrap_or(&self.sent_id)
        .to_string()
    }

    /// Pause of the `Retry-After` header, given in seconds or as a date.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let seconds = seconds_until(value)?;
        Some(Duration::from_secs(seconds.try_into().unwrap_or_default()))
    }
}

/// Seconds from now to an HTTP date; negative for a past date.
pub(super) fn seconds_until(date: &str) -> Option<i64> {
    let then = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(then.duration_since(Timestamp::now()).as_secs())
}
