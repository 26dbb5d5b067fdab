//! Extractors whose rejections are problem details instead of plain text.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, OriginalUri, Request, rejection::QueryRejection},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use engine::Page;
use futures::StreamExt;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    codes,
    problem::{Error, Result},
};

/// Maximum size of a request body in bytes: enough for a template of some 20,000 resources.
pub const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The largest body of a login, in bytes.
const SMALL_BODY_BYTES_MAX: usize = 64 * 1024;

/// Bytes beyond the limit that are read and discarded, so that the sender stays connected and reads the response.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Maximum time until the next part of a body, so that an idle sender does not keep a request open.
const CHUNK_PATIENCE: Duration = Duration::from_secs(60);

/// A JSON body of a request or a response.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let hint = "Split the template, or leave large files out of it.";
        read_json(request, BODY_BYTES_MAX, hint).await.map(Json)
    }
}

/// A JSON body from a client that nobody knows yet.
pub struct SmallJson<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for SmallJson<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let hint = "Names, passwords and tokens are shorter.";
        let small = read_json(request, SMALL_BODY_BYTES_MAX, hint).await;
        small.map(SmallJson)
    }
}

async fn read_json<T: DeserializeOwned>(request: Request, limit: usize, hint: &str) -> Result<T> {
    let kind = media_type(request.headers());
    if kind != "application/json" && !kind.ends_with("+json") {
        return Err(Error::new(
            codes::UNSUPPORTED_MEDIA_TYPE,
            "The request's body is not declared as JSON.",
        )
        .hint("Send the header `Content-Type: application/json`."));
    }
    let bytes = read(request.into_body(), limit, hint).await?;
    parse(&bytes)
}

/// The media type of the body, without parameters. Empty if the header is missing.
pub fn media_type(headers: &HeaderMap) -> String {
    let declared = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = declared.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Reads the whole body, at most `limit_bytes`. The hint is part of the problem for a larger body.
pub async fn read(body: Body, limit_bytes: usize, hint: &str) -> Result<Vec<u8>> {
    read_patiently(body, limit_bytes, hint, CHUNK_PATIENCE).await
}

async fn read_patiently(
    body: Body,
    limit_bytes: usize,
    hint: &str,
    patience: Duration,
) -> Result<Vec<u8>> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut seen = 0usize;
    let broke_off = || Error::new(codes::INVALID_REQUEST, "The request's body ended early.");
    loop {
        let next = tokio::time::timeout(patience, stream.next()).await;
        let Some(chunk) = next.map_err(|late| broke_off().caused_by(late))? else {
            break;
        };
        let chunk = chunk.map_err(|error| broke_off().caused_by(error))?;
        seen += chunk.len();
        if seen <= limit_bytes {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
            if seen > DRAIN_BYTES_MAX {
                break;
            }
        }
    }
    if seen > limit_bytes {
        let limit = match limit_bytes / (1024 * 1024) {
            0 => format!("{} KiB", limit_bytes / 1024),
            mib => format!("{mib} MiB"),
        };
        return Err(Error::new(
            codes::TOO_LARGE,
            format!("The request has more than {limit}, which is the limit."),
        )
        .hint(hint));
    }
    Ok(bytes)
}

/// Parses JSON into a value. An error contains the path of the invalid value.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        let problem = Error::new(
            codes::INVALID_REQUEST,
            format!("The request's JSON is invalid: {cause}."),
        )
        .hint("`/api/v1/openapi.json` describes all requests.");
        if path.is_empty() || path == "." {
            problem
        } else {
            problem.path(path)
        }
    })?;
    deserializer.end().map_err(|error| {
        Error::new(
            codes::INVALID_REQUEST,
            format!("The request's JSON is followed by something else: {error}."),
        )
    })?;
    Ok(value)
}

/// The query parameters, such as `?after=12`.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let query: Result<axum::extract::Query<T>, QueryRejection> =
            axum::extract::Query::from_request_parts(parts, state).await;
        query.map(|query| Query(query.0)).map_err(|error| {
            Error::new(
                codes::INVALID_REQUEST,
                format!("The query is invalid: {}.", error.body_text()),
            )
        })
    }
}

/// Number of items in a page of a list, if the request does not say.
const PAGE_DEFAULT: u32 = 500;
/// Maximum number of items in a page of a list.
const PAGE_MAX: u32 = 1000;

/// The part of a list that a request asks for: `?limit=100&offset=200`.
pub struct Paged {
    /// The part.
    pub page: Page,
    path: String,
    /// The other parameters of the query, each followed by `&`.
    others: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Paged {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        #[derive(serde::Deserialize)]
        struct PageQuery {
            limit: Option<u32>,
            #[serde(default)]
            offset: u32,
        }
        let Query(query) = Query::<PageQuery>::from_request_parts(parts, state).await?;
        let whole = parts.extensions.get::<OriginalUri>();
        let path = whole.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
        let others = parts.uri.query().unwrap_or_default().split('&');
        let others = others
            .filter(|one| !one.is_empty())
            .filter(|one| !one.starts_with("limit=") && !one.starts_with("offset="));
        Ok(Paged {
            page: Page {
                limit: query.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX),
                offset: query.offset,
            },
            path: path.to_owned(),
            others: others.map(|one| format!("{one}&")).collect(),
        })
    }
}

impl Paged {
    /// The answer. A full page has a header `Link` to the next one.
    pub fn answer<T: Serialize>(&self, items: Vec<T>) -> Response {
        let Page { limit, offset } = self.page;
        let is_full = items.len() >= limit as usize;
        let mut response = Json(items).into_response();
        let next = offset.saturating_add(limit);
        let (path, others) = (&self.path, &self.others);
        let link = format!("<{path}?{others}limit={limit}&offset={next}>; rel=\"next\"");
        if let (true, Ok(link)) = (is_full, link.parse()) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// The status of a successful response without content.
pub const DONE: StatusCode = StatusCode::NO_CONTENT;

#[cfg(test)]
mod tests {
    use super::*;

    fn problem<T: DeserializeOwned>(json: &str) -> api::Problem {
        match parse::<T>(json.as_bytes()) {
            Ok(_) => panic!("`{json}` was taken"),
            Err(error) => error.into_problem(),
        }
    }

    #[test]
    fn the_field_at_fault_is_named() {
        let problem = problem::<api::DesignRequest>(
            r#"{"name": "a", "template": "", "layout": {"nodes": {"web": {"x": "left", "y": 0}}}}"#,
        );
        assert_eq!(problem.code, "invalid-request");
        assert_eq!(problem.path.as_deref(), Some("layout.nodes.web.x"));
    }

    #[test]
    fn broken_json_has_a_place() {
        let problem = problem::<api::DesignRequest>("{\"name\": \n oops}");
        assert!(problem.detail.contains("line 2"), "{}", problem.detail);
    }

    #[tokio::test]
    async fn a_body_that_does_not_go_on_is_left() {
        let begun = futures::stream::once(async { Ok::<_, std::io::Error>("{") });
        let body = Body::from_stream(begun.chain(futures::stream::pending()));
        let little = Duration::from_millis(10);
        let read = read_patiently(body, BODY_BYTES_MAX, "", little).await;
        assert_eq!(read.unwrap_err().into_problem().code, "invalid-request");
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_read_to_its_end_and_refused() {
        let error = read(Body::from(vec![b' '; 10 * 1024 * 1024]), BODY_BYTES_MAX, "")
            .await
            .unwrap_err();
        assert_eq!(error.into_problem().code, "too-large");
    }
}
