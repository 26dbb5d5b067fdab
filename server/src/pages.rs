//! The HTML shells of the pages, rendered by Leptos, and their static files.
//!
//! A page route without a session redirects to the login page, so that the application is never shown empty. Files
//! below `pkg/` are the same for all users: they are served without a check of the session, and precompressed if the
//! build created `.br` files.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
};
use leptos::{
    config::LeptosOptions,
    nonce::use_nonce,
    prelude::{expect_context, provide_context},
};
use leptos_axum::{LeptosRoutes, ResponseOptions, generate_route_list};
use tower_http::services::ServeDir;
use tower_sessions::Session;

use crate::{auth, codes, config::Config, headers, problem::Error, services::Services};

/// Prefix of the program folders. A hash of their content follows.
const PROGRAM: &str = "app-";

/// The settings of Leptos, in code so that no file is needed beside the program.
///
/// `pkg/program` contains the folder of scripts and modules (see `xtask build`). It is read once, so a server keeps the
/// pages from its start. Without that file, as with `cargo leptos watch`, they are in `pkg` itself.
pub fn options(config: &Config) -> LeptosOptions {
    let program = std::fs::read_to_string(config.site.join("pkg/program"))
        .ok()
        .filter(|_| std::env::var_os("LEPTOS_WATCH").is_none())
        .filter(|name| name.starts_with(PROGRAM))
        .map(|name| format!("pkg/{}", name.trim()));
    LeptosOptions::builder()
        .output_name("stackloom")
        .site_root(config.site.to_string_lossy().into_owned())
        .site_pkg_dir(program.unwrap_or_else(|| "pkg".to_owned()))
        .site_addr(config.addr)
        .env(leptos::config::Env::PROD)
        .build()
}

/// The page routes. Unknown paths get the application's own "not found" page with status 404.
pub fn routes(services: &Services) -> Router<Services> {
    let shell = {
        let options = services.leptos.clone();
        move || app::shell(options.clone())
    };
    Router::new()
        .leptos_routes_with_context(
            services,
            generate_route_list(app::App),
            secure_page,
            shell.clone(),
        )
        .layer(middleware::from_fn(login_first))
        .fallback(
            move |State(services): State<Services>, uri: Uri, request: Request| async move {
                if uri.path().starts_with("/api/") {
                    return Error::new(
                        codes::NOT_FOUND,
                        format!("This API has no path `{}`.", uri.path()),
                    )
                    .hint("`/api/v1/openapi.json` lists all paths.")
                    .into_response();
                }
                let context = move || {
                    provide_context(services.clone());
                    secure_page();
                };
                let mut response =
                    leptos_axum::render_app_to_stream_with_context(context, shell)(request).await;
                if response.status() == StatusCode::OK {
                    *response.status_mut() = StatusCode::NOT_FOUND;
                }
                response
            },
        )
}

/// The static files: programs, styles, fonts, icons. A program's folder never changes, so browsers cache it. The pages ask
/// for the icons by a version, so browsers cache these for a day: new ones are drawn without a network, too. Other names
/// stay the same in all builds, so browsers revalidate them.
pub fn files(config: &Config) -> Router<Services> {
    let folder = ServeDir::new(config.site.join("pkg"))
        .precompressed_br()
        .precompressed_gzip();
    Router::new()
        .nest_service("/pkg", folder)
        .layer(middleware::from_fn(keep))
}

async fn keep(request: Request, next: Next) -> Response {
    let path = request.uri().path().strip_prefix("/pkg/");
    let is_program = path.is_some_and(|path| path.starts_with(PROGRAM));
    let is_worker = is_program && path.is_some_and(|path| path.ends_with("/worker.js"));
    let has_version = request.uri().query().is_some_and(|it| it.starts_with("v="));
    let is_sprite = path == Some("icons.svg") && has_version;
    let mut response = next.run(request).await;
    // A missing file can appear after an update.
    let how = match response.status().is_client_error() {
        false if is_program => "public, max-age=31536000, immutable",
        false if is_sprite => "public, max-age=86400",
        _ => "public, no-cache",
    };
    let set = response.headers_mut();
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(how));
    if is_worker {
        let policy = HeaderValue::from_static(headers::WORKER);
        set.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn secure_page() {
    let response = expect_context::<ResponseOptions>();
    let nonce = use_nonce()
        .map(|nonce| nonce.to_string())
        .unwrap_or_default();
    if let Ok(policy) = HeaderValue::from_str(&headers::page_policy(&nonce)) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
    response.insert_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

async fn login_first(session: Session, request: Request, next: Next) -> Response {
    let is_signed_in = auth::is_signed_in(&session).await;
    let uri = request.uri();
    match (uri.path(), is_signed_in) {
        ("/login", false) => next.run(request).await,
        ("/login", true) => Redirect::to(&next_page(uri.query())).into_response(),
        ("/", true) => Redirect::to("/designs").into_response(),
        (_, true) => next.run(request).await,
        (path, false) => {
            let wanted = uri.path_and_query().map_or(path, |both| both.as_str());
            let query = form_urlencoded(wanted);
            Redirect::to(&if wanted == "/" {
                "/login".to_owned()
            } else {
                format!("/login?next={query}")
            })
            .into_response()
        }
    }
}

/// The path after the login. Always a path of this server.
fn next_page(query: Option<&str>) -> String {
    query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("next="))
        .map(percent_decoded)
        .filter(|path| api::is_own_page(path))
        .unwrap_or_else(|| "/designs".to_owned())
}

fn form_urlencoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to a string does not fail");
        }
        out
    })
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_login_only_our_own_pages() {
        assert_eq!(
            next_page(Some("next=/runs/1%3Fstep%3Dweb")),
            "/runs/1?step=web"
        );
        assert_eq!(next_page(None), "/designs");
        for bad in [
            "next=https://evil.example",
            "next=//evil.example",
            "next=/%5Cevil.example",
            "next=/a%0d%0aSet-Cookie:x",
            "next=/%09/evil.example",
        ] {
            assert_eq!(next_page(Some(bad)), "/designs", "{bad}");
        }
    }

    #[test]
    fn a_wanted_page_survives_the_way_through_the_login() {
        let wanted = "/designs/a b?x=1&y=ä";
        assert_eq!(
            next_page(Some(&format!("next={}", form_urlencoded(wanted)))),
            wanted
        );
    }
}
