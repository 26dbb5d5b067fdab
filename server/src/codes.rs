//! The problem codes of the server itself. Each has a page in `docs/errors`.
//!
//! Codes of templates are in `hot`, codes of runs in `engine`. A code never changes its meaning, because scripts and
//! translations depend on it.

use axum::http::StatusCode;

/// A stable name for a kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The name in kebab case. Its page is `docs/errors/<name>.md`.
    pub name: &'static str,
    /// A title of a few words.
    pub title: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
}

macro_rules! codes {
    ($($constant:ident = $name:literal, $status:ident, $title:literal;)*) => {
        $(#[doc = $title] pub const $constant: Code = Code { name: $name, title: $title, status: StatusCode::$status };)*
        /// The names of all codes.
        pub const CODES: &[&str] = &[$($name),*];
    };
}

codes! {
    NOT_SIGNED_IN = "not-signed-in", UNAUTHORIZED, "Not signed in";
    WRONG_CREDENTIALS = "wrong-credentials", UNAUTHORIZED, "Wrong credentials";
    SECOND_FACTOR_NEEDED = "second-factor-needed", UNAUTHORIZED, "One-time code needed";
    TOO_MANY_ATTEMPTS = "too-many-attempts", TOO_MANY_REQUESTS, "Too many failed logins";
    TOO_MANY_LOGINS = "too-many-logins", TOO_MANY_REQUESTS, "Too many logins at once";
    TOO_MANY_STREAMS = "too-many-streams", TOO_MANY_REQUESTS, "Too many live streams";
    TOO_MANY_UPLOADS = "too-many-uploads", TOO_MANY_REQUESTS, "Too many uploads at once";
    TOO_MANY_SIGNALS = "too-many-signals", TOO_MANY_REQUESTS, "Too many signals";
    UNKNOWN_PROJECT = "unknown-project", FORBIDDEN, "Unknown project";
    UNKNOWN_CLOUD = "unknown-cloud", UNPROCESSABLE_ENTITY, "Unknown cloud";
    UNKNOWN_REGION = "unknown-region", UNPROCESSABLE_ENTITY, "Unknown region";
    CLOUD_UNREACHABLE = "cloud-unreachable", BAD_GATEWAY, "Cloud unreachable";
    CLOUD_ERROR = "cloud-error", BAD_GATEWAY, "The cloud refused";
    READER_CANNOT_CHANGE = "reader-cannot-change", FORBIDDEN, "Readers cannot change anything";
    CROSS_ORIGIN = "cross-origin", FORBIDDEN, "Request from another site";
    UNKNOWN_HOST = "unknown-host", MISDIRECTED_REQUEST, "Not this server's name";
    NOT_FOUND = "not-found", NOT_FOUND, "Not found";
    METHOD_NOT_ALLOWED = "method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    INVALID_REQUEST = "invalid-request", UNPROCESSABLE_ENTITY, "Invalid request";
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    TOO_LARGE = "too-large", PAYLOAD_TOO_LARGE, "Too large";
    VERSION_CONFLICT = "version-conflict", CONFLICT, "Somebody else saved in the meantime";
    DATABASE_UNAVAILABLE = "database-unavailable", SERVICE_UNAVAILABLE, "Database unavailable";
    INTERNAL_ERROR = "internal-error", INTERNAL_SERVER_ERROR, "Internal error";
}
