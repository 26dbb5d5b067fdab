//! One HTTP exchange with a cloud: bounded, traced, and never redirected.
//!
//! One transport a cloud: its connections are reused by all sessions, and at most
//! `parallel_calls` exchanges are under way at once, and fewer that change something at one service ([`crate::gate`]); the
//! others wait in line. A wait costs nothing,
//! an overrun API server costs everybody.
//!
//! What only looks (GET, HEAD) is sent again by itself, a few times and after short pauses, when the
//! service is busy or the connection breaks: nobody above learns anything from such a hiccup. What
//! changes something is sent once, since only its caller can tell whether it has happened.
//!
//! Every call carries a request id of ours; services write it to their logs beside their own. So even
//! a call without any answer can be found there.

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::discovery::Endpoint;
use crate::error::{ApiError, Error, Wire, words};
use crate::gate::Gate;
use crate::{CloudConfig, ConfigError, Secret, Service};

/// An answer may not be larger than this.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Before what only looks is sent again. A little more each time, and by chance: clients that were
/// refused together shall not come back together.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// A service that asks for a longer pause than this is refusing; the caller shall know.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The way to one cloud.
#[derive(Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    permits: Semaphore,
    /// For what changes something, by service.
    changes: Mutex<HashMap<Service, Arc<Gate>>>,
    changes_max: usize,
    /// Sent so far.
    sent: AtomicU64,
    /// How many seconds the cloud's clock is ahead of ours.
    ahead: AtomicI64,
    /// What version discovery found, by the address that the catalogue gave.
    pub(crate) endpoints: Mutex<HashMap<(Service, String), Endpoint>>,
}

/// What goes out.
#[derive(Clone)]
pub(crate) struct Outgoing<'a> {
    pub service: Service,
    pub method: Method,
    pub url: Url,
    pub token: Option<&'a Secret>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Value>,
}

/// What came back, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// From which service.
    pub service: Service,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// HTTP status.
    pub status: u16,
    /// All header fields.
    pub headers: HeaderMap,
    /// As it came.
    pub body: Vec<u8>,
    /// The id that we gave the request.
    pub(crate) sent_id: String,
}

impl Transport {
    pub(crate) fn new(config: &CloudConfig) -> Result<Transport, Error> {
        static RING: Once = Once::new();
        // Fails only if the program has chosen another provider already, which is as good.
        RING.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));

        let wrong = |why: String| {
            Error::Config(ConfigError::Cloud {
                cloud: config.name.clone(),
                why,
            })
        };
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("stackloom/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(config.timeout)
                .pool_idle_timeout(Duration::from_secs(30))
        };
        let read = |path: &std::path::Path| {
            std::fs::read(path)
                .map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))
        };
        let mut chosen = builder();
        if !config.tls.verify {
            tracing::warn!(
                cloud = config.name,
                "certificates of this cloud are not checked (`verify: false`)"
            );
            chosen = chosen.tls_danger_accept_invalid_certs(true);
        } else if let Some(path) = &config.tls.ca_file {
            let none = |why: &dyn std::fmt::Display| {
                wrong(format!("{} holds no certificates: {why}", path.display()))
            };
            let bundle = reqwest::Certificate::from_pem_bundle(&read(path)?);
            let bundle = bundle.map_err(|error| none(&error))?;
            if bundle.is_empty() {
                return Err(none(&"it must be in PEM, `-----BEGIN CERTIFICATE-----`"));
            }
            chosen = chosen.tls_certs_only(bundle);
        }
        if let Some(path) = &config.tls.certificate {
            let mut pem = read(path)?;
            if let Some(key) = &config.tls.key {
                pem.extend_from_slice(b"\n");
                pem.extend(read(key)?);
            }
            let identity = reqwest::Identity::from_pem(&pem).map_err(|error| {
                wrong(format!(
                    "{} is no certificate with a key: {error}",
                    path.display()
                ))
            })?;
            chosen = chosen.identity(identity);
        }
        let client = match chosen.build() {
            Ok(client) => client,
            // A machine without any certificate authority can still reach clouds over plain HTTP.
            Err(_) if config.auth_url.starts_with("http://") => builder()
                .tls_certs_only([])
                .build()
                .map_err(|error| wrong(format!("no HTTP client: {error}")))?,
            Err(error) => return Err(wrong(format!("no HTTPS client: {}", deepest(&error)))),
        };
        Ok(Transport {
            client,
            permits: Semaphore::new(config.parallel_calls.max(1)),
            changes: Mutex::default(),
            changes_max: config.parallel_changes.max(1),
            sent: AtomicU64::new(0),
            ahead: AtomicI64::new(0),
            endpoints: Mutex::default(),
        })
    }

    /// How many calls were sent so far.
    pub(crate) fn calls(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Now, by the cloud's clock as its last answer told.
    pub(crate) fn cloud_time(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))
    }

    /// One exchange, repeated where that is safe. Any status is an answer; an error is only what kept
    /// us from getting one.
    pub(crate) async fn exchange(&self, out: Outgoing<'_>) -> Result<Answer, Error> {
        if !matches!(out.method, Method::GET | Method::HEAD) {
            return self.exchange_once(out).await;
        }
        for pause in PAUSES {
            let result = self.exchange_once(out.clone()).await;
            let asked = match &result {
                Ok(answer) if matches!(answer.status, 429 | 502 | 503 | 504) => {
                    answer.retry_after()
                }
                Err(error) if error.is_transient() => None,
                _ => return result,
            };
            let pause = asked.unwrap_or_else(|| pause.mul_f32(rand::random_range(0.5..1.5)));
            if pause > PAUSE_MAX {
                return result;
            }
            tokio::time::sleep(pause).await;
        }
        self.exchange_once(out).await
    }

    async fn exchange_once(&self, out: Outgoing<'_>) -> Result<Answer, Error> {
        let span = tracing::debug_span!(
            "openstack",
            service = out.service.as_str(),
            method = out.method.as_str(),
            path = out.url.path(),
            status = tracing::field::Empty,
            ms = tracing::field::Empty,
        );
        async {
            // First the narrow gate: who waits there shall not stand in others' way.
            let narrow = self.gate(out.service, &out.method);
            let change = match &narrow {
                Some(gate) => Some(gate.enter(&out.method, &out.url).await),
                None => None,
            };
            let permit = self.permits.acquire().await;
            let _permit = permit.expect("the semaphore is never closed");
            let started = Instant::now();
            let result = self.send(out).await;
            let span = tracing::Span::current();
            span.record(
                "ms",
                u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            );
            match &result {
                Ok(answer) => {
                    if let (Some(change), 200..300) = (&change, answer.status) {
                        change.well_answered();
                    }
                    span.record("status", answer.status);
                    tracing::debug!("answered");
                }
                Err(error) => tracing::debug!(%error, "not answered"),
            }
            result
        }
        .instrument(span)
        .await
    }

    /// What a call that changes something must pass before.
    fn gate(&self, service: Service, method: &Method) -> Option<Arc<Gate>> {
        // Logins change nothing that others meet.
        if matches!(*method, Method::GET | Method::HEAD) || service == Service::Identity {
            return None;
        }
        let mut gates = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates
            .entry(service)
            .or_insert_with(|| Arc::new(Gate::new(self.changes_max)));
        Some(gate.clone())
    }

    async fn send(&self, out: Outgoing<'_>) -> Result<Answer, Error> {
        let Outgoing {
            service,
            method,
            url,
            token,
            headers,
            body,
        } = out;
        let path = url.path().to_string();
        let sent_id = new_request_id();
        self.sent.fetch_add(1, Ordering::Relaxed);
        let failed = |error: reqwest::Error| {
            let (wire, why) = diagnose(&error);
            Error::Connection {
                service,
                method: method.to_string(),
                path: path.clone(),
                wire,
                why,
                request_id: sent_id.clone(),
            }
        };
        let mut request = self.client.request(method.clone(), url);
        request = request.header("X-Openstack-Request-Id", &sent_id);
        if !headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header("Accept", "application/json");
        }
        if let Some(token) = token {
            request = request.header("X-Auth-Token", secret_header(token));
        }
        for (name, value) in headers {
            request = request.header(HeaderName::from_static(name), value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let mut response = request.send().await.map_err(failed)?;
        let date = response.headers().get(reqwest::header::DATE);
        if let Some(ahead) = date.and_then(|date| seconds_until(date.to_str().ok()?)) {
            self.ahead.store(ahead, Ordering::Relaxed);
        }
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if content.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(Error::Malformed {
                    service,
                    method: method.to_string(),
                    path,
                    why: format!("it is larger than {} MiB", ANSWER_BYTES_MAX >> 20),
                    request_id: sent_id,
                });
            }
            content.extend_from_slice(&chunk);
        }
        Ok(Answer {
            service,
            path,
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body: content,
            method,
            sent_id,
        })
    }
}

impl Answer {
    /// Itself, unless it is a refusal. A redirect is one.
    pub fn check(self) -> Result<Answer, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        Err(self.refusal())
    }

    /// As an error, whatever the status.
    pub fn refusal(&self) -> Error {
        let (message, kind) = words(&self.body, self.status);
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

    /// The body as what it should be.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| self.malformed(error.to_string()))
    }

    /// What stands under a key of the body.
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

    /// A header field, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// To find the call in the cloud's logs: the service's own id, else ours.
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

    /// Seconds, or a date.
    fn retry_after(&self) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let seconds = seconds_until(value)?;
        Some(Duration::from_secs(seconds.try_into().unwrap_or_default()))
    }
}

/// From now until a date as HTTP writes it; negative if it has passed.
fn seconds_until(date: &str) -> Option<i64> {
    let then = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(then.duration_since(Timestamp::now()).as_secs())
}

/// In the form that services expect; others they ignore.
fn new_request_id() -> String {
    format!("req-{}", uuid::Uuid::new_v4())
}

/// Marked as sensitive, so that no layer below prints it.
fn secret_header(secret: &Secret) -> HeaderValue {
    let mut value = HeaderValue::from_str(secret.expose())
        .unwrap_or_else(|_| HeaderValue::from_static("invalid"));
    value.set_sensitive(true);
    value
}

/// What kept us from an answer: its kind, and the words of the layer that knows.
fn diagnose(error: &reqwest::Error) -> (Wire, String) {
    let mut io_kind = None;
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            io_kind = Some(error.kind());
        }
        cause = inner.source();
    }
    let why = deepest(error);
    let lower = why.to_lowercase();
    let wire = match io_kind {
        Some(io::ErrorKind::ConnectionRefused) => Wire::Refused,
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof,
        ) => Wire::Reset,
        Some(io::ErrorKind::TimedOut) => Wire::Timeout,
        _ if error.is_timeout() => Wire::Timeout,
        _ if error.is_dns() => Wire::Name,
        _ if ["certificate", "tls", "fatal alert"]
            .iter()
            .any(|word| lower.contains(word)) =>
        {
            Wire::Tls
        }
        _ if lower.contains("before message completed") || lower.contains("connection closed") => {
            Wire::Reset
        }
        _ => Wire::Other,
    };
    (wire, why)
}

fn deepest(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    deepest.to_string()
}
