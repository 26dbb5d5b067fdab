//! Classification of failed connections.

use std::error::Error as _;
use std::io;

use super::error::ConnectionFailure;

/// The type of the failure, and the message of the innermost error.
pub(super) fn diagnose(error: &reqwest::Error) -> (ConnectionFailure, String) {
    let mut io_kind = None;
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            io_kind = Some(error.kind());
        }
        cause = inner.source();
    }
    let why = deepest(error);
    let lower = why.to_lowercase();
    let wire = match io_kind {
        Some(io::ErrorKind::ConnectionRefused) => ConnectionFailure::Refused,
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof,
        ) => ConnectionFailure::Reset,
        Some(io::ErrorKind::TimedOut) => ConnectionFailure::Timeout,
        _ if error.is_timeout() => ConnectionFailure::Timeout,
        _ if error.is_dns() => ConnectionFailure::Name,
        _ if ["certificate", "tls", "fatal alert"]
            .iter()
            .any(|word| lower.contains(word)) =>
        {
            ConnectionFailure::Tls
        }
        _ if lower.contains("before message completed") || lower.contains("connection closed") => {
            ConnectionFailure::Reset
        }
        _ => ConnectionFailure::Other,
    };
    (wire, why)
}

/// The message of the innermost error.
pub(super) fn deepest(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    deepest.to_string()
}
