//! One HTTP exchange with a cloud: bounded, traced, and never redirected.
//!
//! One transport a cloud: its connections are reused by all sessions, and at most
//! `parallel_calls` exchanges are under way at once, and fewer that change something at one service ([`super::gate`]); the
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
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use super::answer::{Answer, seconds_until};
use super::client::{ConnectionSettings, client};
use super::endpoint::Endpoint;
use super::failure::diagnose;
use super::gate::Gate;
use crate::{Error, Secret, Service};

/// An answer may not be larger than this.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
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
    /// The gates of changing calls, by service.
    changes: Mutex<HashMap<Service, Arc<Gate>>>,
    changes_max: usize,
    /// The number of requests sent so far.
    sent: AtomicU64,
    /// Seconds by which the cloud's clock is ahead of ours.
    ahead: AtomicI64,
    /// The endpoints that version discovery found, by the address in the catalogue.
    pub(super) endpoints: Mutex<HashMap<(Service, String), Endpoint>>,
}

/// A request.
#[derive(Clone)]
pub(crate) struct Outgoing<'a> {
    pub service: Service,
    pub method: Method,
    pub url: Url,
    pub token: Option<&'a Secret>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Value>,
}

impl Transport {
    /// The way to the cloud of this name.
    ///
    /// # Errors
    /// Where the certificates that the configuration names cannot be used.
    pub(crate) fn new(
        cloud: &str,
        auth_url: &str,
        settings: &ConnectionSettings,
    ) -> Result<Transport, Error> {
        Ok(Transport {
            client: client(cloud, auth_url, settings)?,
            permits: Semaphore::new(settings.parallel_calls.max(1)),
            changes: Mutex::default(),
            changes_max: settings.parallel_changes.max(1),
            sent: AtomicU64::new(0),
            ahead: AtomicI64::new(0),
            endpoints: Mutex::default(),
        })
    }

    /// The number of calls sent so far.
    pub(crate) fn calls(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The present time by the cloud's clock, as of its last answer.
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

    /// The gate of a changing call.
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

/// A new request id. Services ignore ids of any other form.
fn new_request_id() -> String {
    format!("req-{}", uuid::Uuid::new_v4())
}

/// A header value that is marked as sensitive, so that no layer below prints it.
fn secret_header(secret: &Secret) -> HeaderValue {
    let mut value = HeaderValue::from_str(secret.expose())
        .unwrap_or_else(|_| HeaderValue::from_static("invalid"));
    value.set_sensitive(true);
    value
}
