//! Signals to the resources of deployments, from servers and alarms without a login.
//!
//! The signature is checked first, because that is cheaper than any limit. So wrong signatures at an address, such as
//! those of a server whose handle was replaced, do not delay right ones from there.

use std::time::{Duration, Instant};

use axum::{
    body::Body,
    extract::{Path, Query, State},
    http::HeaderMap,
};
use serde::Deserialize;

use crate::{
    attempts::AddressKey,
    auth::TOKEN_HEADER,
    client::ClientAddress,
    codes,
    extract::read,
    problem::{Error, Result},
    services::Services,
};

/// Signals to one resource at once: a group of servers that boot together has one handle.
pub const BURST: u32 = 100;
/// Interval of the signals to one resource after that.
pub const EVERY: Duration = Duration::from_millis(50);

/// Largest body of a signal, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The signature in the query, for senders that set no headers.
#[derive(Deserialize)]
pub struct Signature {
    signature: Option<String>,
}

/// Receives a signal at a signed address.
pub async fn receive(
    State(services): State<Services>,
    ClientAddress(address): ClientAddress,
    Path(name): Path<String>,
    Query(query): Query<Signature>,
    headers: HeaderMap,
    body: Body,
) -> Result<&'static str> {
    let now = Instant::now();
    let header = headers.get(TOKEN_HEADER);
    let header = header.and_then(|token| token.to_str().ok());
    let token = query.signature.as_deref().or(header).unwrap_or_default();
    // The address of a resource that is gone counts as wrong, too.
    let refused =
        |error: Error| match services
            .wrong_signals
            .begin_at(AddressKey::of(address), None, now)
        {
            Ok(()) => error,
            Err(wait) => too_many(wait),
        };
    let target = services.engine.signal_target(&name, token);
    let target = target.map_err(|error| refused(error.into()))?;
    services.signals.take(name, now).map_err(too_many)?;
    let body = read(
        body,
        BODY_BYTES_MAX,
        "Leave the data of the signal on the server.",
    )
    .await?;
    match services.engine.signal(&target, &body).await {
        Ok(()) => Ok("signalled\n"),
        Err(error @ engine::Error::SignalRefused) => Err(refused(error.into())),
        Err(error) => Err(error.into()),
    }
}

fn too_many(wait: Duration) -> Error {
    Error::new(
        codes::TOO_MANY_SIGNALS,
        "Too many signals arrive, so this one was not taken.",
    )
    .hint("Send it again after the time in the header `Retry-After`, as `curl --retry` does.")
    .retry_after(wait)
}
