//! Requests that change something must come from our own pages.
//!
//! A browser sends our cookie along with a request that another site's page makes. `SameSite` stops
//! most of that, this stops the rest: where the browser says which site a request comes from
//! (`Sec-Fetch-Site`, or else `Origin`), it must be ours. Programs that are not browsers send
//! neither, and a page of another site cannot keep a browser from sending them; so their absence is
//! fine. Requests with `X-Auth-Token` carry their own proof: a page of another site cannot set it.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{auth::TOKEN_HEADER, codes, config::Config, problem::Error, services::Services};

/// Middleware of the API.
pub async fn guard(State(services): State<Services>, request: Request, next: Next) -> Response {
    let changes = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    let opens_socket = request.headers().contains_key(header::SEC_WEBSOCKET_KEY);
    let has_token = request.headers().contains_key(TOKEN_HEADER);
    if (changes || opens_socket)
        && !has_token
        && !is_same_origin(request.headers(), &services.config)
    {
        return Error::new(
            codes::CROSS_ORIGIN,
            "The request was sent by a page of another site.",
        )
        .hint("Use Stackloom's own pages, or send `X-Auth-Token` instead of a cookie.")
        .into_response();
    }
    next.run(request).await
}

/// As far as the browser tells.
fn is_same_origin(headers: &HeaderMap, config: &Config) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text(header::ORIGIN) else {
        return true;
    };
    if config.public_origin() == Some(origin) {
        return true;
    }
    let host = origin.split_once("://").map(|(_, host)| host);
    host.is_some() && host == text(header::HOST)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn check(headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let config = Config::parse_from([
            "stackloom",
            "--public-url",
            "https://stackloom.example.org/",
        ]);
        is_same_origin(&map, &config)
    }

    #[test]
    fn our_own_pages_may() {
        assert!(check(&[("sec-fetch-site", "same-origin")]));
        assert!(check(&[
            ("origin", "http://127.0.0.1:8080"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(check(&[
            ("origin", "https://stackloom.example.org"),
            ("host", "10.0.0.1:8080")
        ]));
    }

    #[test]
    fn other_sites_may_not() {
        assert!(!check(&[
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.example"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(!check(&[("sec-fetch-site", "same-site")]));
        assert!(!check(&[
            ("origin", "http://127.0.0.1:9999"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(!check(&[("origin", "null"), ("host", "127.0.0.1:8080")]));
    }

    #[test]
    fn a_program_that_is_no_browser_may() {
        assert!(check(&[("host", "127.0.0.1:8080")]));
    }
}
