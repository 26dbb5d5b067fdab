//! Contents of the log of a call: service, method, status, duration. No token, no body, no query.
//!
//! The only test in its program, since `tracing` caches the interest in a call site for all threads.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "canned/support.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod support;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use openstack::{CloudConfig, Credentials, Method, Scope, Service, Session};
use serde_json::json;
use support::{Canned, answer, keystone};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Collects all events and spans of any level, from our code and from libraries.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<String>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl<S: Subscriber> Layer<S> for Notes {
    fn on_new_span(&self, span: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        span.record(&mut Line(&mut self.0.lock().unwrap()));
    }
    fn on_record(&self, _span: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        values.record(&mut Line(&mut self.0.lock().unwrap()));
    }
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        event.record(&mut Line(&mut self.0.lock().unwrap()));
    }
}

#[tokio::test]
async fn a_traced_call_has_no_secrets() {
    let notes = Notes::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(notes.clone()));
    let canned = Canned::start(|url, request| {
        keystone(url, request)
            .unwrap_or_else(|| answer(201, json!({"server": {"adminPass": "in-the-answer"}})))
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    let credentials = Credentials::password("demo", "Default", "demo");
    let scope = Scope::project("demo", "Default");
    let session = Session::login(&config, &credentials, Some(&scope))
        .await
        .unwrap();
    let call = session.call(Service::Compute, Method::POST, &["servers"]);
    let call = call.query([("secret", "in-the-query")]);
    let body = json!({"server": {"user_data": "in-the-body"}});
    call.json(&body).send().await.unwrap();
    session.revoke().await.unwrap();

    let text = notes.0.lock().unwrap().clone();
    let path = r#"service="compute" method="POST" path="/compute/v2.1/servers""#;
    assert!(text.contains(path), "{text}");
    assert!(
        text.contains("status=201") && text.contains("ms="),
        "{text}"
    );
    for secret in [
        "scoped-token",
        "in-the-query",
        "in-the-body",
        "in-the-answer",
        "password",
    ] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}
