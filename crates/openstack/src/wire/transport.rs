//! HTTP exchanges with a cloud: limited in number, traced, without redirects.
//!
//! Each cloud has one transport, whose connections all sessions share. At most `parallel_calls` reads and calls to
//! Keystone run at once, and beside them at most `parallel_changes` changes per other service ([`super::concurrency`]).
//! The others wait, so that the API servers are not overloaded. Reads do not wait behind changes: a poll that waits for
//! the changes of other services finds out late which resources are ready.
//!
//! Reads (GET, HEAD) are retried a few times after short pauses if the service is busy or the connection breaks.
//! Changes are sent once, since only the caller can determine whether a change took effect.
//!
//! Every call carries a request id, which services log beside their own. A call without any response can therefore be
//! found in the logs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use serde_json::Value;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use super::answer::{Answer, seconds_until};
use super::client::{ConnectionSettings, client};
use super::concurrency::Limiter;
use super::endpoint::Endpoint;
use super::failure::diagnose;
use crate::{Error, Secret, Service};

/// Maximum size of a response, 32 MiB.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Pauses before retries of a read. They grow and have a random part, so that clients refused together do not retry
/// together.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// Longest `Retry-After` to wait for. With a longer one, the caller gets the refusal.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Shared access to one cloud.
#[derive(Debug)]
pub(crate) struct Transport {
    client: reqwest::Client,
    /// The time limit of one call.
    timeout: Duration,
    /// Limit of concurrent reads and calls to Keystone.
    reads: Semaphore,
    /// Limits of concurrent changes, by service. Keystone has none.
    changes: Mutex<HashMap<Service, Arc<Limiter>>>,
    changes_max: usize,
    /// Number of requests sent so far.
    sent: AtomicU64,
    /// Shortest time of an exchange so far, by service.
    quickest: Mutex<HashMap<Service, Duration>>,
    /// Seconds by which the cloud's clock is ahead of the local clock.
    ahead: AtomicI64,
    /// Endpoints found by version discovery, by their URL in the catalogue.
    pub(super) endpoints: Mutex<HashMap<(Service, String), Endpoint>>,
}

/// An HTTP request.
#[derive(Clone)]
pub(crate) struct Outgoing<'a> {
    pub service: Service,
    pub method: Method,
    pub url: Url,
    pub token: Option<&'a Secret>,
    /// Names in lower case, and values.
    pub headers: Vec<(Cow<'static, str>, String)>,
    pub body: Option<Value>,
}

impl Transport {
    /// A transport for the cloud of this name.
    ///
    /// # Errors
    /// The configured certificates are unusable.
    pub(crate) fn new(
        cloud: &str,
        auth_url: &str,
        settings: &ConnectionSettings,
    ) -> Result<Transport, Error> {
        Ok(Transport {
            client: client(cloud, auth_url, settings)?,
            timeout: settings.timeout,
            reads: Semaphore::new(settings.parallel_calls.max(1)),
            changes: Mutex::default(),
            changes_max: settings.parallel_changes.max(1),
            sent: AtomicU64::new(0),
            quickest: Mutex::default(),
            ahead: AtomicI64::new(0),
            endpoints: Mutex::default(),
        })
    }

    /// Number of calls sent so far.
    pub(crate) fn calls(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Shortest time of an exchange with a service so far: about the way there and back.
    pub(crate) fn quickest(&self, service: Service) -> Duration {
        let quickest = self.quickest.lock().unwrap_or_else(PoisonError::into_inner);
        quickest.get(&service).copied().unwrap_or_default()
    }

    fn note_time(&self, service: Service, took: Duration) {
        let mut quickest = self.quickest.lock().unwrap_or_else(PoisonError::into_inner);
        let shortest = quickest.entry(service).or_insert(took);
        *shortest = took.min(*shortest);
    }

    /// Current time by the cloud's clock, as of its last response.
    pub(crate) fn cloud_time(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))
    }

    /// One exchange, with retries for reads. A response with any status is `Ok`; an error means that there is no
    /// response.
    pub(crate) async fn exchange(&self, out: Outgoing<'_>) -> Result<Answer, Error> {
        if !matches!(out.method, Method::GET | Method::HEAD) {
            return self.exchange_once(out).await;
        }
        for pause in PAUSES {
            let result = self.exchange_once(out.clone()).await;
            let retry_after = match &result {
                Ok(answer) if matches!(answer.status, 429 | 502 | 503 | 504) => {
                    answer.retry_after()
                }
                Err(error) if error.is_transient() => None,
                _ => return result,
            };
            let pause = retry_after.unwrap_or_else(|| pause.mul_f32(rand::random_range(0.5..1.5)));
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
            let limiter = self.limiter(out.service, &out.method);
            let (change_permit, _read_permit) = match &limiter {
                Some(limiter) => (Some(limiter.acquire(&out.method, &out.url).await), None),
                None => {
                    let permit = self.reads.acquire().await;
                    (None, Some(permit.expect("the semaphore is never closed")))
                }
            };
            let (service, started) = (out.service, Instant::now());
            let result = self.send(out).await;
            let took = started.elapsed();
            let span = tracing::Span::current();
            span.record("ms", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
            match &result {
                Ok(answer) => {
                    self.note_time(service, took);
                    if let (Some(permit), 200..300) = (&change_permit, answer.status) {
                        permit.record(took);
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

    /// The limiter of a changing call. `None` for reads and for calls to Keystone, such as logins.
    fn limiter(&self, service: Service, method: &Method) -> Option<Arc<Limiter>> {
        // Logins do not conflict with other calls.
        if matches!(*method, Method::GET | Method::HEAD) || service == Service::Identity {
            return None;
        }
        let mut limiters = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = limiters
            .entry(service)
            .or_insert_with(|| Arc::new(Limiter::new(self.changes_max)));
        Some(limiter.clone())
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
        if !headers.iter().any(|(name, _)| name == "accept") {
            request = request.header("Accept", "application/json");
        }
        if let Some(token) = token {
            request = request.header("X-Auth-Token", secret_header(token));
        }
        for (name, value) in headers {
            request = request.header(&*name, value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        // As late as possible: a call may wait in line for minutes.
        if !matches!(method, Method::GET | Method::HEAD)
            && let Some(remaining) = crate::permitted_for()?
        {
            request = request.timeout(remaining.min(self.timeout));
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

/// A header value that is marked as sensitive, so that lower layers do not print it.
fn secret_header(secret: &Secret) -> HeaderValue {
    let mut value = HeaderValue::from_str(secret.expose())
        .unwrap_or_else(|_| HeaderValue::from_static("invalid"));
    value.set_sensitive(true);
    value
}
