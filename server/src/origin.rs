//! Protection against pages of other sites: requests must be addressed to this server, and changes must come from our own
//! pages.
//!
//! A browser also sends our cookie with a request from another site's page. `SameSite` blocks most of these, and
//! [`guard`] blocks the rest. If the browser sends the request's origin (`Sec-Fetch-Site`, `Origin`), it must be ours: the
//! public URL of the settings, or else the host in the request. Clients that are not browsers send neither header. Their
//! absence is allowed, because a page of another site cannot suppress them. Requests with `X-Auth-Token` need no check,
//! because a page of another site cannot set that header.
//!
//! A page can also let the name of its own host resolve to this server's address (DNS rebinding). For the browser,
//! its requests then come from the same origin, but `Host` contains the name of the other site: [`own_host`] refuses it.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts as _, Request, State},
    http::{HeaderMap, HeaderValue, Method, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{
    auth::{Caller, TOKEN_HEADER},
    codes,
    config::Config,
    problem::Error,
    services::Services,
};

/// The middleware against other hosts' names, for the API and the pages.
pub async fn own_host(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    // Every browser sends it.
    let host = request.headers().get(header::HOST);
    if host.is_none_or(|host| is_own_host(host, &config)) {
        return next.run(request).await;
    }
    let name = host
        .and_then(|host| host.to_str().ok())
        .unwrap_or("(not a name)");
    Error::new(
        codes::UNKNOWN_HOST,
        format!("The request is for the host `{name}`, which is not a name of this server."),
    )
    .hint(
        "Use the server's own address. For another name, its operator sets `STACKLOOM_PUBLIC_URL` to the address that users \
         type, and the proxy passes on `Host`.",
    )
    .into_response()
}

/// The middleware against changes by pages of other sites, for the API.
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
        // The audit trail gets the user whose login the page has used, if there is one.
        let (mut parts, _) = request.into_parts();
        let _ = Caller::from_request_parts(&mut parts, &services).await;
        return Error::new(
            codes::CROSS_ORIGIN,
            "The request was sent by a page of another site.",
        )
        .hint("Use Stackloom's own pages, or send `X-Auth-Token` instead of a cookie.")
        .into_response();
    }
    next.run(request).await
}

/// True if the host, with or without a port, is a name of this server.
fn is_own_host(host: &HeaderValue, config: &Config) -> bool {
    let host = host.to_str().ok();
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| config.has_name(host.host()))
}

/// True unless the headers contain another origin.
fn is_same_origin(headers: &HeaderMap, config: &Config) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match text(header::HeaderName::from_static("sec-fetch-site")) {
        Some("same-origin" | "none") if config.public_origin().is_none() => return true,
        Some("same-origin" | "none") | None => {}
        Some(_) => return false,
    }
    let Some(origin) = text(header::ORIGIN) else {
        return true;
    };
    if config.public_origin() == Some(origin) {
        return true;
    }
    let origin_host = origin.split_once("://").map(|(_, host)| host);
    let host = headers.get(header::HOST);
    host.is_some_and(|host| {
        origin_host.is_some_and(|origin| host == origin) && is_own_host(host, config)
    })
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
    fn a_page_whose_name_was_made_to_resolve_to_this_server_may_not() {
        assert!(!check(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "https://evil.example"),
            ("host", "evil.example")
        ]));
        assert!(!check(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "https://evil.example"),
            ("host", "stackloom.example.org")
        ]));
    }

    #[test]
    fn our_own_pages_may() {
        assert!(check(&[("sec-fetch-site", "same-origin")]));
        assert!(check(&[
            ("sec-fetch-site", "same-origin"),
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
