//! The response with the resource types.
//!
//! They change only with uploads of items, and a browser requests them for every opened design. So they are serialised
//! once, and sent only to clients that do not have them. The entity tag is a digest of the content, so a project with
//! its own types has another tag.

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::catalog::Described;

/// The descriptions, or "not modified" if the request has the current tag.
pub fn answer(described: &Described, request: &HeaderMap) -> Response {
    // A weak tag, because the response can be compressed on its way.
    let tag = format!("W/\"{}\"", described.digest);
    let known = request
        .get(header::IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim() == tag);
    let headers = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let kind = [(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    )];
    let json = Bytes::from_owner(described.json.clone());
    (headers, kind, json).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_sent_once() {
        let described = Described {
            json: b"[]".as_slice().into(),
            digest: "abc".into(),
        };
        let first = answer(&described, &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let again =
            HeaderMap::from_iter([(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone())]);
        let second = answer(&described, &again);
        assert_eq!(second.status(), StatusCode::NOT_MODIFIED);
    }
}
