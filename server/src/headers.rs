//! Response headers that restrict the browser to the features of our pages.
//!
//! The content security policy of a page has a nonce for the page's inline scripts, so it is created during the
//! rendering of the page (see `pages`). All other responses get a policy that allows nothing.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

use crate::config::Config;

/// The policy of responses other than pages: JSON, files, pictures.
const NOTHING: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The policy of the pages' worker, which a browser takes from its script: that script, its module, and their files.
pub const WORKER: &str =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

/// HSTS for half a year. Browsers accept it over TLS only.
const TLS_ONLY: &str = "max-age=15552000";

/// Middleware that adds the headers that a route has not set.
pub async fn secure(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, NOTHING);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "same-origin");
    if config.is_https() {
        set(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    );
    response
}

/// Middleware of the API that forbids caching, because responses depend on the user and the time.
pub async fn no_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The content security policy of a page. Scripts: our own files, and the inline ones with the nonce. Style attributes
/// are allowed for positions on the canvas, style elements are not.
pub fn page_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; \
         style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; \
         font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
    )
}
