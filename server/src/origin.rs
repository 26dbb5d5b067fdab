//! Protection against cross-site request forgery: changing requests must come from our own pages.
//!
//! A browser also sends our cookie with a request from another site's page. `SameSite` blocks most of these, and this
//! check blocks the rest. If the browser sends the request's origin (`Sec-Fetch-Site`, or else `Origin`), it must be
//! ours: the public URL of the settings, or else the host in the request. Clients that are not browsers send neither
//! header. Their absence is allowed, because a page of another site cannot suppress them. Requests with `X-Auth-Token`
//! need no check, because a page of another site cannot set that header.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{auth::TOKEN_HEADER, codes, config::Config, problem::Error, services::Services};

/// The middleware, for the API.
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

/// True unless the headers contain another origin.
fn is_same_origin(headers: &HeaderMap, config: &Config) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text(header::ORIGIN) else {
        return true;
    };
    if let Some(public) = config.public_origin() {
        return public == origin;
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
    fn without_a_public_url_the_origin_is_the_host() {
        let map = HeaderMap::from_iter([
            (header::ORIGIN, "http://127.0.0.1:8080".parse().unwrap()),
            (header::HOST, "127.0.0.1:8080".parse().unwrap()),
        ]);
        assert!(is_same_origin(&map, &Config::parse_from(["stackloom"])));
    }

    #[test]
    fn with_a_public_url_the_host_does_not_count() {
        // A foreign host name that resolves to this server's address.
        assert!(!check(&[
            ("origin", "http://evil.example"),
            ("host", "evil.example")
        ]));
    }

    #[test]
    fn our_own_pages_may() {
        assert!(check(&[("sec-fetch-site", "same-origin")]));
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
